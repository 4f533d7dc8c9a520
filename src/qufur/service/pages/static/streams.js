// The list of streams, and the form of a new stream.

import { call, may, path } from "./api.js";
import { budgetOf, fill } from "./budget.js";
import { find, make, number, whole } from "./dom.js";
import { onKeys } from "./keyboard.js";
import { repeat } from "./live.js";
import { readForm } from "./new_stream.js";

const SECONDS = 2;
const HEAD = may.has("read") ? ["stream", "rows", "labels", "pending", "error"] : ["stream", "pending"];
let drawn = "";

const page = (name) => `/streams/${encodeURIComponent(name)}`;

function drawPending({ name, outstanding }) {
  if (!outstanding) return make("span", { class: "note" }, "none");
  if (!may.has("label")) return whole(outstanding);
  return make("a", { href: `${page(name)}/label`, class: "button small" }, `label ${whole(outstanding)}`);
}

// For a key that may only label: pending rows without progress.
const drawWork = (state) =>
  make("tr", { "data-name": state.name },
    make("th", { scope: "row" }, make("a", { href: `${page(state.name)}/label` }, state.name)),
    make("td", { "data-head": "pending" }, drawPending(state)));

function drawStream(state) {
  const { words, share, bar } = budgetOf(state);
  const progress = make("progress", { max: 1, "aria-label": `Share of the budget of ${state.name} spent` });
  fill(progress, bar);
  return make("tr", { "data-name": state.name },
    make("th", { scope: "row" }, make("a", { href: page(state.name) }, state.name)),
    make("td", { class: "figure", "data-head": "rows" }, whole(state.rows)),
    make("td", { class: "spent" }, make("span", {}, [words, share].filter(Boolean).join(" · ")), progress),
    make("td", { "data-head": "pending" }, drawPending(state)),
    make("td", { class: "figure", "data-head": "error" }, number(state.error)));
}

function draw(streams) {
  const box = find("streams");
  box.setAttribute("aria-busy", "false");
  if (JSON.stringify(streams) === drawn) return;
  drawn = JSON.stringify(streams);
  const focused = document.activeElement.closest?.("tr")?.dataset.name;
  const head = HEAD.map((name) => make("th", { scope: "col", class: ["rows", "error"].includes(name) && "figure" }, name));
  box.replaceChildren(streams.length
    ? make("table", { class: "list" }, make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...streams.map(may.has("read") ? drawStream : drawWork)))
    : make("div", { class: "nothing" }, make("p", {}, "No streams yet."),
        make("p", { class: "note" }, "A stream receives examples, predicts, and asks for the most informative labels within a budget.")));
  if (focused !== undefined) [...box.querySelectorAll("tr")].find((tr) => tr.dataset.name === focused)?.querySelector("a").focus();
}

const errors = new Map();

// The error of a stream is the last point of its series. It changes with labels only.
async function withError(state) {
  const cached = errors.get(state.name);
  if (cached?.told === state.told) return { ...state, error: cached.error };
  const series = await call("GET", path(state.name, "series")).catch(() => null);
  const error = series?.error.findLast((value) => value != null) ?? null;
  errors.set(state.name, { told: state.told, error });
  return { ...state, error };
}

async function update() {
  const { streams } = await call("GET", "/v1/streams");
  draw(may.has("read") ? await Promise.all(streams.map(withError)) : streams);
}

function move(step) {
  const links = [...document.querySelectorAll("#streams th a")];
  const index = links.findIndex((link) => link.closest("tr").contains(document.activeElement));
  const first = step > 0 ? 0 : links.length - 1;
  links[index < 0 ? first : Math.min(Math.max(index + step, 0), links.length - 1)]?.focus();
}

function label() {
  const row = document.activeElement.closest("#streams tr[data-name]") ?? document.querySelector("#streams tr[data-name]");
  if (row) location.assign(`${page(row.dataset.name)}/label`);
}

async function create(event) {
  event.preventDefault();
  find("create-refused").textContent = "";
  try {
    const state = await call("POST", "/v1/streams", readForm(new FormData(event.target)));
    location.assign(page(state.name));
  } catch (error) {
    find("create-refused").textContent = error.message;
  }
}

const keys = { ArrowDown: () => move(1), ArrowUp: () => move(-1) };
if (may.has("label")) keys.l = label;
if (find("new")) {
  keys.n = () => find("new").showModal();
  find("create").addEventListener("submit", create);
  find("cancel").addEventListener("click", () => find("new").close());
}
onKeys(keys);
repeat(SECONDS, update);
