// Display of one row: a table of its columns, or a short list of its numbers.

import { count, make, number } from "./dom.js";

const FIRST_NUMBERS = 8;
const LONG_TEXT = 80;
const IMAGE = /^(https?:\/\/|\/(?!\/))[^\s]*\.(png|jpe?g|gif|webp|avif|svg)([?#]\S*)?$/i;

// `columns` are the columns of the stream, in order.
export function drawRow(row, columns) {
  return row.record ? drawRecord(row.record, Object.keys(columns)) : drawNumbers(row.x);
}

function drawRecord(record, columns) {
  const rows = columns.map((column) => [column, record[column]]).map(([column, value]) =>
    make("tr", { class: isTall(value) && "tall" }, make("th", { scope: "row" }, column, ...length(value)), make("td", {}, drawValue(column, value))));
  return make("table", { class: "record" }, make("tbody", {}, ...rows));
}

const isTall = (value) => isLong(value) || (typeof value === "string" && IMAGE.test(value));
const isLong = (value) => typeof value === "string" && value.length > LONG_TEXT && !IMAGE.test(value);

const length = (value) =>
  isLong(value) ? [make("span", { class: "note" }, count(value.length, "character"))] : [];

function drawValue(column, value) {
  if (value == null || value === "") return make("span", { class: "note" }, "missing");
  if (typeof value === "number") return make("span", { class: "figure" }, number(value));
  if (typeof value === "string" && IMAGE.test(value)) return drawImage(column, value);
  if (isLong(value)) return make("div", { class: "text", tabindex: "0" }, value);
  return String(value);
}

function drawImage(column, url) {
  const image = make("img", { src: url, alt: column, referrerpolicy: "no-referrer", class: "picture" });
  image.addEventListener("error", () => image.replaceWith(`${url} (image cannot be loaded)`));
  return image;
}

function drawNumbers(x) {
  const shown = x.slice(0, FIRST_NUMBERS).map((value) => make("li", {}, number(value)));
  const list = make("ol", { class: "numbers" }, ...shown);
  if (x.length <= FIRST_NUMBERS) return list;
  const rest = make("ol", { class: "numbers", start: FIRST_NUMBERS + 1 },
    ...x.slice(FIRST_NUMBERS).map((value) => make("li", {}, number(value))));
  const all = make("details", {}, make("summary", {}, `… ${count(x.length, "number")}`), rest);
  return make("div", {}, list, all);
}
