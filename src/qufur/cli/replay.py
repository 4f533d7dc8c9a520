"""What the commands share that replay a file: its rows as inputs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from qufur.cli.classes import surveyed
from qufur.cli.columns import Columns
from qufur.counts import counted
from qufur.planning.pilot import FEWEST, Pilot
from qufur.streams import Arrays, Stream, Table
from qufur.tables import Encoding, labels, open_table
from qufur.tables.batch import ROWS
from qufur.tables.source import Source

MOST_CELLS = 20_000_000
"""A file of up to so many cells, 160 MB, is read once and kept; a larger one is read anew for every run."""


class Replay(NamedTuple):
    """A table as a stream, the classes that its labels are the numbers of, if they are, and what to note.

    Beside it is what becomes of the table's columns.
    """

    stream: Stream
    classes: tuple[str, ...] | None
    notes: list[str]
    encoding: Encoding


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
    return Replay(Arrays.of(table) if in_memory else table, found, notes, encoding)


def pilot_of(data: Source, encoding: Encoding, target: str, rows: int) -> Pilot | None:
    """Return the rows of a table that have a label already; None if too few do."""
    file = open_table(data)
    if target not in {*file.columns, *file.numbers}:
        return None
    places, X, y = [], [], []
    for batch in file.batches(ROWS):
        here, values = labels(batch, target, skip_blank=True)
        places.append(batch.before + batch.first - 1 + here)
        X.append(encoding.encode(batch)[here])
        y.append(values)
    found = Pilot(np.concatenate(places), np.concatenate(X), np.concatenate(y), rows)
    return found if len(found) >= FEWEST else None


class KnownDomains(Arrays):
    """Examples in memory whose domains are known: numbered, and measured.

    Attributes
    ----------
    durations, dims
        How many examples each has, and in how many dimensions they lie.
    """

    def __init__(self, stream: Arrays) -> None:
        names, numbers = np.unique(np.asarray(stream.domain), return_inverse=True)
        super().__init__(stream.X, stream.y, truth=stream.truth, domain=numbers)
        self.durations = np.bincount(numbers)
        parts = (self.X[numbers == number] for number in range(len(names)))
        self.dims = np.array([max(1, np.linalg.matrix_rank(part)) for part in parts])


def label_range(stream: Stream) -> tuple[float, float]:
    """Return the lowest and the highest label."""
    bounds = [(chunk.y.min(), chunk.y.max()) for chunk in stream.chunks(4096)]
    return float(min(low for low, _ in bounds)), float(max(high for _, high in bounds))


def title(stream: Stream, name: str) -> str:
    """Say what is in the file."""
    return f"{name}: {counted(stream.horizon, 'example')}, {counted(stream.dim, 'feature')}"
