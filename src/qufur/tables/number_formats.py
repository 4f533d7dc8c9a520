"""Number formats such as 1,000, 5% and € 3.20 in columns, labels and typed text."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from qufur.arrays import LARGEST, Floats
from qufur.errors import invalid
from qufur.moments import Moments
from qufur.tables.batch import Batch, shown
from qufur.tables.cells import Column, clean, first_other, listed, numbers
from qufur.tables.columns import Numeric
from qufur.tables.formats.dialect import with_point

_UNIT = "[€$£¥]|EUR|USD|GBP|CHF|JPY"
_PLAIN = "plain"
"""Placeholder for the unit of a number without a format."""
_THOUSANDS = "[,'’\u00a0\u202f]"
_AMOUNT = re.compile(
    rf"([+-]?)\s*({_UNIT})?\s*([+-]?)([0-9]+(?:\.[0-9]*)?|[1-9][0-9]{{0,2}}(?:{_THOUSANDS}[0-9]{{3}})+(?:\.[0-9]+)?)"
    rf"\s*(%|{_UNIT})?"
)


def amount(text: str) -> tuple[float, str] | None:
    """Return the number and unit of a text, or None if it is not an amount.

    >>> [amount(text) for text in ("1,000", "5%", "-€ 3.20", "3 EUR", "LH7", "1,5", "€ 3 $")]
    [(1000.0, ''), (0.05, '%'), (-3.2, '€'), (3.0, 'EUR'), None, None, None]
    """
    match = _AMOUNT.fullmatch(text)
    if match is None:
        return None
    sign, before, inner, digits, after = match.groups(default="")
    if (sign and inner) or (before and after):
        return None
    number = float(sign + inner + re.sub(_THOUSANDS, "", digits))
    return (number / 100 if after == "%" else number), before or after


def amounts(column: Column, unit: str) -> Floats | None:
    """Return the cells as (n, 1) floats, NaN for missing ones; None if a cell has another unit.

    A number without a unit is unchanged: spreadsheets store 5% as 0.05.

    >>> amounts(["5%", None, "0.25", 1], "%").ravel()
    array([0.05,  nan, 0.25, 1.  ])
    """
    plain = numbers(column)
    if plain is not None:
        return plain
    if first_other(column) is not None:
        return None
    cells = listed(column)
    parsed = {cell: _parsed(cell) for cell in set(cells)}
    values = {cell: pair[0] for cell, pair in parsed.items() if pair and pair[1] in (_PLAIN, "", unit)}
    if len(values) < len(parsed) or math.inf in map(abs, values.values()):
        return None
    return np.array([values[cell] for cell in cells], np.float64)[:, None]


def _parsed(cell: str | float | None) -> tuple[float, str] | None:
    """Return the number and unit of a cell: `_PLAIN` for a plain number, and for NaN from a missing cell."""
    plain = numbers([cell])
    if plain is not None:
        return float(plain.item()), _PLAIN
    return amount(cell) if isinstance(cell, str) else None


@dataclass(frozen=True)
class Amount(Numeric):
    """Column of numbers with a unit or with thousands separators.

    Parameters
    ----------
    unit
        A currency, % or nothing; the same in all cells that have one.
    example
        A cell of the first table, for messages.
    """

    unit: str = field(kw_only=True)
    example: str = field(kw_only=True)
    kind: ClassVar[str] = "amount"

    @property
    def allowed(self) -> str:
        return f"numbers such as {self.example!r}"

    @property
    def note(self) -> str:
        value = (amount(self.example) or (math.nan,))[0]
        return f"Column {self.name!r} is read as numbers: {self.example!r} is {value:g}."

    @property
    def is_single(self) -> bool:
        return False  # cells are not plain numbers

    def read(self, column: Column) -> Floats | None:
        return amounts(column, self.unit)


class AmountGuess:
    """Detection of a column of amounts of one unit.

    Parameters
    ----------
    moments
        Moments of the plain numbers before the first amount.
    """

    def __init__(self, moments: Moments) -> None:
        self._moments, self._unit, self._example = moments, "", ""

    def add(self, column: Column) -> bool:
        """Update the detection with cells; return whether all are amounts so far."""
        for cell in column:
            parsed = amount(cell) if isinstance(cell, str) and not self._unit else None
            if parsed and (parsed[1] or not self._example) and numbers([cell]) is None:
                self._unit, self._example = parsed[1], str(cell)
        values = amounts(column, self._unit)
        if values is None or not (np.abs(values) < LARGEST)[~np.isnan(values)].all():
            return False
        self._moments.add(values[~np.isnan(values[:, 0])])
        return True

    def kind(self, name: str, blanks: bool) -> Amount | None:
        """Return the entry of the column."""
        mean, deviation = (tuple(part.tolist()) for part in (self._moments.mean, self._moments.std))
        return Amount(name, mean, deviation, blanks=blanks, unit=self._unit, example=self._example)


def label_numbers(column: Column) -> Floats | None:
    """Return labels as (n, 1) floats, NaN for missing ones; None if a label is not a number.

    >>> label_numbers(["5%", None, "12.5 %"]).ravel(), label_numbers(["5%", "late"])
    (array([0.05 ,   nan, 0.125]), None)
    """
    plain = numbers(column)
    if plain is not None:
        return plain
    parsed = (amount(cell) for cell in listed(column) if isinstance(cell, str))
    return amounts(column, next((pair[1] for pair in parsed if pair and pair[1]), ""))


class LabelForms:
    """Number formats of the labels of a table; `check` raises an error if they are mixed.

    Parameters
    ----------
    unit
        Unit of earlier labels, if any.

    Examples
    --------
    >>> forms = LabelForms()
    >>> forms.add(Batch({"share": ["5%", None]}), "share")
    >>> forms.notes, forms.unit
    (["Labels in column 'share' are read as numbers: '5%' is 0.05."], '%')
    >>> forms.add(Batch({"share": ["7"]}, 3), "share")
    >>> forms.check()
    Traceback (most recent call last):
        ...
    qufur.errors.InvalidError: column 'share' of the table must be labels written in one way, got '5%' in ...
    """

    def __init__(self, unit: str = "") -> None:
        self._before, self._column, self._file = unit, "", ""
        # Row and content of the first label of each format: plain, a unit, or a comma between thousands.
        self._examples: dict[str, tuple[int, Any]] = {}
        self.all_numbers = True

    def add(self, batch: Batch, column: str) -> None:
        """Record the formats of the labels of a batch."""
        self._column, self._file = column, batch.file
        cells = batch.column(column)
        values = numbers(cells)
        if values is not None:
            plain = np.flatnonzero(np.nan_to_num(values))
            if len(plain) and _PLAIN not in self._examples:
                self._examples[_PLAIN] = batch.row(int(plain[0])), cells[plain[0]]
            return
        for index, cell in enumerate(listed(cells)):
            form = _form(cell)
            if form is None:
                self.all_numbers = self.all_numbers and cell is None
            elif form and form not in self._examples:
                self._examples[form] = batch.row(index), cell

    @property
    def unit(self) -> str:
        """The currency or % of the labels, or nothing."""
        return next((form for form in self._examples if form not in (_PLAIN, ",")), self._before)

    @property
    def notes(self) -> list[str]:
        """Messages about labels that are not plain numbers."""
        examples = [cell for form, (_, cell) in self._examples.items() if form != _PLAIN]
        values = [(cell, (amount(cell) or (0.0, ""))[0]) for cell in examples]
        return [
            f"Labels in column {self._column!r} are read as numbers: {shown(cell)} is {value:g}."
            for cell, value in values
        ]

    def check(self) -> None:
        """Raise InvalidError if labels have more than one format: 5% and 7, or € 3 and $ 4."""
        units = [form for form in self._examples if form not in (_PLAIN, ",")]
        others = [form for form in (_PLAIN, ",") if form in self._examples and "%" in units]
        if len(units) + len(others) > 1:
            (row, cell), (other_row, other) = (self._examples[form] for form in (units + others)[:2])
            received = f"{shown(cell)} in row {row} and {shown(other)} in row {other_row}"
            remedy = "Write all of them in the same way."
        elif units and self._before not in ("", units[0]):
            row, cell = self._examples[units[0]]
            received, remedy = f"{shown(cell)} in row {row}", f"Earlier labels were in {self._before}."
        else:
            return
        allowed = "labels written in one way"
        raise invalid(f"column {self._column!r}", self._file, allowed, received, remedy)


def _form(cell: Any) -> str | None:
    """Return the format of a label, empty for 0, which fits all formats; None if it is not a number.

    >>> [_form(cell) for cell in ("7", 0, "1,000", "5%", "€ 3", "late", None)]
    ['plain', '', ',', '%', '€', None, None]
    """
    parsed = None if cell is None else _parsed(cell)
    if parsed is None:
        return None
    number, unit = parsed
    return (unit or ",") if number else ""


_BLANK_IN_NUMBER = re.compile(r"(?<=[0-9])[ \u00a0\u202f](?=[0-9]{3}(?![0-9]))")


def readings(text: str) -> dict[str, float]:
    """Return the numbers that a typed text can mean, by decimal mark.

    A cell is read in a file whose decimal mark is known. A typed text has no file around it, so it is read
    with either mark. The result has one entry unless the two marks give different numbers, and none if the
    text is not a number with either of them. A blank between groups of three digits and the sign − are read
    too.

    >>> readings("1,500"), readings("1.500"), readings("1,234,567"), readings("1.500,25"), readings("1 500,5")
    ({'.': 1500.0, ',': 1.5}, {'.': 1.5, ',': 1500.0}, {'.': 1234567.0}, {',': 1500.25}, {',': 1500.5})
    >>> readings("−5"), readings("12 %"), readings("1e2"), readings("0x10"), readings("Infinity")
    ({'.': -5.0}, {'.': 0.12}, {'.': 100.0}, {}, {})
    """
    plain = _BLANK_IN_NUMBER.sub("", text.replace("\u2212", "-").strip())
    parsed = {mark: _number(cell) for mark, cell in ((".", plain), (",", with_point(plain)))}
    numbers = {mark: number for mark, number in parsed.items() if number is not None}
    return numbers if len(set(numbers.values())) > 1 else dict(list(numbers.items())[:1])


def _number(cell: str) -> float | None:
    """Return the number in a cell of a file with a decimal point; None if it holds none."""
    text = clean(cell)
    values = None if text is None else label_numbers([text])
    return None if values is None else float(values.item())
