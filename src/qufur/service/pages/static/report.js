// What is known about a stream, in sentences, and the weights of its experts.

import { count, find, make, number, percent, whole } from "./dom.js";

const EXPERTS = 6;
const LEAST = 0.001; // a weight worth a line
const HEADINGS = ["spent", "error", "shifts", "next"];
const LINES = 3; // of a heading, before the rest is folded

export function showExperts(experts) {
  const sorted = [...(experts ?? [])].sort((one, other) => other.weight - one.weight);
  const many = Math.min(EXPERTS, sorted.filter(({ weight }) => weight >= LEAST).length);
  const [shown, rest] = [sorted.slice(0, many), sorted.slice(many)];
  if (rest.length) {
    const weight = rest.reduce((sum, expert) => sum + expert.weight, 0);
    shown.push({ name: count(rest.length, "other"), weight, error: null });
  }
  const rows = shown.map(({ name, weight, error }) =>
    make("tr", {}, make("th", { scope: "row" }, name),
      make("td", {}, make("progress", { max: 1, value: weight, "aria-label": `weight of ${name}` })),
      make("td", { class: "figure" }, percent(weight)),
      make("td", { class: "figure" }, number(error))));
  const head = ["expert", "weight", "", "error"].map((name, place) =>
    make("th", { scope: "col", class: place > 1 && "figure" }, name));
  replaceIfNew("experts", rows.length
    ? make("table", { class: "experts" }, make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...rows))
    : make("p", { class: "note" }, "One model alone, or no labels yet."));
}

export function showReport(report) {
  const parts = HEADINGS.filter((heading) => report[heading]?.length).flatMap((heading) => {
    const lines = report[heading].map((line) => make("p", {}, ...withCode(line)));
    const more = lines.splice(LINES);
    const folded = more.length && make("details", {}, make("summary", {}, `${whole(more.length)} more`), ...more);
    return [make("dt", {}, heading), make("dd", {}, ...lines, folded || null)];
  });
  replaceIfNew("report", ...parts);
}

// Commands stand between backquotes.
const withCode = (line) =>
  line.split("`").map((part, place) => (place % 2 ? make("code", {}, part) : part));

const made = new Map();

// What somebody opened or selected stays so while nothing is new.
function replaceIfNew(id, ...nodes) {
  const text = make("div", {}, ...nodes).innerHTML;
  if (made.get(id) !== text) find(id).replaceChildren(...nodes);
  made.set(id, text);
}
