"""What the commands share that play a file: scaling, and budgets as numbers or shares."""

from __future__ import annotations

from qufur.errors import invalid
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


def as_share(text: str, stream: Stream, command: str) -> float:
    """Return a budget as a share of the stream: 300 counts labels, 0.1 and 10% are shares."""
    try:
        share = float(text.removesuffix("%")) / 100 if text.endswith("%") else float(text)
        share = share / stream.horizon if text.isdigit() else share
    except ValueError:
        share = -1.0
    if not 0 < share <= 1:
        allowed = f"1 to {stream.horizon} labels, or a share above 0 and at most 100%"
        raise invalid("--budget", command, allowed, repr(text))
    return share
