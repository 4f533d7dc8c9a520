"""From a run on a stream to a predictor for new data (appendix on online to batch conversion)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from qufur.arrays import Floats, as_inputs, as_labels
from qufur.errors import invalid
from qufur.learner import Learner
from qufur.models import Model
from qufur.streams import Stream

Predictor = Callable[[Floats], Floats]


@dataclass(frozen=True)
class Mixture:
    """The predictors f̂_1, …, f̂_T of a run, each as often as it was used.

    Drawn uniformly on iid data, their expected excess loss is at most E[Reg]/T (Theorem "otb"); for a convex
    loss such as the squared one that of their average is no larger.

    Parameters
    ----------
    model
        Whose predictors they are; its loss is taken.
    predictors
        The different predictors in order.
    weights
        The share of the run that each served.
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
        """Return one of the predictors, each with its share."""
        return self.predictors[rng.choice(len(self.predictors), p=self.weights)]

    def loss(self, X: ArrayLike, y: ArrayLike) -> float:
        """Return the mean loss of a predictor drawn anew for every row, in expectation over the draws."""
        predictions = self._predictions(X)
        labels = as_labels(y, predictions.shape[1], "Mixture")
        return float(self.weights @ self.model.loss(predictions, labels).mean(axis=1))

    def _predictions(self, X: ArrayLike) -> Floats:
        rows = as_inputs(X, self.dim, "Mixture")
        return np.array([predict(rows) for predict in self.predictors])


def online_to_batch(learner: Learner, stream: Stream) -> Mixture:
    """Play a stream one by one, labels at once, and keep every predictor on the way.

    Memory is O(Qd) for a linear model, and O(Q) states for others. A model that forgets is refused: on iid
    data, which this is for, nothing moves, and on a target that moves the average of all predictors is off.

    Examples
    --------
    >>> from qufur import Learner, QuFUR, Ridge, streams
    >>> stream = streams.HiddenDomains([200], [5], seed=1)
    >>> mixture = online_to_batch(Learner(Ridge(5), QuFUR(alpha=1.0)), stream)
    >>> len(mixture.predictors), mixture.weights.sum().round(6).item()
    (40, 1.0)
    """
    if learner.model.forgets:
        remedy = "Use learner.predict for the target as it is now."
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
    kept = tuple(predictor for predictor, is_used in zip(predictors, used, strict=True) if is_used)
    return Mixture(learner.model, kept, weights[used], stream.dim)
