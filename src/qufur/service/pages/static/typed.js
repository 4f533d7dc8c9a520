// Typed numbers. The service reads them by the rules for tables, and the page shows the result.

import { call, path, stream } from "./api.js";
import { find, make } from "./dom.js";

const PAUSE = 120; // milliseconds without a key before a number is read while it is typed
const KEPT = `decimal mark ${stream}`;
const MARKS = { ".": "point", ",": "comma" };

let choices = []; // actions of the keys 1 and 2 while the page asks for a reading
let last = { text: "", readings: Promise.resolve([]) };

function read(text) {
  if (text !== last.text) {
    const readings = call("POST", path(stream, "labels", "parse"), { text }).then((result) => result.readings);
    last = { text, readings };
    readings.catch(() => { last = { text: "", readings: Promise.resolve([]) }; });
  }
  return last.readings;
}

const typed = () => find("field").value.trim();

// The intended reading: the only one, or the one with the decimal mark chosen earlier.
const intended = (readings) =>
  readings.length > 1 ? readings.find(({ decimal }) => decimal === sessionStorage.getItem(KEPT)) : readings[0];

// Returns the number in the field. If it has two readings, asks which is intended and passes it to `answer`.
export async function readNumber(answer) {
  const text = typed();
  const readings = await read(text);
  if (!readings.length) throw new Error(`Enter a number, such as 1500 or 3.2${text ? `; got ${text}` : ""}.`);
  const reading = intended(readings);
  if (!reading) ask(text, readings, answer);
  return reading?.label;
}

function ask(text, readings, answer) {
  const choose = ({ label, decimal }) => {
    sessionStorage.setItem(KEPT, decimal);
    answer(label);
  };
  const buttons = readings.map((reading, index) => {
    const button = make("button", { type: "button", class: "class" }, make("kbd", {}, String(index + 1)),
      make("span", {}, make("strong", {}, String(reading.label)), make("span", { class: "note" }, `${MARKS[reading.decimal]} as decimal mark`)));
    button.addEventListener("click", () => choose(reading));
    return button;
  });
  find("reading").replaceChildren(
    make("p", {}, make("strong", {}, text), " has two readings. Which number do you mean?"),
    make("div", { class: "classes" }, ...buttons),
    make("p", { class: "note" }, "Later numbers in this window are read the same way."));
  choices = readings.map((reading) => () => choose(reading));
}

// Chooses a reading by key; returns whether the key was one of the choices.
export function choosesReading(key) {
  const choice = choices[Number(key) - 1];
  choice?.();
  return choice !== undefined;
}

// Removes the note about the number in the field.
export function clearReading() {
  choices = [];
  find("reading").replaceChildren();
}

async function show() {
  const text = typed();
  const readings = text ? await read(text).catch(() => []) : [];
  if (text !== typed() || choices.length || !readings.length) return;
  const reading = intended(readings);
  if (!reading) return find("reading").replaceChildren(make("p", { class: "note" }, "This number has two readings: press Enter to choose one."));
  if (String(reading.label) === text) return;
  const nodes = ["read as ", make("strong", {}, String(reading.label))];
  if (readings.length > 1) {
    const other = make("button", { type: "button", class: "quiet small" }, "change");
    other.addEventListener("click", () => {
      sessionStorage.removeItem(KEPT);
      clearReading();
      find("answer").requestSubmit();
    });
    nodes.push(`, with a ${MARKS[reading.decimal]} as decimal mark `, other);
  }
  find("reading").replaceChildren(make("p", { class: "note" }, ...nodes));
}

let pause;
export function watchField() {
  find("field").addEventListener("input", () => {
    clearReading();
    clearTimeout(pause);
    pause = setTimeout(show, PAUSE);
  });
}
