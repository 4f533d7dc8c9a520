"""`qufur learn`: learn existing labels."""

from __future__ import annotations

from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from qufur._internal.counts import counted
from qufur.cli import _options as opt
from qufur.cli import _show
from qufur.cli._classes import parse_classes, read_labels
from qufur.cli._columns import GrowingColumns, grow
from qufur.cli._start import StartOptions, check_start_options, describe_leaks, start_workbook
from qufur.cli._state_file import load_workbook, read_rows, register_tables, save_state
from qufur.errors import invalid
from qufur.storage.lock import locked
from qufur.tables.number_formats import LabelForms
from qufur.tables.source import Source
from qufur.workbook import Workbook
from qufur.workbook.classes import name_classes
from qufur.workbook.corrections import learn as learn_labels
from qufur.workbook.corrections import read_free_labels


@opt.with_groups
def learn(
    data: Annotated[
        Path,
        typer.Argument(
            metavar="DATA", help=f"Rows and their labels: {opt.TABLE}. Rows without a label are skipped."
        ),
    ],
    state: opt.State,
    model: opt.ModelOptions,
    *,
    target: opt.FirstTarget = None,
    classes: Annotated[
        str | None,
        opt.column_option(
            metavar="A,B,…",
            help=f"{opt.CLASSES} Later: all names, including new ones.",
        ),
    ] = None,
    id: opt.FirstId = None,
    columns: GrowingColumns,
    sep: opt.Separator = None,
    decimal: opt.Decimal = None,
    seed: opt.FirstSeed = None,
    accept_outliers: opt.AcceptOutliers = False,
    json: opt.Json = False,
) -> None:
    """Learn the existing labels of a table, free of charge.

    A first table creates the state file; the first `qufur ask` then sets the budget. Pending rows receive
    their labels; all other rows are marked as seen and not asked about again. If one row is invalid, none is
    learned.

    Example:
      qufur learn labelled.csv --target price --state s.qufur
    """
    options = StartOptions(
        model=model, rule=opt.RuleOptions(), target=target, classes=classes, id=id, columns=columns, seed=seed
    )
    source = Source(data, sep, decimal)
    with locked(state):
        if state.exists():
            workbook = _continued(state, options)
            source = replace(source, default=workbook.dialect)
            total, notes = grow(workbook, source, columns, quiet=json)
        else:
            workbook, total, notes = start_workbook("qufur learn", source, options, labelled=True, quiet=json)
        register_tables(workbook, data)
        rows = read_rows(workbook, source, None if json else "Reading", total=total)
        forms = LabelForms(workbook.unit)
        labels = read_free_labels(workbook, rows, partial(read_labels, workbook, forms))
        learned = learn_labels(workbook, labels, accept_outliers=accept_outliers)
        count = learned.free + learned.outstanding
        if not workbook.labels:
            raise invalid(f"column {workbook.target!r}", data.name, "at least one label", "none at all")
        if count or classes is not None:
            save_state(workbook, state, f"learn {data.name}", f"{counted(count, 'label')} learned")
    notes = list(dict.fromkeys([*rows.notes, *forms.notes, *notes, *describe_leaks(workbook)]))
    outstanding, blank = len(workbook.learner.outstanding), counted(learned.blank, "row")
    lines = [f"{counted(count, 'label')} learned, {learned.known} already known, {blank} without a label."]
    if learned.outstanding:
        lines.append(f"{learned.outstanding} of them were pending; the others are free.")
    lines += [f"{counted(outstanding, 'label is', 'labels are')} outstanding.", *notes]
    if not workbook.has_rule:
        lines.append("To buy labels, pass a table of unlabelled rows to `qufur ask`, with --budget.")
    _show.print_result(json, asdict(learned) | {"outstanding_left": outstanding, "notes": notes}, lines)


def _continued(state: Path, options: StartOptions) -> Workbook:
    workbook = load_workbook(state)
    check_start_options(workbook, replace(options, classes=None).given())
    if options.classes is not None:
        name_classes(workbook, parse_classes(options.classes, "qufur learn") or ())
    options.columns.fetch(workbook.encoding)
    return workbook
