"""Δ of a linear model on scaled inputs: the leverage xᵀM⁻¹x, independent of labels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, cast

import numpy as np

from qufur.arrays import Floats
from qufur.models._least_squares_state import LeastSquaresState
from qufur.models.ensemble.scaling import Scaling
from qufur.models.gram.gram import Gram
from qufur.models.lookahead import NO_ARRIVALS, Arrivals, Lookahead
from qufur.models.ridge import Ridge
from qufur.pending import Pending

REGULARIZATION = 0.3
"""λ, for inputs with squared norms of about 1."""
INTERCEPT_PENALTY = 0.01
"""λ of the intercept."""


class Leverage:
    """M of all queried rows in the current scaling, rebuilt when the scaling changes or a row is removed.

    The linear model gets the label 0 for every row immediately, because Δ does not depend on labels.

    Parameters
    ----------
    scaling
        Scaling of the inputs.
    rows
        Function that returns all queried and learned rows.
    """

    def __init__(self, scaling: Scaling, rows: Callable[[], Floats]) -> None:
        self._scaling = scaling
        self._rows = rows
        self._inputs: LeastSquaresState | None = None
        self._decided: tuple[Lookahead, Sequence[Pending]] | None = None

    def invalidate(self) -> None:
        """Discard M; the next use rebuilds it."""
        self._inputs = self._decided = None

    @property
    def inputs(self) -> LeastSquaresState:
        """State of the linear model with all recorded queries; the caller may change it."""
        if self._inputs is None:
            self._inputs = self._build()
        self._absorb()
        return self._inputs

    def uncertainty(self, X: Floats) -> Floats:
        """Return Δ of each row, without side effects."""
        if not self._scaling.dim:
            return np.ones(len(X))
        self._absorb()
        inputs = self._build() if self._inputs is None else self._inputs
        return inputs.uncertainty(self._scaling.units.transform(X))

    def finish(self, look: Lookahead, queries: Sequence[Pending]) -> None:
        """Record the queries of a look-ahead; M absorbs them when used, as the scaling may change before."""
        self._decided = look, queries

    def _absorb(self) -> None:
        if self._decided is not None:
            (look, decided), self._decided = self._decided, None
            queries = [Pending(query.id) for query in decided]  # the features of `decided` are unscaled
            zeros = np.zeros(len(queries))
            look.finish(queries, Arrivals(queries, zeros, look.queried + 1) if queries else NO_ARRIVALS)

    def add(self, X: Floats) -> None:
        """Add inputs to M."""
        self.inputs.learn(self._scaling.units.transform(X), np.zeros(len(X)))

    def arrays(self) -> dict[str, np.ndarray[Any, Any]]:
        """Return M as named arrays; none if M must be rebuilt."""
        self._absorb()
        return {} if self._inputs is None else self._inputs.save()[1]

    def restore(self, arrays: dict[str, np.ndarray[Any, Any]]) -> None:
        """Load M from what `arrays` returned."""
        if arrays:
            self._inputs = self._empty()
            self._inputs.restore({"fresh": [], "stale": False}, arrays)

    def _empty(self) -> LeastSquaresState:
        return _model(self._scaling.dim).start()

    def _build(self) -> LeastSquaresState:
        inputs, rows = self._empty(), self._rows()
        if len(rows):
            Z = self._scaling.units.transform(rows)
            cast(Gram, inputs.labelled).initialize(inputs.model.features(Z))
        return inputs


@cache
def _model(dim: int) -> Ridge:
    return Ridge(dim, regularization=REGULARIZATION, intercept=True, intercept_penalty=INTERCEPT_PENALTY)
