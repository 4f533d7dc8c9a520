// Work that is done again and again while somebody looks.

import { say } from "./dom.js";

const PATIENCE = 30;

const seen = () =>
  new Promise((resolve) => {
    if (!document.hidden) return resolve();
    const wake = () => document.hidden || (document.removeEventListener("visibilitychange", wake), resolve());
    document.addEventListener("visibilitychange", wake);
  });

// Calls `work`, waits so many seconds, and so on; longer after failures. It ends when `work` returns false.
export async function repeat(seconds, work) {
  let pause = seconds;
  for (;;) {
    await seen();
    try {
      if ((await work()) === false) return;
      if (pause > seconds) say("The service answers again.");
      pause = seconds;
    } catch (error) {
      say(error.message, true);
      pause = Math.min(2 * pause, PATIENCE);
    }
    await new Promise((resolve) => setTimeout(resolve, 1000 * pause));
  }
}
