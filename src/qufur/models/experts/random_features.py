"""Random Fourier features: a kernel as a few hundred columns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from qufur.arrays import Floats


class RandomFeatures:
    """√(2/D) cos(⟨w, x⟩/bandwidth + b), whose products are near those of a Gaussian kernel.

    Parameters
    ----------
    dim, count
        The number of columns, and D.
    bandwidth
        For inputs whose squares sum up to about 1, two of which are about 1.4 apart.
    rng
        Where w and b are drawn from.
    """

    def __init__(self, dim: int, count: int, bandwidth: float, rng: np.random.Generator) -> None:
        self._bandwidth = bandwidth
        self._directions = rng.normal(size=(dim, count)) / bandwidth
        self._phases = rng.uniform(0, 2 * np.pi, count)

    def extend(self, columns: Sequence[np.random.Generator]) -> None:
        """Take further columns, each with a generator of its own: what was drawn for the others stays."""
        new = [rng.normal(size=len(self._phases)) / self._bandwidth for rng in columns]
        self._directions = np.vstack([self._directions, *new])

    def __call__(self, X: Floats) -> Floats:
        """Return the features of each row."""
        waves = X @ self._directions
        waves += self._phases
        np.cos(waves, out=waves)
        waves *= np.sqrt(2 / len(self._phases))
        return waves
