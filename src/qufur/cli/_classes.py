"""Class labels on the command line: names, inference from the first table, and reading."""

from __future__ import annotations

from typing import Any

from qufur.cli._state_file import TableReader
from qufur.errors import invalid
from qufur.tables import Batch
from qufur.tables.batch import shown
from qufur.tables.cells import category, clean_texts, first_bad, is_missing
from qufur.tables.labels import LabelSurvey, class_name, listing
from qufur.tables.number_formats import LabelForms, label_numbers
from qufur.workbook import Workbook
from qufur.workbook.classes import takes_classes


def parse_classes(text: str | None, command: str) -> tuple[str, ...] | None:
    """Parse the value of --classes.

    >>> parse_classes("yes, no", "qufur ask")
    ('yes', 'no')
    """
    if text is None:
        return None
    names = tuple(category(name.strip()) for name in text.split(","))
    if len(names) < 2 or "" in names or len(set(names)) < len(names):
        allowed = "two or more different names separated by commas, such as yes,no"
        raise invalid("--classes", command, allowed, repr(text))
    for name in names:
        [cell] = clean_texts([name])
        if cell is None or class_name(cell) != name:  # as a cell, it reads as blank or as another text
            read = "an empty cell" if cell is None else repr(class_name(cell))
            received, remedy = f"{name!r}, which is read as {read}", "Give the class another name."
            raise invalid("--classes", command, "names that a file of labels can hold", received, remedy)
    return names


def infer_labels(
    rows: TableReader, target: str | None, classes: tuple[str, ...] | None, *, numbers: bool = False
) -> LabelSurvey:
    """Return the inference of label types; it sees the rows as the caller iterates over them."""
    survey = LabelSurvey(target or "", rows.file.path.name, classes, numbers=numbers)
    if target is not None and target in {*rows.columns, *rows.file.numbers}:
        rows.watch(survey.add)
    return survey


def describe_labels(survey: LabelSurvey, given: tuple[str, ...] | None) -> list[str]:
    """Describe the inferred type of the labels in the first table, unless --classes gives it."""
    classes = survey.classes()
    if classes is not None and given is None:
        return [f"Labels in column {survey.column!r} are text, so they are classes: {listing(classes)}."]
    if survey.forms.all_numbers:
        return survey.forms.notes
    if classes is None and survey.first_text is not None:
        row, cell = survey.first_text
        return [
            f"Labels in column {survey.column!r} are read as numbers, although {shown(cell)} in row {row} is "
            "not a number; --classes reads them as classes."
        ]
    return []


def read_labels(workbook: Workbook, forms: LabelForms, batch: Batch, column: str) -> tuple[Any, Any]:
    """Return the positions and values of the labels in a batch; text labels need --classes."""
    if workbook.classes is not None:
        return workbook.read_labels(batch, column)
    cells = batch.column(column)
    forms.add(batch, column)
    forms.check()
    if label_numbers(cells) is None and takes_classes(workbook.learner):
        texts = [cell for cell, missing in zip(cells, is_missing(cells), strict=True) if not missing]
        names = ",".join(sorted({class_name(text) for text in texts if isinstance(text, str)}))
        remedy = f"If labels are classes, name all of them, such as `qufur tell … --classes {names[:80]}`."
        raise batch.cell_error(
            column, first_bad(cells, label_numbers), "finite numbers", f"{remedy} Nothing was changed."
        )
    positions_and_labels = workbook.read_labels(batch, column)
    workbook.unit = forms.unit
    return positions_and_labels
