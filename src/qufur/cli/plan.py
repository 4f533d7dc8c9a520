"""`qufur plan`: what a budget would buy on the inputs of a file."""

from __future__ import annotations

import csv
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from qufur.cli import show
from qufur.cli.classes import as_classes
from qufur.cli.columns import Columns
from qufur.cli.model import ModelName, check_for_ridge, model_of
from qufur.cli.options import (
    BUDGET,
    MODEL,
    TABLE,
    CategoricalColumns,
    Decimal,
    EmbeddingColumn,
    Impute,
    Json,
    Out,
    Separator,
    Skip,
    TextColumn,
    TextModel,
)
from qufur.cli.outputs import check_folder
from qufur.cli.replay import pilot_of, replayed, title
from qufur.counts import counted
from qufur.errors import invalid
from qufur.figures import style
from qufur.figures.plans import draw_plan
from qufur.planning.outcome import Plan
from qufur.planning.pilot import Pilot
from qufur.planning.search import plan as plan_budget
from qufur.rules.from_budget import as_amount, labels_within
from qufur.tables.classes import listing
from qufur.tables.source import Source

AFTERWARDS = "The error shows as labels come; with labels in some rows, and --target, it is forecast."
LOCAL = "They are of a part of the table: what changes elsewhere is in no forecast."


def plan(
    data: Annotated[Path, typer.Argument(help=f"{TABLE} of inputs.")],
    budget: Annotated[str, typer.Option(metavar="LABELS", help=f"Labels to buy: {BUDGET}.")],
    model: Annotated[ModelName, typer.Option(help=f"{MODEL}.")] = ModelName.experts,
    target: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Column of labels, if some are there.")
    ] = None,
    classes: Annotated[str | None, typer.Option("--classes", hidden=True)] = None,
    skip: Skip = None,
    categorical: CategoricalColumns = None,
    embedding: EmbeddingColumn = None,
    text: TextColumn = None,
    text_model: TextModel = None,
    impute: Impute = False,
    sep: Separator = None,
    decimal: Decimal = None,
    domain: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Column of domains, if there is one; it is not read.")
    ] = None,
    noise: Annotated[
        float | None,
        typer.Option(metavar="SIGMA", help="With ridge: deviation of the labels' noise; by default a guess."),
    ] = None,
    norm: Annotated[
        float | None,
        typer.Option(
            metavar="NORM",
            help="With ridge: norm of the coefficients, for labels mapped to [-1, 1]; by default 1.",
        ),
    ] = None,
    label_range: Annotated[
        tuple[float, float] | None,
        typer.Option(
            metavar="LOW HIGH",
            help="With ridge: lowest and highest label, the units of noise and regret; by default -1 and 1.",
        ),
    ] = None,
    parts: Annotated[
        int, typer.Option(min=1, metavar="N", help="Parts of the stream to count labels in.")
    ] = 10,
    seeds: Annotated[int, typer.Option(min=1, metavar="N", help="Simulated runs to average over.")] = 20,
    out: Out = Path("qufur-out"),
    json: Json = False,
) -> None:
    """Say what a label budget would buy, before a label is bought.

    Says when labels would be bought on these inputs, and from labels that some rows have the error to expect.
    With --model ridge it finds the rule QuFUR(alpha) that spends the budget, and forecasts regret. Columns
    become inputs as in `qufur ask`.
    """
    check_folder(out, ["plan-parts.csv", "plan-forecast.csv", "plan-error.csv", "plan.png", "plan.svg"], data)
    as_amount(budget, "qufur plan", "--budget")  # before a long file is read
    said = {"--noise": noise, "--norm": norm, "--label-range": label_range}
    check_for_ridge(model, "qufur plan", said)
    columns = Columns(skip, categorical, embedding, text, text_model, impute)
    columns.check("qufur plan")
    _refuse_classes(as_classes(classes, "qufur plan"))
    linear = model is not ModelName.experts
    source = Source(data, sep, decimal)
    table = replayed(source, columns, target, domain, labelled=False, scale=linear, quiet=json)
    stream, notes = table.stream, table.notes
    _refuse_classes(table.classes)
    pilot = None if target is None else pilot_of(source, table.encoding, target, stream.horizon)
    kind = {"--model": model, "--label-range": label_range}
    if linear and label_range is None:
        kind["--label-range"] = (-1.0, 1.0) if pilot is None else (pilot.y.min(), pilot.y.max())
    found = plan_budget(
        model_of(kind, stream.dim, "qufur plan"),
        stream,
        labels_within(budget, stream.horizon, "qufur plan", "--budget"),
        noise=noise,
        norm=norm,
        parts=parts,
        seeds=range(seeds),
        steady=not linear,
        pilot=pilot,
    )
    heading = title(stream, data.name)
    files = _write(found, heading, out)
    if json:
        known = 0 if pilot is None else len(pilot)
        show.print_json({"stream": heading, "notes": notes, "pilot": known, **asdict(found), "files": files})
        return
    print(heading, *notes, *_on_pilot(pilot), sep="\n")
    print(found)
    if linear or pilot is None:
        print("Scaling was taken from the whole file." if linear else AFTERWARDS)
    print(f"Written: {', '.join(files)}")


def _on_pilot(pilot: Pilot | None) -> list[str]:
    """Say how many labels are there, and what they cannot tell."""
    if pilot is None:
        return []
    rows = counted(len(pilot), "row has a label, which tells", "rows have labels, which tell")
    there = f"{rows} the error to expect."
    return [there, LOCAL] if pilot.local else [there]


def _refuse_classes(classes: tuple[str, ...] | None) -> None:
    if classes is not None:
        remedy = "A budget is spent evenly; `qufur run` tries it on rows that have labels."
        received = f"the classes {listing(classes)}, where labels decide which rows are doubtful"
        raise invalid("labels", "qufur plan", "numbers", received, remedy)


def _write(found: Plan, heading: str, out: Path) -> list[str]:
    drawn = style.save(draw_plan(found, heading), out, "plan")
    tables = {
        "parts": [[p.start, p.stop, *asdict(p.labels).values()] for p in found.parts],
        "forecast": [
            [f.budget, f.alpha, f.labels.mean, *(asdict(f.regret).values() if f.regret else ())]
            for f in found.forecast
        ],
        "error": [[e.budget, *asdict(e.rmse).values()] for e in found.expected],
    }
    heads = {
        "parts": ["start", "stop", "labels", "labels_low", "labels_high"],
        "forecast": ["budget", "alpha", "labels", "regret", "regret_low", "regret_high"],
        "error": ["budget", "rmse", "rmse_low", "rmse_high"],
    }
    paths = {name: out / f"plan-{name}.csv" for name in tables if tables[name]}
    for name, path in paths.items():
        with path.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file, lineterminator="\n").writerows([heads[name], *tables[name]])
    return [str(path) for path in (*paths.values(), *drawn)]
