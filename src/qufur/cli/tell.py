"""`qufur tell`: learn received labels."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from qufur._internal.counts import counted
from qufur.cli import _options as opt
from qufur.cli import _show
from qufur.cli._classes import parse_classes, read_labels
from qufur.cli._flags import with_flags
from qufur.cli._start import describe_leaks
from qufur.cli._state_file import locked_workbook, save_state
from qufur.cli._table_out import Exported, exported
from qufur.ids import Id
from qufur.labelling.tool_files import Tool
from qufur.tables import ids, open_table
from qufur.tables.batch import ROWS
from qufur.tables.labels import check_once
from qufur.tables.number_formats import LabelForms
from qufur.tables.source import Source
from qufur.tables.writers import column_called, written_heading
from qufur.workbook import Workbook
from qufur.workbook.classes import name_classes
from qufur.workbook.corrections import retract


def tell(
    data: Annotated[
        Path,
        typer.Argument(metavar="DATA", help="File with ids and labels. Rows without a label are skipped."),
    ],
    state: opt.State,
    replace: Annotated[bool, opt.input_option("--replace", help="Replace existing labels.")] = False,
    accept_outliers: opt.AcceptOutliers = False,
    classes: Annotated[
        str | None,
        opt.column_option(
            metavar="A,B,…",
            help="Class names, if there are no labels yet; later all names, including new ones.",
        ),
    ] = None,
    format: Annotated[
        Tool | None,
        opt.input_option("--format", help="Labelling tool that exported the file. Default: a plain table."),
    ] = None,
    sep: opt.Separator = None,
    decimal: opt.Decimal = None,
    json: opt.Json = False,
) -> None:
    """Learn the labels of rows that `qufur ask` chose.

    The table needs the id column that `qufur ask` wrote and the label column. Repeated labels are ignored. If
    one row is invalid, none is learned; a label more than ten times the label range away from it is invalid.

    Example:
      qufur tell todo.csv --state s.qufur
    """
    with locked_workbook(state) as workbook:
        if classes is not None:
            name_classes(workbook, parse_classes(classes, "qufur tell") or ())
        if format is None:
            columns = (workbook.id_column, workbook.target)
            expected = (*columns, *map(written_heading, columns))
            labels, notes = _read_table(workbook, Source(data, sep, decimal, workbook.dialect, expected))
        else:
            labels, notes = exported(workbook, data, format), []
        result = workbook.tell(
            labels.names, labels.labels, data.name, replace=replace, accept_outliers=accept_outliers
        )
        if labels.skipped:
            retract(workbook, labels.skipped)
        if result.new or result.replaced or labels.skipped or classes is not None:
            outcome = f"{counted(result.new, 'label')} learned, {result.replaced} replaced"
            save_state(workbook, state, f"tell {data.name}", outcome)
    outstanding, skipped = len(workbook.learner.outstanding), len(labels.skipped)
    notes = [*notes, *describe_leaks(workbook)]
    content = asdict(result) | {"blank": labels.blank, "outstanding": outstanding}
    content |= {} if format is None else {"skipped": skipped}
    new, blank = counted(result.new, "label"), counted(labels.blank, "row")
    lines = [f"{new} learned, {result.known} already known, {blank} without a label."]
    if skipped:
        plural = "rows were skipped; their labels are"
        lines.append(f"{counted(skipped, 'row was skipped; its label is', plural)} retracted.")
    if result.replaced:
        lines.append(f"{counted(result.replaced, 'label was', 'labels were')} replaced.")
    lines.append(f"{counted(outstanding, 'label is', 'labels are')} outstanding.")
    _show.print_result(json, content | {"notes": notes}, lines + notes)


def _read_table(workbook: Workbook, source: Source) -> tuple[Exported, list[str]]:
    """Read ids and labels of a table; return them with the notes of the reader."""
    names: list[Id] = []
    rows: list[int] = []
    values, blank = [np.empty(0)], 0
    forms = LabelForms(workbook.unit)
    file = open_table(source)
    for batch in file.batches(ROWS):
        indices, labels = read_labels(workbook, forms, batch, column_called(workbook.target, batch))
        batch_ids = ids(batch, column_called(workbook.id_column, batch))
        names += [batch_ids[index] for index in indices.tolist()]
        rows += [batch.before + batch.row(index) for index in indices.tolist()]
        values.append(labels)
        blank += len(batch) - len(indices)
    check_once(names, rows, source.name)
    return Exported(names, np.concatenate(values), [], blank), [*map(with_flags, file.notes), *forms.notes]
