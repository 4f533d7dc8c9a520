"""Labels as people write them: 0.05 or 5%, 1000 or 1,000, 3.2 or € 3.20, in one way throughout a table."""

from __future__ import annotations

from typing import Any

import numpy as np

from qufur.arrays import Floats
from qufur.errors import invalid
from qufur.tables.amounts import amount, amounts
from qufur.tables.batch import Batch, Column, shown
from qufur.tables.cells import listed, numbers

_PLAIN = "plain"


def label_numbers(column: Column) -> Floats | None:
    """Return labels as (n, 1) floats, NaN where they are missing; None if one is no number.

    >>> label_numbers(["5%", None, "12.5 %"]).ravel(), label_numbers(["5%", "late"])
    (array([0.05 ,   nan, 0.125]), None)
    """
    plain = numbers(column)
    if plain is not None:
        return plain
    found = (amount(cell) for cell in listed(column) if isinstance(cell, str))
    return amounts(column, next((one[1] for one in found if one and one[1]), ""))


class LabelForms:
    """The ways in which the labels of a table are written.

    Parameters
    ----------
    unit
        That of the labels before, if they had one.

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
        # Row and cell of the first that is written in a way: plainly, or with a unit, which may be none.
        self._found: dict[str, tuple[int, Any]] = {}
        self.all_numbers = True

    def add(self, batch: Batch, column: str) -> None:
        """Look at the labels of a batch."""
        self._column, self._file = column, batch.file
        cells = batch.column(column)
        values = numbers(cells)
        if values is not None:
            plain = np.flatnonzero(np.nan_to_num(values))
            if len(plain) and _PLAIN not in self._found:
                self._found[_PLAIN] = batch.row(int(plain[0])), cells[plain[0]]
            return
        for place, cell in enumerate(listed(cells)):
            form = _form(cell)
            if form is None:
                self.all_numbers = self.all_numbers and cell is None
            elif form and form not in self._found:
                self._found[form] = batch.row(place), cell

    @property
    def unit(self) -> str:
        """The currency or % of the labels, or nothing."""
        return next((form for form in self._found if form not in (_PLAIN, ",")), self._before)

    @property
    def notes(self) -> list[str]:
        """What to say of labels that are not written plainly."""
        examples = (cell for form, (_, cell) in self._found.items() if form != _PLAIN)
        return [
            f"Labels in column {self._column!r} are read as numbers: {shown(cell)} is {_amount(cell)[0]:g}."
            for cell in examples
        ]

    def check(self) -> None:
        """Complain if labels are written in more than one way: 5% and 7, or € 3 and $ 4."""
        units = [form for form in self._found if form not in (_PLAIN, ",")]
        others = [form for form in (_PLAIN, ",") if form in self._found and "%" in units]
        if len(units) + len(others) > 1:
            (row, cell), (other_row, other) = (self._found[form] for form in (units + others)[:2])
            received = f"{shown(cell)} in row {row} and {shown(other)} in row {other_row}"
            self._refuse(received, "Write all of them in the same way.")
        if units and self._before not in ("", units[0]):
            row, cell = self._found[units[0]]
            self._refuse(f"{shown(cell)} in row {row}", f"Those before were in {self._before}.")

    def _refuse(self, received: str, remedy: str) -> None:
        raise invalid(f"column {self._column!r}", self._file, "labels written in one way", received, remedy)


def _form(cell: Any) -> str | None:
    """Return how a label is written, nothing for 0, which is the same in all ways; None if it is no number.

    >>> [_form(cell) for cell in ("7", 0, "1,000", "5%", "€ 3", "late", None)]
    ['plain', '', ',', '%', '€', None, None]
    """
    if cell is None:
        return None
    plain = numbers([cell])
    if plain is not None:
        return _PLAIN if plain.item() else ""
    found = amount(cell) if isinstance(cell, str) else None
    return None if found is None else (found[1] or ",") if found[0] else ""


def _amount(cell: str) -> tuple[float, str]:
    return amount(cell) or (0.0, "")
