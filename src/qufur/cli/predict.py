"""`qufur predict`: predictions for a table, with class probabilities or intervals."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from qufur._internal.counts import counted
from qufur.arrays import Floats
from qufur.cli import _options as opt
from qufur.cli import _show
from qufur.cli._columns import describe_prediction
from qufur.cli._state_file import files_of, load_workbook, read_rows, tables_at
from qufur.cli._table_out import check_answered, check_table
from qufur.errors import invalid
from qufur.tables import Growth, ids
from qufur.tables.source import Source
from qufur.tables.writers import column_heading, table, unused_name
from qufur.workbook import Workbook
from qufur.workbook.workbook import shown_prediction

NO_INTERVAL = "Cells of low and high are empty: there are too few labels to estimate the errors."


@dataclass
class Predictions:
    """Predictions of a workbook as columns of text.

    Attributes
    ----------
    workbook
        The workbook that predicts.
    interval
        Coverage of the interval from low to high; None for no such columns.
    unbounded
        Whether an end of an interval was infinite; its cell is empty.
    """

    workbook: Workbook
    interval: float | None = None
    unbounded: bool = False

    @property
    def headings(self) -> list[str]:
        """The names of the columns."""
        classes, ends = self.workbook.classes, ["low", "high"] if self.interval is not None else []
        return ["prediction", *(f"probability of {name}" for name in classes or ()), *ends, "uncertainty"]

    def columns(self, X: Floats) -> Iterator[Iterable[Any]]:
        """Yield the columns for these inputs."""
        learner, classes = self.workbook.learner, self.workbook.classes
        if classes is not None:
            probabilities = learner.predict_proba(X)
            yield [classes[number] for number in probabilities.argmax(axis=1)]
            yield from ([f"{p:.4f}" for p in column] for column in probabilities.T)
        elif self.interval is not None:
            prediction, *ends = learner.predict(X, self.interval)
            yield map(shown_prediction, prediction)
            yield from (map(self._end, end) for end in ends)
        else:
            yield map(shown_prediction, learner.predict(X))
        yield [f"{delta:.4g}" for delta in learner.uncertainty(X)]

    def _end(self, end: float) -> str:
        self.unbounded = self.unbounded or not math.isfinite(end)
        return f"{end:.6g}" if math.isfinite(end) else ""


def predict(
    data: Annotated[Path, typer.Argument(metavar="DATA", help=f"Rows to predict: {opt.TABLE}.")],
    state: opt.State,
    out: Annotated[
        Path,
        opt.output_option("--out", "-o", metavar="FILE", help=f"File for the predictions. {opt.FILE_FORMAT}"),
    ],
    interval: Annotated[
        float | None,
        opt.output_option(
            metavar="SHARE",
            help="Add columns low and high: prediction intervals with this coverage, such as 0.9.",
        ),
    ] = None,
    text_model: Annotated[
        str | None,
        opt.column_option(metavar="NAME", help="Text embedding model to download again."),
    ] = None,
    impute: opt.Impute = False,
    sep: opt.Separator = None,
    decimal: opt.Decimal = None,
    force: opt.Force = False,
    json: opt.Json = False,
) -> None:
    """Predict the rows of a table without asking for labels.

    The state file does not change.

    Example:
      qufur predict rows.csv --state s.qufur -o predictions.csv
    """
    check_table(out, files_of(state) | tables_at(data))
    workbook = load_workbook(state)
    if not force:
        check_answered(workbook, out)
    if interval is not None and workbook.classes is not None:
        remedy = "The probability columns show the confidence."
        raise invalid("--interval", "qufur predict", "omitted for classes", interval, remedy)
    if text_model is not None:
        workbook.encoding.fetch(text_model)
    source = Source(data, sep, decimal, workbook.dialect)
    rows = read_rows(workbook, source, None if json else "Predicting")
    growth = Growth(workbook.encoding, impute=impute)
    encoding = growth.known
    id = column_heading(workbook.id or "row")
    predictions = Predictions(workbook, interval)
    with table(out, [id, *(unused_name(name, {id}) for name in predictions.headings)]) as write:
        for batch in rows:
            growth.add(batch)
            write(zip(ids(batch, workbook.id), *predictions.columns(encoding.encode(batch)), strict=True))
    notes = [*rows.notes, *describe_prediction(growth), *([NO_INTERVAL] if predictions.unbounded else [])]
    written = f"{counted(rows.count, 'row')} predicted: written to {out}."
    _show.print_result(json, {"rows": rows.count, "notes": notes}, [written, *notes])
