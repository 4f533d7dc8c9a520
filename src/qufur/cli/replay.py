"""What the commands share that replay a file: its rows as inputs."""

from __future__ import annotations

from typing import NamedTuple

from qufur.cli.classes import surveyed
from qufur.cli.columns import Columns
from qufur.streams import Arrays, Stream, Table
from qufur.tables.source import Source

MOST_CELLS = 20_000_000
"""A file of up to so many cells, 160 MB, is read once and kept; a larger one is read anew for every run."""


class Replay(NamedTuple):
    """A table as a stream, the classes that its labels are the numbers of, if they are, and what to note."""

    stream: Stream
    classes: tuple[str, ...] | None
    notes: list[str]


def replayed(
    data: Source,
    columns: Columns,
    target: str | None,
    domain: str | None,
    *,
    labelled: bool,
    scale: bool,
    quiet: bool,
    classes: tuple[str, ...] | None = None,
) -> Replay:
    """Return a table as a stream of inputs like those of `qufur ask`, in memory if it is not large.

    Parameters
    ----------
    data, columns
        The table, and what was said of its columns.
    target, domain
        Columns of labels and of domains.
    labelled
        Whether these are read.
    scale
        Whether numbers are scaled, for a model that does not do so itself.
    quiet
        Whether no progress is shown.
    classes
        Those that labels are; None finds out.
    """
    rows = columns.rows(data, quiet=quiet)
    survey = surveyed(rows, target, classes)
    encoding = columns.encoding(rows, scale=scale, target=target, domain=domain)
    notes = [*rows.file.notes, *(survey.forms.notes if survey.forms.all_numbers else []), *encoding.notes]
    target, domain = (target, domain) if labelled else (None, None)
    found = survey.classes()
    table = Table(data, target, domain=domain, encoding=encoding, classes=found)
    table.horizon = rows.count
    in_memory = table.dim * rows.count <= MOST_CELLS
    return Replay(Arrays.of(table) if in_memory else table, found, notes)


def label_range(stream: Stream) -> tuple[float, float]:
    """Return the lowest and the highest label."""
    bounds = [(chunk.y.min(), chunk.y.max()) for chunk in stream.chunks(4096)]
    return float(min(low for low, _ in bounds)), float(max(high for _, high in bounds))


def title(stream: Stream, name: str) -> str:
    """Say what is in the file."""
    return f"{name}: {stream.horizon} examples, {stream.dim} features"
