// The dialog that deletes a stream, after its name is typed.

import { call, may, path, stream } from "./api.js";
import { count, find } from "./dom.js";

async function remove(event) {
  event.preventDefault();
  if (find("confirmed").value.trim() !== stream) return;
  find("delete-now").disabled = true;
  find("delete-refused").textContent = "";
  try {
    await call("DELETE", path(stream));
    location.assign("/");
  } catch (error) {
    find("delete-refused").textContent = error.message;
    find("delete-now").disabled = false;
  }
}

// `stateOf` returns the displayed state.
export function offerDeletion(stateOf) {
  if (!may.has("admin")) return;
  const [dialog, confirmed] = [find("deletion"), find("confirmed")];
  find("delete").addEventListener("click", () => {
    const { rows, told } = stateOf();
    find("deletion-words").textContent = `${count(rows, "row")}, ${count(told, "label")} and the model are removed from the store.`;
    confirmed.value = "";
    find("delete-now").disabled = true;
    dialog.showModal();
  });
  confirmed.addEventListener("input", () => {
    find("delete-now").disabled = confirmed.value.trim() !== stream;
  });
  find("keep").addEventListener("click", () => dialog.close());
  find("delete-form").addEventListener("submit", remove);
}
