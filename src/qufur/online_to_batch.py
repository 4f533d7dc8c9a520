"""Conversion of a run on a stream to a predictor for new data (appendix on online-to-batch conversion)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import compress
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from qufur.arrays import Floats, as_inputs, as_labels
from qufur.errors import invalid
from qufur.learner import Learner
from qufur.models import Model

if TYPE_CHECKING:
    from qufur.streams import Stream

Predictor = Callable[[Floats], Floats]


@dataclass(frozen=True)
class Mixture:
    """Mixture of the predictors f̂_1, …, f̂_T of a run, weighted by the number of examples each served.

    On iid data, a predictor drawn uniformly from f̂_1, …, f̂_T has an expected excess loss of at most E[Reg]/T
    (Theorem "otb"). For a convex loss, such as the squared loss, that of their average is no larger.

    Parameters
    ----------
    model
        The model of the predictors; it defines the loss.
    predictors
        The distinct predictors in order.
    weights
        The share of examples that each predictor served.
    dim
        Number of input columns.
    """

    model: Model
    predictors: tuple[Predictor, ...]
    weights: Floats
    dim: int

    def predict(self, X: ArrayLike) -> Floats:
        """Return the average prediction for each row."""
        return np.asarray(self.weights @ self._predictions(X))

    def draw(self, rng: np.random.Generator) -> Predictor:
        """Draw a predictor with probability equal to its weight."""
        return self.predictors[rng.choice(len(self.predictors), p=self.weights)]

    def loss(self, X: ArrayLike, y: ArrayLike) -> float:
        """Return the mean loss over rows, in expectation over one draw of a predictor per row."""
        predictions = self._predictions(X)
        labels = as_labels(y, predictions.shape[1], "Mixture")
        return float(self.weights @ self.model.loss(predictions, labels).mean(axis=1))

    def _predictions(self, X: ArrayLike) -> Floats:
        rows = as_inputs(X, self.dim, "Mixture")
        return np.array([predict(rows) for predict in self.predictors])


def online_to_batch(learner: Learner, stream: Stream) -> Mixture:
    """Run a learner on a stream one example at a time, with immediate labels, and store every predictor.

    Memory is O(Qd) for a linear model, and O(Q) states for others.

    Parameters
    ----------
    learner
        A learner whose model does not forget. The conversion is for iid data; on a drifting target the
        average of all predictors is biased.
    stream
        The examples.

    Returns
    -------
    Mixture
        The predictors and their weights.

    Raises
    ------
    InvalidError
        If the model forgets.

    Examples
    --------
    >>> from qufur import Learner, QuFUR, Ridge, streams
    >>> stream = streams.HiddenDomains([200], [5], seed=1)
    >>> mixture = online_to_batch(Learner(Ridge(5), QuFUR(alpha=1.0)), stream)
    >>> len(mixture.predictors), mixture.weights.sum().round(6).item()
    (40, 1.0)
    """
    if learner.model.tags.forgets:
        remedy = "Use learner.predict to predict the current target."
        raise invalid("model", "online_to_batch", "one that does not forget", repr(learner.model), remedy)
    predictors, served = [learner.state.predictor()], [0]
    for chunk in stream.against(learner).chunks(4096):
        for t, (x, y) in enumerate(zip(chunk.X, chunk.y, strict=True)):
            served[-1] += 1
            answer = learner.ask(x, domain=None if chunk.domain is None else int(chunk.domain[t]))
            if answer.query:
                learner.tell(answer.id, y)
                predictors.append(learner.state.predictor())
                served.append(0)
    weights = np.array(served, dtype=np.float64) / sum(served)
    used = weights > 0
    return Mixture(learner.model, tuple(compress(predictors, used)), weights[used], stream.dim)
