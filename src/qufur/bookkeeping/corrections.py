"""Labels that will not come, and labels that should not have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from qufur.arrays import Floats
from qufur.errors import invalid
from qufur.estimates.query import Purchase, decisions
from qufur.ids import check_outstanding
from qufur.models.base import Id, Purchases
from qufur.workbook import Workbook


def retract(book: Workbook, names: Sequence[Id]) -> list[Id]:
    """Give up on outstanding labels: the budget gets them back, and M stands as if they were not asked for.

    Returns
    -------
    list
        What the rows are called here.
    """
    found = book.known(names)
    give_up(book, found)
    return found


def give_up(book: Workbook, found: Sequence[Id]) -> None:
    """Give up on outstanding labels, by what their rows are called here; the terms of the queries stay."""
    learner = book.learner
    check_outstanding(found, learner.queries)
    decided = decisions(learner.queries[id] for id in found)
    purchases = learner.state.purchases_of(found)
    learner.retract_many(found)
    _close(book, found, decided, purchases)


def asked_before(book: Workbook, seconds: float) -> list[Id]:
    """Return the outstanding rows that were asked about before a time, as far as that is known."""
    asked = {id: book.waiting.asked_at(id) for id in book.learner.outstanding}
    return [id for id, at in asked.items() if at is not None and at < seconds]


def forget_labels(book: Workbook, names: Sequence[Id]) -> list[Id]:
    """Take back labels that came, as if they never would: all others are learned anew, O(d²) for each.

    What was bought stays bought, and the rows are not outstanding again. A label that arrives for one of them
    later costs nothing more, and counts for the error on the terms of the purchase.

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
    bought = ~np.isnan(numbers[:, 1])
    ids = [id for id, place in zip(found, places.tolist(), strict=True) if bought[place]]
    closed = book.told.places(ids)
    answered, purchases = numbers[closed], book.learner.state.purchases_at(closed.tolist())
    book.learner.state.forget(np.flatnonzero(gone).tolist(), book.told.rows[~gone], numbers[~gone, 0])
    book.learner.ledger.forget(answered, numbers[bought & ~gone])
    book.told.remove(found)
    _close(book, ids, answered[:, 1:], purchases)


def _close(book: Workbook, names: Sequence[Id], decided: Floats, purchases: Purchases | None) -> None:
    """Keep the terms of queries that were closed without a label.

    Parameters
    ----------
    book, names
        The work, and what the rows are called there.
    decided
        Prediction, probability and largest loss of each query, as rows.
    purchases
        What the model was told about the queries; None if it does not weigh purchases.
    """
    plain = Purchases(decided[:, 1], decided[:, 1], np.zeros(len(names), dtype=bool))
    _, mean, at_random = purchases or plain
    columns = (column.tolist() for column in (*decided.T, mean, at_random))
    book.closed.update(zip(names, map(Purchase, *columns), strict=True))
