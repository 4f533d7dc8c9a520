"""Rows of a table that need labels, chosen in small batches on demand."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

from qufur.ids import Id
from qufur.tables import Batch
from qufur.tables.writers import column_heading, number_or_text
from qufur.workbook import Workbook

MIN_ROWS, MAX_ROWS = 32, 4096
"""Rows per batch. Batches stay small while rows are queried, so that labels inform the next choice."""


class RowFeed:
    """Feed of the queried rows of a table; the state file is saved before rows are returned.

    Parameters
    ----------
    workbook
        Workbook of the run.
    table
        Digest of the table. The feed resumes a partly read table; of a finished table it returns only the
        rows with pending labels.
    batches
        All rows of the table.
    ask
        Function that asks the workbook about rows and returns the ids to label.
    save
        Function that writes the state file.
    until_spent
        Whether to leave the rows after the last label of the budget for a later, larger budget.

    Attributes
    ----------
    rows
        Number of rows read.
    """

    def __init__(
        self,
        workbook: Workbook,
        table: str,
        batches: Iterable[Batch],
        ask: Callable[[Batch], list[Id]],
        save: Callable[[], None],
        *,
        until_spent: bool = False,
    ) -> None:
        self._workbook, self._table, self._ask, self._save = workbook, table, ask, save
        self._size, self._until_spent = MIN_ROWS, until_spent
        self._rest = self._rows(iter(batches))
        self._next: Batch | None = None
        self._outstanding = list(workbook.learner.outstanding)
        self.rows = 0

    def __call__(self, count: int) -> list[Id] | None:
        """Return at least `count` ids, fewer at the end of the table or budget; None after that."""
        if self._outstanding:
            outstanding, self._outstanding = self._outstanding, []
            return outstanding
        if self._peek() is None:
            return None
        ids: list[Id] = []
        while (batch := self._peek()) is not None and len(ids) < count:
            self._next = None
            new = self._ask(batch)
            ids += new
            self.rows += len(batch)
            self._workbook.partial_tables[self._table] += len(batch)
            self._size = MIN_ROWS if new else min(2 * self._size, MAX_ROWS)
        self._save()
        return ids

    def _peek(self) -> Batch | None:
        """Return the next rows, None if there are none; mark a table that has ended as finished."""
        if self._table not in self._workbook.partial_tables:
            return None
        self._next = self._next or next(self._rest, None)
        if self._next is None:
            del self._workbook.partial_tables[self._table]
        return None if self.is_spent else self._next

    @property
    def is_spent(self) -> bool:
        """Whether the next row has to wait for a larger budget."""
        return self._next is not None and self._until_spent and self._workbook.learner.left == 0

    def _rows(self, batches: Iterator[Batch]) -> Iterator[Batch]:
        """Yield the rows that were not read before, in batches of the current size."""
        done = self._workbook.partial_tables.get(self._table, 0)
        for batch in batches:
            start = min(done, len(batch))
            done -= start
            while start < len(batch):
                size, left = self._size, self._workbook.learner.left
                if self._until_spent and left is not None:  # no row is read after the last label
                    size = min(size, max(left, 1))
                stop = min(start + size, len(batch))
                yield part_of(batch, start, stop)
                start = stop


def part_of(batch: Batch, start: int, stop: int) -> Batch:
    """Return rows `start` to `stop` of a batch.

    >>> part_of(Batch({"wind": ["1", "3", "4"]}, first=41), 1, 3)
    Batch(columns={'wind': ['3', '4']}, first=42, file='the table', numbers={}, before=0)
    """
    columns = {name: column[start:stop] for name, column in batch.columns.items()}
    return replace(batch, columns=columns, first=batch.first + start)


def item_of(workbook: Workbook, id: Id) -> dict[str, Any]:
    """Return the cells of a pending row for a labeller, with numbers parsed.

    The prediction and the label column are omitted.
    """
    cells = workbook.pending_rows.cells(id)
    if cells is None:  # queried by a version that did not store cells
        return {column_heading(workbook.id_column): id}
    return {name: _value(cell, whole=not column) for column, (name, cell) in enumerate([*cells.items()][:-2])}


def _value(cell: Any, *, whole: bool) -> Any:
    if isinstance(cell, float) and not math.isfinite(cell):
        return None
    return number_or_text(cell, whole=whole) if isinstance(cell, str) else cell
