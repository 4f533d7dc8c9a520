// How a person answers: a key for each class, or a field and Enter.

import { find, make, number } from "./dom.js";

const MOST = 9;

// Digits as classes have their own keys; others are counted from 1.
export function keysOf(classes) {
  const names = classes.map(String);
  if (names.every((name) => /^\d$/.test(name))) return new Map(names.map((name, place) => [name, classes[place]]));
  return new Map(classes.slice(0, MOST).map((name, place) => [String(place + 1), name]));
}

export function drawClasses(classes, answer) {
  const keys = new Map([...keysOf(classes)].map(([key, name]) => [name, key]));
  const buttons = classes.map((name) => {
    const key = keys.get(name);
    const button = make("button", { type: "button", class: "class" }, key ? make("kbd", {}, key) : null, String(name));
    button.addEventListener("click", () => answer(name));
    return button;
  });
  const box = make("div", { class: "classes" }, ...buttons);
  return classes.length > MOST && keys.size < classes.length ? [box, drawSearch(classes)] : [box];
}

function drawSearch(classes) {
  const names = make("datalist", { id: "class-names" }, ...classes.map((name) => make("option", { value: name })));
  return make("div", { class: "field" }, make("label", { for: "field" }, "Class"),
    make("input", { id: "field", list: "class-names", placeholder: "its name, then Enter", autocomplete: "off" }),
    make("button", { class: "primary" }, "Send"), names);
}

export function drawNumberField(range) {
  const hint = range ? `from ${number(range[0])} to ${number(range[1])}` : "a number";
  return [make("div", { class: "field" }, make("label", { for: "field" }, "Label"),
    make("input", { id: "field", inputmode: "decimal", autocomplete: "off", placeholder: hint, "aria-describedby": "reading" }),
    make("button", { class: "primary" }, "Send ", make("kbd", {}, "Enter")))];
}

// The class whose name is in the field; throws if there is none.
export function readClass(classes) {
  const text = find("field").value.trim();
  const found = classes.find((name) => String(name).toLowerCase() === text.toLowerCase());
  if (found === undefined) throw new Error(`There is no class ${text || "without a name"}.`);
  return found;
}
