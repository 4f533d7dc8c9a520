"""What the first table says about a column."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from qufur.arrays import LARGEST, Floats
from qufur.errors import invalid
from qufur.tables.amounts import Amount, AmountGuess
from qufur.tables.batch import Batch, Column, bad_cell, shown
from qufur.tables.categories import Categorical, Hashed
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
from qufur.tables.columns import KINDS, Kind, Numeric, Text
from qufur.tables.dates import DateGuess, Dates
from qufur.tables.moments import Moments
from qufur.tables.text_vectors import text_vectors

MOST_CATEGORIES = 100
Found = tuple[int, Any]
KINDS |= {kind.kind: kind for kind in (Amount, Dates)}


class Survey:
    """One pass over a column; what kind it is shows at the end.

    Parameters
    ----------
    name, file
        Of the column and of its table.
    numeric, categorical, embedding
        What the user says it is; at most one of them.
    added
        Whether it is to become an input later than others.
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
        self._leave_out = f"leave out --add-column {name}" if added else f"--skip {name}"
        self._correct = f"Correct the cell, drop the row, or {self._leave_out}."
        self._numeric, self._categorical, self._embedding = numeric, categorical, embedding
        self._moments = Moments()
        self._categories: set[str] = set()
        # Numbers in a cell, 0 if it is no list; None until there is a cell.
        self._length: int | None = None
        # Row and cell of the first that is missing, no number, no number nor text, too large a number.
        self._missing: Found | None = None
        self._odd: Found | None = None
        self._other: Found | None = None
        self._large: Found | None = None
        # What else the cells may be, once one of them is no number.
        self._guesses: list[AmountGuess | DateGuess] | None = None

    def add(self, batch: Batch) -> None:
        """Take in the cells of a batch."""
        column = batch.column(self.name)
        missing = is_missing(column)
        # Infinity among numbers is no category.
        self._numeric = self._numeric or (is_numeric(column) and not self._categorical)
        if missing.any():
            self._missing = self._missing or (batch.row(int(missing.argmax())), None)
        if self._length is None and not missing.all():
            self._length = self._length_of(column[int(missing.argmin())])
        if not (self._odd or self._categorical):
            self._add_numbers(batch, column)
        if self._odd and not (self._length or self._numeric or self._embedding):
            self._add_guesses(column)
        if not (self._length or self._numeric) and len(self._categories) <= MOST_CATEGORIES:
            self._add_categories(batch, column)

    @property
    def is_settled(self) -> bool:
        """Whether all that numbers can still tell is their moments."""
        return bool(
            self._length == 0
            and not (self._odd or self._categorical or self._embedding)
            and (self._numeric or len(self._categories) > MOST_CATEGORIES)
        )

    def add_numbers(self, values: Floats) -> None:
        """Take in the numbers of a batch, (n, 1), that has nothing else in this column."""
        self._moments.add(values)

    def kind(self, *, impute: bool) -> Kind:
        """Decide, or complain."""
        if self._missing and not impute:
            remedy = f"Fill it, drop the row, {self._leave_out}, or give --impute."
            raise bad_cell(self.file, self.name, *self._missing, "without missing cells", remedy)
        if self._length is None:
            received = "missing cells only"
            remedy = f"It is no input yet: {self._leave_out}."
            raise invalid(f"column {self.name!r}", self.file, "of some value", received, remedy)
        written = self._written()
        if written is not None:
            return written
        as_numbers = self._numeric or self._embedding or self._length
        return (
            self._as_numeric()
            if as_numbers or not (self._odd or self._categorical)
            else self._as_categorical()
        )

    def _add_guesses(self, column: Column) -> None:
        if self._guesses is None:
            self._guesses = [AmountGuess(self._moments), *([] if self._moments.count else [DateGuess()])]
        self._guesses = [guess for guess in self._guesses if guess.add(column)]

    def _written(self) -> Kind | None:
        """Return what the cells are if they are numbers or dates in words."""
        kinds = (guess.kind(self.name, bool(self._missing)) for guess in self._guesses or [])
        return None if self._large or self._numeric else next(filter(None, kinds), None)

    def _length_of(self, cell: Any) -> int:
        return length_of(cell) if self._embedding or not isinstance(cell, str) else 0

    @property
    def _allowed(self) -> str:
        vector = self._embedding or self._length
        return f"lists of {self._length or 'finite'} numbers" if vector else "finite numbers"

    def _read(self, column: Column) -> Any:
        listed = self._embedding or self._length
        return vectors(column, self._length or 1) if listed else numbers(column)

    def _add_numbers(self, batch: Batch, column: Column) -> None:
        values = self._read(column)
        if values is None:
            place = first_bad(column, self._read)
            self._odd = batch.row(place), column[place]
            return
        large = np.abs(values).max(axis=1) >= LARGEST
        if large.any():
            place = int(large.argmax())
            self._large = self._large or (batch.row(place), column[place])
        else:
            self._moments.add(values[~np.isnan(values[:, 0])])

    def _add_categories(self, batch: Batch, column: Column) -> None:
        place = first_other(column)
        if place is None:
            self._categories |= {category(cell) for cell in set(listed(column)) if cell is not None}
        elif not self._other:
            self._other = batch.row(place), column[place]

    def _as_numeric(self) -> Numeric:
        if self._odd:
            raise bad_cell(self.file, self.name, *self._odd, self._allowed, self._correct)
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
        """Return many categories as hashes, and complain if most of them are numbers: one cell is odd."""
        if self._odd and 2 * sum(numbers([cell]) is not None for cell in self._categories) > MOST_CATEGORIES:
            row, cell = self._odd
            allowed, received = "numbers throughout", f"{shown(cell)} in row {row}"
            remedy = f"{self._correct[:-1]}; --categorical {self.name} takes all as categories."
            raise invalid(f"column {self.name!r}", self.file, allowed, received, remedy)
        return Hashed(self.name, blanks=bool(self._missing))


class TextSurvey(Survey):
    """One pass over a column of text, which embeds it.

    Parameters
    ----------
    name, file
        Of the column and of its table.
    model
        The name of the language model, which is fetched if need be, or its folder.
    added
        Whether it is to become an input later than others.
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
