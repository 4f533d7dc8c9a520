"""All experts of a committee."""

from __future__ import annotations

import copy
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
        self._dim, self._outputs = dim, len(output)
        self._given: Ints | slice = slice(dim)
        for member in (*quick, *slow):
            member.rest(output)

    def members(self, speed: str) -> Sequence[Member]:
        """Return the quick or the slow ones."""
        return self.quick if speed == "quick" else self.slow

    def take_over(self, speed: str, panel: Panel) -> None:
        """Go on with the quick or the slow experts of another panel."""
        if speed == "quick":
            self.quick = panel.quick
        else:
            self.slow, self._given = panel.slow, panel._given

    def only(self, speed: str) -> Panel:
        """Return the quick or the slow experts alone."""
        panel = copy.copy(self)
        panel.quick, panel.slow = (self.quick, ()) if speed == "quick" else ((), self.slow)
        return panel

    @property
    def names(self) -> list[str]:
        """Of the experts, in the order of what they say."""
        return [name for member in (*self.quick, *self.slow) for name in member.names]

    def fitted(self, speed: str, sample: Sample, Z: Floats, targets: Floats) -> Panel:
        """Return a panel whose quick or slow experts are fitted to labelled rows; this one stays as it is.

        The rows, of which there is at least one, are given as they came and scaled.
        """
        panel, members = copy.copy(self), [copy.copy(member) for member in self.members(speed)]
        if speed == "quick":
            panel.quick = members
        else:
            panel.slow, panel._given = members, _given(sample.X, self._dim)
            sample = sample._replace(X=sample.X[:, panel._given])
        with one_thread():
            for member in members:
                member.fit(sample, Z, targets)
        return panel

    def predict(self, X: Floats, Z: Floats) -> Floats:
        """Return what each expert says about rows: (rows, experts, outputs)."""
        X = X[:, self._given]
        said = [member.predict(X, Z) for member in (*self.quick, *self.slow)]
        return np.concatenate([_padded(part, self._outputs) for part in said], axis=1)


def _padded(said: Floats, outputs: int) -> Floats:
    """Let experts that know of fewer classes say 0 of the others."""
    more = outputs - said.shape[2]
    return np.pad(said, ((0, 0), (0, 0), (0, more))) if more else said


def _given(X: Floats, dim: int) -> Ints | slice:
    """Return which columns there is something to learn from, beside those that were there at the start."""
    if X.shape[1] == dim:
        return slice(dim)
    varies = (X[0] != X).any(axis=0)
    varies[:dim] = True
    return np.flatnonzero(varies)
