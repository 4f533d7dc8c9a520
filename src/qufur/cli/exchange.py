"""`--format`: rows to label as tasks of a labelling tool, and labels from its export."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np
import typer

from qufur.arrays import Floats
from qufur.bookkeeping.corrections import retract
from qufur.cli.classes import read_labels
from qufur.errors import invalid
from qufur.labelling import exchange
from qufur.labelling.exchange import Tool
from qufur.labelling.tasks import Columns
from qufur.labelling.votes import verdict
from qufur.models.base import Id
from qufur.tables import Batch
from qufur.tables.label_forms import LabelForms
from qufur.tables.writers import Write, table
from qufur.tables.written import heading
from qufur.workbook import Workbook

TasksFormat = Annotated[
    Tool | None, typer.Option("--format", help="Write --out as tasks of a labelling tool.")
]
ExportFormat = Annotated[
    Tool | None, typer.Option("--format", help="The file is an export of a labelling tool.")
]


class Exported(NamedTuple):
    """The labels of an export, one for each row, and rows that were skipped or left blank."""

    names: list[Id]
    labels: Floats
    skipped: list[Id]
    blank: int


def rows_out(
    book: Workbook, out: Path, header: Sequence[str], tool: Tool | None
) -> AbstractContextManager[Write]:
    """Return what writes rows to label: a table, or tasks."""
    return table(out, header) if tool is None else exchange.tasks(out, header, tool, _columns(book))


def exported(book: Workbook, data: Path, tool: Tool) -> Exported:
    """Return the labels of an export; where several people labelled a row, what they come to."""
    export = exchange.read_export(data, tool, _columns(book))
    _refuse_others(book, [*export.ids, *export.skipped, *export.blank], data)
    values: dict[Id, list[float]] = {}
    forms = LabelForms(book.unit)
    for id, place, label in zip(export.ids, export.places, export.labels, strict=True):
        _, found = read_labels(book, forms, Batch({"label": [label]}, place, data.name), "label")
        values.setdefault(id, []).extend(found.tolist())
    labels = [verdict(opinions, mean=book.classes is None) for opinions in values.values()]
    outstanding = set(book.learner.outstanding)
    skipped = [id for id in book.known(export.skipped) if id in outstanding]
    return Exported(list(values), np.array(labels, dtype=np.float64), skipped, len(export.blank))


def give_up(book: Workbook, names: Sequence[Id]) -> None:
    """Retract rows that were skipped."""
    if names:
        retract(book, names)


def _columns(book: Workbook) -> Columns:
    text = heading(book.encoding.text or "text")
    return Columns(heading(book.id_column), heading(book.target), text, book.classes or ())


def _refuse_others(book: Workbook, ids: Sequence[Id], data: Path) -> None:
    """Complain if nothing of a file is of this work."""
    ours = {*book.told, *book.learner.queries}
    if ids and not ours.intersection(book.known(ids)):
        received = f"others, such as {ids[0]!r}"
        raise invalid("ids", data.name, "of rows that were asked for", received, "Is it of another project?")
