"""A query whose label has not come."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from qufur.arrays import Floats
from qufur.rules.spending import Charge


class Query(NamedTuple):
    """An outstanding query: what was said when it was made, and what it cost.

    The input is not here. The model's state keeps it as it enters M, with a constant appended or a weight
    that fades, and needs it when nobody keeps queries: copies of a model that buy at random have no learner.

    Attributes
    ----------
    prediction, probability
        Those of the decision, whenever the label comes.
    largest_loss
        The largest that the loss may turn out to be, as far as was known then; 0 if it was not.
    charge
        Who paid for it, to be refunded if the label never comes.
    """

    prediction: float
    probability: float
    largest_loss: float
    charge: Charge


class Purchase(NamedTuple):
    """The terms of a query that was closed without a label, for a label that arrives after all.

    Attributes
    ----------
    prediction, probability, largest_loss
        Those of the query.
    mean_probability, at_random
        What the model was told about the purchase: the mean probability of all examples up to this one, and
        whether the coin lay below the floor. For a model that does not weigh purchases they are `probability`
        and False.
    """

    prediction: float
    probability: float
    largest_loss: float
    mean_probability: float
    at_random: bool


def decisions(queries: Iterable[Query | Purchase]) -> Floats:
    """Return prediction, probability and largest loss of each query, as rows.

    >>> from qufur.rules.spending import NOTHING
    >>> decisions([Query(0.5, 0.25, 2.25, NOTHING)])
    array([[0.5 , 0.25, 2.25]])
    """
    return np.array([query[:3] for query in queries], dtype=np.float64).reshape(-1, 3)
