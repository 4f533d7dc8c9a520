// The report on a stream as text, and the weights of its experts.

import { count, find, make, number, percent, whole } from "./dom.js";
import { Plot } from "./plots.js";

const EXPERTS = 5; // number of colors
const MIN_WEIGHT = 0.001; // smallest weight that gets a line
const HEADINGS = ["spent", "error", "shifts", "next"];
const LINES = 3; // shown per heading; further lines are folded

const weightsPlot = new Plot(find("weights-plot"), [], { height: 170, legend: false });
const colors = new Map();

// An expert keeps its color while it is displayed.
function paint(names) {
  [...colors.keys()].filter((name) => !names.includes(name)).forEach((name) => colors.delete(name));
  for (const name of names) {
    const taken = new Set(colors.values());
    const free = Array.from({ length: EXPERTS }, (_, index) => `expert-${index + 1}`).find((color) => !taken.has(color));
    if (!colors.has(name)) colors.set(name, free);
  }
}

// The experts with the largest weights, and the others summed up in one row.
function withLargestWeights(experts) {
  const sorted = [...experts].sort((first, second) => second.weight - first.weight);
  const lineCount = Math.min(EXPERTS, sorted.filter(({ weight }) => weight >= MIN_WEIGHT).length);
  const [shown, rest] = [sorted.slice(0, lineCount), sorted.slice(lineCount)];
  paint(shown.map(({ name }) => name));
  if (!rest.length) return shown;
  const weight = rest.reduce((sum, expert) => sum + expert.weight, 0);
  return [...shown, { name: count(rest.length, "other"), weight, error: null }];
}

function plotWeights({ at, weights, shifts }) {
  const names = [...colors.keys()];
  weightsPlot.set(names.map((name) => ({ label: name, color: `--${colors.get(name)}` })));
  // Only the largest weights are recorded: a missing weight was small.
  weightsPlot.show([at, ...names.map((name) => weights.map((point) => point[name] ?? null))], shifts);
}

export function showExperts(experts, series) {
  const rows = withLargestWeights(experts ?? []).map(({ name, weight, error }) =>
    make("tr", {}, make("th", { scope: "row" }, swatch(name), name),
      make("td", {}, make("progress", { max: 1, value: weight, "aria-label": `weight of ${name}` })),
      make("td", { class: "figure" }, percent(weight)),
      make("td", { class: "figure" }, number(error))));
  const head = ["expert", "weight", "", "error"].map((name, index) =>
    make("th", { scope: "col", class: index > 1 && "figure" }, name));
  replaceIfNew("experts", rows.length
    ? make("table", { class: "experts" }, make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...rows))
    : make("p", { class: "note" }, "No experts: the stream has a single model, or no labels yet."));
  plotWeights(series);
}

const swatch = (name) => make("span", { class: `swatch ${colors.get(name) ?? ""}` });

export function showReport(report) {
  const parts = HEADINGS.filter((heading) => report[heading]?.length).flatMap((heading) => {
    const lines = report[heading].map((line) => make("p", {}, ...withCode(line)));
    const more = lines.splice(LINES);
    const folded = more.length && make("details", {}, make("summary", {}, `${whole(more.length)} more`), ...more);
    return [make("dt", {}, heading), make("dd", {}, ...lines, folded || null)];
  });
  replaceIfNew("report", ...parts);
}

// Text between backquotes is code.
const withCode = (line) =>
  line.split("`").map((part, index) => (index % 2 ? make("code", {}, part) : part));

const rendered = new Map();

// Replaces changed content only, so that opened details and selections stay.
function replaceIfNew(id, ...nodes) {
  const text = make("div", {}, ...nodes).innerHTML;
  if (rendered.get(id) !== text) find(id).replaceChildren(...nodes);
  rendered.set(id, text);
}
