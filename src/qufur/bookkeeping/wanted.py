"""Rows as they are shown to the people who label them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from qufur.answer import Answers
from qufur.tables.written import free, heading
from qufur.workbook import Workbook


def header_of(book: Workbook, columns: Iterable[str]) -> tuple[list[str], list[str]]:
    """Return the header of rows to label, and which columns of a table are shown in it."""
    id, target = heading(book.id_column), heading(book.target)
    prediction = free("prediction", {id, target})
    shown: dict[str, str] = {}
    for name in columns:
        if heading(name) not in (id, target, prediction):
            shown.setdefault(heading(name), name)
    return [id, *shown, prediction, target], list(shown.values())


def rows_to_label(
    answers: Answers, places: Sequence[int], columns: Sequence[Sequence[Any]]
) -> list[list[Any]]:
    """Return the rows at some places, with cells that are given for these places, column by column."""
    said = [shown_prediction(answers.prediction[place]) for place in places]
    cells = zip(*columns, said, strict=True)
    return [[answers.id[place], *row, ""] for place, row in zip(places, cells, strict=True)]


def shown_prediction(prediction: Any) -> str:
    """Return a prediction as text: a number to six digits, or a class.

    >>> shown_prediction(0.123456789), shown_prediction("yes")
    ('0.123457', 'yes')
    """
    return str(prediction) if isinstance(prediction, str) else f"{prediction:.6g}"
