"""How new an input is: Δ of a linear learner on scaled inputs, which knows no labels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from qufur.arrays import Floats, under
from qufur.models.experts.scaling import Scaling
from qufur.models.least_squares_state import LeastSquaresState
from qufur.models.lookahead import Lookahead
from qufur.models.ridge import Ridge

REGULARIZATION = 0.3
"""λ, for inputs whose squares sum up to about 1."""

Rows = Callable[[], Sequence[Floats]]
"""Returns all rows that were queried or learned."""


class Novelty:
    """A scaling, and M of all queried rows in it; M is built anew when the scaling changes.

    The linear learner is told 0 for every label at once: labels are not its business.

    Parameters
    ----------
    rows
        Where M is built from.
    """

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._inputs: LeastSquaresState | None = None
        self.scaling = Scaling()

    @property
    def dim(self) -> int:
        """Number of columns; 0 before the first input."""
        return len(self.scaling.mean)

    def renew(self, x: Floats) -> None:
        """Set the scaling anew; x is the next input."""
        self.scaling.renew(x)
        self._inputs = None

    def outdate(self) -> None:
        """Build M anew when it is needed next, since a row has gone."""
        self._inputs = None

    @property
    def inputs(self) -> LeastSquaresState:
        """The linear learner, for whoever goes on to change it."""
        if self._inputs is None:
            self._inputs = self._built()
        return self._inputs

    def uncertainty(self, X: Floats) -> Floats:
        """Return Δ of each row. It changes nothing."""
        if not self.dim:
            return np.ones(len(X))
        inputs = self._built() if self._inputs is None else self._inputs
        return inputs.uncertainty(self.scaling.transform(X))

    def uncertainty_next(self, z: Floats) -> float:
        """Return Δ of one scaled input, the next in the stream."""
        return self.inputs.predict_next(z, float(z.dot(z)))[1]

    def look_ahead(self, Z: Floats) -> Lookahead:
        """Look ahead over scaled inputs."""
        return self.inputs.look_ahead(Z)

    def add(self, Z: Floats) -> None:
        """Let scaled inputs be queried."""
        self.inputs.learn(Z, np.zeros(len(Z)))

    def save(self) -> tuple[dict[str, Any], dict[str, np.ndarray[Any, Any]]]:
        """Return everything as JSON values and named arrays."""
        values, arrays = self.scaling.save()
        if self._inputs is not None:
            _, own = self._inputs.save()
            arrays |= {f"inputs.{name}": array for name, array in own.items()}
        return values, arrays

    def restore(self, values: dict[str, Any], arrays: dict[str, np.ndarray[Any, Any]], dim: int) -> None:
        """Take over what `save` returned."""
        self.scaling.restore(values, arrays, dim)
        saved = under("inputs.", arrays)
        if saved:
            self._inputs = self._empty()
            self._inputs.restore({"pending": [], "fresh": [], "stale": False}, saved)

    def _empty(self) -> LeastSquaresState:
        return Ridge(self.dim, regularization=REGULARIZATION, intercept=True).start()

    def _built(self) -> LeastSquaresState:
        inputs, rows = self._empty(), self._rows()
        if len(rows):
            inputs.learn(self.scaling.transform(np.array(rows)), np.zeros(len(rows)))
        return inputs
