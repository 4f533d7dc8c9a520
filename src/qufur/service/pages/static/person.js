// Who labels. A lease is held in this name, so that no two people get the same row.

import { find } from "./dom.js";

// Two windows with one key are told apart: each has rows of its own.
function windowNumber() {
  const kept = sessionStorage.getItem("window") ?? crypto.getRandomValues(new Uint32Array(1))[0].toString(36);
  sessionStorage.setItem("window", kept);
  return kept;
}

function ask() {
  const dialog = find("ask-name");
  dialog.addEventListener("cancel", (event) => event.preventDefault());
  dialog.showModal();
  return new Promise((resolve) =>
    dialog.addEventListener("close", () => resolve(find("own-name").value.trim() || "somebody"), { once: true }));
}

export async function whoLabels() {
  const key = document.querySelector('meta[name="person"]').content;
  const name = key || localStorage.getItem("name") || (await ask());
  if (!key) localStorage.setItem("name", name);
  find("person").textContent = name;
  return `${name}/${windowNumber()}`;
}
