// The progress page of a stream, updated every two seconds.

import { call, may, path, stream } from "./api.js";
import { budgetOf, fill } from "./budget.js";
import { offerDeletion } from "./deletion.js";
import { showDemo } from "./demo.js";
import { age, count, find, number, percent, whole, write } from "./dom.js";
import { onKeys } from "./keyboard.js";
import { repeat } from "./live.js";
import { Plot } from "./plots.js";
import { showExperts, showReport } from "./report.js";

const SECONDS = 2;
let events = 0; // number of events at the last update
let shown = { rows: 0, told: 0 }; // the displayed state
const here = `/streams/${encodeURIComponent(stream)}`;

const errorPlot = new Plot(find("error-plot"), [
  { label: "error", color: "--own" },
  { label: "lower end", color: "--own", faint: true },
  { label: "upper end", color: "--own", faint: true },
  { label: "random labels", color: "--random", dashed: true },
], { band: [3, 2], scaledBy: [1, 4] });
const spendPlot = new Plot(find("spend-plot"), [
  { label: "bought", color: "--own", fill: true },
  { label: "constant rate", color: "--muted", dashed: true },
]);

function showState(state) {
  const inputs = state.columns ? count(Object.keys(state.columns).length, "column") : count(state.dim, "number");
  const [low, high] = state.label_range ?? [];
  const range = state.label_range ? `a number from ${number(low)} to ${number(high)}` : "a number";
  const label = state.classes ? `one of ${count(state.classes.length, "class", "classes")}` : range;
  write("about", `Example: ${inputs} · label: ${label} · model: ${state.model} · rule: ${state.rule}`);
  write("rows", whole(state.rows));
  const budget = budgetOf(state);
  const bought = budget.share || `${percent(state.spent / state.rows)} of rows`;
  write("rows-note", state.rows ? `labels for ${bought}` : "no rows yet");
  write("spent", budget.words);
  fill(find("spent-bar"), budget.bar);
  if (!state.rows) find("first-calls").open = true;
  write("curl", firstCall(state));
}

function firstCall(state) {
  const samples = { number: 0.5, category: "a" };
  const record = state.columns && Object.fromEntries(
    Object.entries(state.columns).map(([name, type]) => [name, samples[type]]));
  const numbers = Array(Math.min(state.dim ?? 0, 4)).fill("0.5").join(", ");
  const example = record ? `"record": ${JSON.stringify(record)}` : `"x": [${numbers}${state.dim > 4 ? ", …" : ""}]`;
  const url = `${location.origin}${path(stream, "examples")}`;
  const body = `{"id": "row-1", ${example}}`.replaceAll("'", "'\\''");
  const key = document.querySelector('meta[name="person"]').content ? '  -H "Authorization: Bearer $KEY" \\\n' : "";
  return `curl ${url} \\\n${key}  -H "Content-Type: application/json" \\\n  -d '${body}'`;
}

// The queue requires the scope label; a key that may only read sees the rest of the page.
const queueOrNothing = () =>
  call("GET", `${path(stream, "queue")}?limit=0`).catch((error) => {
    if (error.status !== 403) throw error;
    return null;
  });

function showQueue(state, queue) {
  const leased = queue?.leased ? `, ${whole(queue.leased)} being labelled` : "";
  const oldest = queue ? `oldest ${age(queue.oldest_seconds)}${leased}` : "\u00a0";
  write("waiting", count(state.outstanding, "row"));
  write("age", state.outstanding ? oldest : "nothing to label");
}

function showSeries(series) {
  const { shifts } = series;
  const none = (values) => values.map(() => null);
  errorPlot.show([series.at, series.error, series.low, series.high, series.at_random], shifts);
  spendPlot.show([series.rows, series.spent, series.plan ?? none(series.rows)], shifts);
  write("unit", `${series.unit}${shifts.length ? "; ▾ inputs shifted" : ""}`);
  write("plan-note", series.plan ? "compared with a constant rate" : "labels bought so far");
}

// The headline error: the number of the report, `qufur status` and the last point of the chart.
function showHeadline({ error, low, high, at_random, confidence, covered }) {
  write("error", number(error));
  const rest = covered < 0.95 ? `, for ${percent(covered)} of the rows` : "";
  const interval = low == null || high == null ? "" : `${number(low)} to ${number(high)} (${percent(confidence)} interval)${rest}`;
  write("error-note", error == null ? "not available yet" : interval);
  const random = at_random == null ? "not available yet" : number(at_random);
  write("random-note", error == null ? "\u00a0" : `random labels: ${random}`);
}

function showMissing(error) {
  find("live").hidden = true;
  find("to-label")?.toggleAttribute("hidden", true);
  find("missing").hidden = false;
  find("missing").textContent = error.message;
}

// Series and report are expensive to compute, and change only with events.
async function showProgress() {
  const [series, report] = await Promise.all([call("GET", path(stream, "series")), call("GET", path(stream, "report"))]);
  showSeries(series);
  showHeadline(report.headline);
  showExperts(report.experts, series);
  showReport(report);
}

async function update() {
  try {
    const [state, queue] = await Promise.all([call("GET", path(stream)), queueOrNothing()]);
    showState(state);
    shown = state;
    showQueue(state, queue);
    if (state.events !== events) await showProgress();
    ({ events } = state);
  } catch (error) {
    if (![403, 404].includes(error.status)) throw error;
    showMissing(error);
    return false;
  }
}

const keys = { b: () => location.assign("/") };
if (may.has("label")) keys.l = () => location.assign(`${here}/label`);
onKeys(keys);
offerDeletion(() => shown);
showDemo();
repeat(SECONDS, update);
