"""What the labels say about noise and regularisation: the evidence of a Gaussian model."""

from __future__ import annotations

from dataclasses import dataclass
from math import log, sqrt
from typing import ClassVar

import numpy as np

from qufur.arrays import Floats


@dataclass(frozen=True)
class Evidence:
    """The likelihood of n labels under y = ⟨θ, x⟩ + N(0, σ²), θ ~ N(0, σ²/λ I), with σ² at its best.

    With e_j the eigenvalues of G = Σ x xᵀ above 0, or of the kernel matrix, and p_j the squares of the
    labels' components along them,

        S(λ) = Σ y² − Σ p_j + Σ p_j λ / (e_j + λ),
        log evidence(λ) = −(n/2) log(S(λ)/n) − ½ Σ log(1 + e_j/λ),   σ² = S(λ)/n.

    Which inputs were labelled does not matter as long as it was decided from inputs alone.

    Parameters
    ----------
    count, rest
        n, and Σ y² − Σ p_j: what no θ explains.
    eigenvalues, components
        e_j and p_j.

    Examples
    --------
    >>> evidence = Evidence.of(4, 2.0, np.array([4.0]), np.array([7.84]))  # Σ y² = 2, G = 4, (Σ x y)² = 7.84
    >>> round(evidence.best(), 3), round(evidence.squares(1.0), 3)
    (0.027, 0.432)
    """

    fewest: ClassVar[int] = 20
    """From how many labels on it is asked at all."""

    count: float
    rest: float
    eigenvalues: Floats
    components: Floats

    @classmethod
    def of(cls, count: float, squares: float, eigenvalues: Floats, energies: Floats) -> Evidence:
        """Take Σ y², the eigenvalues e_j of G, and the energies e_j p_j, the squares of ⟨u_j, Σ x y⟩."""
        # What rounding leaves of an eigenvalue 0 would make a p_j of rounding errors.
        real = eigenvalues > 1e-12 * eigenvalues.max(initial=0.0)
        components = energies[real] / eigenvalues[real]
        return cls(count, max(squares - float(components.sum()), 0.0), eigenvalues[real], components)

    def squares(self, regularization: float) -> float:
        """Return S(λ), which is Σ e² of the one-step-ahead errors at λ."""
        shrunk = self.components * (regularization / (self.eigenvalues + regularization))
        return self.rest + float(shrunk.sum())

    def log(self, regularization: float) -> float:
        """Return log evidence(λ)."""
        shrinkage = float(np.log1p(self.eigenvalues / regularization).sum())
        return -(self.count * log(self.squares(regularization) / self.count) + shrinkage) / 2

    def best(self) -> float:
        """Return the λ of greatest evidence; about an end of the range where there is none inside."""
        from scipy.optimize import minimize_scalar

        grid = self._range(57)
        top = int(np.argmax([self.log(penalty) for penalty in np.exp(grid)]))
        bounds = grid[max(top - 1, 0)], grid[min(top + 1, len(grid) - 1)]
        found = minimize_scalar(lambda t: -self.log(np.exp(t)), bounds=bounds, method="bounded")
        return float(np.exp(found.x))

    def noise_and_penalty(self) -> tuple[float | None, float | None]:
        """Return σ and λ as far as the labels tell them.

        λ is None where an end of its range does as well but for a factor e in likelihood: nothing to learn
        was seen (λ → ∞), or no noise (λ → 0). σ is None where it cannot be told from what is to be learned:
        without noise seen, and with no more labels than directions.
        """
        if self.count < self.fewest or not self.squares(1.0) > 0 or not len(self.eigenvalues):
            return None, None
        best = self.best()
        low, high = (self.log(end) <= self.log(best) - 1.0 for end in np.exp(self._range(2)))
        told = low or self.count > len(self.eigenvalues)
        return sqrt(self.squares(best) / self.count) if told else None, best if low and high else None

    def _range(self, points: int) -> Floats:
        """Return log λ from where it no longer matters to where nothing can be learned."""
        return np.asarray(np.linspace(log(1e-10), log(1e4), points) + log(self.eigenvalues.max()))
