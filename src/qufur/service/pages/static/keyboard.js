// Keyboard shortcuts. Every shortcut is also a button: data-press="s".

import { find } from "./dom.js";

const isField = (element) => element.matches("input:not([type=radio], [type=checkbox]), textarea, select");

// `actions` maps keys to functions. `inFields` returns whether a key also works while a field has the focus.
export function onKeys(actions, inFields = () => false) {
  const all = { "?": () => find("help").showModal(), ...actions };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    const inField = isField(event.target);
    if (event.key === "Escape" && inField) event.target.blur();
    if (!Object.hasOwn(all, event.key) || (inField && !inFields(event.key, event.target))) return;
    event.preventDefault();
    if (!event.repeat || event.key.startsWith("Arrow")) all[event.key]();
  });
  document.addEventListener("click", (event) => {
    const key = event.target.closest("[data-press]")?.dataset.press;
    if (key !== undefined) all[key]?.();
  });
}
