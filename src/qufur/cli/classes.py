"""Classes on the command line: how they are named, told, predicted and judged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from qufur.classes import takes_classes
from qufur.cli.loop import Rows
from qufur.errors import invalid
from qufur.tables import Batch
from qufur.tables.batch import shown
from qufur.tables.cells import category, first_bad, is_missing, numbers
from qufur.tables.classes import LabelSurvey, class_name, listing
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
    return names


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
    if classes is None and survey.odd is not None:
        row, cell = survey.odd
        odd = f"though {shown(cell)} in row {row} is none"
        return [f"Labels in column {survey.column!r} are taken for numbers, {odd}; --classes makes classes."]
    return []


def read_labels(book: Workbook, batch: Batch, column: str) -> tuple[Any, Any]:
    """Return the places of the labels of a batch and the labels, or say how text can be learned."""
    cells = batch.column(column)
    if book.classes is None and numbers(cells) is None and takes_classes(book.learner):
        texts = [cell for cell, missing in zip(cells, is_missing(cells), strict=True) if not missing]
        names = ",".join(sorted({class_name(text) for text in texts if isinstance(text, str)}))
        remedy = f"If labels are classes, name all of them, such as `qufur tell … --classes {names[:80]}`."
        raise batch.refuse(column, first_bad(cells, numbers), "finite numbers", f"{remedy} Nothing is lost.")
    return book.read_labels(batch, column)


def class_errors(book: Workbook) -> dict[str, dict[str, Any]]:
    """Return for each class how many labels came, and the share of its rows that got another prediction.

    Labels stand for 1/p rows each, so the share is that of all rows; predictions count as they were made.
    It is None while nothing was asked about since the first label came.
    """
    standing = book.learner.state.standing()
    early = standing is None or not standing.labels
    known = [] if early else [record for record in book.told.values() if record.largest_loss > 0]
    label, prediction, probability = np.array([record[:3] for record in known]).reshape(-1, 3).T
    found = {}
    for number, name in enumerate(book.classes or ()):
        rows = label == number
        wrong = rows & (prediction != label)
        share = float((1 / probability[wrong]).sum() / (1 / probability[rows]).sum()) if rows.any() else None
        labels = sum(record.label == number for record in book.told.values())
        found[name] = {"labels": labels, "wrong": int(wrong.sum()), "error_rate": share}
    return found


def on_class_errors(book: Workbook) -> Iterator[str]:
    """Say how the classes are doing, the rare ones too."""
    standing = book.learner.state.standing()
    early = len(book.told) - (standing.labels if standing else 0)
    for place, (name, found) in enumerate(class_errors(book).items()):
        labels, share = found["labels"], found["error_rate"]
        text = f"{'' if place else 'classes':14}{name}: {labels} label{'s' * (labels != 1)}"
        if share is not None:
            text += f", {found['wrong']} wrong when they came; "
            text += f"about {100 * share:.0f} % of all rows of this class"
        yield text
    if book.classes and early:
        yield f"{'':14}{early} of these labels are of rows asked about before the first one came"


def probability_headings(classes: Sequence[str]) -> list[str]:
    """Return what the columns of probabilities are called."""
    return [f"probability of {name}" for name in classes]
