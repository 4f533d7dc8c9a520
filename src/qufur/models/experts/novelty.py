"""How new an input is: Δ of a linear learner on scaled inputs, which knows no labels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, cast

import numpy as np

from qufur.arrays import Floats
from qufur.models.base import Id
from qufur.models.experts.scaling import Scaling
from qufur.models.gram.gram import Gram
from qufur.models.least_squares_state import LeastSquaresState
from qufur.models.lookahead import NO_ARRIVALS, Arrivals, Lookahead
from qufur.models.ridge import Ridge

REGULARIZATION = 0.3
"""λ, for inputs whose squares sum up to about 1."""
INTERCEPT_PENALTY = 0.01


class Novelty:
    """M of all queried rows in the present scaling, built anew when that changes or a row has gone.

    The linear learner is told 0 for every label at once: labels are not its business.

    Parameters
    ----------
    scaling
        Of the inputs.
    rows
        Returns all rows that were queried or learned.
    """

    def __init__(self, scaling: Scaling, rows: Callable[[], Floats]) -> None:
        self._scaling = scaling
        self._rows = rows
        self._inputs: LeastSquaresState | None = None
        self._decided: tuple[Lookahead, Sequence[Id]] | None = None

    def outdate(self) -> None:
        """Build M anew when it is needed next."""
        self._inputs = self._decided = None

    @property
    def inputs(self) -> LeastSquaresState:
        """The linear learner, for whoever goes on to change it."""
        if self._inputs is None:
            self._inputs = self._built()
        self._absorb()
        return self._inputs

    def uncertainty(self, X: Floats) -> Floats:
        """Return Δ of each row. It changes nothing."""
        if not self._scaling.dim:
            return np.ones(len(X))
        self._absorb()
        inputs = self._built() if self._inputs is None else self._inputs
        return inputs.uncertainty(self._scaling.units.transform(X))

    def uncertainty_next(self, z: Floats) -> float:
        """Return Δ of one scaled input, the next in the stream."""
        return self.inputs.predict_next(z, float(z.dot(z)))[1]

    def look_ahead(self, Z: Floats) -> Lookahead:
        """Look ahead over scaled inputs."""
        return self.inputs.look_ahead(Z)

    def finish(self, look: Lookahead, ids: Sequence[Id]) -> None:
        """Let what was looked ahead over be queried: once M is needed, as the scaling may change before."""
        self._decided = look, ids

    def _absorb(self) -> None:
        if self._decided is not None:
            (look, ids), self._decided = self._decided, None
            told = Arrivals(ids, np.zeros(len(ids)), look.queried + 1) if len(ids) else NO_ARRIVALS
            look.finish(ids, told)

    def add(self, Z: Floats) -> None:
        """Let scaled inputs be queried."""
        self.inputs.learn(Z, np.zeros(len(Z)))

    def arrays(self) -> dict[str, np.ndarray[Any, Any]]:
        """Return M as named arrays; none where it is to be built anew."""
        self._absorb()
        return {} if self._inputs is None else self._inputs.save()[1]

    def restore(self, arrays: dict[str, np.ndarray[Any, Any]]) -> None:
        """Take over what `arrays` returned."""
        if arrays:
            self._inputs = self._empty()
            self._inputs.restore({"pending": [], "fresh": [], "stale": False}, arrays)

    def _empty(self) -> LeastSquaresState:
        return _model(self._scaling.dim).start()

    def _built(self) -> LeastSquaresState:
        inputs, rows = self._empty(), self._rows()
        if len(rows):
            Z = self._scaling.units.transform(rows)
            cast(Gram, inputs.labelled).start_with(inputs.model.features(Z))
        return inputs


@cache
def _model(dim: int) -> Ridge:
    return Ridge(dim, regularization=REGULARIZATION, intercept=True, intercept_penalty=INTERCEPT_PENALTY)
