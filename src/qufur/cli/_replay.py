"""Replay of a table as a stream, for `qufur run` and `qufur plan`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from qufur._internal.counts import counted
from qufur.cli._classes import infer_labels
from qufur.cli._columns import Columns
from qufur.cli._flags import with_flags
from qufur.planning.pilot import MIN_LABELS, Pilot
from qufur.streams import Arrays, Stream, Table
from qufur.tables import Encoding, labels, open_table
from qufur.tables.batch import ROWS
from qufur.tables.source import Source

MAX_CELLS = 20_000_000
"""Maximum cells (160 MB) of a table that is held in memory; a larger table is read again for every run."""


class Replay(NamedTuple):
    """A table as a stream.

    Attributes
    ----------
    stream
        Encoded rows and, if they were read, labels and domains.
    classes
        Class names that integer labels index; None for numbers.
    notes
        Messages for the user.
    encoding
        Mapping from the columns to inputs.
    """

    stream: Stream
    classes: tuple[str, ...] | None
    notes: list[str]
    encoding: Encoding


def replay_table(
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
    """Return a table as a stream, encoded as in `qufur ask`; in memory up to `MAX_CELLS` cells.

    Parameters
    ----------
    data, columns
        Table and column options.
    target, domain
        Label and domain column.
    labelled
        Whether to read labels and domains.
    scale
        Whether to scale numbers, for a model that does not scale them itself.
    quiet
        Whether to hide the progress bar.
    classes
        Class names; None infers them from the labels.
    """
    rows = columns.rows(data, quiet=quiet)
    inferred = infer_labels(rows, target, classes)
    encoding = columns.encoding(rows, scale=scale, target=target, domain=domain)
    label_notes = inferred.forms.notes if inferred.forms.all_numbers else []
    notes = [*rows.notes, *label_notes, *map(with_flags, encoding.notes)]
    target, domain = (target, domain) if labelled else (None, None)
    classes = inferred.classes()
    table = Table(data, target, domain=domain, encoding=encoding, classes=classes)
    table.horizon = rows.count
    in_memory = table.dim * rows.count <= MAX_CELLS
    return Replay(Arrays.of(table) if in_memory else table, classes, notes, encoding)


def pilot_of(data: Source, encoding: Encoding, target: str, rows: int) -> Pilot | None:
    """Return the labelled rows of a table; None if there are fewer than `MIN_LABELS`."""
    file = open_table(data)
    if target not in {*file.columns, *file.numbers}:
        return None
    positions, X, y = [], [], []
    for batch in file.batches(ROWS):
        indices, values = labels(batch, target, skip_blank=True)
        positions.append(batch.before + batch.first - 1 + indices)
        X.append(encoding.encode(batch)[indices])
        y.append(values)
    pilot = Pilot(np.concatenate(positions), np.concatenate(X), np.concatenate(y), rows)
    return pilot if len(pilot) >= MIN_LABELS else None


class KnownDomains(Arrays):
    """Examples in memory with known domains, renumbered from 0.

    Attributes
    ----------
    durations, dims
        Number of examples and rank of the inputs (at least 1), per domain.
    """

    def __init__(self, stream: Arrays) -> None:
        names, numbers = np.unique(np.asarray(stream.domain), return_inverse=True)
        super().__init__(stream.X, stream.y, truth=stream.truth, domain=numbers)
        self.durations = np.bincount(numbers)
        inputs = (self.X[numbers == number] for number in range(len(names)))
        self.dims = np.array([max(1, np.linalg.matrix_rank(X)) for X in inputs])


def label_range(stream: Stream) -> tuple[float, float]:
    """Return the lowest and the highest label."""
    bounds = [(chunk.y.min(), chunk.y.max()) for chunk in stream.chunks(4096)]
    return float(min(low for low, _ in bounds)), float(max(high for _, high in bounds))


def title(stream: Stream, name: str) -> str:
    """Return the heading: name, number of examples and of features."""
    return f"{name}: {counted(stream.horizon, 'example')}, {counted(stream.dim, 'feature')}"
