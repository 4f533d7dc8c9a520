"""Corrections: retracted queries, removed labels, and free labels."""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np

from qufur.arrays import Floats, Ints
from qufur.errors import OutlierWarning, invalid
from qufur.ids import Id, check_outstanding
from qufur.models.capabilities import KeepsPurchases, Relabels
from qufur.pending import closed_queries, decisions
from qufur.tables import Batch, ids
from qufur.tables.writers import column_called
from qufur.workbook.workbook import Workbook


def retract(workbook: Workbook, names: Sequence[Id]) -> list[Id]:
    """Retract outstanding queries: the budget is refunded, and M is as if they had not been made.

    Returns
    -------
    list
        The ids of the rows in this workbook.
    """
    ids = workbook.resolve_ids(names)
    expire(workbook, ids)
    return ids


def expire(workbook: Workbook, ids: Sequence[Id]) -> None:
    """Retract outstanding queries by exact ids; their terms are stored."""
    learner = workbook.learner
    check_outstanding(ids, learner.pending)
    queries = [learner.pending[id] for id in ids]
    learner.retract_many(ids)
    workbook.closed.update((query.id, query.closed()) for query in queries)


def asked_before(workbook: Workbook, seconds: float) -> list[Id]:
    """Return the outstanding rows that were queried before a time, in seconds since 1970.

    Rows whose query time is unknown are omitted.
    """
    times = {id: query.asked_at for id, query in workbook.learner.pending.items()}
    return [id for id, at in times.items() if at is not None and at < 1e6 * seconds]


def forget_labels(workbook: Workbook, names: Sequence[Id]) -> list[Id]:
    """Remove labels: all other labels are relearned, O(d²) each.

    The purchases stay charged, and the rows do not become outstanding again. A label that arrives later for
    one of them is free, and counts for the error on the terms of the purchase.

    Returns
    -------
    list
        The ids of the rows in this workbook.
    """
    ids = workbook.resolve_ids(names)
    for name in ids:
        if name not in workbook.labels:
            remedy = "`qufur retract` cancels an outstanding query."
            raise invalid("id", "qufur forget-label", "of a row that has a label", repr(name), remedy)
    duplicates = [name for name, times in Counter(ids).items() if times > 1]
    if duplicates:
        raise invalid("id", "qufur forget-label", "unique", f"{duplicates[0]!r} more than once")
    forget(workbook, ids)
    return ids


def forget(workbook: Workbook, ids: Sequence[Id]) -> None:
    """Remove labels by exact ids."""
    positions, numbers = workbook.labels.positions(ids), workbook.labels.numbers
    gone = np.isin(np.arange(len(numbers)), positions)
    bought = ~np.isnan(numbers[:, 1])
    queried = [id for id, position in zip(ids, positions.tolist(), strict=True) if bought[position]]
    closed = workbook.labels.positions(queried)
    answered, state = numbers[closed], workbook.learner.state
    if isinstance(state, KeepsPurchases):
        terms = state.purchases_at(closed.tolist())[:, 1:]
    else:
        terms = np.column_stack([answered[:, 2], np.zeros(len(closed))])
    cast(Relabels, state).unlearn(
        np.flatnonzero(gone).tolist(), workbook.labels.rows[~gone], numbers[~gone, 0]
    )
    workbook.learner.ledger.forget(answered, numbers[bought & ~gone])
    workbook.labels.remove(ids)
    workbook.closed |= closed_queries(queried, np.column_stack([answered[:, 1:], terms]))


ReadLabels = Callable[[Batch, str], tuple[Ints, Floats]]


@dataclass(frozen=True)
class Learned:
    """Counts of a table that was learned.

    Attributes
    ----------
    free
        Labels of rows without a query.
    outstanding
        Labels that answered an outstanding or a closed query.
    known
        Labels that were stored before.
    blank
        Rows without a label.
    """

    free: int
    outstanding: int
    known: int
    blank: int


@dataclass(frozen=True)
class FreeLabels:
    """The labelled rows of a table, by id."""

    file: str
    label: dict[Id, float]
    row: dict[Id, Floats]
    blank: int


def read_free_labels(workbook: Workbook, batches: Iterable[Batch], read: ReadLabels) -> FreeLabels:
    """Return the labelled rows of a table as inputs; `read` returns their positions and labels."""
    file, blank = "", 0
    label: dict[Id, float] = {}
    row: dict[Id, Floats] = {}
    for batch in batches:
        X = workbook.encoding.encode(batch)
        positions, values = read(batch, column_called(workbook.target, batch))
        names = _names(workbook, batch, positions.tolist(), len(label))
        duplicates = [name for name, times in Counter(names).items() if times > 1 or name in label]
        if duplicates:
            raise invalid("id", batch.file, "unique", f"{duplicates[0]!r} more than once")
        label.update(zip(names, values.tolist(), strict=True))
        row.update(zip(names, X[positions], strict=True))
        file, blank = batch.file, blank + len(batch) - len(positions)
    return FreeLabels(file, label, row, blank)


def learn(workbook: Workbook, table: FreeLabels, *, accept_outliers: bool = False) -> Learned:
    """Learn the labels of a table, all of them or none.

    Labels of outstanding queries answer them. Labels that are stored already must be equal. All others are
    free: they charge no budget and use no random draw, and their rows count as processed, unless they were
    processed before. A label of a closed query costs nothing more, and keeps the terms of the query.
    """
    known = [name for name in table.label if name in workbook.labels]
    for name in known:
        if workbook.labels.label(name) != table.label[name]:
            remedy = "`Workbook.tell(replace=True)` replaces it."
            raise workbook.conflict(name, table.label[name], table.file, remedy)
    pending = [name for name in table.label if name in workbook.learner.pending]
    closed = [name for name in table.label if name in workbook.closed]
    queried = {*known, *pending, *closed}
    free = [name for name in table.label if name not in queried]
    if not accept_outliers:
        workbook.refuse_outliers({name: table.label[name] for name in (*pending, *closed, *free)}, table.file)
    if free:
        _learn_free(workbook, free, table)
    if closed:
        _learn_closed(workbook, closed, table)
    labels = np.array([table.label[name] for name in pending])
    workbook.tell(pending, labels, table.file, exact_ids=True, accept_outliers=True)
    return Learned(len(free), len(pending) + len(closed), len(known), table.blank)


def _learn_free(workbook: Workbook, names: list[Id], table: FreeLabels) -> None:
    X, y = _arrays(names, table)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OutlierWarning)  # the caller has accepted outliers
        workbook.learner.learn(X, workbook.learner.model.label_codec.decode(y))
    numbers = np.column_stack([y, np.full((len(y), 3), math.nan)])
    workbook.labels.add(names, numbers, cast(Relabels, workbook.learner.state).stored_rows(X))
    new = [name for name, seen in zip(names, workbook.seen_ids.seen(names).tolist(), strict=True) if not seen]
    workbook.rows += len(new)
    if workbook.id:
        workbook.seen_ids.add(new)


def _learn_closed(workbook: Workbook, names: list[Id], table: FreeLabels) -> None:
    """Learn labels of closed queries on the terms of the queries."""
    X, y = _arrays(names, table)
    learner, queries = workbook.learner, [workbook.closed[name] for name in names]
    learner.model.label_codec.check(y)
    if isinstance(learner.state, KeepsPurchases):
        learner.state.learn_bought(queries, X, y)
    else:
        learner.state.learn(X, y)
    learner.ledger.recall(queries, y)
    numbers = np.column_stack([y, decisions(queries)])
    workbook.labels.add(names, numbers, cast(Relabels, learner.state).stored_rows(X))
    for name in names:
        del workbook.closed[name]


def _arrays(names: list[Id], table: FreeLabels) -> tuple[Floats, Floats]:
    return np.array([table.row[name] for name in names]), np.array([table.label[name] for name in names])


def _names(workbook: Workbook, batch: Batch, positions: list[int], before: int) -> list[Id]:
    """Return the ids of rows: from the id column, or consecutive numbers through all tables."""
    if workbook.id is None:
        first = workbook.rows + before + 1
        return list(range(first, first + len(positions)))
    column = ids(batch, column_called(workbook.id, batch))
    return [column[position] for position in positions]
