"""Classes on the command line: how they are named, told, predicted and judged."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from qufur.bookkeeping.classes import takes_classes
from qufur.cli.loop import Rows
from qufur.errors import invalid
from qufur.tables import Batch
from qufur.tables.batch import shown
from qufur.tables.cells import category, clean_texts, first_bad, is_missing
from qufur.tables.classes import LabelSurvey, class_name, listing
from qufur.tables.label_forms import LabelForms, label_numbers
from qufur.workbook import Workbook


def as_classes(text: str | None, command: str) -> tuple[str, ...] | None:
    """Return the classes that an option names.

    >>> as_classes("yes, no", "qufur ask")
    ('yes', 'no')
    """
    if text is None:
        return None
    names = tuple(category(name.strip()) for name in text.split(","))
    if len(names) < 2 or "" in names or len(set(names)) < len(names):
        allowed = "two or more different names with commas between them, such as yes,no"
        raise invalid("--classes", command, allowed, repr(text))
    for name in names:
        check_class(name, command)
    return names


def check_class(name: str, command: str) -> None:
    """Refuse a class that no file of labels can name, as its cells are read as blank or as another text."""
    [cell] = clean_texts([name])
    if cell is None or class_name(cell) != name:
        read = "an empty cell" if cell is None else repr(class_name(cell))
        allowed = "names that a file of labels can hold"
        received = f"{name!r}, which is read as {read}"
        raise invalid("--classes", command, allowed, received, "Give the class another name.")


def surveyed(
    rows: Rows, target: str | None, classes: tuple[str, ...] | None, *, numbers: bool = False
) -> LabelSurvey:
    """Return what looks at the labels of a table, if it has any, as its rows go by."""
    survey = LabelSurvey(target or "", rows.file.path.name, classes, numbers=numbers)
    if target is not None and target in {*rows.columns, *rows.file.numbers}:
        rows.watch(survey.add)
    return survey


def on_labels(survey: LabelSurvey, said: tuple[str, ...] | None) -> list[str]:
    """Say what the labels of the first table were taken for, where nobody had said it."""
    classes = survey.classes()
    if classes is not None and said is None:
        return [f"Labels in column {survey.column!r} are text, so classes: {listing(classes)}."]
    if survey.forms.all_numbers:
        return survey.forms.notes
    if classes is None and survey.odd is not None:
        row, cell = survey.odd
        odd = f"though {shown(cell)} in row {row} is none"
        return [f"Labels in column {survey.column!r} are taken for numbers, {odd}; --classes makes classes."]
    return []


def read_labels(book: Workbook, forms: LabelForms, batch: Batch, column: str) -> tuple[Any, Any]:
    """Return the places of the labels of a batch and the labels, or say how text can be learned."""
    if book.classes is not None:
        return book.read_labels(batch, column)
    cells = batch.column(column)
    forms.add(batch, column)
    forms.check()
    if label_numbers(cells) is None and takes_classes(book.learner):
        texts = [cell for cell, missing in zip(cells, is_missing(cells), strict=True) if not missing]
        names = ",".join(sorted({class_name(text) for text in texts if isinstance(text, str)}))
        remedy = f"If labels are classes, name all of them, such as `qufur tell … --classes {names[:80]}`."
        place = first_bad(cells, label_numbers)
        raise batch.refuse(column, place, "finite numbers", f"{remedy} Nothing is lost.")
    found = book.read_labels(batch, column)
    book.unit = forms.unit
    return found


def probability_headings(classes: Sequence[str]) -> list[str]:
    """Return what the columns of probabilities are called."""
    return [f"probability of {name}" for name in classes]
