// DOM elements and formatted text. Text is inserted as text, never as HTML.

export const find = (id) => document.getElementById(id);

export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== false && value != null) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child != null));
  return element;
}

// Writes only changed text, so that nothing flickers and a selection stays.
export function write(id, text) {
  const element = find(id);
  if (element.textContent !== text) element.textContent = text;
}

let quiet;
export function say(text, refused = false) {
  const message = find("message");
  message.textContent = text;
  message.classList.toggle("refused", refused);
  clearTimeout(quiet);
  if (text) quiet = setTimeout(() => say(""), refused ? 10000 : 4000);
}

// Groups of digits are separated by a narrow space: many readers take a comma for a decimal mark.
const grouped = (value, options) => value.toLocaleString("en", options).replaceAll(",", "\u202f").replace("-", "−");

export const whole = (value) => grouped(Math.round(value));

export function number(value) {
  if (value == null) return "–";
  if (Number.isInteger(value) && Math.abs(value) < 1e9) return grouped(value);
  const size = Math.abs(value);
  if (size >= 1e6 || size < 1e-4) return value.toExponential(2).replace("-", "−").replace("e-", "e−");
  return grouped(Number(value.toPrecision(4)), { maximumFractionDigits: 8 });
}

export const count = (many, one, more = `${one}s`) => `${whole(many)} ${many === 1 ? one : more}`;

export const percent = (share) => `${Number((100 * share).toPrecision(2))} %`;

export function age(seconds) {
  if (seconds == null) return "";
  const units = [[86400, "day"], [3600, "hour"], [60, "minute"], [1, "second"]];
  const [size, name] = units.find(([size]) => seconds >= size) ?? [1, "second"];
  return count(Math.floor(seconds / size), name);
}

