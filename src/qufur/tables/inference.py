"""Inference of column types from the first table."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from qufur.arrays import LARGEST, Floats
from qufur.errors import invalid
from qufur.moments import Moments
from qufur.tables.batch import Batch, Column, bad_cell, shown
from qufur.tables.categorical import Categorical, Hashed
from qufur.tables.cells import (
    category,
    first_bad,
    first_other,
    is_missing,
    is_numeric,
    length_of,
    listed,
    numbers,
    vectors,
)
from qufur.tables.columns import Kind, Numeric, Text
from qufur.tables.dates import DateGuess
from qufur.tables.number_formats import AmountGuess
from qufur.tables.text import text_vectors

MOST_CATEGORIES = 100
"""Maximum number of categories with a column of x each; more are hashed."""
Cell = tuple[int, Any]
"""Row number and content of a cell."""


class ColumnInference:
    """Inference of the type of a column in one pass.

    Parameters
    ----------
    name, file
        Names of the column and of its table.
    numeric, categorical, embedding
        Type given by the user; at most one is True.
    added
        Whether the column is added to an existing encoding.
    """

    def __init__(
        self,
        name: str,
        file: str,
        *,
        numeric: bool = False,
        categorical: bool = False,
        embedding: bool = False,
        added: bool = False,
    ) -> None:
        self.name, self.file = name, file
        self._leave_out = f"leave out `add={[name]}`" if added else f"`skip={[name]}`"
        self._correct = f"Correct the cell, drop the row, or {self._leave_out}."
        self._numeric, self._categorical, self._embedding = numeric, categorical, embedding
        self._moments = Moments()
        self._categories: set[str] = set()
        # Length of the lists in cells, 0 if they are not lists, None before the first cell.
        self._length: int | None = None
        # First cells that are missing, not a number, neither number nor text, too large a number.
        self._missing: Cell | None = None
        self._non_number: Cell | None = None
        self._other: Cell | None = None
        self._large: Cell | None = None
        # Formats that the cells may have, once one of them is not a number.
        self._guesses: list[AmountGuess | DateGuess] | None = None

    def add(self, batch: Batch) -> None:
        """Update the inference with a batch."""
        column = batch.column(self.name)
        missing = is_missing(column)
        # Infinity in a numeric array does not make the column categorical.
        self._numeric = self._numeric or (is_numeric(column) and not self._categorical)
        if missing.any():
            self._missing = self._missing or (batch.row(int(missing.argmax())), None)
        if self._length is None and not missing.all():
            self._length = self._length_of(column[int(missing.argmin())])
        if not (self._non_number or self._categorical):
            self._add_numbers(batch, column)
        if self._non_number and not (self._length or self._numeric or self._embedding):
            self._add_guesses(column)
        if not (self._length or self._numeric) and len(self._categories) <= MOST_CATEGORIES:
            self._add_categories(batch, column)

    @property
    def is_settled(self) -> bool:
        """Whether further numbers change only the moments."""
        return bool(
            self._length == 0
            and not (self._non_number or self._categorical or self._embedding)
            and (self._numeric or len(self._categories) > MOST_CATEGORIES)
        )

    def add_numbers(self, values: Floats) -> None:
        """Update the moments with the numbers (n, 1) of a batch without other cells."""
        self._moments.add(values)

    def kind(self, *, impute: bool) -> Kind:
        """Return the entry of the encoding; raise InvalidError if the cells are not of one type."""
        if self._missing and not impute:
            remedy = f"Fill it, drop the row, {self._leave_out}, or give `impute=True`."
            raise bad_cell(self.file, self.name, *self._missing, "without missing cells", remedy)
        if self._length is None:
            received = "missing cells only"
            remedy = f"It cannot be an input yet: {self._leave_out}."
            raise invalid(f"column {self.name!r}", self.file, "of some value", received, remedy)
        formatted = self._formatted()
        if formatted is not None:
            return formatted
        has_numbers = self._numeric or self._embedding or self._length
        if has_numbers or not (self._non_number or self._categorical):
            return self._as_numeric()
        return self._as_categorical()

    def _add_guesses(self, column: Column) -> None:
        if self._guesses is None:
            self._guesses = [AmountGuess(self._moments), *([] if self._moments.count else [DateGuess()])]
        self._guesses = [guess for guess in self._guesses if guess.add(column)]

    def _formatted(self) -> Kind | None:
        """Return the entry of a column of amounts or dates; None if the cells are neither."""
        entries = (guess.kind(self.name, bool(self._missing)) for guess in self._guesses or [])
        return None if self._large or self._numeric else next(filter(None, entries), None)

    def _length_of(self, cell: Any) -> int:
        return length_of(cell) if self._embedding or not isinstance(cell, str) else 0

    @property
    def _allowed(self) -> str:
        vector = self._embedding or self._length
        return f"lists of {self._length or 'finite'} numbers" if vector else "finite numbers"

    def _read(self, column: Column) -> Any:
        is_list = self._embedding or self._length
        return vectors(column, self._length or 1) if is_list else numbers(column)

    def _add_numbers(self, batch: Batch, column: Column) -> None:
        values = self._read(column)
        if values is None:
            index = first_bad(column, self._read)
            self._non_number = batch.row(index), column[index]
            return
        large = np.abs(values).max(axis=1) >= LARGEST
        if large.any():
            index = int(large.argmax())
            self._large = self._large or (batch.row(index), column[index])
        else:
            self._moments.add(values[~np.isnan(values[:, 0])])

    def _add_categories(self, batch: Batch, column: Column) -> None:
        index = first_other(column)
        if index is None:
            self._categories |= {category(cell) for cell in set(listed(column)) if cell is not None}
        elif not self._other:
            self._other = batch.row(index), column[index]

    def _as_numeric(self) -> Numeric:
        if self._non_number:
            raise bad_cell(self.file, self.name, *self._non_number, self._allowed, self._correct)
        if self._large:
            allowed = f"numbers below {LARGEST:g} in size"
            raise bad_cell(self.file, self.name, *self._large, allowed, self._correct)
        mean, deviation = self._moments.mean, self._moments.std
        vector = bool(self._length)
        return Numeric(
            self.name, tuple(mean.tolist()), tuple(deviation.tolist()), vector, bool(self._missing)
        )

    def _as_categorical(self) -> Categorical | Hashed:
        if self._other:
            allowed = "numbers, text or lists of numbers"
            raise bad_cell(self.file, self.name, *self._other, allowed, self._correct)
        if len(self._categories) > MOST_CATEGORIES:
            return self._as_hashed()
        return Categorical(self.name, tuple(sorted(self._categories)), bool(self._missing))

    def _as_hashed(self) -> Hashed:
        """Return the entry of hashed categories.

        Raises InvalidError if most categories are numbers: the column is then numeric, and the first other
        cell is probably a typo.
        """
        numeric = sum(numbers([cell]) is not None for cell in self._categories)
        if self._non_number and 2 * numeric > MOST_CATEGORIES:
            row, cell = self._non_number
            allowed, received = "numbers throughout", f"{shown(cell)} in row {row}"
            remedy = f"{self._correct[:-1]}; `categorical={[self.name]}` reads all cells as categories."
            raise invalid(f"column {self.name!r}", self.file, allowed, received, remedy)
        return Hashed(self.name, blanks=bool(self._missing))


class TextInference(ColumnInference):
    """Inference of a column of text, which embeds its cells.

    Parameters
    ----------
    name, file
        Names of the column and of its table.
    model
        Name of the language model, which is downloaded if necessary, or its folder.
    added
        Whether the column is added to an existing encoding.
    """

    def __init__(self, name: str, file: str, model: str, *, added: bool = False) -> None:
        super().__init__(name, file, embedding=True, added=added)
        self._model = model

    def kind(self, *, impute: bool) -> Text:
        return Text(**asdict(super().kind(impute=impute)), model=self._model)

    @property
    def _allowed(self) -> str:
        return "text"

    def _length_of(self, cell: Any) -> int:
        values = self._read([cell])
        return 0 if values is None else int(values.shape[1])

    def _read(self, column: Column) -> Any:
        return text_vectors(column, self._model, fetch=True)
