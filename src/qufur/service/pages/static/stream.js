// The progress of one stream, every two seconds.

import { call, path, stream } from "./api.js";
import { budgetOf, fill } from "./budget.js";
import { age, count, find, make, number, percent, whole, write } from "./dom.js";
import { onKeys } from "./keyboard.js";
import { repeat } from "./live.js";
import { Plot } from "./plots.js";

const SECONDS = 2;
const EXPERTS = 6;
const LEAST = 0.001; // a weight worth a line
const HEADINGS = ["spent", "error", "shifts", "next"];
const LINES = 3; // of a heading, before the rest is folded
const here = `/streams/${encodeURIComponent(stream)}`;

const errorPlot = new Plot(find("error-plot"), [
  { label: "this stream", color: "--own" },
  { label: "one model, labels at random", color: "--random", dashed: true },
]);
const spendPlot = new Plot(find("spend-plot"), [
  { label: "bought", color: "--own", fill: true },
  { label: "an even pace", color: "--muted", dashed: true },
]);

function showState(state) {
  const inputs = state.columns ? count(Object.keys(state.columns).length, "column") : count(state.dim, "number");
  const [low, high] = state.label_range ?? [];
  const range = state.label_range ? `a number from ${number(low)} to ${number(high)}` : "a number";
  const label = state.classes ? `one of ${count(state.classes.length, "class", "classes")}` : range;
  write("about", `${inputs} in, ${label} out · model ${state.model}, rule ${state.rule}`);
  write("rows", whole(state.rows));
  const budget = budgetOf(state);
  const asked = budget.share || `${percent(state.spent / state.rows)} asked about`;
  write("rows-note", state.rows ? asked : "none came yet");
  write("spent", budget.words);
  fill(find("spent-bar"), budget.bar);
  if (!state.rows) find("first-calls").open = true;
  write("curl", firstCall(state));
}

function firstCall(state) {
  const samples = { number: 0.5, category: "a", text: "words" };
  const record = state.columns && Object.fromEntries(
    Object.entries(state.columns).map(([name, kind]) => [name, samples[kind] ?? "a"]));
  const zeros = Array(Math.min(state.dim ?? 0, 4)).fill("0.5").join(", ");
  const example = record ? `"record": ${JSON.stringify(record)}` : `"x": [${zeros}${state.dim > 4 ? ", …" : ""}]`;
  const url = `${location.origin}${path(stream, "examples")}`;
  const body = `{"id": "row-1", ${example}}`.replaceAll("'", "'\\''");
  const key = document.querySelector('meta[name="person"]').content ? '  -H "Authorization: Bearer $KEY" \\\n' : "";
  return `curl ${url} \\\n${key}  -H "Content-Type: application/json" \\\n  -d '${body}'`;
}

// The queue is for those who label; a key that only reads sees the rest.
const queueOrNothing = () =>
  call("GET", `${path(stream, "queue")}?limit=0`).catch((error) => {
    if (error.status !== 403) throw error;
    return null;
  });

function showQueue(state, queue) {
  const people = queue?.leased ? `, ${whole(queue.leased)} with people` : "";
  const oldest = queue ? `oldest ${age(queue.oldest_seconds)}${people}` : "\u00a0";
  write("waiting", count(state.outstanding, "row"));
  write("age", state.outstanding ? oldest : "nothing to label");
}

function showSeries(series) {
  const { shifts } = series;
  const none = (values) => values.map(() => null);
  errorPlot.show([series.at, series.error, series.at_random], shifts);
  spendPlot.show([series.rows, series.spent, series.plan ?? none(series.rows)], shifts);
  const known = (values) => values.findLast((value) => value != null);
  const [own, random] = [known(series.error), known(series.at_random)];
  write("error", number(own));
  write("unit", `${series.unit}${shifts.length ? "; ▾ inputs shifted" : ""}`);
  write("plan-note", series.plan ? "against an even pace over the rows" : "labels asked for so far");
  write("error-note", own == null ? "known when labels come" : againstRandom(own, random));
}

function againstRandom(own, random) {
  if (!random) return "at random: not known yet";
  const share = own / random - 1;
  return `${percent(Math.abs(share))} ${share < 0 ? "lower" : "higher"} than at random`;
}

function showExperts(experts) {
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

function showReport(report) {
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

function showMissing(error) {
  find("live").hidden = true;
  find("missing").hidden = false;
  find("missing").textContent = error.message;
}

async function look() {
  try {
    const parts = [path(stream), path(stream, "series"), path(stream, "report")];
    const [state, series, report] = await Promise.all(parts.map((part) => call("GET", part)));
    showState(state);
    showQueue(state, await queueOrNothing());
    showSeries(series);
    showExperts(report.experts);
    showReport(report);
  } catch (error) {
    if (![403, 404].includes(error.status)) throw error;
    showMissing(error);
    return false;
  }
}

onKeys({ l: () => location.assign(`${here}/label`), b: () => location.assign("/") });
repeat(SECONDS, look);
