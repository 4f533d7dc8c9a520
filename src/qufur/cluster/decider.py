"""The one place where the rows of a dataset are decided: it sees them in order, once."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from qufur.answer import Answers
from qufur.bookkeeping.wanted import rows_to_label
from qufur.cluster.blocks import INPUTS, batch_of, inputs_in
from qufur.models.engines import compiled
from qufur.storage import container
from qufur.tables import Batch
from qufur.tables.batch import rows_at_a_time
from qufur.threads import one_thread
from qufur.workbook import Workbook

if TYPE_CHECKING:
    import pyarrow as pa


class Decider:
    """A workbook that is asked about a dataset, block by block; Ray makes an actor of it.

    However the dataset is cut into blocks, its rows are decided as many at a time as by `qufur ask`, counted
    from its first. So no bit of a decision depends on blocks, or on where one of several tries to decide them
    began.

    Parameters
    ----------
    packed
        The workbook, as its file has it; `unfinished` says how many rows of the dataset were decided.
    table
        The digest of the dataset.
    header, shown
        Those of rows to label: see `header_of`.
    """

    def __init__(self, packed: bytes, table: str, header: Sequence[str], shown: Sequence[str]) -> None:
        self._book = Workbook.from_content(container.unpack(packed, "the state"))
        self._table, self._header, self._shown = table, header, list(shown)
        self._rows = rows_at_a_time(text=self._book.encoding.text is not None)
        self._ahead: deque[Any] = deque()

    def take(self, first: int, block: pa.Table) -> pa.Table | None:
        """Take in rows from the number `first` on, from 0; return what was decided, if anything was.

        Rows that came before are left out.
        """
        known = self._done + self._rows_ahead - first
        if known < 0:
            raise RuntimeError(f"{-known} rows before row {first} did not come")
        self._ahead.extend(part for part in block.slice(known).to_batches() if len(part))
        return self._decided(least=self._rows)

    def finish(self) -> pa.Table | None:
        """Return what is decided of the last rows."""
        return self._decided(least=1)

    def packed(self) -> bytes:
        """Return the workbook as its file has it."""
        return container.pack(self._book.content())

    @property
    def _done(self) -> int:
        return self._book.unfinished[self._table]

    @property
    def _rows_ahead(self) -> int:
        return sum(map(len, self._ahead))

    def _decided(self, least: int) -> pa.Table | None:
        import pyarrow as pa

        found = []
        with one_thread(), compiled.left_out():
            while self._rows_ahead >= least:
                found.append(self._decide(self._next()))
        return pa.concat_tables(found) if found else None

    def _next(self) -> pa.Table:
        import pyarrow as pa

        found, count = [], self._rows
        while count and self._ahead:
            part = self._ahead.popleft()
            if len(part) > count:
                self._ahead.appendleft(part.slice(count))
                part = part.slice(0, count)
            found.append(part)
            count -= len(part)
        return pa.Table.from_batches(found)

    def _decide(self, table: pa.Table) -> pa.Table:
        book, X = self._book, inputs_in(table)
        batch = Batch({INPUTS: X}, self._done + 1, "the dataset")
        if named := needed(book):
            batch = replace(batch, columns={**batch.columns, **batch_of(table.select(named)).columns})
        answers = book.ask(batch, X)
        places = np.flatnonzero(answers.query)
        if len(places):
            cells: Mapping[str, Any] = {}
            if self._shown:
                cells = batch_of(table.select(self._shown).take(places)).columns
            rows = rows_to_label(answers, places.tolist(), [cells[name] for name in self._shown])
            book.waiting.add(self._header, rows)
        book.unfinished[self._table] += len(X)
        return _as_table(answers, _id_type(table, book.id))


def needed(book: Workbook) -> list[str]:
    """Return the columns that are needed beside inputs: of ids, and of times for a budget per period."""
    names = book.id, None if book.periods is None else book.periods.column
    return list(dict.fromkeys(filter(None, names)))


def _id_type(table: pa.Table, id: str | None) -> pa.DataType:
    import pyarrow as pa

    whole = id is None or pa.types.is_integer(table.schema.field(id).type)
    return pa.int64() if whole else pa.string()


def _as_table(answers: Answers, id_type: pa.DataType) -> pa.Table:
    import pyarrow as pa

    ids = answers.id if id_type == pa.int64() else list(map(str, answers.id))
    columns = {name: getattr(answers, name) for name in ("prediction", "uncertainty", "probability", "query")}
    return pa.table({"id": pa.array(ids, id_type), **columns})
