"""Operations on streams by name, all called from the writer thread."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress
from typing import Any

import numpy as np

from qufur.errors import invalid
from qufur.service.config import StreamConfig, check_name
from qufur.service.errors import ConflictError, GoneError, NotFoundError
from qufur.service.examples import Rows, decode_label
from qufur.service.logs import log_event
from qufur.service.rebuild import load, offload_rows
from qufur.service.recorded_answers import AnswerBody, StoredExample, look_up
from qufur.service.snapshots import SnapshotSchedule, save_snapshot, trim_memory
from qufur.service.store import Store, Write
from qufur.service.store.events import Kind
from qufur.service.stream import Stream
from qufur.workbook import Workbook


class Service:
    """Streams of a store, in memory.

    Changes reach the store with `commit`. If that fails, `roll_back` discards them.

    Attributes
    ----------
    numbers
        Numbers of all streams, by name.
    loaded
        Streams in memory, by name.
    """

    def __init__(self, store: Store) -> None:
        self.store = store
        self.numbers = store.streams()
        self.loaded: dict[str, Stream] = {}
        self._new: dict[int, str] = {}
        # Answers since the last commit, with the number of their stream.
        self._answered: list[tuple[int, Rows, list[AnswerBody]]] = []
        self._schedule = SnapshotSchedule()

    def stream(self, name: str) -> Stream:
        """Return a stream, loaded on first use; raise `NotFoundError` if there is none of this name."""
        if name not in self.loaded:
            if name not in self.numbers:
                raise NotFoundError(f"There is no stream {ascii(name)[:80]}.")
            self.loaded[name] = load(self.store, self.numbers[name])
        return self.loaded[name]

    def load_all(self) -> None:
        """Load every stream and fit its fast experts again, so that no request waits for that."""
        for name in self.numbers:
            learner = self.stream(name).workbook.learner
            if learner.dim is not None:
                learner.predict(np.zeros((1, learner.dim)))

    # Changes of streams

    def create(self, config: StreamConfig, actor: str) -> tuple[Stream, bool]:
        """Create a stream; return it and whether it is new. The same configuration twice gives one stream."""
        if config.name in self.numbers:
            stream = self.stream(config.name)
            if stream.config != config:
                raise ConflictError(f"Stream {config.name!r} exists already, with a different configuration.")
            return stream, False
        stream = Stream.create(self._next_number, config, actor)
        return self._add(offload_rows(stream, self.store)), True

    def import_workbook(
        self, config: StreamConfig, workbook: Workbook, rows: dict[str, Any], actor: str
    ) -> Stream:
        """Create a stream from the workbook of a state file; `rows` are its pending rows by id."""
        check_name(config.name)
        if config.name in self.numbers:
            raise ConflictError(f"Stream {config.name!r} exists already.")
        return self._add(Stream.imported(self._next_number, config, workbook, rows, actor))

    @property
    def _next_number(self) -> int:
        return max(self.store.last_stream(), *self.numbers.values(), 0) + 1

    def _add(self, stream: Stream) -> Stream:
        self.loaded[stream.name] = stream
        self.numbers[stream.name] = stream.number
        self._new[stream.number] = stream.name
        return stream

    def ask(self, name: str, rows: Rows, actor: str) -> list[AnswerBody]:
        """Answer examples; a repeated example gets its stored answer."""
        stream = self.stream(name)
        with self._schedule.work(stream):
            is_seen = stream.workbook.seen_ids.seen(rows.ids).tolist()
            if not any(is_seen) and len(set(rows.ids)) == len(rows):
                return self._ask(stream, rows, actor)
            stored = self._stored_answers(stream, list(compress(rows.ids, is_seen)))
            parts = {id: part for id, (part, _) in stored.items()}
            new: list[int] = []
            for row, (id, part) in enumerate(zip(rows.ids, rows.parts, strict=True)):
                if id not in parts:
                    parts[id] = part
                    new.append(row)
                elif parts[id] != part:
                    text = f"Example {ascii(id)[:80]} exists already, with different content."
                    raise ConflictError(text)
            answers: dict[str, Any] = {id: answer for id, (_, answer) in stored.items()}
            if new:
                answers |= {answer.id: answer for answer in self._ask(stream, rows.at(new), actor)}
            return [answers[id] for id in rows.ids]

    def _ask(self, stream: Stream, rows: Rows, actor: str) -> list[AnswerBody]:
        answers = stream.ask(rows, actor)
        self._answered.append((stream.number, rows, answers))
        return answers

    def _uncommitted(self, stream: Stream) -> dict[str, StoredExample]:
        """Return the examples answered since the last commit, which are not in the store yet."""
        return {
            answer.id: StoredExample(part, answer)
            for number, rows, answers in self._answered
            if number == stream.number
            for part, answer in zip(rows.parts, answers, strict=True)
        }

    def _stored_answers(self, stream: Stream, ids: Sequence[str]) -> dict[str, StoredExample]:
        """Return the examples of earlier requests with their answers."""
        examples = self._examples(stream, ids)
        for id in ids:
            if id not in examples or examples[id].answer is None:
                raise GoneError(f"Example {ascii(id)[:80]} was erased, sent with its label, or imported.")
        return examples

    def _examples(self, stream: Stream, ids: Sequence[str]) -> dict[str, StoredExample]:
        """Return the examples that exist, committed or not."""
        recent = self._uncommitted(stream)
        uncommitted = {id: recent[id] for id in ids if id in recent}
        committed = [id for id in ids if id not in uncommitted]
        return uncommitted | look_up(self.store, stream.number, committed, stream.workbook.learner.model)

    def tell(
        self, name: str, labels: dict[str, float], actor: str, *, replace: bool, accept_outliers: bool
    ) -> dict[str, bool]:
        """Learn all labels or none; return which were new. The same label again changes nothing."""
        stream = self.stream(name)
        with self._schedule.work(stream):
            workbook, waiting = stream.workbook, stream.waiting
            new: dict[str, float] = {}
            for id, label in labels.items():
                before = workbook.labels.label(id)
                if before == label:
                    continue
                if before is not None and not replace:
                    old = decode_label(stream.config, before)
                    remedy = "?replace=true replaces it."
                    raise ConflictError(f"Example {id!r} has the label {old!r}. {remedy}")
                if before is None and id not in waiting:
                    raise self._not_pending(stream, id)
                new[id] = label
            if not accept_outliers and new:
                outlier = workbook.learner._first_outlier(list(new), np.array(list(new.values())))
                if outlier is not None:
                    remedy = "?accept_outliers=true accepts it."
                    raise invalid("label", "the request", outlier.allowed, outlier.received, remedy)
            if new:
                reopened = [id for id in new if id in stream.reopened]
                examples = self._examples(stream, reopened) if reopened else {}
                rows = {id: example.row for id, example in examples.items()}
                stream.tell(new, rows, actor, replace=replace)
            return {id: id in new for id in labels}

    def remove_label(self, name: str, id: str, actor: str) -> None:
        """Remove a label; it becomes pending again."""
        stream = self.stream(name)
        if id not in stream.workbook.labels:
            if id in stream.reopened:
                return
            raise self._not_pending(stream, id, "does not exist")
        if not self._was_asked(stream, id):
            raise ConflictError(f"Example {id!r} was sent with its label, or imported with a state file.")
        with self._schedule.work(stream):
            stream.remove_label(id, actor)

    def decline(self, name: str, id: str, actor: str) -> None:
        """Retract the query of a pending label."""
        stream = self.stream(name)
        if id not in stream.waiting:
            raise self._not_pending(stream, id)
        with self._schedule.work(stream):
            stream.decline([id], actor)

    def learn(self, name: str, rows: Rows, labels: Sequence[float], actor: str) -> int:
        """Learn examples with free labels; return the number of new ones."""
        stream = self.stream(name)
        with self._schedule.work(stream):
            is_seen = stream.workbook.seen_ids.seen(rows.ids).tolist()
            new = [row for row in range(len(rows)) if not is_seen[row]]
            for row, id in enumerate(rows.ids):
                if is_seen[row] and stream.workbook.labels.label(id) != labels[row]:
                    raise ConflictError(f"Example {id!r} exists already. Send its label to …/labels.")
            if len({rows.ids[row] for row in new}) < len(new):
                raise ConflictError("The request contains an id more than once.")
            if new:
                stream.learn(rows.at(new), np.array([labels[row] for row in new]), actor)
            return len(new)

    # Queries

    def _was_asked(self, stream: Stream, id: str) -> bool:
        """Return whether an example was sent without a label."""
        if id in self._uncommitted(stream):
            return True
        seq = self.store.find(stream.number, [id]).get(id)
        return seq is not None and self.store.event(stream.number, seq).kind != Kind.learned.value

    def _not_pending(self, stream: Stream, id: str, reason: str = "was not asked for") -> Exception:
        """Return the error for an example whose label is not pending, or for an unknown id."""
        if stream.workbook.seen_ids.seen([id]).any():
            return ConflictError(f"The label of example {ascii(id)[:80]} {reason}.")
        return NotFoundError(f"There is no example {ascii(id)[:80]}.")

    # The store

    def commit(self) -> None:
        """Write all changes to the store in one transaction."""
        changed = [stream for stream in self.loaded.values() if stream.unsaved]
        if changed:
            self.store.append([Write(s.number, s.unsaved, s.examples) for s in changed], self._new)
            for stream in changed:
                stream.unsaved, stream.examples = [], []
        self._new, self._answered = {}, []

    def record_points(self) -> None:
        """Record the points of all series that are due."""
        for stream in self.loaded.values():
            stream.record_point()

    def save_snapshots(self, *, all_changed: bool = False) -> None:
        """Save a snapshot of each stream that is due, or with `all_changed` of each that changed."""
        for stream in self.loaded.values():
            if self._schedule.is_due(stream) or (all_changed and self._schedule.changed(stream)):
                stream.record_point()
                save_snapshot(self.store, stream, self._schedule.take(stream))
                log_event("snapshot", stream=stream.name, events=stream.seq)
                trim_memory()

    def reload(self, name: str) -> Stream:
        """Discard a stream in memory and load it from its log."""
        with self._schedule.work(self.loaded.pop(name)):
            return self.stream(name)

    def drop(self, name: str) -> None:
        """Remove a deleted stream from memory."""
        self._schedule.forget(self.loaded.pop(name))
        del self.numbers[name]

    def roll_back(self) -> None:
        """Discard uncommitted changes: streams are loaded again on their next use."""
        self.loaded = {}
        self.numbers = {name: number for name, number in self.numbers.items() if number not in self._new}
        self._new, self._answered = {}, []
