"""The rows of a table, as the commands go through them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from qufur.progress import track_rows
from qufur.tables import Batch, open_table

ROWS, ROWS_OF_TEXT = 4096, 32
"""Rows at a time; a text takes as long as thousands of numbers, and progress must show."""


class Rows:
    """The batches of a table, counted as they go by.

    Parameters
    ----------
    data
        The file.
    label
        Stands beside the progress bar; None for no bar.
    text
        Whether a column is embedded on the way.
    total
        How many rows there are, if that is known.
    """

    def __init__(self, data: Path, label: str | None, *, text: bool, total: int | None = None) -> None:
        self.file = open_table(data)
        batches = self.file.batches(ROWS_OF_TEXT if text else ROWS)
        head = next(batches)
        self.columns = head.columns
        self.count = 0
        self._batches, self._label, self._total = chain([head], batches), label, total

    def __iter__(self) -> Iterator[Batch]:
        shown = track_rows(self._batches, self._label, self._total) if self._label else self._batches
        for batch in shown:
            self.count += len(batch)
            yield batch
