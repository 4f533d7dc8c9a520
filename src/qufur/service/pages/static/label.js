// One row after the other, answered with keys alone.

import { drawClasses, drawNumberField, keysOf, readField } from "./answers.js";
import { call, path, stream } from "./api.js";
import { budgetOf, fill } from "./budget.js";
import { showDemo } from "./demo.js";
import { count, find, make, number, say, write } from "./dom.js";
import { onKeys } from "./keyboard.js";
import { repeat } from "./live.js";
import { whoLabels } from "./person.js";
import { Queue } from "./queue.js";
import { drawRow } from "./row.js";

const SECONDS = 2;

let queue;
let state;
let row = null; // the row that is shown
let busy = false;

function show(found) {
  const same = found !== null && found.id === row?.id;
  row = found;
  find("row").setAttribute("aria-busy", "false");
  find("row").classList.toggle("empty", !row);
  find("choices").hidden = !row;
  if (same) return;
  write("row-id", row ? title(row.id) : "Nothing waits");
  write("why", row ? row.why ?? "" : whyNothing());
  find("content").replaceChildren(...(row ? [drawRow(row, state.columns)] : []));
  hidePrediction();
  const field = find("field");
  if (field) field.value = "";
  if (row && !state.classes) field.focus();
}

const title = (id) => (/^row\b/i.test(id) ? id : `Row ${id}`);

const whyNothing = () =>
  state.left === 0 ? "The budget is spent." : "New questions show up here by themselves.";

// Whoever sees a prediction tends to agree with it.
function hidePrediction() {
  find("prediction").replaceChildren("prediction ", make("kbd", {}, "p"));
}

function showPrediction() {
  if (!row) return;
  const { prediction } = row;
  const said = typeof prediction === "number" ? number(prediction) : String(prediction ?? "nothing yet");
  find("prediction").replaceChildren("predicts ", make("strong", {}, said));
}

async function refresh() {
  state = await call("GET", path(stream));
  const { words, share, bar } = budgetOf(state);
  const waiting = `${count(queue?.waiting ?? state.outstanding, "row")} waiting`;
  write("budget-words", [words, share, waiting].filter(Boolean).join(" · "));
  fill(find("budget-bar"), bar);
}

// One thing at a time: a key that is pressed meanwhile would answer a row that nobody has read.
async function act(work) {
  if (busy) return;
  busy = true;
  try {
    const done = await work();
    show(await queue.next());
    if (done) say(done);
  } catch (error) {
    say(error.message, true);
    // What somebody else has answered meanwhile is gone from here.
    if ([404, 409, 410].includes(error.status)) await queue.next().then(show, () => {});
  } finally {
    busy = false;
  }
  refresh().catch(() => {});
}

const withRow = (work) => row && act(() => work(row));

const answer = (label) =>
  withRow(async ({ id }) => {
    await queue.answer(row, label);
    return `${id}: ${label}`;
  });

const skip = () =>
  withRow(async ({ id }) => {
    await queue.skip(row);
    return `${id} skipped`;
  });

const decline = () =>
  withRow(async ({ id }) => {
    await queue.decline(row);
    return `${id} declined: it costs nothing`;
  });

const undo = () =>
  act(async () => {
    const id = await queue.undo();
    return id === undefined ? "Nothing to undo." : `${id} waits again`;
  });

function send(event) {
  event.preventDefault();
  try {
    answer(readField(state.classes));
  } catch (error) {
    say(error.message, true);
  }
}

function drawAnswers({ classes, label_range: range }) {
  find("choices").replaceChildren(...(classes ? drawClasses(classes, answer) : drawNumberField(range)));
  find("answer").addEventListener("submit", send);
  const ownKeys = [...keysOf(classes ?? [])].map(([key, name]) => [key, () => answer(name)]);
  const leave = () => location.assign(`/streams/${encodeURIComponent(stream)}`);
  const seek = () => find("field")?.focus();
  const actions = { ...Object.fromEntries(ownKeys), s: skip, d: decline, u: undo, p: showPrediction, b: leave, "/": seek };
  // Letters are no part of a number, so that they are commands also in its field.
  onKeys(actions, (key) => !classes && /^[sdupb?]$/.test(key));
  // Whoever begins a number need not look for its field.
  document.addEventListener("keydown", ({ key }) => !classes && /^[-+.,\d]$/.test(key) && find("field").focus());
}

async function watch() {
  if (!row) await act(() => undefined);
  else await refresh();
}

async function start() {
  try {
    await refresh();
  } catch (error) {
    write("row-id", error.message);
    find("answer").hidden = true;
    return;
  }
  queue = new Queue(await whoLabels());
  drawAnswers(state);
  showDemo();
  repeat(SECONDS, watch);
}

start();
