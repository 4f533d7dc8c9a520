"""The column of labels: whether it is the one that was meant, and whether another one gives it away."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from qufur.arrays import Bools, Floats
from qufur.errors import invalid
from qufur.tables.written import heading
from qufur.workbook import Workbook

USUAL = frozenset(["label", "labels", "target", "targets", "class", "y", "outcome"])
"""Names that columns of labels have."""
FEWEST, TELLING = 20, 0.999
"""Labels from which on a correlation counts, and how large it must be."""
RARE = 3
"""A class, or the rest, of fewer labels may well go with a column by chance."""


def check_target(id: str | None, target: str, command: str = "qufur ask") -> None:
    """Refuse one column for two things: a file with both could not be told."""
    if id is not None and heading(id) == heading(target):
        raise invalid("--target", command, "another column than --id", repr(target))


def check_new(command: str, target: str | None, columns: Iterable[str], file: str, *, new: bool) -> list[str]:
    """Refuse a column of labels that is not in the first table where another one may have been meant.

    Parameters
    ----------
    command, target, columns, file
        What the command is called, the column of labels that --target names, and the other columns of the
        table: those that would be inputs.
    new
        Whether --new says that labels are yet to come.

    Returns
    -------
    list
        Notes on an input that is called as labels often are, though --target names another column.
    """
    names = list(columns)
    usual = next((name for name in names if heading(name).lower() in USUAL), None)
    said, target = target is not None, target or "label"
    if target in names:
        if new:
            received = f"{target!r}, which {file} has"
            raise invalid("--target", command, "a new column with --new", received, "Leave --new out.")
        return []
    meant = next((name for name in names if _is_near(name, target)), None if said else usual)
    if meant is not None and not new:
        received = f"{target!r}: the table has no column {target!r} but has {meant!r}"
        remedy = (
            f"Give --target {meant}; or --new if labels are yet to come, and --skip {meant} if it has them."
        )
        raise invalid("--target", command, f"a column of {file}, or --new", received, remedy)
    if usual is None or new:
        return []
    return [f"Column {usual!r} is an input; if it has labels, start again with --skip {usual}."]


def _is_near(one: str, other: str) -> bool:
    """Return whether a slip of the finger makes one name of the other.

    >>> [_is_near("load", name) for name in ("laod", "Load", "lod", "loads", "road", "lag", "lead_time")]
    [True, True, True, True, True, False, False]
    >>> _is_near("delay", "day"), _is_near("x1", "x2")
    (False, False)
    """
    a, b = (heading(name).casefold().translate({ord(c): None for c in " _-"}) for name in (one, other))
    if min(len(a), len(b)) < 3 or abs(len(a) - len(b)) > 1:
        return False
    if len(a) > len(b):
        a, b = b, a
    if a == b:
        return True
    place = next((place for place, pair in enumerate(zip(a, b, strict=False)) if pair[0] != pair[1]), len(a))
    if len(a) < len(b):
        return a[place:] == b[place + 1 :]
    swapped = a[place : place + 2] == b[place : place + 2][::-1] and a[place + 2 :] == b[place + 2 :]
    return swapped or a[place + 1 :] == b[place + 1 :]


def on_telling_columns(book: Workbook) -> list[str]:
    """Point out the columns that tell the labels almost exactly, once there are labels enough."""
    dim = book.encoding.dim
    # A linear model adds a constant to its rows.
    records = [record for record in book.told.values() if len(record.row) >= dim]
    if len(records) < FEWEST:
        return []
    X = np.array([record.row[:dim] for record in records])
    y = np.array([record.label for record in records])
    found = _columns_of(book, np.flatnonzero(_telling(X, y, len(book.classes or ()))))
    return [
        f"Column {name!r} tells the labels almost exactly, in {len(y)} of them. If it is known no sooner "
        f"than the label, leave its cells empty from now on (--impute); a new state file takes --skip {name}."
        for name in found
    ]


def _telling(X: Floats, y: Floats, classes: int) -> Bools:
    if not classes:
        return np.asarray((_correlation(X, y) > TELLING) | (_correlation(_ranks(X), _ranks(y)) > TELLING))
    members = [(y == number).astype(np.float64) for number in range(classes)]
    usual = [member for member in members if min(member.sum(), len(y) - member.sum()) >= RARE]
    found = [np.zeros(X.shape[1], bool), *(_correlation(X, member) > TELLING for member in usual)]
    return np.asarray(np.any(found, axis=0))


def _ranks(values: Floats) -> Floats:
    """Return the ranks within each column; equal numbers share theirs.

    >>> _ranks(np.array([30.0, 10.0, 30.0]))
    array([2.5, 1. , 2.5])
    """
    if values.ndim > 1:
        return np.column_stack([_ranks(column) for column in values.T])
    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(count) - (count - 1) / 2)[place], dtype=np.float64)


def _correlation(X: Floats, y: Floats) -> Floats:
    """Return the size of the correlation of each column with y; 0 where one of them does not vary."""
    A, b = X - X.mean(axis=0), y - y.mean()
    # Each is divided by its largest first: squares of large numbers have no room.
    A, b = A / (np.abs(A).max(axis=0) + (A == 0).all(axis=0)), b / (np.abs(b).max() or 1.0)
    norms = np.sqrt((A**2).sum(axis=0) * (b**2).sum())
    return np.asarray(np.abs(A.T @ b) / np.where(norms > 0, norms, 1.0))


def _columns_of(book: Workbook, inputs: Iterable[int]) -> Iterator[str]:
    """Yield the columns of the table that inputs come from, each once."""
    names = [column.name for column in book.encoding.columns for _ in column.names]
    yield from dict.fromkeys(names[number] for number in inputs)
