// Answer controls: a key for each class, or an input field and Enter.

import { find, make, number } from "./dom.js";

const MAX_KEYS = 9;

// Classes that are digits use their own keys; other classes are numbered from 1.
export function keysOf(classes) {
  const names = classes.map(String);
  if (names.every((name) => /^\d$/.test(name))) return new Map(names.map((name, index) => [name, classes[index]]));
  return new Map(classes.slice(0, MAX_KEYS).map((name, index) => [String(index + 1), name]));
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
  return classes.length > MAX_KEYS && keys.size < classes.length ? [box, drawSearch(classes)] : [box];
}

function drawSearch(classes) {
  const names = make("datalist", { id: "class-names" }, ...classes.map((name) => make("option", { value: name })));
  return make("div", { class: "field" }, make("label", { for: "field" }, "Class"),
    make("input", { id: "field", list: "class-names", placeholder: "class name, then Enter", autocomplete: "off" }),
    make("button", { class: "primary" }, "Send"), names);
}

export function drawNumberField(range) {
  const hint = range ? `from ${number(range[0])} to ${number(range[1])}` : "a number";
  return [make("div", { class: "field" }, make("label", { for: "field" }, "Label"),
    make("input", { id: "field", inputmode: "decimal", autocomplete: "off", placeholder: hint, "aria-describedby": "reading" }),
    make("button", { class: "primary" }, "Send ", make("kbd", {}, "Enter")))];
}

// The class whose name is in the field; throws if there is no such class.
export function readClass(classes) {
  const text = find("field").value.trim();
  const match = classes.find((name) => String(name).toLowerCase() === text.toLowerCase());
  if (match === undefined) throw new Error(text ? `There is no class ${text}.` : "Enter the name of a class.");
  return match;
}
