// Numbers typed by a person: the service reads them, by the rules for tables, and the page shows what it read.

import { call, path, stream } from "./api.js";
import { find, make } from "./dom.js";

const PAUSE = 120; // milliseconds without a key before a number is read while it is typed
const KEPT = `decimal mark ${stream}`;
const MARKS = { ".": "point", ",": "comma" };

let choices = []; // what the keys 1 and 2 do while the page asks
let last = { text: "", readings: Promise.resolve([]) };

function read(text) {
  if (text !== last.text) {
    const readings = call("POST", path(stream, "labels", "parse"), { text }).then((found) => found.readings);
    last = { text, readings };
    readings.catch(() => { last = { text: "", readings: Promise.resolve([]) }; });
  }
  return last.readings;
}

const typed = () => find("field").value.trim();

// The reading that is meant: the only one, or that with the decimal mark chosen before.
const meant = (readings) =>
  readings.length > 1 ? readings.find(({ decimal }) => decimal === sessionStorage.getItem(KEPT)) : readings[0];

// Returns the number in the field. If it can be read in two ways, asks for one, and gives that to `answer`.
export async function readNumber(answer) {
  const text = typed();
  const readings = await read(text);
  if (!readings.length) throw new Error(`A number is wanted, such as 1500 or 3.2${text ? `; got ${text}` : ""}.`);
  const reading = meant(readings);
  if (!reading) ask(text, readings, answer);
  return reading?.label;
}

function ask(text, readings, answer) {
  const choose = ({ label, decimal }) => {
    sessionStorage.setItem(KEPT, decimal);
    answer(label);
  };
  const buttons = readings.map((reading, place) => {
    const button = make("button", { type: "button", class: "class" }, make("kbd", {}, String(place + 1)),
      make("span", {}, make("strong", {}, String(reading.label)), make("span", { class: "note" }, `${MARKS[reading.decimal]} as decimal mark`)));
    button.addEventListener("click", () => choose(reading));
    return button;
  });
  find("reading").replaceChildren(
    make("p", {}, make("strong", {}, text), " can be read in two ways. Which number is it?"),
    make("div", { class: "classes" }, ...buttons),
    make("p", { class: "note" }, "It is asked once: later numbers in this window are read the same way."));
  choices = readings.map((reading) => () => choose(reading));
}

// Whether a key chose one of the readings that are asked about.
export function choosesReading(key) {
  const choice = choices[Number(key) - 1];
  choice?.();
  return choice !== undefined;
}

// Removes what is said of the number in the field.
export function clearReading() {
  choices = [];
  find("reading").replaceChildren();
}

async function show() {
  const text = typed();
  const readings = text ? await read(text).catch(() => []) : [];
  if (text !== typed() || choices.length || !readings.length) return;
  const reading = meant(readings);
  if (!reading) return find("reading").replaceChildren(make("p", { class: "note" }, "Enter asks which number it is."));
  if (String(reading.label) === text) return;
  const nodes = ["is read as ", make("strong", {}, String(reading.label))];
  if (readings.length > 1) {
    const other = make("button", { type: "button", class: "quiet small" }, "not so?");
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
