"""`qufur run`: compare all rules on one stream at equal budgets."""

from __future__ import annotations

import math
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from qufur._internal.entry_points import RULES, class_given
from qufur.cli import _options as opt
from qufur.cli import _show
from qufur.cli._classes import parse_classes
from qufur.cli._columns import Columns
from qufur.cli._compare import ERROR_RATE, MAX_LABELS, Comparison, Decision, Task
from qufur.cli._replay import KnownDomains, label_range, replay_table, title
from qufur.cli._start import boosting, check_model, model_from_options, takes_label_range
from qufur.cli._table_out import check_folder
from qufur.errors import invalid
from qufur.models import Model, Ridge
from qufur.rules import Rule
from qufur.rules.from_budget import as_amount, labels_within
from qufur.streams import Arrays, HiddenDomains, Stream
from qufur.streams.arrays import Rest
from qufur.tables.source import Source

DEFAULT_BUDGETS = ["5%", "10%", "20%", "30%"]


@opt.with_groups
def run(
    *,
    data: Annotated[
        Path | None,
        typer.Argument(
            metavar="DATA", help=f"Labelled rows to replay: {opt.TABLE}. Default: a synthetic stream."
        ),
    ] = None,
    target: Annotated[
        str | None,
        opt.column_option(help="Label column. Required with a file."),
    ] = None,
    classes: Annotated[str | None, opt.column_option(metavar="A,B,…", help=opt.CLASSES)] = None,
    columns: Columns,
    sep: opt.Separator = None,
    decimal: opt.Decimal = None,
    domain: Annotated[str | None, opt.column_option(help="Domain column, integers. Not an input.")] = None,
    budget: Annotated[
        list[str] | None,
        opt.budget_option(
            metavar="LABELS",
            help=f"Labels to buy: {opt.BUDGET}. {opt.REPEATABLE} Default: {', '.join(DEFAULT_BUDGETS)}.",
        ),
    ] = None,
    rule: Annotated[
        list[str] | None,
        opt.budget_option(
            metavar="NAME",
            help=f"Further rule to compare: an installed one, or module:Class. {opt.REPEATABLE}",
        ),
    ] = None,
    model: Annotated[
        opt.ModelName | None,
        opt.model_option(parser=opt.model_name, help=f"{opt.MODEL}. Default: experts; ridge without a file."),
    ] = None,
    regularization: Annotated[float | None, opt.model_option(metavar="LAMBDA", help=opt.PENALTY)] = None,
    half_life: Annotated[int | None, opt.model_option(min=1, metavar="ROWS", help=opt.HALF_LIFE)] = None,
    also: Annotated[
        list[str] | None, opt.model_option(metavar="NAME", help=f"{opt.ALSO} {opt.REPEATABLE}")
    ] = None,
    seeds: Annotated[
        int, opt.model_option(min=1, metavar="N", help="Number of random seeds to average over.")
    ] = 5,
    jobs: opt.Jobs = 1,
    out: opt.Out = Path("qufur-out"),
    json: opt.Json = False,
) -> None:
    """Compare the query rules on one stream at equal budgets.

    The rows of a table are replayed in order, as if their labels were not known yet. Columns become inputs as
    in `qufur ask`.

    Example:
      qufur run prices.csv --target price --budget 5%
    """
    check_folder(out, ["run.csv", "run.png", "run.svg"], data)
    amounts = {text: as_amount(text, "qufur run", "--budget") for text in budget or DEFAULT_BUDGETS}
    default = opt.ModelName.ridge if data is None else None
    options = opt.ModelOptions(model or default, regularization, half_life, also)
    names = parse_classes(classes, "qufur run")
    check_model(options, "qufur run", names)
    rules = (class_given(name, Rule, RULES, "--rule", "qufur run") for name in rule or ())
    task = (
        _synthetic(options, names)
        if data is None
        else _file(Source(data, sep, decimal), target, domain, columns, options, names, quiet=json)
    )
    task = replace(task, rules=tuple(dict.fromkeys(rules)))
    rows = task.stream(0).horizon
    budgets = {_share(amount, rows, task): text for text, amount in amounts.items()}
    comparison = Comparison.of(task, list(budgets), seeds=range(seeds), jobs=jobs)
    files = comparison.write(out)
    share = min(budgets)
    ours = "Steady" if options.is_experts else "Paced"
    decision = Decision.of(comparison, ours, share) if task.ask else None
    if json:
        about = {"stream": task.title, "notes": task.notes, "left_out": comparison.left_out, "files": files}
        runs = {"runs": comparison.table.to_dicts(), "constant": comparison.constant}
        verdict = {"decision": None if decision is None else decision.to_dict()}
        _show.print_json(about | runs | verdict)
        return
    comparison.print(budgets, seeds)
    print(f"Written: {', '.join(files)}")
    if decision is not None:
        text = budgets[share]
        budget_text = f"{text} labels" if text.isdigit() else f"labels for {100 * share:.3g} % of the rows"
        print(decision.sentence(budget_text, f"{task.ask} --budget {text}"))


def _share(amount: int | float, rows: int, task: Task) -> float:
    """Return a budget as a share of the rows it is spent on; the first row of a file is free."""
    known = 0 if task.known is None else len(task.known)
    labels = labels_within(amount, rows + known, "qufur run", "--budget")
    return amount if isinstance(amount, float) else min(labels, rows) / rows


def _synthetic(options: opt.ModelOptions, classes: tuple[str, ...] | None) -> Task:
    if classes is not None:
        raise invalid("--classes", "qufur run", "omitted without a file", ",".join(classes))
    title = "Synthetic stream: 20 hidden domains in sequence"

    def model(stream: Stream) -> Model:
        if options.model is opt.ModelName.ridge:
            return Ridge(stream.dim, regularization=options.regularization, half_life=options.half_life)
        given = (-1.0, 1.0) if takes_label_range(options, "qufur run") else None
        return model_from_options(replace(options, label_range=given), stream.dim, "qufur run")

    return Task(title, HiddenDomains.scripts, model, "regret")


def _file(
    path: Source,
    target: str | None,
    domain: str | None,
    columns: Columns,
    options: opt.ModelOptions,
    classes: tuple[str, ...] | None,
    *,
    quiet: bool,
) -> Task:
    if target is None:
        raise invalid("--target", "qufur run", "given with a file", "none", "Set it to the label column.")
    columns.check("qufur run")
    least_squares = not options.is_experts
    stream, classes, notes, _ = replay_table(
        path, columns, target, domain, labelled=True, scale=least_squares, quiet=quiet, classes=classes
    )
    low, high = label_range(stream)
    if low == high:
        received = f"{low:g} throughout" if classes is None else f"{classes[int(low)]!r} throughout"
        raise invalid(f"column {target!r}", path.name, "of at least two different labels", received)
    options = replace(options, label_range=(low, high) if takes_label_range(options, "qufur run") else None)
    numbers = None if classes is None else tuple(range(len(classes)))
    measure = "mean squared error" if classes is None else ERROR_RATE
    rest = Rest(stream, 1)
    replayed: Stream = (
        rest if domain is None or not isinstance(stream, Arrays) else KnownDomains(Arrays.of(rest))
    )
    if least_squares:
        note = f"Scaling and the label range ({low:g} to {high:g}) are computed from the whole file."
        notes = [*notes, note]
    return Task(
        title(stream, path.name),
        lambda _: replayed,
        lambda stream: model_from_options(options, stream.dim, "qufur run", numbers),
        measure,
        tuple(notes),
        max_labels=math.inf if options.model is opt.ModelName.ridge else MAX_LABELS,
        loss=measure,
        baseline=lambda stream: boosting(stream.dim, numbers),
        known=rest.first,
        ask=shlex.join(["qufur", "ask", path.name, "--target", target, *_ask_options(options, classes)]),
    )


def _ask_options(options: opt.ModelOptions, classes: tuple[str, ...] | None) -> list[str]:
    """Return the options of `qufur ask` for the same model."""
    if classes is not None:
        return ["--classes", ",".join(classes)]
    if options.is_experts:
        return [part for name in options.also or () for part in ("--also", name)]
    ends = [f"{end:g}" for end in options.label_range or ()]
    return ["--model", options.name.rpartition(":")[2], *(["--label-range", *ends] if ends else [])]
