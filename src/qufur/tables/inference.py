"""Inference of column types from the first table."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from qufur.arrays import LARGEST, Floats
from qufur.errors import invalid
from qufur.moments import Moments
from qufur.tables.batch import Batch, bad_cell
from qufur.tables.categorical import Categorical, Hashed
from qufur.tables.cells import (
    Column,
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
_MISSING, _NON_NUMBER, _LARGE, _OTHER = "missing", "no number", "too large", "neither number nor text"
"""Cells that decide about the type of a column."""


class ColumnPass(ABC):
    """One pass over a column of a table.

    Parameters
    ----------
    name
        Name of the column.
    """

    def __init__(self, name: str) -> None:
        self.name, self._moments = name, Moments()

    @property
    def is_settled(self) -> bool:
        """Whether further numbers change only the moments."""
        return False

    @abstractmethod
    def add(self, batch: Batch) -> None:
        """Update the result with a batch."""

    def add_numbers(self, values: Floats) -> None:
        """Update the moments with the numbers (n, 1) of a batch without other cells."""
        self._moments.add(values)


def add_batch(columns: Sequence[ColumnPass], batch: Batch) -> None:
    """Add a batch to all columns; those that are known to be numbers are converted together."""
    settled = [column for column in columns if column.is_settled and batch.has(column.name)]
    values = batch.numbers_in_text([column.name for column in settled])
    for column in columns:
        if values is None or column not in settled:
            column.add(batch)
    if values is not None:
        for column, numbers in zip(settled, values.T, strict=True):
            column.add_numbers(numbers[:, None])


class ColumnInference(ColumnPass):
    """Inference of the type of a column in one pass.

    Parameters
    ----------
    name, file
        Names of the column and of its table.
    given
        Type given by the user: "numeric", "categorical", "embedding" or none.
    added
        Whether the column is added to an existing encoding.
    """

    def __init__(self, name: str, file: str, given: str | None = None, *, added: bool = False) -> None:
        super().__init__(name)
        self.file = file
        self._leave_out = f"leave out `add={[name]}`" if added else f"`skip={[name]}`"
        self._correct = f"Correct the cell, drop the row, or {self._leave_out}."
        self._numeric, self._categorical = given == "numeric", given == "categorical"
        self._embedding = given == "embedding"
        self._categories: set[str] = set()
        # Length of the lists in cells, 0 if they are not lists, None before the first cell.
        self._length: int | None = None
        # Row and content of the first cell of a kind.
        self._first: dict[str, tuple[int, Any]] = {}
        # Formats that the cells may have, once one of them is not a number.
        self._guesses: list[AmountGuess | DateGuess] | None = None

    def add(self, batch: Batch) -> None:
        column = batch.column(self.name)
        missing = is_missing(column)
        # Infinity in a numeric array does not make the column categorical.
        self._numeric = self._numeric or (is_numeric(column) and not self._categorical)
        if missing.any():
            self._note(_MISSING, batch, int(missing.argmax()))
        if self._length is None and not missing.all():
            self._length = self._length_of(column[int(missing.argmin())])
        if not (_NON_NUMBER in self._first or self._categorical):
            self._add_numbers(batch, column)
        if _NON_NUMBER in self._first and not (self._length or self._numeric or self._embedding):
            self._add_guesses(column)
        if not (self._length or self._numeric) and len(self._categories) <= MOST_CATEGORIES:
            self._add_categories(batch, column)

    @property
    def is_settled(self) -> bool:
        return (
            self._length == 0
            and not (_NON_NUMBER in self._first or self._categorical or self._embedding)
            and (self._numeric or len(self._categories) > MOST_CATEGORIES)
        )

    def kind(self, *, impute: bool) -> Kind:
        """Return the entry of the encoding; raise InvalidError if the cells are not of one type."""
        if not impute:
            remedy = f"Fill it, drop the row, {self._leave_out}, or give `impute=True`."
            self._reject(_MISSING, "without missing cells", remedy)
        if self._length is None:
            received = "missing cells only"
            remedy = f"It cannot be an input yet: {self._leave_out}."
            raise invalid(f"column {self.name!r}", self.file, "of some value", received, remedy)
        formatted = self._formatted()
        if formatted is not None:
            return formatted
        has_numbers = self._numeric or self._embedding or self._length
        if has_numbers or not (_NON_NUMBER in self._first or self._categorical):
            return self._as_numeric()
        return self._as_categorical()

    def _add_guesses(self, column: Column) -> None:
        if self._guesses is None:
            self._guesses = [AmountGuess(self._moments), *([] if self._moments.count else [DateGuess()])]
        self._guesses = [guess for guess in self._guesses if guess.add(column)]

    def _formatted(self) -> Kind | None:
        """Return the entry of a column of amounts or dates; None if the cells are neither."""
        entries = (guess.kind(self.name, _MISSING in self._first) for guess in self._guesses or [])
        return None if _LARGE in self._first or self._numeric else next(filter(None, entries), None)

    def _length_of(self, cell: Any) -> int:
        may_be_list = self._embedding or not (self._categorical or isinstance(cell, str))
        return length_of(cell) if may_be_list else 0

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
            self._note(_NON_NUMBER, batch, first_bad(column, self._read))
            return
        large = np.abs(values).max(axis=1) >= LARGEST
        if large.any():
            self._note(_LARGE, batch, int(large.argmax()))
        else:
            self._moments.add(values[~np.isnan(values[:, 0])])

    def _add_categories(self, batch: Batch, column: Column) -> None:
        index = first_other(column)
        if index is None:
            self._categories |= {category(cell) for cell in set(listed(column)) if cell is not None}
        else:
            self._note(_OTHER, batch, index)

    def _as_numeric(self) -> Numeric:
        self._reject(_NON_NUMBER, self._allowed)
        self._reject(_LARGE, f"numbers below {LARGEST:g} in size")
        mean, deviation = (tuple(part.tolist()) for part in (self._moments.mean, self._moments.std))
        return Numeric(self.name, mean, deviation, bool(self._length), _MISSING in self._first)

    def _as_categorical(self) -> Categorical | Hashed:
        self._reject(_OTHER, "text or numbers" if self._categorical else "numbers, text or lists of numbers")
        if len(self._categories) > MOST_CATEGORIES:
            return self._as_hashed()
        return Categorical(self.name, tuple(sorted(self._categories)), _MISSING in self._first)

    def _as_hashed(self) -> Hashed:
        """Return the entry of hashed categories.

        Raises InvalidError if most categories are numbers: the column is then numeric, and the first other
        cell is probably a typo.
        """
        numeric = sum(numbers([cell]) is not None for cell in self._categories)
        if 2 * numeric > MOST_CATEGORIES:
            remedy = f"{self._correct[:-1]}; `categorical={[self.name]}` reads all cells as categories."
            self._reject(_NON_NUMBER, "numbers throughout", remedy)
        return Hashed(self.name, blanks=_MISSING in self._first)

    def _note(self, problem: str, batch: Batch, index: int) -> None:
        self._first.setdefault(problem, (batch.row(index), batch.column(self.name)[index]))

    def _reject(self, problem: str, allowed: str, remedy: str | None = None) -> None:
        """Raise InvalidError if there is a cell with this problem."""
        if problem in self._first:
            raise bad_cell(self.file, self.name, *self._first[problem], allowed, remedy or self._correct)


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
        super().__init__(name, file, "embedding", added=added)
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


def inference_of(
    name: str, file: str, given: str | None, text_model: str, *, added: bool = False
) -> ColumnInference:
    """Return the inference of a column, whose type may also be given as "text"."""
    if given == "text":
        return TextInference(name, file, text_model, added=added)
    return ColumnInference(name, file, given, added=added)
