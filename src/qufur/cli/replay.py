"""What the commands share that play a file: scaling, and what is in it."""

from __future__ import annotations

from qufur.streams import Arrays, Scaled, Stream, Summary, Table

MOST_CELLS = 20_000_000
"""A file of up to so many cells, 160 MB, is read once and kept; a larger one is read anew for every run."""


def scaled_stream(table: Table, summary: Summary) -> Stream:
    """Return the table with features of mean 0 and deviation 1, in memory if it is not large."""
    scaled = Scaled(table, summary)
    return Arrays.of(scaled) if table.dim * summary.count <= MOST_CELLS else scaled


def title(table: Table, name: str, summary: Summary) -> str:
    """Say what is in the file."""
    return f"{name}: {summary.count} examples, {table.dim} features"
