"""Headers of events without the values that only erased rows had.

A header holds values of rows in two places. An encoding that grew holds new categories, and moments of
numbers that began to vary. A fit holds the mean and the deviation of every input.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from qufur.arrays import Bools
from qufur.service.events import Event, Kind, Payload, decode
from qufur.service.examples import batch_of
from qufur.service.stream import Stream
from qufur.tables import Encoding
from qufur.tables.categories import Categorical
from qufur.tables.columns import Kind as Entry
from qufur.tables.columns import Numeric

ENCODING, UNITS = "encoding", "units"


class Redaction:
    """Rewriter of event headers: it sees all events in order, and then rewrites some of them.

    An encoding keeps all its entries, so that inputs keep their places. A category that no remaining row has
    becomes None. Moments become coarse if a row of their event is erased. A fit after an erased row loses its
    units: replay takes those of the remaining rows.

    Parameters
    ----------
    stream
        The stream after the last event of the log.
    known
        How many entries its encoding had after the first event. These stay as they are.

    Attributes
    ----------
    headers
        The numbers of the events to rewrite.
    """

    def __init__(self, stream: Stream, known: int) -> None:
        self._description, self._encoding = stream.description, stream.book.encoding
        self._categories = [
            place
            for place, entry in enumerate(self._encoding.columns)
            if place >= known and isinstance(entry, Categorical)
        ]
        self._used: Bools = np.zeros(self._one_hot.dim, bool)
        self._lacks_rows = False
        self._grown, self._coarse = known, set[int]()
        self.headers: list[int] = []

    @cached_property
    def _one_hot(self) -> Encoding:
        columns = self._encoding.columns
        return replace(self._encoding, columns=tuple(columns[place] for place in self._categories))

    def add(self, event: Event, payload: Payload) -> None:
        """See the next event, with what remains of its payload."""
        if event.kind == Kind.refitted:
            self.headers += [event.seq] * self._lacks_rows
        if event.kind not in (Kind.asked, Kind.learned):
            return
        rows = list(filter(None, payload.rows()))
        if rows and self._categories:
            records = [decode(row[0])[1] if event.kind == Kind.learned else row[1] for row in rows]
            self._used |= self._one_hot.encode(batch_of(self._description, records)).any(axis=0)
        lacks_rows = len(rows) < len(payload.parts)
        self._lacks_rows |= lacks_rows
        values = payload.values
        if ENCODING in values:
            self.headers.append(event.seq)
            if not _is_skipped(event):
                start, self._grown = self._grown, len(values[ENCODING]["columns"])
                self._coarse.update(range(start, self._grown) if lacks_rows else ())

    def rewritten(self, event: Event, payload: Payload) -> Payload:
        """Return the payload of one of the `headers` with what its header may keep."""
        values = payload.values
        gone = {UNITS, ENCODING} if _is_skipped(event) else {UNITS}
        new: dict[str, Any] = {name: value for name, value in values.items() if name not in gone}
        if ENCODING in new:
            encoding = Encoding.from_state(values[ENCODING])
            columns = self._columns[: len(encoding.columns)]
            new[ENCODING] = replace(encoding, columns=columns).state()
        # A replaced header tells replay that an event without rows still adds inputs.
        is_told = not payload.is_erased or payload.new_header is not None
        return payload if new == values and is_told else payload.with_header(new)

    @cached_property
    def _columns(self) -> tuple[Entry, ...]:
        """The entries of the encoding after the last event, with what they may keep."""
        columns: list[Entry] = list(self._encoding.columns)
        ends = accumulate((len(columns[place].names) for place in self._categories), initial=0)
        for place, (start, end) in zip(self._categories, pairwise(ends), strict=True):
            columns[place] = columns[place].only(self._used[start:end].tolist())  # type: ignore[union-attr]
        for place in self._coarse:
            entry = columns[place]
            columns[place] = entry.coarse() if isinstance(entry, Numeric) else entry
        return tuple(columns)


def _is_skipped(event: Event) -> bool:
    """Return whether replay passes over an event: version 0.1.0 erased all its rows, which were lessons."""
    stored = Payload.unpacked(event.payload)
    return event.kind == Kind.learned and stored.is_erased and stored.new_header is None
