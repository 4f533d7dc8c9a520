// What is known about a stream, in sentences, and the weights of its experts.

import { count, find, make, number, percent, whole } from "./dom.js";
import { Plot } from "./plots.js";

const EXPERTS = 5; // as many as there are colors
const LEAST = 0.001; // a weight worth a line
const HEADINGS = ["spent", "error", "shifts", "next"];
const LINES = 3; // of a heading, before the rest is folded

const weightsPlot = new Plot(find("weights-plot"), [], { height: 170, legend: false });
const colors = new Map();

// Whoever has a color keeps it while being shown.
function paint(names) {
  [...colors.keys()].filter((name) => !names.includes(name)).forEach((name) => colors.delete(name));
  for (const name of names) {
    const taken = new Set(colors.values());
    const free = Array.from({ length: EXPERTS }, (_, place) => `expert-${place + 1}`).find((one) => !taken.has(one));
    if (!colors.has(name)) colors.set(name, free);
  }
}

// The heaviest experts with colors, and the others as one.
function heaviest(experts) {
  const sorted = [...experts].sort((one, other) => other.weight - one.weight);
  const many = Math.min(EXPERTS, sorted.filter(({ weight }) => weight >= LEAST).length);
  const [shown, rest] = [sorted.slice(0, many), sorted.slice(many)];
  paint(shown.map(({ name }) => name));
  if (!rest.length) return shown;
  const weight = rest.reduce((sum, expert) => sum + expert.weight, 0);
  return [...shown, { name: count(rest.length, "other"), weight, error: null }];
}

function plotWeights({ at, weights, shifts }) {
  const names = [...colors.keys()];
  weightsPlot.set(names.map((name) => ({ label: name, color: `--${colors.get(name)}` })));
  // Only the heaviest are recorded: a weight that is not there was small, and is not known.
  weightsPlot.show([at, ...names.map((name) => weights.map((point) => point[name] ?? null))], shifts);
}

export function showExperts(experts, series) {
  const rows = heaviest(experts ?? []).map(({ name, weight, error }) =>
    make("tr", {}, make("th", { scope: "row" }, swatch(name), name),
      make("td", {}, make("progress", { max: 1, value: weight, "aria-label": `weight of ${name}` })),
      make("td", { class: "figure" }, percent(weight)),
      make("td", { class: "figure" }, number(error))));
  const head = ["expert", "weight", "", "error"].map((name, place) =>
    make("th", { scope: "col", class: place > 1 && "figure" }, name));
  replaceIfNew("experts", rows.length
    ? make("table", { class: "experts" }, make("thead", {}, make("tr", {}, ...head)), make("tbody", {}, ...rows))
    : make("p", { class: "note" }, "One model alone, or no labels yet."));
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
