"""Prediction intervals from the errors that bought labels showed: weighted conformal prediction.

An interval is ŷ ± r. The scores are the errors |y − ŷ| of the last `WINDOW` labels that were bought, each
with the prediction made when its example came, so that no model is judged by labels it had learned. A label
bought with probability p stands for 1/p examples: that is its weight w. With weights w_1 … w_n, and w for the
example to be predicted, r is the smallest score with

    Σ {w_i : score_i ≤ r} ≥ level · (w_1 + … + w_n + w),

and ∞ if there is none: the new example's own error may be the largest of all.

*What is guaranteed.* Let the examples of the window and the new one be exchangeable: independent draws (x, y)
of one distribution, say, with errors and probabilities that are functions of (x, y) and x. A bought example
then has the distribution of examples tilted by p, so that 1/p is, up to a factor, the density of the one
against the other. Such draws are weighted exchangeable (Tibshirani, Barber, Candès & Ramdas 2019, lemma 2):
given the set of all n + 1 scores, the new one is score_i with probability proportional to w_i, its own place
included. So it is at most the weighted quantile of all n + 1 with probability ≥ level, and r, which has ∞ in
the place of the new score, is at least that quantile. The interval covers the label with probability ≥ level.

*Where it departs.* The new example's p is not known before it is asked about: w is Σ w_i²/Σ w_i, the mean
weight of examples of the stream as the labels show it. Weights are capped at 20/p̄, p̄ the mean of p over all
examples. Models go on learning and the world may drift: scores of a model that gets better are too large, and
intervals too wide; after a change they are too narrow until new labels fill the window. Coverage is over the
examples, not at each x.

*Clipping.* Where the range of labels is learned, intervals end where predictions do: beyond the labels so far
by 0.1 + 1/√n of their width after n of them. Where all labels have been on one side of 0, intervals do not go
beyond 0 either. Among exchangeable labels the next one lies outside those before with probability at most
2/(n + 1), and outside the wider range more seldom, which is all the coverage that clipping can cost. After a
change it can cost more, until a label from beyond the range is bought.

*Also tried*, on five real tables: scores relative to √(Δ + a constant). Intervals became
1 to 17 % narrower and covered 0.1 to 4 points less, on the stream that drifts as well, where they cover too
little. `crepes` takes residuals all at once and without weights (a fork, `crepes-weighted`, has them); the
regressors of `mapie` for time series fit the estimator themselves.
"""

from __future__ import annotations

import math
from collections import deque
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from qufur.arrays import Floats
from qufur.errors import invalid
from qufur.models.base import Model

WINDOW = 200
"""Labels whose errors are kept: more follow a drift too late (on bike sharing 1000 cover 0.84 where 0.9 is
wanted, 200 cover 0.89), fewer are too few for levels near 1."""
HEAVIEST = 20.0
"""The most that one label counts, in means."""


class Errors:
    """The errors of the last labels, and the probabilities with which those were bought.

    >>> errors = Errors()
    >>> errors.add(np.arange(1.0, 20.0), np.full(19, 0.5))
    >>> errors.quantiles([0.5, 0.9, 0.96], 0.5)
    array([10., 18., inf])
    """

    def __init__(self) -> None:
        self._kept: deque[tuple[float, float]] = deque(maxlen=WINDOW)

    def add_one(self, error: float, probability: float) -> None:
        """Take note of one label."""
        self._kept.append((error, probability))

    def add(self, error: Floats, probability: Floats) -> None:
        """Take note of labels, in the order in which they came."""
        columns = error[-WINDOW:].tolist(), probability[-WINDOW:].tolist()
        self._kept.extend(zip(*columns, strict=True))

    def quantiles(self, levels: ArrayLike, mean_probability: float) -> Floats:
        """Return r at each level; the mean of p is that over all examples, bought or not."""
        if not self._kept:
            return np.full(np.shape(levels), math.inf)
        error, probability = self.rows.T
        return weighted_quantiles(error, np.minimum(1 / probability, HEAVIEST / mean_probability), levels)

    @property
    def rows(self) -> np.ndarray[Any, Any]:
        """Errors and probabilities, as rows."""
        return np.array(self._kept, dtype=np.float64).reshape(-1, 2)

    @rows.setter
    def rows(self, rows: Floats) -> None:
        if (rows[:, 0] < 0).any() or not ((rows[:, 1] > 0) & (rows[:, 1] <= 1)).all():
            raise invalid("errors", "the file", "at least 0, with probabilities in (0, 1]", "others")
        self._kept.clear()
        self.add(*rows.T)


def weighted_quantiles(scores: Floats, weights: Floats, levels: ArrayLike) -> Floats:
    """Return the smallest score that enough weight is at or below, with ∞ for a new example of mean weight.

    >>> weighted_quantiles(np.array([3.0, 1.0, 2.0]), np.array([4.0, 1.0, 1.0]), [0.2, 0.6])
    array([2., 3.])
    """
    order = np.argsort(scores, kind="stable")
    below = np.cumsum(weights[order])
    new = (weights @ weights) / below[-1]
    # Rounding must not push a level that is reached exactly to the next score.
    place = np.searchsorted(below * (1 + 1e-12), np.asarray(levels) * (below[-1] + new))
    return np.asarray(np.append(scores[order], math.inf)[place])


def check_level(model: Model, level: Any) -> None:
    """Refuse what is no share of labels to cover, and intervals for classes."""
    if model.classifies:
        remedy = "predict_proba(X) says how sure it is."
        raise invalid("interval", "Learner.predict", "left out for classes", repr(level), remedy)
    if isinstance(level, bool) or not isinstance(level, int | float | np.floating) or not 0 < level < 1:
        raise invalid("interval", "Learner.predict", "a number between 0 and 1, such as 0.9", repr(level))


def ends(
    prediction: Floats, error: float, model: Model, bounds: tuple[float, float] | None
) -> tuple[Floats, Floats]:
    """Return the lower and the upper ends about predictions.

    They are ŷ ± r, clipped to the bounds that `State.interval_bounds` returned, if there are some. Where r is
    ∞ they are those of a given range, or ±∞.

    >>> from qufur import Experts
    >>> ends(np.array([20.0, 90.0]), 30.0, Experts(1), (0.0, 110.0))
    (array([ 0., 60.]), array([ 50., 110.]))
    """
    if error == math.inf and model.given_range is not None:
        low, high = (np.full(len(prediction), end) for end in model.given_range)
        return low, high
    if error == math.inf or bounds is None:
        return prediction - error, prediction + error
    lowest, highest = bounds
    low, high = np.maximum(prediction - error, lowest), np.minimum(prediction + error, highest)
    return np.minimum(low, prediction), np.maximum(high, prediction)
