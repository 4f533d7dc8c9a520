"""Streams by name, and what may be done with them: all of it by one thread, which is the writer's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from qufur.errors import invalid
from qufur.service.allocator import give_back
from qufur.service.decided import Said
from qufur.service.description import Description, check_name
from qufur.service.events import Kind
from qufur.service.examples import Rows, shown_label
from qufur.service.kept_snapshots import keep
from qufur.service.labelled_rows import keep_in_log
from qufur.service.loading import load
from qufur.service.logged import Logged, look_up
from qufur.service.logs import log_event
from qufur.service.refusals import ConflictError, GoneError, NotFoundError
from qufur.service.snapshots import Cadence
from qufur.service.store import Store, Write
from qufur.service.stream import Stream
from qufur.workbook import Workbook

if TYPE_CHECKING:
    from qufur.models.experts.fitting import Fitted


class Service:
    """The streams of a store, in memory.

    What changes one of them is not in the store until `commit`; if that fails, `forget` takes it back.
    """

    def __init__(self, store: Store) -> None:
        self.store = store
        self.numbers = store.streams()
        self._streams: dict[str, Stream] = {}
        self._new: dict[int, str] = {}
        # What was answered since the last commit, by the number of its stream.
        self._answered: list[tuple[int, Rows, list[Said]]] = []
        self._cadence = Cadence()

    def stream(self, name: str) -> Stream:
        """Return a stream, loaded if it has to be."""
        if name not in self._streams:
            if name not in self.numbers:
                raise NotFoundError(f"There is no stream {ascii(name)[:80]}.")
            self._streams[name] = load(self.store, self.numbers[name])
        return self._streams[name]

    def load_all(self) -> None:
        """Load every stream, and let its quick experts be fitted as they were: no request waits for that."""
        for name in self.numbers:
            learner = self.stream(name).book.learner
            if learner.dim is not None:
                learner.predict(np.zeros((1, learner.dim)))

    @property
    def loaded(self) -> Mapping[str, Stream]:
        """The streams that are in memory."""
        return self._streams

    # What changes a stream

    def create(self, description: Description, actor: str) -> tuple[Stream, bool]:
        """Return a stream, and whether it is new; the same description twice is one."""
        if description.name in self.numbers:
            stream = self.stream(description.name)
            if stream.description != description:
                raise ConflictError(f"There is a stream {description.name!r} already, and it is another one.")
            return stream, False
        stream = Stream.create(self._next_number, description, actor)
        return self._added(keep_in_log(stream, self.store)), True

    def take_in(self, description: Description, book: Workbook, rows: dict[str, Any], actor: str) -> Stream:
        """Return a stream that goes on with a workbook from elsewhere, and has the rows that wait there."""
        check_name(description.name)
        if description.name in self.numbers:
            raise ConflictError(f"There is a stream {description.name!r} already.")
        return self._added(Stream.imported(self._next_number, description, book, rows, actor))

    @property
    def _next_number(self) -> int:
        return max(self.store.last_stream(), *self.numbers.values(), 0) + 1

    def _added(self, stream: Stream) -> Stream:
        self._streams[stream.name] = stream
        self.numbers[stream.name] = stream.number
        self._new[stream.number] = stream.name
        return stream

    def ask(self, name: str, rows: Rows, actor: str) -> list[Said]:
        """Answer examples; one that was answered before has the same answer again."""
        stream = self.stream(name)
        with self._cadence.work(stream):
            known = stream.book.asked.known(rows.ids).tolist()
            if not any(known) and len(set(rows.ids)) == len(rows):
                return self._ask(stream, rows, actor)
            first = dict(zip(reversed(rows.ids), reversed(range(len(rows))), strict=True))
            fresh = [place for place, id in enumerate(rows.ids) if first[id] == place and not known[place]]
            again = [place for place in range(len(rows)) if known[place]]
            answers = self._repeated(stream, [rows.ids[place] for place in again])
            for place in again:
                _check_same(rows.ids[place], rows.parts[place], answers[rows.ids[place]][0])
            for place, id in enumerate(rows.ids):
                _check_same(id, rows.parts[place], rows.parts[first[id]])
            said = {id: one for id, (_, one) in answers.items()}
            if fresh:
                said |= {one.id: one for one in self._ask(stream, rows.at(fresh), actor)}
            return [said[id] for id in rows.ids]

    def _ask(self, stream: Stream, rows: Rows, actor: str) -> list[Said]:
        said = stream.ask(rows, actor)
        self._answered.append((stream.number, rows, said))
        return said

    def _just_answered(self, stream: Stream) -> dict[str, Logged]:
        """Return what was answered since the last commit, which is not in the store yet."""
        here = [(rows, said) for number, rows, said in self._answered if number == stream.number]
        return {
            one.id: Logged(part, one)
            for rows, said in here
            for part, one in zip(rows.parts, said, strict=True)
        }

    def _repeated(self, stream: Stream, ids: Sequence[str]) -> dict[str, tuple[bytes, Said]]:
        """Return examples that were answered before, as they were sent, and the answers."""
        logged = self._logged(stream, ids)
        found = {id: (one.part, one.said) for id, one in logged.items() if one.said is not None}
        for id in ids:
            if id not in found:
                raise GoneError(
                    f"Example {ascii(id)[:80]} was erased, or came with its label or a state file."
                )
        return found

    def _logged(self, stream: Stream, ids: Sequence[str]) -> dict[str, Logged]:
        """Return those of some examples that are known, in the store or not yet."""
        recent = self._just_answered(stream)
        found = {id: recent[id] for id in ids if id in recent}
        rest = [id for id in ids if id not in found]
        return found | look_up(self.store, stream.number, rest, stream.book.learner.model)

    def tell(
        self, name: str, labels: dict[str, float], actor: str, *, replace: bool, accept_outliers: bool
    ) -> dict[str, bool]:
        """Learn labels; return which were new. The same label twice is one, and all are learned or none."""
        stream = self.stream(name)
        with self._cadence.work(stream):
            book = stream.book
            new: dict[str, float] = {}
            for id, label in labels.items():
                before = book.told.label(id)
                if before == label:
                    continue
                if before is not None and not replace:
                    old = shown_label(stream.description, before)
                    remedy = "?replace=true takes the new one."
                    raise ConflictError(f"Example {id!r} has the label {old!r}. {remedy}")
                if before is None and id not in book.learner.queries and id not in stream.reopened:
                    raise self._unwanted(stream, id)
                new[id] = label
            if not accept_outliers and new:
                odd = book.learner.outlier(list(new), np.array(list(new.values())))
                if odd is not None:
                    remedy = "?accept_outliers=true takes it as it is."
                    raise invalid("label", "the request", odd.allowed, odd.received, remedy)
            if new:
                again = [id for id in new if id in stream.reopened]
                rows = {id: one.row for id, one in self._logged(stream, again).items()} if again else {}
                stream.tell(new, rows, actor, replace=replace)
            return {id: id in new for id in labels}

    def untell(self, name: str, id: str, actor: str) -> None:
        """Take back a label; the row waits for one again."""
        stream = self.stream(name)
        if id not in stream.book.told:
            if id in stream.reopened:
                return
            raise self._unwanted(stream, id, "has no label")
        if not self._was_asked(stream, id):
            raise ConflictError(f"Example {id!r} came with its label, or with a state file.")
        with self._cadence.work(stream):
            stream.untell(id, actor)

    def decline(self, name: str, id: str, actor: str) -> None:
        """Give up on a label that is awaited."""
        stream = self.stream(name)
        if id not in stream.book.learner.queries and id not in stream.reopened:
            raise self._unwanted(stream, id)
        with self._cadence.work(stream):
            stream.decline([id], actor)

    def learn(self, name: str, rows: Rows, labels: Sequence[float], actor: str) -> int:
        """Learn examples with labels that were free; return how many were new."""
        stream = self.stream(name)
        with self._cadence.work(stream):
            known = stream.book.asked.known(rows.ids).tolist()
            new = [place for place in range(len(rows)) if not known[place]]
            for place, id in enumerate(rows.ids):
                if known[place] and stream.book.told.label(id) != labels[place]:
                    raise ConflictError(f"Example {id!r} is known already. Send its label to …/labels.")
            if len({rows.ids[place] for place in new}) < len(new):
                raise ConflictError("An id is there more than once.")
            if new:
                stream.learn(rows.at(new), np.array([labels[place] for place in new]), actor)
            return len(new)

    def add_budget(self, name: str, labels: int, rows: int | None, actor: str) -> Stream:
        """Let more labels be bought."""
        stream = self.stream(name)
        stream.add_budget(labels, rows, actor)
        return stream

    def install(self, name: str, fitted: Fitted, actor: str) -> None:
        """Go on with experts that were fitted beside."""
        self.stream(name).install(fitted, actor)

    # What does not

    def _was_asked(self, stream: Stream, id: str) -> bool:
        """Return whether an example came without its label."""
        if id in self._just_answered(stream):
            return True
        seq = self.store.find(stream.number, [id]).get(id)
        return seq is not None and self.store.event(stream.number, seq).kind != Kind.learned.value

    def _unwanted(self, stream: Stream, id: str, what: str = "was not asked for") -> Exception:
        if stream.book.asked.known([id]).any():
            return ConflictError(f"The label of example {ascii(id)[:80]} {what}.")
        return NotFoundError(f"There is no example {ascii(id)[:80]}.")

    # The store

    def commit(self) -> None:
        """Write what changed."""
        changed = [stream for stream in self._streams.values() if stream.unsaved]
        if changed:
            self.store.append([Write(s.number, s.unsaved, s.examples) for s in changed], self._new)
            for stream in changed:
                stream.unsaved, stream.examples = [], []
        self._new, self._answered = {}, []

    def keep_snapshots(self, *, all_changed: bool = False) -> None:
        """Keep a snapshot of each stream for which it is time, or that changed at all."""
        for stream in self._streams.values():
            if self._cadence.is_due(stream) or (all_changed and self._cadence.changed(stream)):
                keep(self.store, stream, self._cadence.taken(stream))
                log_event("snapshot", stream=stream.name, events=stream.seq)
                give_back()

    def reload(self, name: str) -> Stream:
        """Return a stream as its log has it, whatever was made of it here."""
        with self._cadence.work(self._streams.pop(name)):
            return self.stream(name)

    def drop(self, name: str) -> None:
        """Remove a deleted stream from memory."""
        self._cadence.forget(self._streams.pop(name))
        del self.numbers[name]

    def forget(self) -> None:
        """Take back what was not written: streams are loaded again when they are needed."""
        self._streams = {}
        self.numbers = {name: number for name, number in self.numbers.items() if number not in self._new}
        self._new, self._answered = {}, []


def _check_same(id: str, part: bytes, before: bytes) -> None:
    if part != before:
        raise ConflictError(f"Example {ascii(id)[:80]} came before, and was another.")
