// Repeats work while the page is visible.

import { say } from "./dom.js";

const MAX_PAUSE_SECONDS = 30;

const isVisible = () =>
  new Promise((resolve) => {
    if (!document.hidden) return resolve();
    const wake = () => {
      if (document.hidden) return;
      document.removeEventListener("visibilitychange", wake);
      resolve();
    };
    document.addEventListener("visibilitychange", wake);
  });

// Calls `work` every `seconds` seconds, less often after failures, until it returns false.
export async function repeat(seconds, work) {
  let pause = seconds;
  for (;;) {
    await isVisible();
    try {
      if ((await work()) === false) return;
      if (pause > seconds) say("The service responds again.");
      pause = seconds;
    } catch (error) {
      say(error.message, true);
      pause = Math.min(2 * pause, MAX_PAUSE_SECONDS);
    }
    await new Promise((resolve) => setTimeout(resolve, 1000 * pause));
  }
}
