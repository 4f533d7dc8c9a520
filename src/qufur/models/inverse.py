"""The fast form of a regularised Gram matrix: its inverse, kept as one triangle."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from qufur.arrays import Axes, Floats
from qufur.models import linalg
from qufur.models.covariances import ByHalves, Covariances, Solved
from qufur.models.factor import FactorGram
from qufur.models.update import Update, shrink


class InverseGram:
    """M = λI + Σ x xᵀ through M⁻¹, with the least-squares solution θ̂ = M⁻¹ Σ x y.

    Upper triangles in Fortran order, so that BLAS reads and writes them in place and a row's variance costs
    d² flops instead of 2d². M is kept beside its inverse: every 16 d rows the inverse is computed anew from
    it, so rounding errors of the updates never pile up. New rows are collected, up to 2d of them, and enter M
    together, which is faster and rounds once; where no more come, M is never needed. Both lose their meaning
    when M is ill-conditioned, which `risk` estimates from above; `factored` is then the way out.
    """

    worst_condition = 1e6
    largest_dim_solved = 128
    axes: ClassVar[Axes] = {
        "gram": "dd",
        "inverse": "dd",
        "moment": "d",
        "coef": "d",
        "recent": "nd",
        "counters": (2,),
    }

    def __init__(self, gram: Floats, inverse: Floats, moment: Floats, coef: Floats) -> None:
        self.gram, self.inverse = np.asfortranarray(gram), np.asfortranarray(inverse)
        self.moment, self.coef = moment, coef
        self.since_refresh = 0
        self._buffer = np.empty((max(64, 2 * len(coef)), len(coef)))
        self._collected = 0
        self._squares = float(np.trace(self.gram))
        self._spread = math.inf

    @classmethod
    def with_rows(cls, X: Floats, gram: Floats, inverse: Floats, moment: Floats, coef: Floats) -> InverseGram:
        """Return M whose rows X are in M⁻¹, and have yet to enter `gram`."""
        form = cls(gram, inverse, moment, coef)
        form._squares += float(np.vdot(X, X))
        form._collect(X)
        return form

    @property
    def recent(self) -> Floats:
        """Rows that M has yet to take in."""
        return self._buffer[: self._collected]

    def risk(self, squares: float) -> float:
        """Return a bound, up to a factor d, on the condition number of M with rows of such a Σ‖x‖² in it."""
        # M⁻¹ only falls until `fade`, so its old trace bounds it; only where that does not do is a new one
        # taken.
        squares += self._squares
        if squares * self._spread > self.worst_condition:
            self._spread = float(np.trace(self.inverse)) / len(self.coef)
        if squares * self._spread > self.worst_condition:
            # The trace overstates the largest eigenvalue by up to d; row and column sums are often closer.
            self._merge()
            sums = linalg.dlantr("1", self.gram) + linalg.dlantr("I", self.gram)
            return float(min(squares, sums + squares - self._squares)) * self._spread
        return squares * self._spread

    def variance(self, X: Floats) -> Floats:
        """Return xᵀ M⁻¹ x of each row."""
        if len(X) == 1:
            return np.array([self.solve_one(X[0]) @ X[0]])
        return self.covariances(X).variance

    def covariances(self, X: Floats) -> Covariances:
        """Return rows as M⁻¹ sees them."""
        if len(self.coef) <= self.largest_dim_solved:
            return Solved(self.solve(X), X)
        return ByHalves(self.inverse, X)

    def solve_one(self, x: Floats) -> Floats:
        """Return M⁻¹x."""
        return linalg.dsymv(1.0, self.inverse, x)  # type: ignore[no-any-return]

    def solve(self, X: Floats) -> Floats:
        """Return X M⁻¹."""
        if len(X) <= 4:  # dsymm repacks all of M⁻¹ first: dear for a few rows
            return np.stack([self.solve_one(x) for x in X])
        return np.asarray(linalg.dsymm(1.0, self.inverse, X.T).T)

    def absorb(self, rows: Update, y: Floats) -> Floats:
        """Add rows with labels y; return how far each was off, in its own spread."""
        Z = rows.whitened()
        surprise = rows.surprise(y - rows.X @ self.coef)
        self.coef += surprise @ Z
        if len(Z) == 1:
            linalg.dsyr(-1.0, Z[0], a=self.inverse, overwrite_a=1)
        else:
            linalg.dsyrk(-1.0, Z.T, beta=1.0, c=self.inverse, overwrite_c=1)
        self._note(rows.X, y)
        return surprise

    def take_over(self, X: Floats, y: Floats, inverse: Floats, coef: Floats) -> None:
        """Go on from M⁻¹ and θ̂ as they are after these rows."""
        self.inverse, self.coef = inverse, coef
        self._note(X, y)

    def correct(self, x: Floats, change: float) -> None:
        """Change the label of a row that was absorbed."""
        self.moment += change * x
        self.coef += change * self.solve(x[None])[0]

    def spectrum(self) -> tuple[Floats, Floats]:
        """Return the eigenvalues of M, and the squares of Σ x y along their vectors."""
        gram = linalg.dsyrk(1.0, self.recent.T, beta=1.0, c=self.gram)
        values, vectors = np.linalg.eigh(gram, UPLO="U")
        return values, (self.moment @ vectors) ** 2

    def fade(self, factor: float, regularization: float) -> None:
        """Turn M into γM + (1 − γ)λI, and compute M⁻¹ anew from it."""
        self._merge()
        for array in (self.gram, self.moment):
            shrink(array, factor)
        self.gram.flat[:: len(self.coef) + 1] += (1 - factor) * regularization
        self._squares, self._spread = float(np.trace(self.gram)), math.inf  # M⁻¹ has risen
        self._refresh()

    def factored(self) -> FactorGram:
        """Return the same matrix as a factor, safe where the inverse is not."""
        R, _ = linalg.dpotrf(self.gram)
        form = FactorGram(R, np.zeros_like(self.coef))
        form.rotate_in(self.recent, np.zeros(len(self.recent)))
        form.z = linalg.dtrsv(form.R, self.moment, trans=1)
        return form

    def copy(self) -> InverseGram:
        """Return an independent copy."""
        return self.restored({name: array.copy(order="K") for name, array in self.arrays().items()})

    def arrays(self) -> dict[str, np.ndarray[Any, Any]]:
        """Return everything the state consists of."""
        return {
            "gram": self.gram,
            "inverse": self.inverse,
            "moment": self.moment,
            "coef": self.coef,
            "recent": self.recent,
            "counters": np.array([self.since_refresh, self._squares]),
        }

    @classmethod
    def restored(cls, arrays: dict[str, np.ndarray[Any, Any]]) -> InverseGram:
        """Return what `arrays` described."""
        form = cls(*(arrays[name] for name in ("gram", "inverse", "moment", "coef")))
        form._collect(arrays["recent"])
        since_refresh, form._squares = arrays["counters"].tolist()
        form.since_refresh = int(since_refresh)
        return form

    def _note(self, X: Floats, y: Floats) -> None:
        self.moment += y @ X
        self._collect(X)
        self._squares += float(np.vdot(X, X))
        self.since_refresh += len(X)
        if self.since_refresh >= max(256, 16 * len(self.coef)):
            self._refresh()

    def _collect(self, X: Floats) -> None:
        if self._collected + len(X) > len(self._buffer):
            self._merge()
        if len(X) > len(self._buffer):
            linalg.dsyrk(1.0, X.T, beta=1.0, c=self.gram, overwrite_c=1)
            return
        self._buffer[self._collected : self._collected + len(X)] = X
        self._collected += len(X)

    def _merge(self) -> None:
        if self._collected:
            linalg.dsyrk(1.0, self.recent.T, beta=1.0, c=self.gram, overwrite_c=1)
            self._collected = 0

    def _refresh(self) -> None:
        self._merge()
        R, _ = linalg.dpotrf(self.gram)
        self.inverse, _ = linalg.dpotri(R, overwrite_c=1)
        self.coef = linalg.dsymv(1.0, self.inverse, self.moment)
        self.since_refresh = 0
