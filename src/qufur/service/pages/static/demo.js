// The switch of `qufur serve --demo`: rows are labelled by a simulated annotator, or by people on the pages.

import { call, stream } from "./api.js";
import { find, make, say } from "./dom.js";

async function turn(event) {
  const { checked } = event.target;
  try {
    await call("POST", "/demo/annotator", { on: checked });
    say(checked ? "The simulated annotator labels the rows." : "The simulated annotator is off: label the rows yourself.");
  } catch (error) {
    event.target.checked = !checked;
    say(error.message, true);
  }
}

// Shows nothing on a stream without a demo.
export async function showDemo() {
  const demo = await call("GET", "/demo").catch(() => null);
  if (demo?.stream !== stream) return;
  const box = make("input", { type: "checkbox", id: "annotator" });
  box.checked = demo.annotator;
  box.addEventListener("change", turn);
  find("demo").replaceChildren(make("label", {}, box, ` Demo (${demo.data}): simulated annotator labels the rows`));
}
