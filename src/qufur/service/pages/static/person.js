// Name of the annotator. Leases are held under this name, so that no two annotators get the same row.

import { find } from "./dom.js";

// Two windows with the same key are distinguished: each leases its own rows.
function windowNumber() {
  const id = sessionStorage.getItem("window") ?? crypto.getRandomValues(new Uint32Array(1))[0].toString(36);
  sessionStorage.setItem("window", id);
  return id;
}

function ask() {
  const dialog = find("ask-name");
  dialog.addEventListener("cancel", (event) => event.preventDefault());
  dialog.showModal();
  return new Promise((resolve) =>
    dialog.addEventListener("close", () => resolve(find("own-name").value.trim() || "annotator"), { once: true }));
}

export async function whoLabels() {
  const key = document.querySelector('meta[name="person"]').content;
  const name = key || localStorage.getItem("name") || (await ask());
  if (!key) localStorage.setItem("name", name);
  find("person").textContent = name;
  return `${name}/${windowNumber()}`;
}
