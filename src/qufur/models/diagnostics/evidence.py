"""Evidence (marginal likelihood) of a Gaussian model, for estimates of noise and λ."""

from __future__ import annotations

from dataclasses import dataclass
from math import log, sqrt
from typing import ClassVar

import numpy as np

from qufur.arrays import Floats


@dataclass(frozen=True)
class Evidence:
    """The likelihood of n labels under y = ⟨θ, x⟩ + N(0, σ²), θ ~ N(0, σ²/λ I), maximised over σ².

    With e_j the eigenvalues of G = Σ x xᵀ above 0, or of the kernel matrix, and p_j the squares of the
    labels' components along them,

        S(λ) = Σ y² − Σ p_j + Σ p_j λ / (e_j + λ),
        log evidence(λ) = −(n/2) log(S(λ)/n) − ½ Σ log(1 + e_j/λ),   σ² = S(λ)/n.

    The choice of labelled inputs does not matter as long as it depends on inputs alone.

    Parameters
    ----------
    count, rest
        n, and Σ y² − Σ p_j, which no θ explains.
    eigenvalues, components
        e_j and p_j.

    Examples
    --------
    >>> evidence = Evidence.of(4, 2.0, np.array([4.0]), np.array([7.84]))  # Σ y² = 2, G = 4, (Σ x y)² = 7.84
    >>> round(evidence.best(), 3), round(evidence.squares(1.0), 3)
    (0.027, 0.432)
    """

    min_labels: ClassVar[int] = 20
    """Minimum number of labels for an estimate."""

    count: float
    rest: float
    eigenvalues: Floats
    components: Floats

    @classmethod
    def of(cls, count: float, squares: float, eigenvalues: Floats, energies: Floats) -> Evidence:
        """Build it from Σ y², the eigenvalues e_j of G and the energies e_j p_j = ⟨u_j, Σ x y⟩²."""
        # Eigenvalues that are 0 up to rounding would give meaningless p_j.
        nonzero = eigenvalues > 1e-12 * eigenvalues.max(initial=0.0)
        components = energies[nonzero] / eigenvalues[nonzero]
        return cls(count, max(squares - float(components.sum()), 0.0), eigenvalues[nonzero], components)

    def squares(self, regularization: float) -> float:
        """Return S(λ), which is Σ e² of the one-step-ahead errors at λ."""
        shrunk = self.components * (regularization / (self.eigenvalues + regularization))
        return self.rest + float(shrunk.sum())

    def log(self, regularization: float) -> float:
        """Return log evidence(λ)."""
        shrinkage = float(np.log1p(self.eigenvalues / regularization).sum())
        return -(self.count * log(self.squares(regularization) / self.count) + shrinkage) / 2

    def best(self) -> float:
        """Return the λ of greatest evidence, near an end of the range without an inner maximum."""
        from scipy.optimize import minimize_scalar

        grid = self._range(57)
        top = int(np.argmax([self.log(penalty) for penalty in np.exp(grid)]))
        bounds = grid[max(top - 1, 0)], grid[min(top + 1, len(grid) - 1)]
        optimum = minimize_scalar(lambda t: -self.log(np.exp(t)), bounds=bounds, method="bounded")
        return float(np.exp(optimum.x))

    def noise_and_penalty(self) -> tuple[float | None, float | None]:
        """Return σ and λ as far as the labels determine them.

        λ is None if the likelihood at an end of its range is within a factor e of the best: the labels show
        no signal (λ → ∞) or no noise (λ → 0). σ is None if noise cannot be separated from signal: the labels
        show no noise and there are no more labels than directions.
        """
        if self.count < self.min_labels or not self.squares(1.0) > 0 or not len(self.eigenvalues):
            return None, None
        best = self.best()
        shows_noise, shows_signal = (self.log(end) <= self.log(best) - 1.0 for end in np.exp(self._range(2)))
        noise = penalty = None
        if shows_noise or self.count > len(self.eigenvalues):
            noise = sqrt(self.squares(best) / self.count)
        if shows_noise and shows_signal:
            penalty = best
        return noise, penalty

    def _range(self, points: int) -> Floats:
        """Return log λ from negligible to overwhelming regularisation."""
        return np.asarray(np.linspace(log(1e-10), log(1e4), points) + log(self.eigenvalues.max()))
