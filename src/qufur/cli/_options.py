"""Types of command-line options, their help texts, and the options that define a model or a rule.

`First…` options are read with the first table, which creates the state file. Later calls accept equal values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from qufur.labelling.tool_files import Tool
from qufur.tables.text import BERT

_input = partial(typer.Option, rich_help_panel="Input")
_program = partial(typer.Option, rich_help_panel="Program")
_budget = partial(typer.Option, rich_help_panel="Labels and budget")
_model = partial(typer.Option, rich_help_panel="Model")
_column = partial(typer.Option, rich_help_panel="Columns")
_output = partial(typer.Option, rich_help_panel="Output")


class ModelName(StrEnum):
    """Models of the command line."""

    experts = "experts"
    ridge = "ridge"
    kernel = "kernel"


def model_name(text: str) -> ModelName | str:
    """Return a model of the command line, or unchanged the name of another one; `_start` validates it."""
    return ModelName(text) if text in list(ModelName) else text


@dataclass(frozen=True)
class ModelOptions:
    """Options that define the model. A model of another package has the name of its entry point."""

    model: ModelName | str | None = None
    regularization: float | None = None
    half_life: int | None = None
    also: Sequence[str] | None = None
    label_range: tuple[float, float] | None = None

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

    budget: str | None = None
    per: tuple[str, str] | None = None
    time: str | None = None
    alpha: float | None = None
    fixed_budget: str | None = None
    at_random: bool = False
    horizon: int | None = None
    burst: float | None = None


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

State = Annotated[Path, _input(metavar="FILE", help="State file of the workbook.")]
Separator = Annotated[
    str | None,
    _input("--sep", metavar="CHAR", help="Field delimiter of CSV files, or tab. Default: detected."),
]
Decimal = Annotated[
    str | None, _input(metavar="CHAR", help="Decimal mark of CSV numbers, '.' or ','. Default: detected.")
]
ExportFormat = Annotated[
    Tool | None, _input("--format", help="Labelling tool that exported the file. Default: a plain table.")
]
AcceptOutliers = Annotated[
    bool, _input("--accept-outliers", help="Accept labels far outside the label range.")
]

# Program that labels rows

With = Annotated[
    str, _program("--with", metavar="COMMAND", help="Program that labels a row, with arguments.")
]
Votes = Annotated[
    int,
    _program(
        min=1,
        metavar="N",
        help="Maximum labels per row: more than two only if they differ. Their mean or majority is learned.",
    ),
]
ConcurrentCalls = Annotated[int, _program(min=1, metavar="N", help="Number of concurrent calls.")]
Timeout = Annotated[float, _program(min=0.01, metavar="SECONDS", help="Seconds before a call is abandoned.")]
Retries = Annotated[int, _program(min=0, metavar="N", help="Number of retries of a failed call.")]
Rate = Annotated[
    str | None,
    _program("--rate-limit", metavar="N/s", help="Maximum call rate, such as 10/s, 60/min or 1000/h."),
]

# Labels and budget

FirstBudget = Annotated[
    str | None, _budget("--budget", metavar="LABELS", help=f"Labels to buy: {BUDGET}. {ONCE}")
]
Budget = Annotated[str, _budget("--budget", metavar="LABELS", help=f"Labels to buy: {BUDGET}.")]
FirstPer = Annotated[
    tuple[str, str] | None,
    _budget(
        "--per",
        metavar="PERIOD LABELS",
        help=f"Maximum labels per hour, day, week or month, instead of --budget. {ONCE}",
    ),
]
FirstTime = Annotated[
    str | None,
    _budget("--time", metavar="COLUMN", help=f"Date column for --per. Default: the only one. {ONCE}"),
]
FirstAlpha = Annotated[
    float | None,
    _budget(
        "--alpha",
        metavar="A",
        help=f"Labels per unit of uncertainty, with ridge; --budget is then a cap. {ONCE}",
    ),
]
FirstFixedBudget = Annotated[
    str | None,
    _budget(
        "--fixed-budget", metavar="LABELS", help=f"Budget of Algorithm 2 of the paper, with ridge. {ONCE}"
    ),
]
FirstAtRandom = Annotated[
    bool,
    _budget("--at-random", help=f"Spend --budget on uniformly sampled rows, as a baseline. {ONCE}"),
]
FirstHorizon = Annotated[int | None, _budget("--horizon", min=1, metavar="ROWS", help=f"{HORIZON} {ONCE}")]
FirstPeriodHorizon = Annotated[
    int | None,
    _budget(
        "--horizon",
        min=1,
        metavar="ROWS",
        help=f"{HORIZON} With --per: rows of the first period, if this table has only some of them. {ONCE}",
    ),
]
FirstBurst = Annotated[
    float | None,
    _budget("--burst", metavar="LABELS", help=f"Labels beyond the share. Default with experts: 10. {ONCE}"),
]
Expire = Annotated[
    str | None,
    _budget(
        "--expire", metavar="AGE", help="Retract pending labels older than this, such as 12h, 30d or 2w."
    ),
]
Cost = Annotated[str, _budget(metavar="MONEY", help="Cost of one call; a failed call costs the same.")]
MoneyLimit = Annotated[
    str | None, _budget(metavar="MONEY", help="Maximum cost of all calls. Default: no limit.")
]

# Model

FirstModel = Annotated[
    ModelName | None, _model("--model", parser=model_name, help=f"{MODEL}. Default: experts. {ONCE}")
]
OptionalModel = Annotated[
    ModelName | None,
    _model("--model", parser=model_name, help=f"{MODEL}. Default: experts; ridge without a file."),
]
Model = Annotated[ModelName, _model("--model", parser=model_name, help=f"{MODEL}.")]
FirstPenalty = Annotated[float | None, _model("--regularization", metavar="LAMBDA", help=f"{PENALTY} {ONCE}")]
Penalty = Annotated[float | None, _model("--regularization", metavar="LAMBDA", help=PENALTY)]
FirstHalfLife = Annotated[
    int | None, _model("--half-life", min=1, metavar="ROWS", help=f"{HALF_LIFE} {ONCE}")
]
HalfLife = Annotated[int | None, _model("--half-life", min=1, metavar="ROWS", help=HALF_LIFE)]
FirstAlso = Annotated[list[str] | None, _model("--also", metavar="NAME", help=f"{ALSO} {REPEATABLE} {ONCE}")]
Also = Annotated[list[str] | None, _model("--also", metavar="NAME", help=f"{ALSO} {REPEATABLE}")]
FirstLabelRange = Annotated[
    tuple[float, float] | None,
    _model(
        "--label-range",
        metavar="LOW HIGH",
        help=f"Lowest and highest label. Required with ridge and kernel. {ONCE}",
    ),
]
Noise = Annotated[
    float | None,
    _model(
        metavar="SIGMA", help="Standard deviation of the label noise, with ridge. Default: derived from λ."
    ),
]
Norm = Annotated[
    float | None,
    _model(
        metavar="NORM",
        help="Norm of the coefficients for labels scaled to [-1, 1], with ridge. Default: 1.",
    ),
]
LabelRange = Annotated[
    tuple[float, float] | None,
    _model(
        metavar="LOW HIGH",
        help="Lowest and highest label, with ridge: unit of noise and regret. Default: -1 and 1.",
    ),
]
FirstSeed = Annotated[
    int | None, _model("--seed", min=0, metavar="N", help=f"Random seed. Default: 0. {ONCE}")
]
Seeds = Annotated[int, _model(min=1, metavar="N", help="Number of random seeds to average over.")]

# Columns

FirstTarget = Annotated[
    str | None, _column("--target", metavar="COLUMN", help=f"Label column. Default: label. {ONCE}")
]
FirstNew = Annotated[
    bool,
    _column(
        "--new",
        help=f"The label column is not in the table yet, although another has a similar name. {ONCE}",
    ),
]
FirstClasses = Annotated[str | None, _column("--classes", metavar="A,B,…", help=f"{CLASSES} {ONCE}")]
Classes = Annotated[str | None, _column("--classes", metavar="A,B,…", help=CLASSES)]
FirstId = Annotated[
    str | None, _column("--id", metavar="COLUMN", help=f"Id column. Default: the row number. {ONCE}")
]
Domain = Annotated[
    str | None, _column("--domain", metavar="COLUMN", help="Domain column, integers. Not an input.")
]
Skip = Annotated[list[str] | None, _column(metavar="COLUMN", help=f"Column to ignore. {REPEATABLE}")]
CategoricalColumns = Annotated[
    list[str] | None, _column("--categorical", metavar="COLUMN", help=f"Categorical column. {REPEATABLE}")
]
EmbeddingColumn = Annotated[
    str | None, _column("--embedding", metavar="COLUMN", help="Column with a list of numbers per row.")
]
TextColumn = Annotated[str | None, _column("--text", metavar="COLUMN", help="Free-text column, to embed.")]
TextModel = Annotated[
    str | None, _column(metavar="NAME", help=f"Text embedding model, name or folder. Default: {BERT}.")
]
FirstTextModel = Annotated[
    str | None,
    _column(
        "--text-model",
        metavar="NAME",
        help=f"Text embedding model, name or folder. Default: {BERT}. Later calls: download it again.",
    ),
]
Impute = Annotated[bool, _column(help="Impute missing cells and add an indicator column.")]
AddColumn = Annotated[
    list[str] | None,
    _column(
        "--add-column", metavar="COLUMN", help=f"Column of a later table to add as an input. {REPEATABLE}"
    ),
]

# Output

RowsToLabel = Annotated[
    Path, _output("--out", "-o", metavar="FILE", help=f"File for the rows to label. {FILE_FORMAT}")
]
Predictions = Annotated[
    Path, _output("--out", "-o", metavar="FILE", help=f"File for the predictions. {FILE_FORMAT}")
]
Out = Annotated[Path, _output(metavar="FOLDER", help="Folder for tables and figures.")]
Force = Annotated[
    bool,
    _output("--force", help="Replace --out even if it has rows whose labels were not given to `qufur tell`."),
]
TasksFormat = Annotated[
    Tool | None, _output("--format", help="Write --out as tasks of a labelling tool. Default: a plain table.")
]

# General

Jobs = Annotated[int, typer.Option(min=1, metavar="N", help="Number of processes.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
Cluster = Annotated[
    str | None,
    typer.Option(
        "--cluster",
        metavar="ADDRESS",
        help="Ray cluster that encodes the rows, such as ray://head:10001, or local to start one on this "
        "machine. DATA is then Parquet files or their URL.",
    ),
]
Workers = Annotated[
    int | None,
    typer.Option(
        "--workers", min=1, metavar="N", help="Encoding tasks with --cluster. Default: chosen by Ray."
    ),
]
Gpus = Annotated[float, typer.Option("--gpus", min=0, metavar="N", help="GPUs per encoding task, for text.")]
