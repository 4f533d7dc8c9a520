// The rows that one person holds, and calls of /v1 that answer them. Nothing here draws.
//
// The row after the shown one is leased ahead, so that it can be shown while an answer is on its way. Answers
// are sent one after the other, in the order in which they were given.

import { call, path, stream } from "./api.js";

const MINUTES = 3;
const AHEAD = 1; // rows leased beyond the shown one
const SCARCE = 3; // with so few rows waiting, none is leased ahead: others can label them
const OUTLIERS = "accept_outliers";
const KEPT = `answered ${stream}`;

const labels = (...parts) => path(stream, "labels", ...parts);

export class Queue {
  waiting = 0; // rows that anybody could label
  #shown = null; // the id of the shown row
  #ready = []; // rows to be shown next
  #leaving = new Set(); // ids whose answer is on its way
  #sending = Promise.resolve(); // settled when all answers have been sent
  #leasing = Promise.resolve();
  #outlier = null; // the label that was refused as an outlier
  // Own answers that can be undone, also after the page was loaded again.
  #answered = JSON.parse(sessionStorage.getItem(KEPT) ?? "[]");

  constructor(person) {
    this.person = person;
    setInterval(() => this.#lease(0).catch(() => {}), (1000 * 60 * MINUTES) / 3);
  }

  // The next row if there is one at hand, or null; it is the shown one then.
  take() {
    const row = this.#ready.shift() ?? null;
    this.#shown = row?.id ?? null;
    return row;
  }

  async next() {
    if (!this.#ready.length) await this.#lease(1);
    return this.take();
  }

  // Leases rows beyond the shown one, if there are plenty.
  async prefetch() {
    if (this.#ready.length < AHEAD && this.waiting > SCARCE) await this.#lease(AHEAD);
  }

  // Puts back a row to be shown next, after those that were refused.
  putBack(row) {
    this.#ready.splice(this.#ready.filter(({ trouble }) => trouble).length, 0, row);
    if (this.#shown === row.id) this.#shown = null;
  }

  // A label that was refused as an outlier and is sent once more is meant.
  answer({ id }, label) {
    return this.#send(id, async () => {
      const again = this.#outlier?.id === id && this.#outlier.label === label;
      try {
        await call("POST", labels() + (again ? `?${OUTLIERS}=true` : ""), [{ id, label }]);
      } catch (error) {
        if (!error.message.includes(OUTLIERS)) throw error;
        this.#outlier = { id, label };
        error.message = `${label} is far from other labels. If it is right, send it once more.`;
        throw error;
      }
      this.#remember([...this.#answered, id]);
    });
  }

  skip({ id }) {
    const body = { person: this.person, ids: [id] };
    return this.#send(id, () => call("POST", path(stream, "queue", "release"), body));
  }

  decline({ id }) {
    return this.#send(id, () => call("POST", labels("decline"), { id }));
  }

  // Removes the last own label and makes its row the next one; returns its id, undefined if there is none.
  async undo() {
    await this.#sending;
    const id = this.#answered.at(-1);
    if (id === undefined) return undefined;
    const forget = () => this.#remember(this.#answered.slice(0, -1));
    await call("POST", labels("remove"), { id }).catch((error) => {
      if ([404, 409, 410].includes(error.status)) forget();
      throw error;
    });
    forget();
    await this.#lease(1, [id]);
    const place = this.#ready.findIndex((row) => row.id === id);
    if (place > 0) this.#ready.unshift(...this.#ready.splice(place, 1));
    return id;
  }

  #send(id, work) {
    this.#leaving.add(id);
    const done = this.#sending.then(work).finally(() => this.#leaving.delete(id));
    this.#sending = done.catch(() => {});
    return done;
  }

  #remember(answered) {
    this.#answered = answered;
    sessionStorage.setItem(KEPT, JSON.stringify(answered));
  }

  #lease(more, ids = []) {
    const done = this.#leasing.then(() => this.#leaseNow(more, ids));
    this.#leasing = done.catch(() => {});
    return done;
  }

  // Keeps the rows that this person holds, and leases more; those with these ids are leased first.
  async #leaseNow(more, ids) {
    const leaving = new Set(this.#leaving);
    const held = this.#ready.length + leaving.size + (this.#shown === null ? 0 : 1);
    if (held + more === 0) return;
    const body = { person: this.person, count: held + more, minutes: MINUTES, ids };
    const { rows, waiting } = await call("POST", path(stream, "queue", "lease"), body);
    this.waiting = waiting;
    const there = new Map(rows.map((row) => [row.id, row]));
    // A row whose answer was on its way when this was asked for may be in it, though it is answered by now.
    [...leaving, ...this.#leaving, this.#shown].forEach((id) => there.delete(id));
    const kept = this.#ready.filter(({ id, trouble }) => trouble || there.has(id));
    kept.forEach(({ id }) => there.delete(id));
    this.#ready = [...kept, ...there.values()];
  }
}
