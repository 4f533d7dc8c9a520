"""Stream: a workbook driven by an event log."""

from __future__ import annotations

import logging
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from qufur.arrays import Bools, Floats
from qufur.errors import InvalidError, invalid
from qufur.ids import Id
from qufur.rules.spending import Charge
from qufur.service.config import StreamConfig
from qufur.service.examples import Rows, batch_of
from qufur.service.recorded_answers import LEVEL, AnswerBody, RecordedAnswers
from qufur.service.store.events import START, Event, Kind, Payload, decode, encode, encode_in_order
from qufur.storage import container
from qufur.tables import Encoding, Growth
from qufur.workbook import Workbook
from qufur.workbook.content import state_digest
from qufur.workbook.corrections import FreeLabels, expire, forget, learn

if TYPE_CHECKING:
    from qufur.models.ensemble.fits import FitResult

LOG = logging.getLogger("qufur.service")
REQUEST = "the request"
SPENDING = {Kind.asked, Kind.retracted}
"""Kinds of events that change the budget even when all their rows are erased."""
POINT_SPACING = 1.1
"""Ratio of the numbers of labels at consecutive points of the timeline."""


class PendingIds(Collection[str]):
    """View of the ids of pending rows: only iterating over all of them takes O(rows)."""

    def __init__(self, queries: Mapping[Id, Any], reopened: Mapping[str, None]) -> None:
        self._queries, self._reopened = queries, reopened

    def __len__(self) -> int:
        return len(self._queries) + len(self._reopened)

    def __contains__(self, id: object) -> bool:
        return id in self._queries or id in self._reopened

    def __iter__(self) -> Iterator[str]:
        return chain(map(str, self._queries), self._reopened)


class Stream:
    """Workbook and the events that led to its state.

    Each method that changes the workbook appends one event; `apply` replays an event and decides nothing. No
    method writes to the store: `unsaved` holds the events to write.

    Parameters
    ----------
    number
        Number of the stream in its store.
    config
        Configuration of the stream.
    workbook
        Workbook after the event `last`.
    last
        Number and hash of the last event.

    Attributes
    ----------
    unsaved, examples
        Events that are not in the store yet, and the ids of their examples by event number.
    reopened
        Rows whose label was removed and is pending again.
    bundles
        Digests of the persisted bundles of ids; later snapshots omit these bundles.
    """

    def __init__(
        self, number: int, config: StreamConfig, workbook: Workbook, last: tuple[int, bytes]
    ) -> None:
        self.number, self.config, self.workbook = number, config, workbook
        self.seq, self.hash = last
        self.defer_fits()
        self.unsaved: list[Event] = []
        self.examples: list[tuple[int, Sequence[str]]] = []
        self.reopened: dict[str, None] = {}
        self.bundles: list[bytes] = []
        self._error: float | None = None  # half of the width of intervals; None until it is needed again

    @classmethod
    def create(cls, number: int, config: StreamConfig, actor: str) -> Stream:
        """Create a stream with its first event."""
        stream = cls(number, config, config.workbook(), (0, START))
        stream._log(Kind.created, actor, msgspec.to_builtins(config))
        return stream

    @classmethod
    def imported(
        cls, number: int, config: StreamConfig, workbook: Workbook, rows: dict[str, Any], actor: str
    ) -> Stream:
        """Create a stream from the workbook of a state file, with its first event.

        `rows` holds the pending rows by id, in the form of examples.
        """
        stream = cls(number, config, workbook, (0, START))
        parts = [encode(container.pack(workbook.content())), *(encode([id, row]) for id, row in rows.items())]
        stream._log(Kind.imported, actor, msgspec.to_builtins(config), parts, list(rows))
        return stream

    @property
    def name(self) -> str:
        """Name of the stream."""
        return self.config.name

    @property
    def waiting(self) -> PendingIds:
        """Ids of pending rows, in the order of their queries."""
        return PendingIds(self.workbook.learner.pending, self.reopened)

    def asked_at(self, id: str) -> int:
        """Return when a pending row was queried, in microseconds since 1970; 0 if unknown."""
        query = self.workbook.learner.pending.get(id)
        return (query and query.asked_at) or 0

    @property
    def oldest(self) -> int | None:
        """Time of the first pending query that has one, in microseconds since 1970."""
        times = (query.asked_at for query in self.workbook.learner.pending.values())
        return next((at for at in times if at is not None), None)

    def digest(self) -> str:
        """Return the digest of the state."""
        return state_digest(self.workbook)

    # Operations

    def ask(self, rows: Rows, actor: str) -> list[AnswerBody]:
        """Answer new examples."""
        header: dict[str, Any] = {}
        X = self._encoded(rows, header)
        try:
            answers = self.workbook.ask_rows(X, rows.ids)
        except InvalidError as error:
            if header:  # columns were added without an event
                raise RuntimeError("rows were rejected after columns were added") from error
            raise
        if self._error is None:
            self._error = self.workbook.learner.ledger.likely_error(LEVEL)
        recorded = RecordedAnswers.of(self.workbook.learner, answers, self._error)
        at = self._log(Kind.asked, actor, header | recorded.values(), rows.parts, rows.ids)
        self._record_asked(rows.ids, recorded.decisions.query, at)
        return recorded.answers(self.workbook.learner.model, rows.ids)

    def tell(
        self, labels: dict[str, float], rows: dict[str, Any], actor: str, *, replace: bool = False
    ) -> None:
        """Learn pending labels, or with `replace` new labels for labelled rows.

        `rows` holds the rows of reopened examples by id, as received.
        """
        self._tell(labels, rows, replace=replace)
        parts = [encode([id, label, rows[id]] if id in rows else [id, label]) for id, label in labels.items()]
        self._log(Kind.told, actor, {"replace": replace}, parts)

    def remove_label(self, id: str, actor: str) -> None:
        """Remove a label; it becomes pending again."""
        self._remove_label([id])
        self._log(Kind.untold, actor, {}, [encode([id])])

    def decline(self, ids: Sequence[str], actor: str) -> None:
        """Retract pending queries and refund their labels."""
        charges = [self._charge(id) for id in ids]
        self._decline(ids)
        self._log(Kind.retracted, actor, {"charges": charges}, [encode([id]) for id in ids])

    def learn(self, rows: Rows, labels: Floats, actor: str) -> None:
        """Learn new examples with free labels."""
        header: dict[str, Any] = {}
        X = self._encoded(rows, header)
        self._learn(rows.ids, X, labels)
        parts = [encode([part, label]) for part, label in zip(rows.parts, labels.tolist(), strict=True)]
        self._log(Kind.learned, actor, header, parts, rows.ids)

    def add_budget(self, labels: int, rows: int | None, actor: str) -> None:
        """Add labels to the budget; rules with a horizon spend it over the next `rows` rows."""
        self.workbook.learner.add_budget(labels, rows)
        self._log(Kind.budget_added, actor, {"labels": labels, "rows": rows})

    def log_erasure(self, examples: int, parts: int, headers: dict[int, bytes | None], actor: str) -> Event:
        """Log and return the event with the counts of erased examples and parts and the replaced headers.

        `headers` holds the digests of the new headers by event number.
        """
        replaced = {"headers": list(headers.items())} if headers else {}
        self._log(Kind.erased, actor, {"examples": examples, "parts": parts} | replaced)
        return self.unsaved[-1]

    def defer_fits(self) -> None:
        """Leave fits of experts to the worker process."""
        fits = self.workbook.learner.background_fits
        if fits is not None:
            fits.defer()

    def install(self, fitted: FitResult, actor: str) -> None:
        """Install a finished background fit unless it is outdated."""
        fits = self.workbook.learner.background_fits
        if fits is not None and fits.install(fitted) and not fitted.job.is_repeat:
            self._log(Kind.refitted, actor, fitted.job.values)

    def record_point(self) -> None:
        """Record a point of the timeline, which takes a millisecond or more, after every 10 % more labels.

        The writer calls this between batches: no label waits for a chart, or is rejected because of one.
        """
        timeline, learner = self.workbook.monitor.timeline, self.workbook.learner
        if timeline.points and learner.ledger.answered < POINT_SPACING * timeline.points[-1].labels:
            return
        try:
            timeline.note(learner)
        except Exception:  # a replay of the log must not fail because of a chart
            LOG.exception("A point of the series of stream %s could not be computed", self.name)

    # Replay

    def apply(self, event: Event) -> None:
        """Replay the next event; raise `DamagedError` if it does not follow the last one."""
        payload = event.check((self.seq, self.hash))
        kind = Kind(event.kind)
        # Without rows, an event still counts for the budget, and a replaced header still adds inputs.
        if kind in SPENDING or not payload.is_erased or payload.new_header:
            getattr(self, f"_apply_{kind.value}")(payload, event.at)
            self.record_point()
        self.seq, self.hash = event.seq, event.hash

    def _apply_asked(self, payload: Payload, at: int) -> None:
        values = payload.values
        ids, X, present = self._rows_of(list(payload.rows()), values)
        recorded = RecordedAnswers.from_values(values)
        self.workbook.replay(X, ids, recorded.decisions, present=present)
        self._record_asked(ids, recorded.decisions.query & present, at)

    def _apply_told(self, payload: Payload, at: int) -> None:
        parts = list(filter(None, payload.rows()))
        rows = {id: row[0] for id, _, *row in parts if row}
        self._tell({id: label for id, label, *_ in parts}, rows, replace=payload.values["replace"])

    def _apply_untold(self, payload: Payload, at: int) -> None:
        self._remove_label([id for (id,) in filter(None, payload.rows())])

    def _apply_retracted(self, payload: Payload, at: int) -> None:
        parts = list(payload.rows())
        self._decline([id for (id,) in filter(None, parts)])
        for part, charge in zip(parts, payload.values["charges"], strict=True):
            if part is None and charge is not None:  # the row is erased, its refund is not
                copies, place = charge
                self.workbook.learner.spending.refund(Charge(np.array(copies, dtype=bool), place))

    def _apply_learned(self, payload: Payload, at: int) -> None:
        labelled = [(decode(part), label) for part, label in filter(None, payload.rows())]
        ids, X, _ = self._rows_of([row for row, _ in labelled], payload.values)
        if labelled:
            self._learn(ids, X, np.array([label for _, label in labelled]))

    def _apply_budget_added(self, payload: Payload, at: int) -> None:
        self.workbook.learner.add_budget(**payload.values)

    def _apply_refitted(self, payload: Payload, at: int) -> None:
        learner = self.workbook.learner
        if learner.background_fits is None:
            raise invalid("an event of a fit", "the log", "of a model with experts", repr(learner.model))
        learner.background_fits.replay(payload.values)

    def _apply_erased(self, payload: Payload, at: int) -> None:
        """Do nothing: the erased rows are missing in the earlier events already."""

    # Implementation

    def _encoded(self, rows: Rows, header: dict[str, Any]) -> Floats:
        """Return inputs; if records add columns, grow the encoding and put it in the event header."""
        if rows.X is not None:
            return rows.X
        batch = batch_of(self.config, rows.records)
        growth = Growth(self.workbook.encoding, scale=not self.workbook.learner.model.tags.scales_inputs)
        growth.add(batch)
        grown = growth.grown
        X = grown.encode(batch)
        if len(grown.columns) > len(self.workbook.encoding.columns):
            self._grow(grown)
            header["encoding"] = grown.state()
        return X

    def _grow(self, encoding: Encoding) -> None:
        if self.workbook.learner.dim is None:  # no row received yet
            self.workbook.encoding = encoding
        else:
            self.workbook.grow(encoding)

    def _rows_of(self, parts: list[Any], values: dict[str, Any]) -> tuple[list[str], Floats, Any]:
        """Return the ids, the inputs of the rows that are not erased, and the mask of these rows."""
        if "encoding" in values:
            self._grow(Encoding.from_state(values["encoding"]))
        present = np.array([part is not None for part in parts], dtype=bool)
        # Ids of examples never contain the character \0.
        ids = [f"\0{index}" if part is None else part[0] for index, part in enumerate(parts)]
        return ids, self.inputs([row for _, row in filter(None, parts)]), present

    def inputs(self, rows: Sequence[Any]) -> Floats:
        """Encode rows of events as inputs."""
        if not rows:
            return np.empty((0, self.workbook.encoding.dim))
        if self.config.dim is None:
            return self.workbook.encoding.encode(batch_of(self.config, rows))
        return np.frombuffer(b"".join(rows), dtype="<f8").reshape(-1, self.config.dim)

    def _record_asked(self, ids: Sequence[str], query: Bools, at: int) -> None:
        for row in query.nonzero()[0].tolist():
            self.workbook.learner.pending[ids[row]].asked_at = at

    def _tell(self, labels: dict[str, float], rows: dict[str, Any], *, replace: bool) -> None:
        pending = {id: label for id, label in labels.items() if id not in rows}
        if rows:
            reopened = [id for id in labels if id in rows]
            X = self.inputs([rows[id] for id in reopened])
            self._learn(reopened, X, np.array([labels[id] for id in reopened]))
        if pending:
            values = np.array(list(pending.values()))
            self.workbook.tell(
                list(pending), values, REQUEST, exact_ids=True, replace=replace, accept_outliers=True
            )
        self._close(labels)
        self._error = None

    def _remove_label(self, ids: Sequence[str]) -> None:
        forget(self.workbook, ids)
        self._error = None
        self.reopened.update(dict.fromkeys(ids))

    def _charge(self, id: str) -> tuple[list[bool], int] | None:
        """Return the refund of a retracted row; None if it was labelled before."""
        query = self.workbook.learner.pending.get(id)
        return None if query is None else (query.charge.copies.tolist(), int(query.charge.place))

    def _decline(self, ids: Iterable[str]) -> None:
        expire(self.workbook, [id for id in ids if id not in self.reopened])
        self._close(ids)

    def _close(self, ids: Iterable[str]) -> None:
        for id in ids:
            self.reopened.pop(id, None)

    def _learn(self, ids: Sequence[str], X: Floats, labels: Floats) -> None:
        labels_by_id: dict[Id, float] = dict(zip(ids, labels.tolist(), strict=True))
        rows_by_id: dict[Id, Floats] = dict(zip(ids, X, strict=True))
        learn(self.workbook, FreeLabels(REQUEST, labels_by_id, rows_by_id, 0), accept_outliers=True)

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
