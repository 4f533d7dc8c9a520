"""`qufur run`: all rules on the same stream at the same budgets."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from qufur.cli import show
from qufur.cli.classes import as_classes
from qufur.cli.columns import Columns
from qufur.cli.model import ModelName, check_model, is_experts, model_of
from qufur.cli.options import (
    ALSO,
    BUDGET,
    HALF_LIFE,
    MODEL,
    PENALTY,
    TABLE,
    CategoricalColumns,
    Classes,
    Decimal,
    EmbeddingColumn,
    Impute,
    Jobs,
    Json,
    Out,
    Seeds,
    Separator,
    Skip,
    TextColumn,
    TextModel,
)
from qufur.cli.outputs import check_folder
from qufur.cli.replay import label_range, replayed, title
from qufur.errors import invalid
from qufur.experiments.statistics import Estimate
from qufur.figures import style
from qufur.figures.curves import draw_curves
from qufur.models import Model, Ridge
from qufur.rules import Greedy, Threshold
from qufur.rules.from_budget import as_amount, labels_within
from qufur.streams import HiddenDomains, Stream
from qufur.sweep.at_budgets import budget_grid
from qufur.sweep.grid import Grid, ModelOf, StreamOf, sweep
from qufur.tables.source import Source

if TYPE_CHECKING:
    import polars as pl


USUAL = ["5%", "10%", "20%", "30%"]
MOST_LABELS = 5000
"""So many rows are learned with every label; experts and kernels keep them and take long."""


@dataclass(frozen=True)
class Task:
    """What is compared on: a stream for every seed, a model, and the measure to show.

    Streams that are longer than `most_labels` are not learned with every label.
    """

    title: str
    stream: StreamOf
    model: ModelOf
    measure: str
    notes: tuple[str, ...] = ()
    most_labels: float = math.inf
    loss: str = "mean squared error"


def run(
    data: Annotated[Path | None, typer.Argument(help=f"{TABLE}; by default a synthetic stream.")] = None,
    target: Annotated[str | None, typer.Option(metavar="COLUMN", help="Column of labels.")] = None,
    classes: Classes = None,
    skip: Skip = None,
    categorical: CategoricalColumns = None,
    embedding: EmbeddingColumn = None,
    text: TextColumn = None,
    text_model: TextModel = None,
    impute: Impute = False,
    sep: Separator = None,
    decimal: Decimal = None,
    domain: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Column of whole numbers that tells the domains.")
    ] = None,
    budget: Annotated[
        list[str] | None,
        typer.Option(
            metavar="LABELS",
            help=f"Labels to buy: {BUDGET}. May be given several times.",
        ),
    ] = None,
    model: Annotated[
        ModelName | None, typer.Option(help=f"{MODEL}; ridge is the default without a file.")
    ] = None,
    regularization: Annotated[float | None, typer.Option(metavar="LAMBDA", help=f"{PENALTY}.")] = None,
    half_life: Annotated[int | None, typer.Option(min=1, metavar="ROWS", help=f"{HALF_LIFE}.")] = None,
    also: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help=f"{ALSO}. May be given several times.")
    ] = None,
    seeds: Seeds = 5,
    jobs: Jobs = 1,
    out: Out = Path("qufur-out"),
    json: Json = False,
) -> None:
    """Compare the query rules on one stream at the same label budgets.

    A file is replayed in its order as if its labels cost money. Its columns become
    inputs as in `qufur ask`.
    """
    check_folder(out, ["run.csv", "run.png", "run.svg"], data)
    amounts = {text: as_amount(text, "qufur run", "--budget") for text in budget or USUAL}
    columns = Columns(skip, categorical, embedding, text, text_model, impute)
    said = {
        "--model": model or (ModelName.ridge if data is None else None),
        "--regularization": regularization,
        "--half-life": half_life,
        "--also": also,
    }
    names = as_classes(classes, "qufur run")
    check_model(said, "qufur run", names)
    task = (
        _synthetic(said, names)
        if data is None
        else _file(Source(data, sep, decimal), target, domain, columns, said, names, quiet=json)
    )
    stream = task.stream(0)
    budgets = {_share(amount, stream.horizon): text for text, amount in amounts.items()}
    grid, left_out = budget_grid(stream, task.model, list(budgets))
    if stream.horizon > task.most_labels:
        left_out[EVERY] = f"the model keeps labelled rows, and is slow with more than {MOST_LABELS}."
    references = {name: rule for name, rule in _REFERENCES.items() if name not in left_out}
    table = sweep(task.stream, task.model, {**grid, **references}, seeds=range(seeds), jobs=jobs)
    table = table.with_columns((table["loss"] / table["horizon"]).alias(task.loss))
    files = _write(task, table, out)
    if json:
        show.print_json(
            {
                "stream": task.title,
                "notes": list(task.notes),
                "left_out": left_out,
                "files": files,
                "runs": table.to_dicts(),
            }
        )
        return
    _print(task, table, budgets, seeds)
    for what, reason in left_out.items():
        print(f"Left out: {what}: {reason}")
    print(f"Written: {', '.join(files)}")


EVERY = "every label"
_REFERENCES: Grid = {
    "no labels": (lambda _, stream: Threshold(1e300), [0.0]),
    EVERY: (lambda _, stream: Greedy(stream.horizon), [1.0]),
}


def _share(amount: int | float, rows: int) -> float:
    labels = labels_within(amount, rows, "qufur run", "--budget")
    return amount if isinstance(amount, float) else labels / rows


def _synthetic(said: Mapping[str, Any], classes: tuple[str, ...] | None) -> Task:
    if classes is not None:
        raise invalid("--classes", "qufur run", "left out without a file", ",".join(classes))
    title = "Synthetic stream: 20 hidden domains in sequence"

    def model(stream: Stream) -> Model:
        if said["--model"] is ModelName.ridge:
            return Ridge(stream.dim, regularization=said["--regularization"], half_life=said["--half-life"])
        given = None if is_experts(said) else (-1.0, 1.0)
        return model_of({**said, "--label-range": given}, stream.dim, "qufur run")

    return Task(title, HiddenDomains.scripts, model, "regret")


def _file(
    path: Source,
    target: str | None,
    domain: str | None,
    columns: Columns,
    said: Mapping[str, Any],
    classes: tuple[str, ...] | None,
    *,
    quiet: bool,
) -> Task:
    if target is None:
        raise invalid("--target", "qufur run", "given with a file", "none", "Name the column of labels.")
    columns.check("qufur run")
    least_squares = not is_experts(said)
    stream, classes, notes = replayed(
        path, columns, target, domain, labelled=True, scale=least_squares, quiet=quiet, classes=classes
    )
    low, high = label_range(stream)
    if low == high:
        received = f"{low:g} throughout" if classes is None else f"{classes[int(low)]!r} throughout"
        raise invalid(f"column {target!r}", path.name, "of at least two different labels", received)
    said = {**said, "--label-range": (low, high) if least_squares else None}
    numbers = None if classes is None else tuple(range(len(classes)))
    measure = "mean squared error" if classes is None else "error rate"
    task = Task(
        title(stream, path.name),
        lambda _: stream,
        lambda stream: model_of(said, stream.dim, "qufur run", numbers),
        measure,
        tuple(notes),
        most_labels=math.inf if said["--model"] is ModelName.ridge else MOST_LABELS,
        loss=measure,
    )
    if not least_squares:
        return task
    note = f"Scaling and the label range ({low:g} to {high:g}) were taken from the whole file."
    return replace(task, notes=(*notes, note))


def _write(task: Task, table: pl.DataFrame, out: Path) -> list[str]:
    figure, (panel,) = style.subplots(1, 1, width=6.4, height=4.4)
    rules = table.filter(~table["rule"].is_in(list(_REFERENCES)))
    draw_curves(panel, rules, task.measure, task.measure, task.title)
    panel.legend(frameon=False, fontsize="small")
    drawn = style.save(figure, out, "run")
    table.write_csv(out / "run.csv")
    return [str(path) for path in (out / "run.csv", *drawn)]


def _print(task: Task, table: pl.DataFrame, budgets: dict[float, str], seeds: int) -> None:
    rules = [rule for rule in table["rule"].unique(maintain_order=True) if rule not in _REFERENCES]
    cells = {rule: [_estimate(table, rule, share, task.measure) for share in budgets] for rule in rules}
    text = show.best_marked(cells)
    for name, (_, (share,)) in _REFERENCES.items():
        if name in table["rule"]:
            text.append([name, *[str(_estimate(table, name, share, task.measure))] * len(budgets)])
    notes = [f"{task.measure.capitalize()}, lowest in bold. {show.averaged(seeds)}"]
    columns = [
        "labels bought",
        *(t if t.isdigit() else f"{100 * share:.3g} %" for share, t in budgets.items()),
    ]
    show.print_table(task.title, columns, text, [*notes, *task.notes, *_unspent(table, rules)])


def _unspent(table: pl.DataFrame, rules: list[str]) -> list[str]:
    """Say of rules that leave budget over how much of it they bought."""
    spent = table.with_columns((table["queries"] / (table["parameter"] * table["horizon"])).alias("spent"))
    notes = []
    for rule in rules:
        rows = spent.filter(spent["rule"] == rule).select("parameter", "spent")
        means = rows.group_by("parameter", maintain_order=True).mean()["spent"].to_list()
        if min(means) < 0.95:
            notes.append(f"{rule} bought only {', '.join(f'{mean:.0%}' for mean in means)} of its budgets.")
    return notes


def _estimate(table: pl.DataFrame, rule: str, share: float, measure: str) -> Estimate:
    rows = table.filter((table["rule"] == rule) & (table["parameter"] == share))
    return Estimate.of(rows[measure].to_numpy()) if len(rows) else Estimate(math.nan, math.nan)
