"""What a table brings that the ones before did not have: what becomes of it, and how that is said."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from qufur.cli.columns import Columns
from qufur.tables import Batch, Encoding, Growth
from qufur.tables.batch import shown
from qufur.tables.column_growth import CategoryGrowth, ColumnGrowth, NumberGrowth
from qufur.tables.source import Source
from qufur.tables.survey import MOST_CATEGORIES
from qufur.workbook import Workbook

SHOWN = 5
"""How many names a note lists."""


def grow(
    book: Workbook,
    data: Source,
    columns: Columns,
    *,
    quiet: bool,
    look: Callable[[Batch], None] | None = None,
) -> tuple[int, list[str]]:
    """Let inputs get the columns that a later table needs; return its number of rows, and what is new.

    What else wants to `look` at its batches sees them on the way.
    """
    rows = columns.rows(data, quiet=quiet)
    if look is not None:
        rows.watch(look)
    aside = [*rows.file.aside(book.target), *filter(None, [book.id])]
    growth = columns.growth(book.encoding, scale=not book.learner.model.scales_inputs, aside=aside)
    for batch in rows:
        growth.add(batch)
    book.grow(growth.grown)
    return rows.count, on_growth(growth)


def on_first_table(encoding: Encoding) -> list[str]:
    """Say what was made of columns, and which of them have no effect as yet."""
    if not encoding.constant:
        return encoding.notes
    constant = _few(map(repr, encoding.constant))
    return [*encoding.notes, f"The same in all rows, so without effect until it varies: {constant}."]


def on_growth(growth: Growth) -> list[str]:
    """Say what is new in a table that is asked about."""
    notes = [note for column in growth.columns for note in (*_on_cells(column), *_on_inputs(column))]
    notes += [f"Column {name!r} is an input from now on." for name in growth.added]
    return notes + [
        f"Column {name!r} is new: --add-column {name} makes it an input." for name in growth.offered[:SHOWN]
    ]


def on_prediction(growth: Growth) -> list[str]:
    """Say what is new in a table that is only predicted, from which nothing grows."""
    return [note for column in growth.columns for note in (*_on_cells(column), *_on_categories(column))]


def _on_cells(column: ColumnGrowth) -> Iterator[str]:
    if column.lacking:
        yield f"There is no column {column.name!r}: its cells count as empty."
    if isinstance(column, NumberGrowth) and column.odd:
        row, cell, count = column.odd
        cells = "1 cell is no number and counts" if count == 1 else f"{count} cells are no numbers and count"
        yield f"In column {column.name!r} {cells} as empty: {shown(cell)} in row {row}."
    if isinstance(column, CategoryGrowth) and column.too_many:
        yield f"Column {column.name!r} has more than {MOST_CATEGORIES} categories; the others count as none."


def _on_inputs(column: ColumnGrowth) -> Iterator[str]:
    if column.first_missing:
        yield f"First empty cells in column {column.name!r}: an input says where they are from now on."
    if column.finer:
        yield f"Column {column.name!r} begins to vary, and counts from now on."
    if isinstance(column, CategoryGrowth) and column.categories:
        yield f"New in column {column.name!r}, and counted from now on: {_few(_sorted(column))}."


def _on_categories(column: ColumnGrowth) -> Iterator[str]:
    if isinstance(column, CategoryGrowth) and column.categories:
        few = _few(_sorted(column))
        yield f"New in column {column.name!r}, so counted as none until `qufur ask` meets them: {few}."


def _few(words: Iterable[str]) -> str:
    listed = list(words)
    return ", ".join(listed[:SHOWN]) + (", …" if len(listed) > SHOWN else "")


def _sorted(column: CategoryGrowth) -> list[str]:
    return sorted(column.categories, key=lambda name: (len(name), name))  # which puts 9 before 10
