"""Labels that are classes: which there are in a column, and their numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from qufur.arrays import Floats, Ints
from qufur.errors import invalid
from qufur.tables.batch import Batch, shown
from qufur.tables.cells import category, first_other, listed, numbers
from qufur.tables.label_forms import LabelForms
from qufur.tables.written import unescaped

MOST_CLASSES = 50
"""More texts than these are no classes, unless somebody says so."""
SHOWN = 8


def class_name(cell: str | float) -> str:
    """Return the name of a class as a file of labels has it.

    >>> [class_name(cell) for cell in ("yes", 1.0, "True", "'-none")]
    ['yes', '1', 'true', '-none']
    """
    return category(unescaped(cell) if isinstance(cell, str) else cell)


def listing(classes: Iterable[str]) -> str:
    """Return the names of classes, the first of many.

    >>> listing(["no", "yes"])
    "'no', 'yes'"
    """
    names = list(map(shown, classes))
    return ", ".join(names[:SHOWN]) + (f", … ({len(names)} in all)" if len(names) > SHOWN else "")


def class_labels(
    batch: Batch, column: str, classes: Sequence[str], *, skip_blank: bool = False
) -> tuple[Ints, Floats]:
    """Return the places of the rows with a label, and the numbers of their classes.

    >>> class_labels(Batch({"late": ["yes", None, "no"]}), "late", ["no", "yes"], skip_blank=True)
    (array([0, 2]), array([1., 0.]))
    """
    blank = "leave it blank" if skip_blank else "drop the row"
    allowed, correct = f"one of {listing(classes)}", f"Correct it, {blank}, or name it with --classes."
    other = first_other(batch.column(column))
    if other is not None:
        raise batch.refuse(column, other, allowed, correct)
    number_of: dict[Any, int] = {name: number for number, name in enumerate(classes)}
    cells = listed(batch.column(column))
    places = [place for place, cell in enumerate(cells) if not (skip_blank and cell is None)]
    found = [None if cells[place] is None else number_of.get(class_name(cells[place])) for place in places]
    if None in found:
        raise batch.refuse(column, places[found.index(None)], allowed, correct)
    return np.array(places, dtype=np.int64), np.array(found, dtype=np.float64)


class LabelSurvey:
    """One pass over the labels of a table, which are numbers, or classes by their names.

    Parameters
    ----------
    column, file
        Of the labels, and its table.
    classes
        Those that somebody named; other labels are then refused. None looks for them.
    numbers
        Whether somebody said that labels are numbers.

    Examples
    --------
    >>> survey = LabelSurvey("late", "may.csv")
    >>> survey.add(Batch({"late": ["yes", None, "no"]}))
    >>> survey.classes()
    ('no', 'yes')
    """

    def __init__(
        self, column: str, file: str, classes: tuple[str, ...] | None = None, *, numbers: bool = False
    ) -> None:
        self.column, self.file = column, file
        self._named = classes
        self._texts: set[str] = set()
        self._numbers = numbers
        self.forms = LabelForms()
        # Row and cell of the first text.
        self.odd: tuple[int, Any] | None = None

    def add(self, batch: Batch) -> None:
        """Look at the labels of a batch."""
        if self._named is not None:
            class_labels(batch, self.column, self._named, skip_blank=True)
            return
        self.forms.add(batch, self.column)
        cells = batch.column(self.column)
        values = numbers(cells)
        if values is not None:
            self._numbers = self._numbers or not bool(np.isnan(values).all())
        elif first_other(cells) is None and len(self._texts) <= MOST_CLASSES:
            self._add_texts(batch, listed(cells))

    def _add_texts(self, batch: Batch, cells: list[Any]) -> None:
        texts = {cell for cell in set(cells) if cell is not None and numbers([cell]) is None}
        self._numbers = self._numbers or not {*cells} <= {*texts, None}
        self._texts |= {class_name(text) for text in texts}
        if self.odd is None:
            place = next(place for place, cell in enumerate(cells) if cell in texts)
            self.odd = batch.row(place), cells[place]

    def classes(self) -> tuple[str, ...] | None:
        """Return the classes; None for numbers. Text that is neither is refused."""
        if self._named is None and self._texts and self.forms.all_numbers:
            self.forms.check()
            return None
        if self._named is not None or self._numbers or not self._texts:
            return self._named
        if 2 <= len(self._texts) <= MOST_CLASSES:
            return tuple(sorted(self._texts))
        row, cell = self.odd or (0, None)
        few = len(self._texts) < 2
        received = f"{shown(cell)} throughout" if few else f"more, such as {shown(cell)} in row {row}"
        remedy = "Name all classes with --classes A,B,…, or another column with --target."
        allowed = f"numbers, or from 2 to {MOST_CLASSES} classes"
        raise invalid(f"column {self.column!r}", self.file, allowed, received, remedy)
