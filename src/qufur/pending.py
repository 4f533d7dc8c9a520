"""Records of pending queries, and of queries closed without a label."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from qufur.arrays import Floats
from qufur.rules.spending import Charge


class Pending(NamedTuple):
    """A query whose label has not arrived.

    The input is stored in the model's state, as it enters M: with an intercept column or a discounted weight.
    A state needs it even without a learner, as for the simulated runs with uniformly sampled labels.

    Attributes
    ----------
    prediction, probability
        Those of the decision, no matter when the label arrives.
    largest_loss
        An upper bound of the loss at the time of the decision; 0 if none was known.
    charge
        The copies of the rule that were charged; a retraction refunds them.
    """

    prediction: float
    probability: float
    largest_loss: float
    charge: Charge


class Purchase(NamedTuple):
    """Terms of a query that was closed without a label. A label that arrives later is learned on these terms.

    Attributes
    ----------
    prediction, probability, largest_loss
        Those of the query.
    mean_probability, at_random
        The mean probability of all examples up to this one, and whether the uniform draw was below the
        floor. For a model that ignores purchase terms they are `probability` and False.
    """

    prediction: float
    probability: float
    largest_loss: float
    mean_probability: float
    at_random: bool


def decisions(queries: Iterable[Pending | Purchase]) -> Floats:
    """Return an array with prediction, probability and largest loss of each query as rows.

    >>> from qufur.rules.spending import NOTHING
    >>> decisions([Pending(0.5, 0.25, 2.25, NOTHING)])
    array([[0.5 , 0.25, 2.25]])
    """
    return np.array([query[:3] for query in queries], dtype=np.float64).reshape(-1, 3)
