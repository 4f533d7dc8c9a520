"""The rows of a table that are to be labelled, as they are needed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

from qufur.models.base import Id
from qufur.tables import Batch
from qufur.tables.writers import number_or_text
from qufur.tables.written import heading
from qufur.workbook import Workbook

FEWEST, MOST = 32, 4096
"""Rows at a time: few where labels are wanted, so that the next are chosen with what they taught."""


class Feed:
    """Asks about a table bit by bit; what is wanted is in the state file before it is handed out.

    Parameters
    ----------
    book
        What has been learned and bought.
    table
        The digest of the table. One that was begun is gone on with; of one that was finished there are no
        rows, but those whose labels are outstanding.
    batches
        All rows.
    ask
        Asks about rows, and returns the ids of those to label.
    save
        Writes the state file.
    """

    def __init__(
        self,
        book: Workbook,
        table: str,
        batches: Iterable[Batch],
        ask: Callable[[Batch], list[Id]],
        save: Callable[[], None],
    ) -> None:
        self._book, self._table, self._ask, self._save = book, table, ask, save
        self._size = FEWEST
        self._rest = self._rows(iter(batches))
        self._over = table not in book.unfinished
        self._left = list(book.learner.outstanding)
        self.rows = 0

    def __call__(self, wanted: int) -> list[Id] | None:
        """Return at least so many rows to label, fewer at the end of the table; None after that."""
        if self._left:
            return self._handed_over()
        if self._over:
            return None
        found: list[Id] = []
        while len(found) < wanted and not self._over:
            batch = next(self._rest, None)
            if batch is None:
                self._over = True
                del self._book.unfinished[self._table]
                break
            new = self._ask(batch)
            found += new
            self.rows += len(batch)
            self._book.unfinished[self._table] += len(batch)
            self._size = FEWEST if new else min(2 * self._size, MOST)
        self._save()
        return found

    def _handed_over(self) -> list[Id]:
        left, self._left = self._left, []
        return left

    def _rows(self, batches: Iterator[Batch]) -> Iterator[Batch]:
        """Yield the rows that were not asked about, in batches of the present size."""
        done = self._book.unfinished.get(self._table, 0)
        for batch in batches:
            start = min(done, len(batch))
            done -= start
            while start < len(batch):
                stop = min(start + self._size, len(batch))
                yield part_of(batch, start, stop)
                start = stop


def part_of(batch: Batch, start: int, stop: int) -> Batch:
    """Return some rows of a batch.

    >>> part_of(Batch({"wind": ["1", "3", "4"]}, first=41), 1, 3)
    Batch(columns={'wind': ['3', '4']}, first=42, file='the table', numbers={}, before=0)
    """
    columns = {name: column[start:stop] for name, column in batch.columns.items()}
    return replace(batch, columns=columns, first=batch.first + start)


def item_of(book: Workbook, id: Id) -> dict[str, Any]:
    """Return the cells of an outstanding row for a labeller: what is written like a number is one.

    What was predicted is kept from it, and so is the column of labels.
    """
    cells = book.waiting.cells(id)
    if cells is None:  # asked about by a version that did not keep them
        return {heading(book.id_column): id}
    return {name: _value(cell, whole=not place) for place, (name, cell) in enumerate([*cells.items()][:-2])}


def _value(cell: Any, *, whole: bool) -> Any:
    if isinstance(cell, float) and not math.isfinite(cell):
        return None
    return number_or_text(cell, whole=whole) if isinstance(cell, str) else cell
