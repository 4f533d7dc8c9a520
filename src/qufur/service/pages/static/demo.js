// The switch of `qufur serve --demo`: questions are answered by themselves, or left to people.

import { call, stream } from "./api.js";
import { find, make, say } from "./dom.js";

async function turn(event) {
  const { checked } = event.target;
  try {
    await call("POST", "/demo/annotator", { on: checked });
    say(checked ? "The simulated annotator answers." : "Questions are left to you.");
  } catch (error) {
    event.target.checked = !checked;
    say(error.message, true);
  }
}

// Where there is no demonstration, nothing is shown.
export async function showDemo() {
  const demo = await call("GET", "/demo").catch(() => null);
  if (demo?.stream !== stream) return;
  const box = make("input", { type: "checkbox", id: "annotator" });
  box.checked = demo.annotator;
  box.addEventListener("change", turn);
  find("demo").replaceChildren(make("label", {}, box, ` Demonstration, ${demo.data}: a simulated annotator answers`));
}
