"""Labels that will not come, and labels that should not have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from qufur.errors import invalid
from qufur.models.base import Id
from qufur.workbook import Workbook


def retract(book: Workbook, names: Sequence[Id]) -> list[Id]:
    """Give up on outstanding labels: the budget gets them back, and M stands as if they were not asked for.

    Returns
    -------
    list
        What the rows are called here.
    """
    found = book.known(names)
    book.learner.retract_many(found)
    return found


def asked_before(book: Workbook, seconds: float) -> list[Id]:
    """Return the outstanding rows that were asked about before a time, as far as that is known."""
    asked = {id: book.waiting.asked_at(id) for id in book.learner.outstanding}
    return [id for id, at in asked.items() if at is not None and at < seconds]


def forget_labels(book: Workbook, names: Sequence[Id]) -> list[Id]:
    """Take back labels that came, as if they never would: all others are learned anew, O(d²) for each.

    What was bought stays bought, and the rows are not outstanding again: a label that turns up for one of
    them is free.

    Returns
    -------
    list
        What the rows are called here.
    """
    found = book.known(names)
    for name in found:
        if name not in book.told:
            remedy = "`qufur retract` gives up on one that is outstanding."
            raise invalid("id", "qufur forget-label", "of a row that has a label", repr(name), remedy)
    twice = [name for name, times in Counter(found).items() if times > 1]
    if twice:
        raise invalid("id", "qufur forget-label", "there once", f"{twice[0]!r} more than once")
    forget(book, found)
    return found


def forget(book: Workbook, found: Sequence[Id]) -> None:
    """Take back labels of rows that have one, by what these are called here."""
    places, numbers = book.told.places(found), book.told.numbers
    gone = np.isin(np.arange(len(numbers)), places)
    book.learner.state.forget(np.flatnonzero(gone).tolist(), book.told.rows[~gone], numbers[~gone, 0])
    bought = ~np.isnan(numbers[:, 1])
    book.learner.ledger.forget(numbers[bought & gone], numbers[bought & ~gone])
    book.told.remove(found)
