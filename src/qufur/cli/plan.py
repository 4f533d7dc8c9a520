"""`qufur plan`: forecast of spend and error for a budget, from the inputs of a file."""

from __future__ import annotations

import csv
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated

import typer

from qufur._internal.counts import counted
from qufur.cli import _options as opt
from qufur.cli import _show
from qufur.cli._classes import parse_classes
from qufur.cli._columns import Columns
from qufur.cli._replay import pilot_of, replay_table, title
from qufur.cli._start import model_from_options, reject_for_experts, takes_label_range
from qufur.cli._table_out import check_folder
from qufur.errors import invalid
from qufur.figures import style
from qufur.figures.plans import draw_plan
from qufur.planning.outcome import Plan
from qufur.planning.search import plan as plan_budget
from qufur.rules.from_budget import as_amount, labels_within
from qufur.tables.labels import listing
from qufur.tables.source import Source

NEEDS_LABELS = "To forecast the error, add labels to some rows and pass --target."
LOCAL = "All of them are in one part of the table; the forecast ignores changes in the other parts."


@opt.with_groups
def plan(
    data: Annotated[Path, typer.Argument(metavar="DATA", help=f"Rows to plan for: {opt.TABLE}.")],
    budget: Annotated[str, opt.budget_option(metavar="LABELS", help=f"Labels to buy: {opt.BUDGET}.")],
    *,
    model: Annotated[
        opt.ModelName, opt.model_option(parser=opt.model_name, help=f"{opt.MODEL}.")
    ] = opt.ModelName.experts,
    target: Annotated[
        str | None,
        opt.column_option(help="Label column, if rows have labels."),
    ] = None,
    classes: Annotated[str | None, typer.Option("--classes", hidden=True)] = None,
    columns: Columns,
    sep: opt.Separator = None,
    decimal: opt.Decimal = None,
    domain: Annotated[
        str | None,
        opt.column_option(help="Domain column, which is ignored."),
    ] = None,
    noise: Annotated[
        float | None,
        opt.model_option(
            metavar="SIGMA",
            help="Standard deviation of the label noise, with ridge. Default: derived from λ.",
        ),
    ] = None,
    norm: Annotated[
        float | None,
        opt.model_option(
            metavar="NORM",
            help="Norm of the coefficients for labels scaled to [-1, 1], with ridge. Default: 1.",
        ),
    ] = None,
    label_range: Annotated[
        tuple[float, float] | None,
        opt.model_option(
            metavar="LOW HIGH",
            help="Lowest and highest label, with ridge: unit of noise and regret. Default: -1 and 1.",
        ),
    ] = None,
    parts: Annotated[
        int,
        opt.output_option(min=1, metavar="N", help="Parts of the stream to count labels in."),
    ] = 10,
    seeds: Annotated[
        int,
        opt.model_option(min=1, metavar="N", help="Number of simulated runs to average over."),
    ] = 20,
    out: opt.Out = Path("qufur-out"),
    json: opt.Json = False,
) -> None:
    """Forecast what a label budget buys.

    No label is bought. The forecast shows when labels would be bought on these inputs and, if some rows have
    labels, the expected error. With --model ridge it finds the alpha of QuFUR that spends the budget and
    forecasts the regret. Columns become inputs as in `qufur ask`.

    Example:
      qufur plan prices.csv --budget 300
    """
    check_folder(out, ["plan-parts.csv", "plan-forecast.csv", "plan-error.csv", "plan.png", "plan.svg"], data)
    as_amount(budget, "qufur plan", "--budget")  # before a long file is read
    options = opt.ModelOptions(model, label_range=label_range)
    ridge_options = {"noise": noise, "norm": norm, "label_range": label_range}
    reject_for_experts(options, "qufur plan", ridge_options)
    columns.check("qufur plan")
    _reject_classes(parse_classes(classes, "qufur plan"))
    linear = not options.is_experts
    source = Source(data, sep, decimal)
    table = replay_table(source, columns, target, domain, labelled=False, scale=linear, quiet=json)
    stream, notes = table.stream, table.notes
    _reject_classes(table.classes)
    pilot = None if target is None else pilot_of(source, table.encoding, target, stream.horizon)
    if label_range is None and takes_label_range(options, "qufur plan"):
        labels = (-1.0, 1.0) if pilot is None else (pilot.y.min(), pilot.y.max())
        options = replace(options, label_range=labels)
    result = plan_budget(
        model_from_options(options, stream.dim, "qufur plan"),
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
    files = _write(result, heading, out)
    pilot_notes = []
    if pilot is not None:
        labelled = counted(len(pilot), "row has a label", "rows have labels")
        pilot_notes.append(f"{labelled}; the expected error is estimated from them.")
        pilot_notes += [LOCAL] if pilot.local else []
    lines = [heading, *notes, *pilot_notes, str(result)]
    if linear or pilot is None:
        lines.append("The whole file determines the scaling." if linear else NEEDS_LABELS)
    lines.append(f"Written: {', '.join(files)}")
    content = {"stream": heading, "notes": notes, "pilot": 0 if pilot is None else len(pilot)}
    _show.print_result(json, content | asdict(result) | {"files": files}, lines)


def _reject_classes(classes: tuple[str, ...] | None) -> None:
    if classes is not None:
        remedy = "The budget is spent at a constant rate; `qufur run` compares budgets on labelled rows."
        received = f"the classes {listing(classes)}, whose uncertainty depends on the labels"
        raise invalid("labels", "qufur plan", "numbers", received, remedy)


def _write(result: Plan, heading: str, out: Path) -> list[str]:
    figures = style.save(draw_plan(result, heading), out, "plan")
    tables = {
        "parts": [
            ["start", "stop", "labels", "labels_low", "labels_high"],
            *([part.start, part.stop, *asdict(part.labels).values()] for part in result.parts),
        ],
        "forecast": [
            ["budget", "alpha", "labels", "regret", "regret_low", "regret_high"],
            *(
                [f.budget, f.alpha, f.labels.mean, *(asdict(f.regret).values() if f.regret else ())]
                for f in result.forecast
            ),
        ],
        "error": [
            ["budget", "rmse", "rmse_low", "rmse_high"],
            *([error.budget, *asdict(error.rmse).values()] for error in result.expected),
        ],
    }
    paths = {name: out / f"plan-{name}.csv" for name, rows in tables.items() if len(rows) > 1}
    for name, path in paths.items():
        with path.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file, lineterminator="\n").writerows(tables[name])
    return [str(path) for path in (*paths.values(), *figures)]
