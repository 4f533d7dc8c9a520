// One row after the other, answered with keys alone. The rules are those of /v1.

import { drawClasses, drawNumberField, keysOf, readField } from "./answers.js";
import { call, path, stream } from "./api.js";
import { budgetOf, fill } from "./budget.js";
import { count, find, make, number, percent, say, write } from "./dom.js";
import { onKeys } from "./keyboard.js";
import { repeat } from "./live.js";
import { whoLabels } from "./person.js";
import { drawRow } from "./row.js";

const MINUTES = 3;
const SECONDS = 2;

let person;
let state;
let row = null; // the row that is shown
let waiting = 0;
let busy = false;
let first = null; // a row to be shown before others
let refused = null; // the answer that was sent last
const answered = []; // own answers that can be undone

const example = (id, what) => path(stream, "examples", id, what);

// The rows that this person has, and more up to so many; those with these ids are taken first.
async function lease(many, ids = []) {
  const answer = await call("POST", path(stream, "queue", "lease"), { person, count: many, minutes: MINUTES, ids });
  waiting = answer.waiting;
  return answer.rows;
}

const release = (id) => call("POST", path(stream, "queue", "release"), { person, ids: [id] });

async function next() {
  const rows = first === null ? await lease(1) : await lease(2, [first]);
  const found = rows.find(({ id }) => id === first) ?? rows[0] ?? null;
  first = null;
  return found;
}

function show(found) {
  const same = found?.id === row?.id && found !== null;
  row = found;
  find("row").setAttribute("aria-busy", "false");
  find("row").classList.toggle("empty", !row);
  find("choices").hidden = !row;
  if (same) return;
  write("row-id", row ? `Row ${row.id}` : "Nothing waits");
  write("why", row ? whyAsked(row) : "New questions show up here by themselves.");
  find("content").replaceChildren(...(row ? [drawRow(row, state.columns)] : []));
  hidePrediction();
  const field = find("field");
  if (row && field) {
    field.value = "";
    if (!state.classes) field.focus();
  }
}

const whyAsked = ({ why, probability }) =>
  why ?? (probability == null ? "its label was taken back" : `asked with probability ${percent(probability)}`);

function hidePrediction() {
  find("prediction").replaceChildren("prediction ", make("kbd", {}, "p"));
}

function showPrediction() {
  if (!row) return;
  const said = typeof row.prediction === "number" ? number(row.prediction) : String(row.prediction ?? "none yet");
  find("prediction").replaceChildren("predicts ", make("strong", {}, said));
}

async function refresh() {
  state = await call("GET", path(stream));
  const { words, share, bar } = budgetOf(state);
  write("budget-words", [words, share, `${count(waiting, "row")} waiting`].filter(Boolean).join(" · "));
  fill(find("budget-bar"), bar);
}

// One thing at a time: a key that is pressed meanwhile would answer a row that nobody has read.
async function act(work) {
  if (busy || document.querySelector("dialog[open]")) return;
  busy = true;
  try {
    const done = await work();
    show(await next());
    await refresh();
    if (done) say(done);
  } catch (error) {
    await recover(error);
  } finally {
    busy = false;
  }
}

// What somebody else has answered meanwhile is gone from here.
async function recover(error) {
  say(error.message, true);
  if (![404, 409].includes(error.status)) return;
  try {
    show(await next());
  } catch (again) {
    say(again.message, true);
  }
}

const withRow = (work) => () => row && act(() => work(row));

// A label that was refused and is sent once more is meant.
const answer = (label) =>
  row && act(async () => {
    const { id } = row;
    const again = refused?.id === id && refused.label === label;
    refused = { id, label };
    await call("PUT", example(id, "label") + (again ? "?accept_outliers=true" : ""), { label });
    answered.push(id);
    return `${id}: ${label}`;
  });

const skip = withRow(async ({ id }) => {
  await release(id);
  return `${id} skipped`;
});

const decline = withRow(async ({ id }) => {
  await call("POST", example(id, "decline"));
  return `${id} declined: it costs nothing`;
});

const undo = () =>
  act(async () => {
    const id = answered.pop();
    if (id === undefined) return "Nothing to undo.";
    await call("DELETE", example(id, "label"));
    first = id;
    return `${id} waits again`;
  });

function send(event) {
  event.preventDefault();
  if (!row) return;
  try {
    answer(readField(state.classes));
  } catch (error) {
    say(error.message, true);
  }
}

function drawAnswers() {
  const { classes } = state;
  find("choices").replaceChildren(...(classes ? drawClasses(classes, answer) : drawNumberField(state.label_range)));
  const classKeys = classes ? [...keysOf(classes)].map(([key, name]) => [key, () => answer(name)]) : [];
  const home = () => location.assign(`/streams/${encodeURIComponent(stream)}`);
  // Letters are no part of a number, so that they are commands also in its field.
  onKeys({ ...Object.fromEntries(classKeys), s: skip, d: decline, u: undo, p: showPrediction, b: home },
    (key) => !classes && /^[sdupb?]$/.test(key));
  find("answer").addEventListener("submit", send);
}

// Looks for a row when none is shown.
async function watch() {
  if (busy) return;
  busy = true;
  try {
    if (!row) show(await next());
    await refresh();
  } finally {
    busy = false;
  }
}

async function start() {
  await refreshOrExplain();
  person = await whoLabels();
  drawAnswers();
  setInterval(() => row && !busy && lease(1).catch(() => {}), (1000 * 60 * MINUTES) / 3);
  repeat(SECONDS, watch);
}

async function refreshOrExplain() {
  try {
    await refresh();
  } catch (error) {
    write("row-id", error.message);
    find("answer").hidden = true;
    throw error;
  }
}

start().catch((error) => say(error.message, true));
