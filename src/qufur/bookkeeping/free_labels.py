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
from qufur.models.base import Id
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
    they cost no budget and no coin. Their rows count as seen, unless they were asked about before.
    """
    known = [name for name in found.label if name in book.told]
    for name in known:
        if book.told.label(name) != found.label[name]:
            received = book.both_shown(name, found.label[name])
            remedy = "`qufur tell --replace` takes the new one."
            raise invalid("label", found.file, "the one that came before", received, remedy)
    awaited = [name for name in found.label if name in book.learner.queries]
    free = [name for name in found.label if name not in book.told and name not in book.learner.queries]
    if not accept_outliers:
        book.refuse_outliers({name: found.label[name] for name in (*awaited, *free)}, found.file)
    if free:
        _learn_free(book, free, found)
    labels = np.array([found.label[name] for name in awaited])
    book.tell_known(awaited, labels, found.file, accept_outliers=True)
    return Learned(len(free), len(awaited), len(known), found.blank)


def _learn_free(book: Workbook, names: list[Id], found: Labelled) -> None:
    X, y = np.array([found.row[name] for name in names]), np.array([found.label[name] for name in names])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OutlierWarning)  # whoever is here has accepted them
        book.learner.learn(X, book.learner.model.decode_predictions(y))
    numbers = np.column_stack([y, np.full((len(y), 3), math.nan)])
    book.told.add(names, numbers, book.learner.state.as_pending(X))
    new = [name for name, seen in zip(names, book.asked.known(names).tolist(), strict=True) if not seen]
    book.rows += len(new)
    if book.id:
        book.asked.add(new)


def _names(book: Workbook, batch: Batch, places: list[int], before: int) -> list[Id]:
    """Return what rows are called: by a column, or by numbers that go on from the last table."""
    if book.id is None:
        first = book.rows + before + 1
        return list(range(first, first + len(places)))
    called = ids(batch, column_called(book.id, batch))
    return [called[place] for place in places]
