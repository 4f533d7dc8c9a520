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
from qufur.cli._columns import Columns, grow
from qufur.cli._options import ModelOptions, RuleOptions
from qufur.cli._start import StartOptions, check_start_options, describe_leaks, start_workbook
from qufur.cli._state_file import TableReader, digest_of, keep_dialect, load_workbook, save_state, tables_at
from qufur.errors import invalid
from qufur.storage.lock import locked
from qufur.tables.number_formats import LabelForms
from qufur.tables.source import Source
from qufur.workbook import Workbook
from qufur.workbook.classes import name_classes
from qufur.workbook.corrections import Learned, read_free_labels
from qufur.workbook.corrections import learn as learn_labels


def learn(
    data: Annotated[
        Path,
        typer.Argument(
            metavar="DATA", help=f"Rows and their labels: {opt.TABLE}. Rows without a label are skipped."
        ),
    ],
    state: opt.State,
    model: opt.FirstModel = None,
    regularization: opt.FirstPenalty = None,
    half_life: opt.FirstHalfLife = None,
    also: opt.FirstAlso = None,
    label_range: opt.FirstLabelRange = None,
    target: opt.FirstTarget = None,
    classes: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,…",
            rich_help_panel="Columns",
            help=f"{opt.CLASSES} Later: all names, including new ones.",
        ),
    ] = None,
    id: opt.FirstId = None,
    skip: opt.Skip = None,
    categorical: opt.CategoricalColumns = None,
    embedding: opt.EmbeddingColumn = None,
    text: opt.TextColumn = None,
    text_model: opt.FirstTextModel = None,
    impute: opt.Impute = False,
    add_column: opt.AddColumn = None,
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
        ModelOptions(model, regularization, half_life, also or None, label_range),
        RuleOptions(),
        Columns(skip, categorical, embedding, text, text_model, impute, add_column),
        target,
        id,
        seed,
        classes,
    )
    source = Source(data, sep, decimal)
    with locked(state):
        if state.exists():
            workbook = _continued(state, options)
            source = replace(source, default=workbook.dialect)
            total, notes = grow(workbook, source, options.columns, quiet=json)
        else:
            workbook, total, notes = start_workbook("qufur learn", source, options, labelled=True, quiet=json)
        for file in tables_at(data).values():
            workbook.register_table(digest_of(file), file.name)
        rows = TableReader(
            source, None if json else "Reading", text=workbook.encoding.text is not None, total=total
        )
        forms = LabelForms(workbook.unit)
        keep_dialect(workbook, source, rows.file)
        learned = learn_labels(
            workbook,
            read_free_labels(workbook, rows, partial(read_labels, workbook, forms)),
            accept_outliers=accept_outliers,
        )
        if not workbook.labels:
            raise invalid(f"column {workbook.target!r}", data.name, "at least one label", "none at all")
        if learned.free or learned.outstanding or classes is not None:
            save_state(
                workbook,
                state,
                f"learn {data.name}",
                f"{counted(learned.free + learned.outstanding, 'label')} learned",
            )
    notes = list(dict.fromkeys([*rows.notes, *forms.notes, *notes, *describe_leaks(workbook)]))
    if json:
        left = {"outstanding_left": len(workbook.learner.outstanding), "notes": notes}
        _show.print_json(asdict(learned) | left)
        return
    _print(learned, len(workbook.learner.outstanding), notes)
    if not workbook.has_rule:
        print("To buy labels, pass a table of unlabelled rows to `qufur ask`, with --budget.")


def _continued(state: Path, options: StartOptions) -> Workbook:
    workbook = load_workbook(state)
    check_start_options(workbook, replace(options, classes=None).given())
    if options.classes is not None:
        name_classes(workbook, parse_classes(options.classes, "qufur learn") or ())
    options.columns.fetch(workbook.encoding)
    return workbook


def _print(learned: Learned, outstanding: int, notes: list[str]) -> None:
    count, blank = learned.free + learned.outstanding, learned.blank
    labels, rows = counted(count, "label"), counted(blank, "row")
    print(f"{labels} learned, {learned.known} already known, {rows} without a label.")
    if learned.outstanding:
        print(f"{learned.outstanding} of them were pending; the others are free.")
    print(f"{counted(outstanding, 'label is', 'labels are')} outstanding.", *notes, sep="\n")
