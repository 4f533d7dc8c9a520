// The label page: one row after the other, answered from the keyboard.

import { drawClasses, drawNumberField, keysOf, readClass } from "./answers.js";
import { call, may, path, stream } from "./api.js";
import { budgetOf, fill } from "./budget.js";
import { showDemo } from "./demo.js";
import { count, find, make, number, say, write } from "./dom.js";
import { onKeys } from "./keyboard.js";
import { repeat } from "./live.js";
import { whoLabels } from "./person.js";
import { Queue } from "./queue.js";
import { drawRow } from "./row.js";
import { choosesReading, clearReading, readNumber, watchField } from "./typed.js";

const SECONDS = 2;
const SETTLED = [404, 409, 410]; // the row no longer exists, or another annotator labelled it

let queue;
let state;
let row = null; // the displayed row
let awaited = ""; // the operation during which keys are ignored, as text; empty if there is none
let unused = ""; // message about a key pressed during such an operation

function show(next) {
  const { trouble, draft = "" } = next ?? {};
  row = next;
  find("row").classList.toggle("empty", !row);
  find("choices").hidden = !row;
  write("row-id", row ? title(row.id) : queue.waiting ? "No rows for you to label" : "No rows to label");
  write("why", row ? row.why ?? "" : whyNothing());
  find("content").replaceChildren(...(row ? [drawRow(row, state.columns)] : []));
  hidePrediction();
  clearReading();
  const field = find("field");
  if (field) field.value = draft;
  if (row && !state.classes) field.focus();
  if (!trouble) return;
  field?.select();
  say(trouble, true);
  delete row.trouble;
}

const title = (id) => (/^row\b/i.test(id) ? id : `Row ${id}`);

function whyNothing() {
  if (queue.waiting) return `Other annotators are labelling the remaining ${count(queue.waiting, "row")}.`;
  return state.left === 0 ? "The budget is spent." : "New rows appear here automatically.";
}

// Annotators tend to agree with a prediction that they see.
function hidePrediction() {
  find("prediction").replaceChildren("prediction ", make("kbd", {}, "p"));
}

function showPrediction() {
  if (!row) return;
  const { prediction } = row;
  const text = typeof prediction === "number" ? number(prediction) : String(prediction ?? "not available yet");
  find("prediction").replaceChildren("predicts ", make("strong", {}, text));
}

async function refresh() {
  state = await call("GET", path(stream));
  const { words, share, bar } = budgetOf(state);
  const waiting = `${count(queue?.waiting ?? state.outstanding, "row")} pending`;
  write("budget-words", [words, share, waiting].filter(Boolean).join(" · "));
  fill(find("budget-bar"), bar);
}

// A key that is pressed while no row can be answered is ignored, and the page says so.
function isHeldUp() {
  if (!awaited) return false;
  unused = "A key pressed before the row appeared was ignored.";
  say(`${awaited}. The key was ignored.`, true);
  return true;
}

async function hold(operation, work) {
  awaited = operation;
  find("row").setAttribute("aria-busy", "true");
  find("field")?.toggleAttribute("readonly", true);
  try {
    return await work();
  } finally {
    awaited = "";
    find("row").setAttribute("aria-busy", "false");
    find("field")?.toggleAttribute("readonly", false);
  }
}

// Shows the next row: immediately if it was leased ahead.
async function advance() {
  const next = queue.take();
  if (next) show(next);
  else {
    row = null;
    write("row-id", "Loading the next row …");
    write("why", "");
    find("content").replaceChildren();
    show(await hold("Loading the next row", () => queue.next()));
  }
  queue.prefetch().catch(() => {});
}

// Sends an answer to the shown row, and shows the next one meanwhile.
async function leave(send, done) {
  if (isHeldUp() || !row) return;
  const left = row;
  unused = "";
  left.draft = find("field")?.value ?? "";
  const sent = send(left);
  advance().catch((error) => say(error.message, true));
  try {
    await sent;
    say([done(left), unused].filter(Boolean).join(". "), unused !== "");
  } catch (error) {
    comeBack(left, error);
  }
  refresh().catch(() => {});
}

const answer = (label) => leave((left) => queue.answer(left, label), ({ id }) => `${id}: ${label}`);
const skip = () => leave((left) => queue.skip(left), ({ id }) => `${id} skipped`);
const decline = () => leave((left) => queue.decline(left), ({ id }) => `${id} declined at no cost`);

// Shows a row again whose answer was rejected. A dialog comes first: a key meant for the displayed row must not
// answer the rejected one.
function comeBack(left, { status, message }) {
  if (SETTLED.includes(status)) return say(message, true);
  left.trouble = message;
  queue.putBack(left);
  if (awaited) return; // the rejected row is shown next
  if (!row) return advance();
  write("refused-title", `${title(left.id)} was not saved`);
  write("refused-words", message);
  if (!find("came-back").open) find("came-back").showModal();
}

function goBack() {
  row.draft = find("field")?.value ?? "";
  queue.putBack(row);
  advance();
}

async function undo() {
  if (isHeldUp()) return;
  try {
    const id = await hold("Removing the last label", () => queue.undo());
    if (id === undefined) return say("Nothing to undo.");
    if (row) {
      row.draft = find("field")?.value ?? "";
      const undone = queue.take();
      queue.putBack(row);
      show(undone);
    } else await advance();
    say(`${id}: label removed, the row is pending again`);
  } catch (error) {
    say(error.message, true);
  }
  refresh().catch(() => {});
}

async function send(event) {
  event.preventDefault();
  if (isHeldUp() || !row) return;
  const answered = row;
  say("");
  try {
    if (state.classes) answer(readClass(state.classes));
    else {
      const label = await hold("Reading the number", () => readNumber(answer));
      if (label !== undefined && row === answered) answer(label);
    }
  } catch (error) {
    say(error.message, true);
  }
}

function drawAnswers({ classes, label_range: range }) {
  find("choices").replaceChildren(...(classes ? drawClasses(classes, answer) : drawNumberField(range)));
  find("answer").addEventListener("submit", send);
  find("came-back").addEventListener("close", goBack);
  const ownKeys = [...keysOf(classes ?? [])].map(([key, name]) => [key, () => answer(name)]);
  const leavePage = () => location.assign(may.has("read") ? `/streams/${encodeURIComponent(stream)}` : "/");
  const seek = () => find("field")?.focus();
  const actions = { ...Object.fromEntries(ownKeys), s: skip, d: decline, u: undo, p: showPrediction, b: leavePage, "/": seek };
  if (!classes) typeNumbers();
  // Numbers have no letters, so letters are commands also in the number field.
  onKeys(actions, (key) => !classes && /^[sdupb?]$/.test(key));
}

function typeNumbers() {
  watchField();
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    if (choosesReading(event.key)) event.preventDefault();
    else if (event.key === "Escape") clearReading();
    else if (/^[-+.,\d]$/.test(event.key) && !isHeldUp()) find("field").focus(); // typing a number focuses the field
  });
}

async function watch() {
  if (!row && !awaited) {
    show(await hold("Loading rows", () => queue.next()));
    queue.prefetch().catch(() => {});
  }
  await refresh();
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
  find("row").setAttribute("aria-busy", "false");
  repeat(SECONDS, watch);
}

start();
