// Rows leased to one annotator, and the API calls that answer them. Does not touch the DOM.
//
// The row after the displayed one is leased ahead, so that it can be shown while an answer is being sent. Answers
// are sent one after the other, in the order in which the annotator gave them.

import { call, path, stream } from "./api.js";

const MINUTES = 3;
const AHEAD = 1; // rows leased beyond the shown one
const SCARCE = 3; // with at most this many rows pending, none is leased ahead: other annotators can label them
const OUTLIERS = "accept_outliers";
const KEPT = `answered ${stream}`;

const labels = (...parts) => path(stream, "labels", ...parts);

export class Queue {
  waiting = 0; // pending rows of the stream
  #shown = null; // the id of the shown row
  #ready = []; // rows to be shown next
  #leaving = new Set(); // ids whose answer is being sent
  #sending = Promise.resolve(); // settled when all answers have been sent
  #leasing = Promise.resolve();
  #outlier = null; // the label that was rejected as an outlier
  // Answers of this annotator that can be undone, also after a reload of the page.
  #answered = JSON.parse(sessionStorage.getItem(KEPT) ?? "[]");

  constructor(person) {
    this.person = person;
    setInterval(() => this.#lease(0).catch(() => {}), (1000 * 60 * MINUTES) / 3);
  }

  // Returns the next leased row, which becomes the displayed one, or null.
  take() {
    const row = this.#ready.shift() ?? null;
    this.#shown = row?.id ?? null;
    return row;
  }

  async next() {
    if (!this.#ready.length) await this.#lease(1);
    return this.take();
  }

  // Leases rows beyond the shown one, if enough rows are pending.
  async prefetch() {
    if (this.#ready.length < AHEAD && this.waiting > SCARCE) await this.#lease(AHEAD);
  }

  // Puts back a row to be shown next, after rejected rows.
  putBack(row) {
    this.#ready.splice(this.#ready.filter(({ trouble }) => trouble).length, 0, row);
    if (this.#shown === row.id) this.#shown = null;
  }

  // A label that was rejected as an outlier is accepted when it is sent a second time.
  answer({ id }, label) {
    return this.#send(id, async () => {
      const again = this.#outlier?.id === id && this.#outlier.label === label;
      try {
        await call("POST", labels() + (again ? `?${OUTLIERS}=true` : ""), [{ id, label }]);
      } catch (error) {
        if (!error.message.includes(OUTLIERS)) throw error;
        this.#outlier = { id, label };
        error.message = `${label} is far from other labels. If it is correct, send it again.`;
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

  // Removes the annotator's last label and makes its row the next one. Returns its id, or undefined if there is none.
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
    const index = this.#ready.findIndex((row) => row.id === id);
    if (index > 0) this.#ready.unshift(...this.#ready.splice(index, 1));
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

  // Renews the leases of this annotator and leases more rows, those with these ids first.
  async #leaseNow(more, ids) {
    const leaving = new Set(this.#leaving);
    const held = this.#ready.length + leaving.size + (this.#shown === null ? 0 : 1);
    if (held + more === 0) return;
    const body = { person: this.person, count: held + more, minutes: MINUTES, ids };
    const { rows, waiting } = await call("POST", path(stream, "queue", "lease"), body);
    this.waiting = waiting;
    const leased = new Map(rows.map((row) => [row.id, row]));
    // The response may contain a row whose answer was being sent at the time of the request.
    [...leaving, ...this.#leaving, this.#shown].forEach((id) => leased.delete(id));
    const kept = this.#ready.filter(({ id, trouble }) => trouble || leased.has(id));
    kept.forEach(({ id }) => leased.delete(id));
    this.#ready = [...kept, ...leased.values()];
  }
}
