"""Confidence sets over a hypothesis class: the model of Algorithms 3 and 4."""

from __future__ import annotations

import numbers
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from qufur._internal.registry import name_of
from qufur.arrays import Floats, as_count, as_noise, as_number, check_shapes, set_fields
from qufur.errors import invalid
from qufur.hypotheses import FiniteLinear, HypothesisClass, LinearBall, described
from qufur.hypotheses.base import squared_radius
from qufur.models._regression import Regression, as_flag
from qufur.models.base import Tags
from qufur.models.lookahead import OneByOneState
from qufur.pending import Pending, PendingQueries, check_features

MAX_DISAGREEMENT = 2.0
"""Largest disagreement of functions with values in [−1, 1]."""


@dataclass(frozen=True)
class ConfidenceSet(Regression):
    """Least-squares fit f̂ in a class 𝓕, with Δ = sup (f₁(x) − f₂(x))² over f₁, f₂ in 𝓕_t.

    𝓕_t = {f ∈ 𝓕 : Σ (f(x) − f̂(x))² ≤ β} with the sum over the queried inputs (Algorithm 3); under the rule
    `FixedBudget` this is Algorithm 4. Labels change f̂ and with it Δ, so the model is not label-free. Δ can
    rise when a label arrives, and β rises with every query, so it is not monotone either, and rows are
    decided one by one. All queried inputs are stored.

    In the paper, labels are immediate. Here a queried input enters the sum before its label arrives: 𝓕_t is
    the set of Algorithm 3 if each pending label were f̂(x), since the fit would then not change. So a repeated
    query for the same input is less informative. The guarantee that 𝓕_t contains the truth with probability
    1 − δ/2 holds only while no label is pending.

    Parameters
    ----------
    hypotheses
        𝓕, a `HypothesisClass`. If it is not `exact`, Δ is a lower bound of the paper's.
    horizon
        T ≥ 1, the length of the stream, for the paper's β. Required without `radius`.
    radius
        β > 0, a constant, instead of the paper's β, which is so large that every row of a short stream is
        queried.
    noise
        η ≥ 0, the sub-Gaussian noise level, for labels scaled to [−1, 1].
    failure_probability
        δ in (0, 1), the probability with which the guarantees may fail.
    cap
        Whether Δ is at most 4, as for the paper's hypotheses, whose values are in [−1, 1].
    clip
        Whether predictions are clipped to `label_range`.
    label_range
        The user's (lowest, highest) label, mapped to [−1, 1] internally. Noisy labels may exceed it.

    Examples
    --------
    >>> from qufur.hypotheses import LinearBall
    >>> state = ConfidenceSet(LinearBall(2), radius=0.01).start()
    >>> state.uncertainty(np.eye(2))
    array([4., 4.])
    >>> state.learn(np.array([[1.0, 0.0]]), np.array([0.5]))
    >>> state.predict(np.eye(2)), state.uncertainty(np.eye(2)).round(3)
    (array([0.5, 0. ]), array([0.04, 3.36]))
    """

    tags = Tags(label_free=False, monotone=False, bounded=False, any_norm=True)

    hypotheses: HypothesisClass
    horizon: int | None = field(default=None, kw_only=True)
    radius: float | None = field(default=None, kw_only=True)
    noise: float = field(default=1.0, kw_only=True)
    failure_probability: float = field(default=0.05, kw_only=True)
    cap: bool = field(default=True, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        # Files contain the description of the class.
        value: Any = self.hypotheses
        hypotheses = described(value) if isinstance(value, Mapping) else value
        if not isinstance(hypotheses, HypothesisClass):
            raise invalid("hypotheses", "ConfidenceSet", "a HypothesisClass", type(hypotheses).__name__)
        probability = self.failure_probability
        is_real = isinstance(probability, numbers.Real) and not isinstance(probability, bool)
        if not (is_real and 0 < probability < 1):
            raise invalid("failure_probability", "ConfidenceSet", "in (0, 1)", repr(probability))
        set_fields(
            self,
            hypotheses=hypotheses,
            dim=hypotheses.dim,
            noise=as_noise(self.noise, "ConfidenceSet"),
            failure_probability=float(probability),
            cap=as_flag(self.cap, "cap", "ConfidenceSet"),
        )
        if self.radius is not None:
            set_fields(self, radius=as_number(self.radius, "radius", "ConfidenceSet", low=0))
        if self.horizon is not None:
            set_fields(self, horizon=as_count(self.horizon, "horizon", "ConfidenceSet"))
        elif self.radius is None:
            remedy = "The paper's β depends on T; radius=... sets it to a constant instead."
            raise invalid("horizon", "ConfidenceSet", "given if radius is not", "None", remedy)
        self.beta(0)  # raises now, not during a stream, for a class without a covering number

    def beta(self, count: int) -> float:
        """Return β after `count` queries: `radius`, or the paper's (Equation "beta_k").

        >>> from qufur.hypotheses import FiniteLinear
        >>> model = ConfidenceSet(FiniteLinear([[0.0], [1.0]]), horizon=10, failure_probability=0.5)
        >>> round(model.beta(0), 4), round(model.beta(5), 4)
        (22.1807, 24.1463)
        """
        if self.radius is not None:
            return self.radius
        if self.horizon is None:  # the constructor checks this
            raise AssertionError
        log_covering = self.hypotheses.log_covering(self.horizon**-2.0)
        return squared_radius(count, log_covering, self.horizon, self.noise, self.failure_probability)

    def describe(self) -> dict[str, Any]:
        """Return the constructor arguments; raise `InvalidError` if the hypotheses cannot be saved."""
        if not self.hypotheses.savable:
            allowed = "a class without Python functions for a learner to be saved"
            raise invalid("hypotheses", "ConfidenceSet", allowed, type(self.hypotheses).__name__)
        name_of(type(self.hypotheses), HypothesisClass, "hypotheses", "ConfidenceSet")
        return super().describe()

    def start(self, pending: PendingQueries | None = None) -> ConfidenceState:
        return ConfidenceState(self, pending)

    @classmethod
    def examples(cls, dim: int) -> Sequence[ConfidenceSet]:
        """Return small instances for the contract checks."""
        grid = np.random.default_rng(0).uniform(-1, 1, (40, dim))
        return [
            cls(FiniteLinear(grid), radius=0.3),
            cls(LinearBall(dim), horizon=90, noise=0.05, label_range=(1, 5)),
        ]


class ConfidenceState(OneByOneState):
    """Labelled data and pending queries; the fit and the confidence set are derived from them.

    Both are computed on first use after a change, from sorted data: they do not depend on the order in which
    labels arrived, to the last bit.
    """

    model: ConfidenceSet

    def __init__(self, model: ConfidenceSet, pending: PendingQueries | None = None) -> None:
        super().__init__(model, pending)
        self.X: list[Floats] = []
        self.y: list[float] = []
        self._fit: Floats | None = None

    @property
    def fitted(self) -> Floats:
        """Least-squares fit f̂ to the labelled data."""
        if self._fit is None:
            X, y = _matrix(self.X, self.model.hypotheses.dim), np.array(self.y)
            order = np.lexsort((y, *X.T))
            self._fit = self.model.hypotheses.fit(X[order], y[order])
        return self._fit

    def predict(self, X: Floats) -> Floats:
        """Return the prediction for each row, from the labelled data alone."""
        return self.model.unscaled(self.model.hypotheses.predict(self.fitted, X))

    def uncertainty(self, X: Floats) -> Floats:
        """Return Δ of each row, given every query so far."""
        if self._derived is None:
            pending = [query.features for query in self.pending.values()]
            queried = _matrix([*self.X, *pending], self.model.hypotheses.dim)
            queried = queried[np.lexsort(queried.T)]
            beta = self.model.beta(len(queried))
            self._derived = self.model.hypotheses.confidence_set(queried, self.fitted, beta)
        disagreement: Floats = self._derived(X)
        return (np.minimum(disagreement, MAX_DISAGREEMENT) if self.model.cap else disagreement) ** 2

    def label(self, queries: Sequence[Pending], labels: Floats) -> None:
        """Learn the labels of recorded queries."""
        self._add_labelled([query.features for query in queries], labels)

    def learn(self, X: Floats, labels: Floats) -> None:
        """Learn labels that were not queried."""
        self.model.hypotheses.predict(self.fitted, X)  # raises for inputs outside the domain of 𝓕
        self._add_labelled([row.copy() for row in X], labels)

    def __getstate__(self) -> dict[str, Any]:
        # Derived values are omitted: functions cannot be pickled.
        return {**vars(self), "_fit": None, "_derived": None}

    def save(self) -> tuple[dict[str, Any], dict[str, np.ndarray[Any, Any]]]:
        """Return the state as JSON values and named arrays."""
        dim = self.model.hypotheses.dim
        return {}, {"X": _matrix(self.X, dim), "y": np.array(self.y, dtype=np.float64)}

    def restore(self, values: dict[str, Any], arrays: dict[str, np.ndarray[Any, Any]]) -> None:
        """Load a state that `save` returned."""
        check_shapes(arrays, {"X": "nd", "y": "n"}, d=self.model.hypotheses.dim)
        check_features(self.pending, self.model.hypotheses.dim)
        self.X, self.y = list(arrays["X"]), arrays["y"].tolist()
        self._fit = self._derived = None

    def _add_labelled(self, rows: Sequence[Any], labels: Floats) -> None:
        self.X.extend(rows)
        self.y.extend(self.model.scaled(labels).tolist())
        self._fit = self._derived = None


def _matrix(rows: Sequence[Any], dim: int) -> Floats:
    return np.array(rows, dtype=np.float64).reshape(len(rows), dim)
