"""Types of command-line options, their help texts, and the options that define a model or a rule.

`First…` options are read with the first table, which creates the state file. Later calls accept equal values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, is_dataclass
from enum import StrEnum
from functools import partial, wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any

import typer

from qufur.labelling.tool_files import Tool

input_option = partial(typer.Option, rich_help_panel="Input")
program_option = partial(typer.Option, rich_help_panel="Program")
budget_option = partial(typer.Option, rich_help_panel="Labels and budget")
model_option = partial(typer.Option, rich_help_panel="Model")
column_option = partial(typer.Option, metavar="COLUMN", rich_help_panel="Columns")
output_option = partial(typer.Option, rich_help_panel="Output")


class ModelName(StrEnum):
    """Models of the command line."""

    experts = "experts"
    ridge = "ridge"
    kernel = "kernel"


def model_name(text: str) -> ModelName | str:
    """Return a model of the command line, or unchanged the name of another one; `_start` validates it."""
    return ModelName(text) if text in list(ModelName) else text


TABLE = "file (CSV, JSON-lines, Parquet, Excel, NPY or NPZ), folder, glob pattern, or - for stdin"
BUDGET = "a count such as 500, or a share of the rows such as 5% or 0.05"
FILE_FORMAT = "The file extension sets the format, default CSV."
ONCE = "Set by the first table."
REPEATABLE = "Repeatable."
MODEL = "Model: experts (an ensemble), ridge (the paper's linear model), kernel or an installed one"
CLASSES = "Class names, such as yes,no. Default: the text labels in the label column."
PENALTY = "Penalty λ of the coefficients, with ridge or kernel."
HALF_LIFE = "Rows after which a label has half its weight, with ridge. Default: no forgetting."
ALSO = "scikit-learn estimator to add to the experts, such as hist-gradient-boosting."
HORIZON = "Rows that the budget is for. Default: this table for a count, unlimited for a share."

# Input

State = Annotated[Path, input_option(metavar="FILE", help="State file of the workbook.")]
Separator = Annotated[
    str | None,
    input_option("--sep", metavar="CHAR", help="Field delimiter of CSV files, or tab. Default: detected."),
]
Decimal = Annotated[
    str | None,
    input_option(metavar="CHAR", help="Decimal mark of CSV numbers, '.' or ','. Default: detected."),
]
AcceptOutliers = Annotated[
    bool, input_option("--accept-outliers", help="Accept labels far outside the label range.")
]


# Labels and budget

FirstBudget = Annotated[str | None, budget_option(metavar="LABELS", help=f"Labels to buy: {BUDGET}. {ONCE}")]
Expire = Annotated[
    str | None,
    budget_option(metavar="AGE", help="Retract pending labels older than this, such as 12h, 30d or 2w."),
]

# Model

FirstModel = Annotated[
    ModelName | None, model_option(parser=model_name, help=f"{MODEL}. Default: experts. {ONCE}")
]
FirstLabelRange = Annotated[
    tuple[float, float] | None,
    model_option(
        metavar="LOW HIGH",
        help=f"Lowest and highest label. Required with ridge and kernel. {ONCE}",
    ),
]
FirstSeed = Annotated[int | None, model_option(min=0, metavar="N", help=f"Random seed. Default: 0. {ONCE}")]

# Columns

FirstTarget = Annotated[str | None, column_option(help=f"Label column. Default: label. {ONCE}")]
FirstNew = Annotated[
    bool,
    column_option(
        "--new",
        metavar=None,
        help=f"The label column is not in the table yet, although another has a similar name. {ONCE}",
    ),
]
FirstClasses = Annotated[str | None, column_option(metavar="A,B,…", help=f"{CLASSES} {ONCE}")]
FirstId = Annotated[str | None, column_option(help=f"Id column. Default: the row number. {ONCE}")]
Skip = Annotated[list[str] | None, column_option(help=f"Column to ignore. {REPEATABLE}")]
CategoricalColumns = Annotated[list[str] | None, column_option(help=f"Categorical column. {REPEATABLE}")]
EmbeddingColumn = Annotated[str | None, column_option(help="Column with a list of numbers per row.")]
TextColumn = Annotated[str | None, column_option(help="Free-text column, to embed.")]
Impute = Annotated[
    bool, column_option(metavar=None, help="Impute missing cells and add an indicator column.")
]

# Output

RowsToLabel = Annotated[
    Path, output_option("--out", "-o", metavar="FILE", help=f"File for the rows to label. {FILE_FORMAT}")
]
Out = Annotated[Path, output_option(metavar="FOLDER", help="Folder for tables and figures.")]
Force = Annotated[
    bool,
    output_option(
        "--force", help="Replace --out even if it has rows whose labels were not given to `qufur tell`."
    ),
]
TasksFormat = Annotated[
    Tool | None,
    output_option("--format", help="Write --out as tasks of a labelling tool. Default: a plain table."),
]

# General

Jobs = Annotated[int, typer.Option(min=1, metavar="N", help="Number of processes.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]

# Groups of options


@dataclass(frozen=True)
class ModelOptions:
    """Options that define the model. A model of another package has the name of its entry point."""

    model: FirstModel = None
    regularization: Annotated[float | None, model_option(metavar="LAMBDA", help=f"{PENALTY} {ONCE}")] = None
    half_life: Annotated[int | None, model_option(min=1, metavar="ROWS", help=f"{HALF_LIFE} {ONCE}")] = None
    also: Annotated[list[str] | None, model_option(metavar="NAME", help=f"{ALSO} {REPEATABLE} {ONCE}")] = None
    label_range: FirstLabelRange = None

    @property
    def name(self) -> ModelName | str:
        """Name of the model; experts is the default."""
        return self.model or ModelName.experts

    @property
    def is_experts(self) -> bool:
        """Whether the model is `Experts`."""
        return self.name is ModelName.experts


@dataclass(frozen=True)
class RuleOptions:
    """Options that define the rule. They are given with the first table passed to `qufur ask`."""

    budget: FirstBudget = None
    per: Annotated[
        tuple[str, str] | None,
        budget_option(
            metavar="PERIOD LABELS",
            help=f"Maximum labels per hour, day, week or month, instead of --budget. {ONCE}",
        ),
    ] = None
    time: Annotated[
        str | None,
        budget_option(metavar="COLUMN", help=f"Date column for --per. Default: the only one. {ONCE}"),
    ] = None
    alpha: Annotated[
        float | None,
        budget_option(
            metavar="A",
            help=f"Labels per unit of uncertainty, with ridge; --budget is then a cap. {ONCE}",
        ),
    ] = None
    fixed_budget: Annotated[
        str | None,
        budget_option(metavar="LABELS", help=f"Budget of Algorithm 2 of the paper, with ridge. {ONCE}"),
    ] = None
    at_random: Annotated[
        bool,
        budget_option("--at-random", help=f"Spend --budget on uniformly sampled rows, as a baseline. {ONCE}"),
    ] = False
    horizon: Annotated[
        int | None,
        budget_option(
            min=1,
            metavar="ROWS",
            help=f"{HORIZON} With --per: rows of the first period, if this table has only some of them. "
            f"{ONCE}",
        ),
    ] = None
    burst: Annotated[
        float | None,
        budget_option(metavar="LABELS", help=f"Labels beyond the share. Default with experts: 10. {ONCE}"),
    ] = None


def with_groups(command: Callable[..., None]) -> Callable[..., None]:
    """Decorate a command: a parameter whose type is a dataclass becomes one option for each field.

    >>> @with_groups
    ... def command(out: Path, rule: RuleOptions) -> None:
    ...     print(out, rule.budget)
    >>> command(out="todo.csv", budget="5%")
    todo.csv 5%
    """

    @wraps(command)
    def run(**values: Any) -> None:
        _call(command, values)

    run.__signature__ = Signature([*_parameters(command)])  # type: ignore[attr-defined]
    return run


def _is_group(annotation: Any) -> bool:
    return is_dataclass(annotation)


def _parameters(function: Callable[..., Any]) -> Iterator[Parameter]:
    for parameter in signature(function, eval_str=True).parameters.values():
        if _is_group(parameter.annotation):
            yield from _parameters(parameter.annotation)
        else:
            yield parameter.replace(kind=Parameter.KEYWORD_ONLY)


def _call(function: Callable[..., Any], values: Mapping[str, Any]) -> Any:
    """Call a function with these values of its parameters and of the fields of its dataclasses."""
    arguments = {}
    for name, parameter in signature(function, eval_str=True).parameters.items():
        if _is_group(parameter.annotation):
            arguments[name] = _call(parameter.annotation, values)
        elif name in values:
            arguments[name] = values[name]
    return function(**arguments)
