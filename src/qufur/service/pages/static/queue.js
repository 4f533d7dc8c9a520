// The rows that one person has, and what can be done with them: calls of /v1, nothing of the page.

import { call, path, stream } from "./api.js";

const MINUTES = 3;
const OUTLIERS = "accept_outliers";
const KEPT = `answered ${stream}`;

const example = (id, what) => path(stream, "examples", id, what);

function inWords(error) {
  if (error.message.includes(OUTLIERS)) error.message = "This is far from other labels. If it is right, send it once more.";
  throw error;
}

export class Queue {
  waiting = 0; // rows that anybody could label
  #held = 1; // rows that this person has
  #first = null; // a row to be had before others
  #sent = null; // the answer that was sent last
  // Own answers that can be undone, also after the page was loaded again.
  #answered = JSON.parse(sessionStorage.getItem(KEPT) ?? "[]");

  constructor(person) {
    this.person = person;
    setInterval(() => this.#held && this.#lease(this.#held).catch(() => {}), (1000 * 60 * MINUTES) / 3);
  }

  // The row to be shown now, or null.
  async next() {
    const first = this.#first;
    this.#first = null;
    const rows = first === null ? await this.#lease(1) : await this.#lease(2, [first]);
    return rows.find(({ id }) => id === first) ?? rows[0] ?? null;
  }

  // A label that was refused and is sent once more is meant.
  async answer({ id }, label) {
    const again = this.#sent?.id === id && this.#sent.label === label;
    this.#sent = { id, label };
    await call("PUT", example(id, "label") + (again ? `?${OUTLIERS}=true` : ""), { label }).catch(inWords);
    this.#remember([...this.#answered, id]);
  }

  skip({ id }) {
    return call("POST", path(stream, "queue", "release"), { person: this.person, ids: [id] });
  }

  decline({ id }) {
    return call("POST", example(id, "decline"));
  }

  // Takes the last own label back and returns its row's id; undefined if there is none.
  async undo() {
    const id = this.#answered.at(-1);
    if (id === undefined) return undefined;
    this.#remember(this.#answered.slice(0, -1));
    await call("DELETE", example(id, "label"));
    this.#first = id;
    return id;
  }

  #remember(answered) {
    this.#answered = answered;
    sessionStorage.setItem(KEPT, JSON.stringify(answered));
  }

  // The rows that this person has, and more up to so many; those with these ids are taken first.
  async #lease(count, ids = []) {
    const body = { person: this.person, count, minutes: MINUTES, ids };
    const { rows, waiting } = await call("POST", path(stream, "queue", "lease"), body);
    this.waiting = waiting;
    this.#held = rows.length;
    return rows;
  }
}
