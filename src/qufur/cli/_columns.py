"""Column options of the commands, and inputs that later tables add."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from qufur.cli import _options as opt
from qufur.cli._flags import with_flags
from qufur.cli._state_file import TableReader
from qufur.errors import invalid
from qufur.tables import Batch, Encoding, Growth
from qufur.tables.batch import shown
from qufur.tables.inference import MOST_CATEGORIES
from qufur.tables.schema_growth import CategoryGrowth, ColumnGrowth, NumberGrowth
from qufur.tables.source import Source
from qufur.tables.text import BERT
from qufur.workbook import Workbook


@dataclass(frozen=True)
class Columns:
    """Options that select the input columns of a table."""

    skip: opt.Skip = None
    categorical: opt.CategoricalColumns = None
    embedding: opt.EmbeddingColumn = None
    text: opt.TextColumn = None
    text_model: Annotated[
        str | None,
        opt.column_option(metavar="NAME", help=f"Text embedding model, name or folder. Default: {BERT}."),
    ] = None
    impute: opt.Impute = False

    def check(self, command: str) -> None:
        """Raise if options conflict, before a long table is read."""
        if self.text_model is not None and self.text is None:
            raise invalid("--text-model", command, "omitted without --text", repr(self.text_model))

    def rows(self, data: Source, *, quiet: bool) -> TableReader:
        """Return a reader for the pass over a table that infers its columns."""
        return TableReader(data, None if quiet else "Reading columns", text=self.text is not None)

    def encoding(
        self,
        rows: TableReader,
        *,
        scale: bool,
        target: str | None,
        domain: str | None = None,
        id: str | None = None,
    ) -> Encoding:
        """Infer the encoding of a table; label, domain and id columns are not inputs."""
        skip = [*(self.skip or ()), *rows.file.aside(target, domain)]
        return Encoding.of(rows, skip=skip, id=id, scale=scale, **self.types)

    @property
    def types(self) -> dict[str, Any]:
        """Options that set the types of columns, as keyword arguments of `Encoding.of` and `Growth`."""
        return {
            "categorical": self.categorical or (),
            "embedding": self.embedding,
            "text": self.text,
            "text_model": self.text_model or BERT,
            "impute": self.impute,
        }


@dataclass(frozen=True)
class GrowingColumns(Columns):
    """Column options of a command that extends the workbook by later tables."""

    text_model: Annotated[
        str | None,
        opt.column_option(
            metavar="NAME",
            help=f"Text embedding model, name or folder. Default: {BERT}. Later calls: download it again.",
        ),
    ] = None
    add_column: Annotated[
        list[str] | None,
        opt.column_option(help=f"Column of a later table to add as an input. {opt.REPEATABLE}"),
    ] = None

    def check(self, command: str) -> None:
        super().check(command)
        if self.add_column:
            allowed = "omitted for the first table, whose columns are all inputs unless skipped"
            raise invalid("--add-column", command, allowed, repr(self.add_column[0]))

    @property
    def fixed(self) -> dict[str, Any]:
        """Options that the first table sets. Types of columns in --add-column may be given later."""
        added = set(self.add_column or ())
        has_text = self.text is not None and self.text not in added
        return {
            "skip": self.skip,
            "categorical": [name for name in self.categorical or () if name not in added] or None,
            "embedding": None if self.embedding in added else self.embedding,
            "text": self.text if has_text else None,
            "text_model": self.text_model if has_text else None,
        }

    def fetch(self, encoding: Encoding) -> None:
        """Download the text model named by --text-model; that of a new column is downloaded anyway."""
        if self.text_model is not None and self.text is None:
            encoding.fetch(self.text_model)


MAX_LISTED = 5
"""Maximum number of names that a note lists."""


def grow(
    workbook: Workbook,
    data: Source,
    columns: GrowingColumns,
    *,
    quiet: bool,
    observer: Callable[[Batch], None] | None = None,
) -> tuple[int, list[str]]:
    """Extend the encoding by what a later table adds; return its number of rows and notes.

    `observer` is called with each batch.
    """
    rows = columns.rows(data, quiet=quiet)
    if observer is not None:
        rows.watch(observer)
    aside = [*rows.file.aside(workbook.target), *filter(None, [workbook.id])]
    scale = not workbook.learner.model.tags.scales_inputs
    growth = Growth(
        workbook.encoding, add=columns.add_column or (), scale=scale, aside=aside, **columns.types
    )
    for batch in rows:
        growth.add(batch)
    workbook.grow(growth.grown)
    return rows.count, describe_growth(growth)


def describe_first_table(encoding: Encoding) -> list[str]:
    """Describe the inferred columns and name those that are constant."""
    notes = [with_flags(note) for note in encoding.notes]
    if not encoding.constant:
        return notes
    constant = _listed([repr(name) for name in encoding.constant])
    return [*notes, f"Constant in all rows, so without effect until the value varies: {constant}."]


def describe_growth(growth: Growth) -> list[str]:
    """Describe the additions of a table passed to `qufur ask` or `qufur learn`."""
    notes = [note for column in growth.columns for note in (*_cell_notes(column), *_input_notes(column))]
    notes += [f"Added column {name!r} as an input." for name in growth.added]
    return notes + [
        f"Column {name!r} is new and ignored; --add-column {name} makes it an input."
        for name in growth.offered[:MAX_LISTED]
    ]


def describe_prediction(growth: Growth) -> list[str]:
    """Describe what is new in a table passed to `qufur predict`, which adds no inputs."""
    notes: list[str] = []
    for column in growth.columns:
        notes += _cell_notes(column)
        if new := _new_categories(column):
            notes.append(
                f"New categories in column {column.name!r}, ignored until `qufur ask` adds them: {new}."
            )
    return notes


def _cell_notes(column: ColumnGrowth) -> Iterator[str]:
    if column.lacking:
        yield f"Column {column.name!r} is missing; its cells are treated as empty."
    if isinstance(column, NumberGrowth) and column.outliers:
        row, cell, count = column.outliers
        cells = "1 cell that is not a number" if count == 1 else f"{count} cells that are not numbers"
        yield f"Column {column.name!r} has {cells}, treated as empty: {shown(cell)} in row {row}."
    if isinstance(column, CategoryGrowth) and column.too_many:
        yield f"Column {column.name!r} has more than {MOST_CATEGORIES} categories; the rest are ignored."


def _input_notes(column: ColumnGrowth) -> Iterator[str]:
    if column.first_missing:
        yield f"First empty cells in column {column.name!r}: added an indicator of missing cells as an input."
    if column.finer_scale:
        yield f"Column {column.name!r} is no longer constant and now affects predictions."
    if new := _new_categories(column):
        yield f"New categories in column {column.name!r}, added as inputs: {new}."


def _new_categories(column: ColumnGrowth) -> str:
    if not isinstance(column, CategoryGrowth):
        return ""
    return _listed(sorted(column.categories, key=lambda name: (len(name), name)))  # 9 before 10


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:MAX_LISTED]) + (", …" if len(names) > MAX_LISTED else "")
