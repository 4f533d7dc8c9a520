"""All experts of a committee."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from qufur.arrays import Floats
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
    """

    def __init__(self, quick: Sequence[Member], slow: Sequence[Member], output: Floats) -> None:
        self.quick, self.slow = quick, slow
        for member in (*quick, *slow):
            member.rest(output)

    @property
    def names(self) -> list[str]:
        """Of the experts, in the order of what they say."""
        return [name for member in (*self.quick, *self.slow) for name in member.names]

    def fit(self, members: Sequence[Member], sample: Sample, Z: Floats, targets: Floats) -> None:
        """Fit some members to labelled rows, given as they came and scaled."""
        with one_thread():
            for member in members if len(targets) else ():
                member.fit(sample, Z, targets)

    def predict(self, X: Floats, Z: Floats) -> Floats:
        """Return what each expert says about rows: (rows, experts, outputs)."""
        return np.concatenate([member.predict(X, Z) for member in (*self.quick, *self.slow)], axis=1)
