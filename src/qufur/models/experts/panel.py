"""All experts of a committee."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from qufur.arrays import Floats, Ints
from qufur.models.experts.labelled import Sample
from qufur.models.experts.member import Member
from qufur.threads import one_thread


class Panel:
    """The experts: those that are fitted quickly, and estimators, which take longer.

    Parameters
    ----------
    quick, slow
        Members, fitted on schedules of their own.
    output
        What they say before the first label.
    dim
        The number of columns at the start. Of further ones estimators are given those that vary among the
        labelled rows: until then it is as if they were not there, also to trees, which draw among columns.
    """

    def __init__(self, quick: Sequence[Member], slow: Sequence[Member], output: Floats, dim: int) -> None:
        self.quick, self.slow = quick, slow
        self._dim = dim
        self._given: Ints | slice = slice(dim)
        for member in (*quick, *slow):
            member.rest(output)

    def take_over_slow(self, panel: Panel) -> None:
        """Go on with the estimators of a panel of fewer columns."""
        self.slow, self._given = panel.slow, panel._given

    @property
    def names(self) -> list[str]:
        """Of the experts, in the order of what they say."""
        return [name for member in (*self.quick, *self.slow) for name in member.names]

    def fit(self, members: Sequence[Member], sample: Sample, Z: Floats, targets: Floats) -> None:
        """Fit some members to labelled rows, given as they came and scaled."""
        if members is self.slow:
            self._given = _given(sample.X, self._dim)
            sample = sample._replace(X=sample.X[:, self._given])
        with one_thread():
            for member in members if len(targets) else ():
                member.fit(sample, Z, targets)

    def predict(self, X: Floats, Z: Floats) -> Floats:
        """Return what each expert says about rows: (rows, experts, outputs)."""
        X = X[:, self._given]
        return np.concatenate([member.predict(X, Z) for member in (*self.quick, *self.slow)], axis=1)


def _given(X: Floats, dim: int) -> Ints | slice:
    """Return which columns there is something to learn from, beside those that were there at the start."""
    if X.shape[1] == dim:
        return slice(dim)
    varies = (X[0] != X).any(axis=0)
    varies[:dim] = True
    return np.flatnonzero(varies)
