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
    until_spent
        Whether the rows after the last label of the budget are left for later, when the budget is larger.

    Attributes
    ----------
    rows
        How many rows were asked about.
    """

    def __init__(
        self,
        book: Workbook,
        table: str,
        batches: Iterable[Batch],
        ask: Callable[[Batch], list[Id]],
        save: Callable[[], None],
        *,
        until_spent: bool = False,
    ) -> None:
        self._book, self._table, self._ask, self._save = book, table, ask, save
        self._size, self._until_spent = FEWEST, until_spent
        self._rest = self._rows(iter(batches))
        self._next: Batch | None = None
        self._left = list(book.learner.outstanding)
        self.rows = 0

    def __call__(self, wanted: int) -> list[Id] | None:
        """Return at least `wanted` rows, fewer at the end of the table or the budget; None after that."""
        if self._left:
            return self._handed_over()
        if self._peek() is None:
            return None
        found: list[Id] = []
        while (batch := self._peek()) is not None and len(found) < wanted:
            self._next = None
            new = self._ask(batch)
            found += new
            self.rows += len(batch)
            self._book.unfinished[self._table] += len(batch)
            self._size = FEWEST if new else min(2 * self._size, MOST)
        self._save()
        return found

    def _peek(self) -> Batch | None:
        """Return the rows to ask about next, None if there are none now; note the end of the table."""
        if self._table not in self._book.unfinished:
            return None
        self._next = self._next or next(self._rest, None)
        if self._next is None:
            del self._book.unfinished[self._table]
        return None if self.is_spent else self._next

    @property
    def is_spent(self) -> bool:
        """Whether no label is left for the next row, so that it has to wait for a larger budget."""
        return self._next is not None and self._until_spent and self._book.learner.left == 0

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
                stop = min(start + self._next_size(), len(batch))
                yield part_of(batch, start, stop)
                start = stop

    def _next_size(self) -> int:
        """Return how many rows to ask about at once; as many as labels at most, so that none is in vain."""
        left = self._book.learner.left
        return min(self._size, max(left, 1)) if self._until_spent and left is not None else self._size


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
