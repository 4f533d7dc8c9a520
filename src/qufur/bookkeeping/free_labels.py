"""Labels that exist already: they cost nothing, and teach as much."""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from qufur.arrays import Floats, Ints
from qufur.errors import OutlierWarning, invalid
from qufur.estimates.query import decisions
from qufur.models.base import Id, Purchases
from qufur.tables import Batch, ids
from qufur.tables.written import column_called
from qufur.workbook import Workbook

ReadLabels = Callable[[Batch, str], tuple[Ints, Floats]]


@dataclass(frozen=True)
class Learned:
    """How many labels were free, how many had been asked for, how many were known, and rows without one."""

    free: int
    outstanding: int
    known: int
    blank: int


@dataclass(frozen=True)
class Labelled:
    """The rows of a table that have a label, by what they are called."""

    file: str
    label: dict[Id, float]
    row: dict[Id, Floats]
    blank: int


def labelled(book: Workbook, batches: Iterable[Batch], read: ReadLabels) -> Labelled:
    """Return the rows of a table that have a label, as inputs; `read` says which do, and the labels."""
    file, blank = "", 0
    label: dict[Id, float] = {}
    row: dict[Id, Floats] = {}
    for batch in batches:
        X = book.encoding.encode(batch)
        places, values = read(batch, column_called(book.target, batch))
        names = _names(book, batch, places.tolist(), len(label))
        twice = [name for name, times in Counter(names).items() if times > 1 or name in label]
        if twice:
            raise invalid("id", batch.file, "there once", f"{twice[0]!r} more than once")
        label.update(zip(names, values.tolist(), strict=True))
        row.update(zip(names, X[places], strict=True))
        file, blank = batch.file, blank + len(batch) - len(places)
    return Labelled(file, label, row, blank)


def learn(book: Workbook, found: Labelled, *, accept_outliers: bool = False) -> Learned:
    """Learn the labels of a table, all of them or none.

    One that was asked for is told; one that came before is known, and must be the same; the others are free:
    they cost no budget and no coin. Their rows count as seen, unless they were asked about before. A label
    whose query was retracted, or that was forgotten, costs nothing more, and keeps the terms of the query.
    """
    known = [name for name in found.label if name in book.told]
    for name in known:
        if book.told.label(name) != found.label[name]:
            received = book.both_shown(name, found.label[name])
            remedy = "`qufur tell --replace` takes the new one."
            raise invalid("label", found.file, "the one that came before", received, remedy)
    awaited = [name for name in found.label if name in book.learner.queries]
    closed = [name for name in found.label if name in book.closed]
    asked = {*known, *awaited, *closed}
    free = [name for name in found.label if name not in asked]
    if not accept_outliers:
        book.refuse_outliers({name: found.label[name] for name in (*awaited, *closed, *free)}, found.file)
    if free:
        _learn_free(book, free, found)
    if closed:
        _learn_closed(book, closed, found)
    labels = np.array([found.label[name] for name in awaited])
    book.tell_known(awaited, labels, found.file, accept_outliers=True)
    return Learned(len(free), len(awaited) + len(closed), len(known), found.blank)


def _learn_free(book: Workbook, names: list[Id], found: Labelled) -> None:
    X, y = _arrays(names, found)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OutlierWarning)  # whoever is here has accepted them
        book.learner.learn(X, book.learner.model.decode_predictions(y))
    numbers = np.column_stack([y, np.full((len(y), 3), math.nan)])
    book.told.add(names, numbers, book.learner.state.as_pending(X))
    new = [name for name, seen in zip(names, book.asked.known(names).tolist(), strict=True) if not seen]
    book.rows += len(new)
    if book.id:
        book.asked.add(new)


def _learn_closed(book: Workbook, names: list[Id], found: Labelled) -> None:
    """Learn labels that arrive for closed queries, on the terms of these."""
    X, y = _arrays(names, found)
    learner, terms = book.learner, [book.closed[name] for name in names]
    decided = decisions(terms)
    prediction, probability, largest_loss = decided.T
    mean, at_random = map(np.array, zip(*(each[3:] for each in terms), strict=True))
    learner.model.check_labels(y)
    learner.state.learn_bought(X, y, Purchases(probability, mean, at_random))
    learner.ledger.recall(prediction, probability, largest_loss, y)
    book.told.add(names, np.column_stack([y, decided]), learner.state.as_pending(X))
    for name in names:
        del book.closed[name]


def _arrays(names: list[Id], found: Labelled) -> tuple[Floats, Floats]:
    return np.array([found.row[name] for name in names]), np.array([found.label[name] for name in names])


def _names(book: Workbook, batch: Batch, places: list[int], before: int) -> list[Id]:
    """Return what rows are called: by a column, or by numbers that go on from the last table."""
    if book.id is None:
        first = book.rows + before + 1
        return list(range(first, first + len(places)))
    called = ids(batch, column_called(book.id, batch))
    return [called[place] for place in places]
