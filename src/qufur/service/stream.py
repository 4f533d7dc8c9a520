"""A stream: a workbook, and the events that made it."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from qufur.arrays import Bools, Floats
from qufur.bookkeeping.corrections import forget, give_up
from qufur.bookkeeping.digest import state_digest
from qufur.bookkeeping.free_labels import Labelled, learn
from qufur.errors import InvalidError
from qufur.models.base import Id
from qufur.rules.spending import Charge
from qufur.service.decided import LEVEL, Decided, Said
from qufur.service.description import Description
from qufur.service.events import START, Event, Kind, Payload, decode, encode, encode_in_order
from qufur.service.examples import Rows, batch_of
from qufur.storage import container
from qufur.tables import Encoding, Growth
from qufur.workbook import Workbook

if TYPE_CHECKING:
    from qufur.models.experts.fitting import Fitted

REQUEST = "the request"
SPENDING = {Kind.asked, Kind.retracted}
"""Kinds of events that count for the budget when their rows are erased."""
APART = 1.1
"""How many times as many labels there are between points of the course."""


class Awaited(Collection[str]):
    """A view of the rows whose labels are awaited: only iterating over all of them takes O(rows)."""

    def __init__(self, queries: Mapping[Id, Any], reopened: Mapping[str, None]) -> None:
        self._queries, self._reopened = queries, reopened

    def __len__(self) -> int:
        return len(self._queries) + len(self._reopened)

    def __contains__(self, id: object) -> bool:
        return id in self._queries or id in self._reopened

    def __iter__(self) -> Iterator[str]:
        return chain(map(str, self._queries), self._reopened)


class Stream:
    """A workbook behind events: what is decided becomes an event, and an event that is applied decides again.

    Everything that changes a stream is a method that ends in an event, and `apply` does the same from the
    event alone. None of it writes to the store: `unsaved` are the events that have to be.

    Parameters
    ----------
    number
        That of the stream in its store.
    description
        What it was created with.
    book
        Where it stands.
    last
        The number and the hash of the event after which it stands so.

    Attributes
    ----------
    unsaved, examples
        Events that are not in the store yet, and by the numbers of some the ids of their examples.
    reopened
        Rows whose label was taken back, and is wanted again.
    asked_at
        When each row was asked about whose label is awaited, in microseconds.
    bundles
        Digests of the bundles of ids that snapshots need not have in them again.
    """

    def __init__(
        self, number: int, description: Description, book: Workbook, last: tuple[int, bytes]
    ) -> None:
        self.number, self.description, self.book = number, description, book
        self.seq, self.hash = last
        book.learner.fit_elsewhere()
        self.unsaved: list[Event] = []
        self.examples: list[tuple[int, Sequence[str]]] = []
        self.reopened: dict[str, None] = {}
        self.asked_at: dict[str, int] = {}
        self.bundles: list[bytes] = []
        self._error: float | None = None

    @classmethod
    def create(cls, number: int, description: Description, actor: str) -> Stream:
        """Return a new stream, with its first event."""
        stream = cls(number, description, description.workbook(), (0, START))
        stream._log(Kind.created, actor, msgspec.to_builtins(description))
        return stream

    @classmethod
    def imported(
        cls, number: int, description: Description, book: Workbook, rows: dict[str, Any], actor: str
    ) -> Stream:
        """Return a stream that goes on with the work of a state file, with its first event.

        `rows` are those that wait, as their examples would have come.
        """
        stream = cls(number, description, book, (0, START))
        parts = [encode(container.pack(book.content())), *(encode([id, row]) for id, row in rows.items())]
        stream._log(Kind.imported, actor, msgspec.to_builtins(description), parts, list(rows))
        return stream

    @property
    def name(self) -> str:
        """What it is called."""
        return self.description.name

    @property
    def waiting(self) -> Awaited:
        """The rows whose labels are awaited, in the order in which they were asked for."""
        return Awaited(self.book.learner.queries, self.reopened)

    def digest(self) -> str:
        """Return the digest of the state."""
        return state_digest(self.book)

    # What happens to it

    def ask(self, rows: Rows, actor: str) -> list[Said]:
        """Answer examples that are new."""
        header: dict[str, Any] = {}
        X = self._encoded(rows, header)
        try:
            answers = self.book.ask_rows(X, rows.ids)
        except InvalidError as error:
            if header:  # inputs have grown, and no event says so
                raise RuntimeError("rows were refused after columns were added") from error
            raise
        decided = Decided.of(self.book.learner, answers, self._likely_error())
        at = self._log(Kind.asked, actor, header | decided.values(), rows.parts, rows.ids)
        self._note_asked(rows.ids, decided.decisions.query, at)
        return decided.said(self.book.learner.model, rows.ids)

    def tell(
        self, labels: dict[str, float], rows: dict[str, Any], actor: str, *, replace: bool = False
    ) -> None:
        """Learn labels that are awaited, or with `replace` others for rows that have one.

        `rows` are those of labels that were taken back before, as they came.
        """
        self._tell(labels, rows, replace=replace)
        parts = [encode([id, label, *([rows[id]] if id in rows else [])]) for id, label in labels.items()]
        self._log(Kind.told, actor, {"replace": replace}, parts)

    def untell(self, id: str, actor: str) -> None:
        """Take back a label; the row waits for one again."""
        self._untell([id])
        self._log(Kind.untold, actor, {}, [encode([id])])

    def decline(self, ids: Sequence[str], actor: str) -> None:
        """Give up on labels that are awaited: they cost nothing."""
        charges = [self._charge(id) for id in ids]
        self._decline(ids)
        self._log(Kind.retracted, actor, {"charges": charges}, [encode([id]) for id in ids])

    def learn(self, rows: Rows, labels: Floats, actor: str) -> None:
        """Learn labels of examples that are new, which are free."""
        header: dict[str, Any] = {}
        X = self._encoded(rows, header)
        self._learn(rows.ids, X, labels)
        parts = [encode([part, label]) for part, label in zip(rows.parts, labels.tolist(), strict=True)]
        self._log(Kind.learned, actor, header, parts, rows.ids)

    def add_budget(self, labels: int, rows: int | None, actor: str) -> None:
        """Let more labels be bought."""
        self.book.learner.add_budget(labels, rows)
        self._log(Kind.budget_added, actor, {"labels": labels, "rows": rows})

    def note_erased(self, examples: int, parts: int, headers: dict[int, bytes | None], actor: str) -> Event:
        """Return the event that counts erased examples and parts, and lists replaced headers.

        `headers` are the digests of the new headers by the number of their event.
        """
        replaced = {"headers": list(headers.items())} if headers else {}
        self._log(Kind.erased, actor, {"examples": examples, "parts": parts} | replaced)
        return self.unsaved[-1]

    def install(self, fitted: Fitted, actor: str) -> None:
        """Go on with experts that were fitted beside, unless they have been overtaken."""
        if self.book.learner.install_fit(fitted) and not fitted.fitting.again:
            self._log(Kind.refitted, actor, fitted.fitting.values)

    # The same, from events

    def apply(self, event: Event) -> None:
        """Let an event happen again, which follows the last one."""
        payload = event.check((self.seq, self.hash))
        kind = Kind(event.kind)
        # Without rows, an event still counts for the budget, and a replaced header still adds inputs.
        if kind in SPENDING or not payload.is_erased or payload.new_header:
            getattr(self, f"_apply_{kind.value}")(payload, event.at)
        self.seq, self.hash = event.seq, event.hash

    def _apply_asked(self, payload: Payload, at: int) -> None:
        values = payload.values
        ids, X, present = self._rows_of(list(payload.rows()), values)
        decided = Decided.from_values(values)
        self.book.replay(X, ids, decided.decisions, present=present)
        self._note_asked(ids, decided.decisions.query & present, at)

    def _apply_told(self, payload: Payload, at: int) -> None:
        found = list(filter(None, payload.rows()))
        rows = {id: row[0] for id, _, *row in found if row}
        self._tell({id: label for id, label, *_ in found}, rows, replace=payload.values["replace"])

    def _apply_untold(self, payload: Payload, at: int) -> None:
        self._untell([id for (id,) in filter(None, payload.rows())])

    def _apply_retracted(self, payload: Payload, at: int) -> None:
        parts = list(payload.rows())
        self._decline([id for (id,) in filter(None, parts)])
        for part, charge in zip(parts, payload.values["charges"], strict=True):
            if part is None and charge is not None:  # erased, and given back all the same
                copies, place = charge
                self.book.learner.spending.refund(Charge(np.array(copies, dtype=bool), place))

    def _apply_learned(self, payload: Payload, at: int) -> None:
        found = [(decode(part), label) for part, label in filter(None, payload.rows())]
        ids, X, _ = self._rows_of([row for row, _ in found], payload.values)
        if found:
            self._learn(ids, X, np.array([label for _, label in found]))

    def _apply_budget_added(self, payload: Payload, at: int) -> None:
        self.book.learner.add_budget(**payload.values)

    def _apply_refitted(self, payload: Payload, at: int) -> None:
        self.book.learner.refit(payload.values)

    def _apply_erased(self, payload: Payload, at: int) -> None:
        """Do nothing: what was erased is no longer in the events before."""

    # How

    def _encoded(self, rows: Rows, header: dict[str, Any]) -> Floats:
        """Return inputs; what is new in records is noted in the header of the event."""
        if rows.X is not None:
            return rows.X
        batch = batch_of(self.description, rows.records)
        growth = Growth(self.book.encoding, scale=not self.book.learner.model.scales_inputs)
        growth.add(batch)
        grown = growth.grown
        if len(grown.columns) > len(self.book.encoding.columns):
            X = grown.encode(batch)
            self._grow(grown)
            header["encoding"] = grown.state()
            return X
        return self.book.encoding.encode(batch)

    def _grow(self, encoding: Encoding) -> None:
        if self.book.learner.dim is None:  # no row came yet
            self.book.encoding = encoding
        else:
            self.book.grow(encoding)

    def _rows_of(self, parts: list[Any], values: dict[str, Any]) -> tuple[list[str], Floats, Any]:
        """Return ids, the inputs that are there, and which are."""
        if "encoding" in values:
            self._grow(Encoding.from_state(values["encoding"]))
        present = np.array([part is not None for part in parts], dtype=bool)
        there = [row for _, row in filter(None, parts)]
        # No example can be called so, as ids have no such letter.
        ids = [f"\0{place}" if part is None else part[0] for place, part in enumerate(parts)]
        return ids, self.inputs(there), present

    def inputs(self, rows: Sequence[Any]) -> Floats:
        """Return rows, as they are in events, as inputs."""
        if not rows:
            return np.empty((0, self.book.encoding.dim))
        if self.description.dim is None:
            return self.book.encoding.encode(batch_of(self.description, rows))
        return np.frombuffer(b"".join(rows), dtype="<f8").reshape(-1, self.description.dim)

    def _note_asked(self, ids: Sequence[str], query: Bools, at: int) -> None:
        self.asked_at.update((ids[row], at) for row in query.nonzero()[0].tolist())

    def _tell(self, labels: dict[str, float], rows: dict[str, Any], *, replace: bool) -> None:
        awaited = {id: label for id, label in labels.items() if id not in rows}
        if rows:
            again = [id for id in labels if id in rows]
            X = self.inputs([rows[id] for id in again])
            self._learn(again, X, np.array([labels[id] for id in again]))
        if awaited:
            values = np.array(list(awaited.values()))
            self.book.tell_known(list(awaited), values, REQUEST, replace=replace, accept_outliers=True)
        self._close(labels)
        self._error = None
        self._note_course()

    def _note_course(self) -> None:
        """Take note of how things stand, which takes milliseconds, whenever there are 10 % more labels."""
        course, learner = self.book.watch.course, self.book.learner
        if not course.points or learner.ledger.answered >= APART * course.points[-1].labels:
            course.note(learner)

    def _untell(self, ids: Sequence[str]) -> None:
        forget(self.book, ids)
        self._error = None
        self.reopened.update(dict.fromkeys(ids))

    def _charge(self, id: str) -> tuple[list[bool], int] | None:
        """Return what is given back for a row that is declined; None if its label was bought before."""
        query = self.book.learner.queries.get(id)
        return None if query is None else (query.charge.copies.tolist(), int(query.charge.place))

    def _decline(self, ids: Iterable[str]) -> None:
        awaited = [id for id in ids if id not in self.reopened]
        give_up(self.book, awaited)
        self._close(ids)

    def _close(self, ids: Iterable[str]) -> None:
        for id in ids:
            self.reopened.pop(id, None)
            self.asked_at.pop(id, None)

    def _learn(self, ids: Sequence[str], X: Floats, labels: Floats) -> None:
        found = Labelled(
            REQUEST, dict(zip(ids, labels.tolist(), strict=True)), dict(zip(ids, X, strict=True)), 0
        )
        learn(self.book, found, accept_outliers=True)

    def _likely_error(self) -> float:
        """Return half of the width of intervals, which changes as labels come."""
        if self._error is None:
            self._error = self.book.learner.ledger.likely_error(LEVEL)
        return self._error

    def _log(
        self, kind: Kind, actor: str, header: Any, parts: Sequence[bytes] = (), examples: Sequence[str] = ()
    ) -> int:
        at = time.time_ns() // 1000
        payload = Payload(encode_in_order(header), parts)
        event = Event.after((self.seq, self.hash), kind, at, actor, payload)
        self.unsaved.append(event)
        if examples:
            self.examples.append((event.seq, examples))
        self.seq, self.hash = event.seq, event.hash
        return at
