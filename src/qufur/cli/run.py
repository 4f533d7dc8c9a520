"""`qufur run`: all rules on the same stream at the same budgets."""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from qufur.cli import show
from qufur.cli.classes import as_classes
from qufur.cli.columns import Columns
from qufur.cli.comparison import ERROR_RATE, MOST_LABELS, Comparison, Task
from qufur.cli.decision import Decision
from qufur.cli.model import ModelName, boosting, check_model, is_experts, model_of
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
from qufur.cli.replay import KnownDomains, label_range, replayed, title
from qufur.errors import invalid
from qufur.models import Model, Ridge
from qufur.rules.from_budget import as_amount, labels_within
from qufur.streams import Arrays, HiddenDomains, Stream
from qufur.streams.rest import Rest
from qufur.tables.source import Source

USUAL = ["5%", "10%", "20%", "30%"]


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
    rows = task.stream(0).horizon
    budgets = {_share(amount, rows, task): text for text, amount in amounts.items()}
    found = Comparison.of(task, list(budgets), seeds=range(seeds), jobs=jobs)
    files = found.write(out)
    share = min(budgets)
    decision = Decision.of(found, OURS[is_experts(said)], share) if task.ask else None
    if json:
        show.print_json(
            {
                "stream": task.title,
                "notes": list(task.notes),
                "left_out": dict(found.left_out),
                "files": files,
                "runs": found.table.to_dicts(),
                "constant": found.constant,
                "decision": None if decision is None else decision.to_dict(),
            }
        )
        return
    found.print(budgets, seeds)
    print(f"Written: {', '.join(files)}")
    if decision is not None:
        print(decision.sentence(budgets[share], f"{task.ask} --budget {budgets[share]}"))


OURS = {True: "Steady", False: "Paced"}
"""The rule of `qufur ask`, with experts and with least squares."""


def _share(amount: int | float, rows: int, task: Task) -> float:
    """Return a budget as a share of the rows it is spent on; of a file the first is known to all."""
    known = 0 if task.known is None else len(task.known)
    labels = labels_within(amount, rows + known, "qufur run", "--budget")
    return amount if isinstance(amount, float) else min(labels, rows) / rows


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
    stream, classes, notes, _ = replayed(
        path, columns, target, domain, labelled=True, scale=least_squares, quiet=quiet, classes=classes
    )
    low, high = label_range(stream)
    if low == high:
        received = f"{low:g} throughout" if classes is None else f"{classes[int(low)]!r} throughout"
        raise invalid(f"column {target!r}", path.name, "of at least two different labels", received)
    said = {**said, "--label-range": (low, high) if least_squares else None}
    numbers = None if classes is None else tuple(range(len(classes)))
    measure = "mean squared error" if classes is None else ERROR_RATE
    rest = Rest(stream, 1)
    played: Stream = (
        rest if domain is None or not isinstance(stream, Arrays) else KnownDomains(Arrays.of(rest))
    )
    task = Task(
        title(stream, path.name),
        lambda _: played,
        lambda stream: model_of(said, stream.dim, "qufur run", numbers),
        measure,
        tuple(notes),
        most_labels=math.inf if said["--model"] is ModelName.ridge else MOST_LABELS,
        loss=measure,
        usual=lambda stream: boosting(stream.dim, numbers),
        known=rest.first,
        ask=shlex.join(["qufur", "ask", path.name, "--target", target, *_options(said, classes)]),
    )
    if not least_squares:
        return task
    note = f"Scaling and the label range ({low:g} to {high:g}) were taken from the whole file."
    return replace(task, notes=(*task.notes, note))


def _options(said: Mapping[str, Any], classes: tuple[str, ...] | None) -> list[str]:
    """Return what `qufur ask` has to be told, too, for the same model."""
    if classes is not None:
        return ["--classes", ",".join(classes)]
    if is_experts(said):
        return [part for name in said["--also"] or () for part in ("--also", name)]
    low, high = said["--label-range"]
    return ["--model", said["--model"].value, "--label-range", f"{low:g}", f"{high:g}"]
