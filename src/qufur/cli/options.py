"""Options that several commands share: one wording each."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from qufur.cli.model import ModelName
from qufur.tables.embeddings import BERT

TABLE = "File (CSV, JSON-lines, Parquet, Excel, NPY or NPZ), folder, pattern or -"
WRITTEN = "CSV, or what its ending says,"
BUDGET = "a number such as 500, or a share such as 5% or 0.05"
MODEL = "Experts, many models in one, by default; or ridge, the linear model of the paper, or kernel"
CLASSES = "The classes, such as yes,no, where labels are no numbers; by default those in the column of labels"
PENALTY = "With ridge or kernel: the penalty λ of the coefficients"
HALF_LIFE = "With ridge: after so many rows a label counts half"
ALSO = "With experts: a further model, a scikit-learn estimator by name such as hist-gradient-boosting"
FirstModel = Annotated[
    ModelName | None, typer.Option("--model", help=f"First: {MODEL[0].lower()}{MODEL[1:]}.")
]
FirstPenalty = Annotated[
    float | None,
    typer.Option("--regularization", metavar="LAMBDA", help=f"First, {PENALTY[0].lower()}{PENALTY[1:]}."),
]
FirstHalfLife = Annotated[
    int | None,
    typer.Option("--half-life", min=1, metavar="ROWS", help=f"First, {HALF_LIFE[0].lower()}{HALF_LIFE[1:]}."),
]
FirstAlso = Annotated[
    list[str] | None,
    typer.Option(
        "--also", metavar="NAME", help=f"First, {ALSO[0].lower()}{ALSO[1:]}. May be given several times."
    ),
]
FirstLabelRange = Annotated[
    tuple[float, float] | None,
    typer.Option(
        "--label-range",
        metavar="LOW HIGH",
        help="First: the lowest and the highest label; experts can do without.",
    ),
]
FirstTarget = Annotated[
    str | None,
    typer.Option("--target", metavar="COLUMN", help="First: the column of labels; 'label' by default."),
]
FirstClasses = Annotated[
    str | None,
    typer.Option("--classes", metavar="A,B,…", help=f"First: {CLASSES[0].lower()}{CLASSES[1:]}."),
]
FirstId = Annotated[
    str | None,
    typer.Option(
        "--id", metavar="COLUMN", help="First: the column that names rows; by default their number."
    ),
]
FirstTextModel = Annotated[
    str | None,
    typer.Option(
        "--text-model",
        metavar="NAME",
        help=f"First: model that reads text, or its folder; {BERT} by default. Later: let it be fetched.",
    ),
]
FirstHorizon = Annotated[
    int | None,
    typer.Option(
        "--horizon",
        min=1,
        metavar="ROWS",
        help="First: rows the budget is for; by default this table's for a count, and any for a share.",
    ),
]
FirstNew = Annotated[
    bool, typer.Option("--new", help="First: labels are yet to come, though a column has a like name.")
]
FirstSeed = Annotated[
    int | None, typer.Option("--seed", min=0, help="First: the seed of the coins; 0 by default.")
]
Skip = Annotated[
    list[str] | None,
    typer.Option(metavar="COLUMN", help="Column to leave out. May be given several times."),
]
CategoricalColumns = Annotated[
    list[str] | None,
    typer.Option("--categorical", metavar="COLUMN", help="Column of codes. May be given several times."),
]
EmbeddingColumn = Annotated[
    str | None, typer.Option("--embedding", metavar="COLUMN", help="Column of lists of numbers.")
]
TextColumn = Annotated[str | None, typer.Option("--text", metavar="COLUMN", help="Column of free text.")]
TextModel = Annotated[
    str | None,
    typer.Option(metavar="NAME", help=f"Model that reads text, or its folder; {BERT} by default."),
]
Separator = Annotated[
    str | None,
    typer.Option("--sep", metavar="CHAR", help="What stands between cells of CSV, or tab; else found out."),
]
Decimal = Annotated[
    str | None, typer.Option(metavar="CHAR", help="Point or comma in numbers of CSV; else found out.")
]
Impute = Annotated[bool, typer.Option(help="Let cells be missing.")]
AddColumn = Annotated[
    list[str] | None,
    typer.Option(
        "--add-column",
        metavar="COLUMN",
        help="Later: a new column that becomes an input. May be given several times.",
    ),
]
Classes = Annotated[str | None, typer.Option("--classes", metavar="A,B,…", help=f"{CLASSES}.")]
Seeds = Annotated[int, typer.Option(min=1, metavar="N", help="Seeds of streams and coins to average over.")]
Jobs = Annotated[int, typer.Option(min=1, metavar="N", help="Processes.")]
Out = Annotated[Path, typer.Option(metavar="FOLDER", help="Where tables and figures go.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]
Force = Annotated[
    bool, typer.Option("--force", help="Replace --out even if labels in it are yet to be told.")
]
