"""Inverse form of the Gram matrix, the fast one, with rows that enter it in batches."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from qufur.arrays import Axes, Floats
from qufur.models.gram import blas
from qufur.models.gram.cholesky import FactorGram
from qufur.models.gram.posterior import ByHalves, HostForm
from qufur.models.gram.update import Update, shrink


class DeferredRows:
    """Buffer of rows x whose `sign` · Σ x xᵀ has yet to enter one triangle of a symmetric matrix.

    A single row reads and writes the whole matrix for a flop or two per number; many rows are bound by
    the speed of the matrix product, and round once.

    Attributes
    ----------
    count
        Rows in the buffer.

    >>> matrix, deferred = np.zeros((2, 2), order="F"), DeferredRows(room=2, dim=2, sign=1.0)
    >>> deferred.add(np.array([[1.0, 2.0]]), matrix)
    >>> deferred.count, matrix.sum().item()
    (1, 0.0)
    >>> deferred.add(np.array([[1.0, 0.0]]), matrix)
    >>> deferred.count, matrix.tolist()
    (0, [[2.0, 2.0], [0.0, 4.0]])
    """

    def __init__(self, room: int, dim: int, sign: float) -> None:
        self._buffer = np.empty((room, dim))
        self.count = 0
        self._sign = sign

    @property
    def rows(self) -> Floats:
        """Rows in the buffer."""
        return self._buffer[: self.count]

    def add(self, X: Floats, matrix: Floats) -> None:
        """Add rows to the buffer; if it is full, earlier rows enter the matrix first."""
        end = self.count + len(X)
        if end > len(self._buffer):
            self.enter(matrix)
            end = len(X)
        if end > len(self._buffer):
            add_squares(self._sign, X, matrix)
            return
        self._buffer[self.count : end] = X
        self.count = end
        if end == len(self._buffer):
            self.enter(matrix)

    def enter(self, matrix: Floats) -> None:
        """Add all buffered rows to the matrix, in place."""
        if self.count:
            add_squares(self._sign, self.rows, matrix)
        self.clear()

    def clear(self) -> None:
        """Discard the buffered rows."""
        self.count = 0


class InverseGram(HostForm):
    """M = λI + Σ x xᵀ through M⁻¹, with the least-squares solution θ̂ = M⁻¹ Σ x y.

    Upper triangles in Fortran order, so that BLAS reads and writes them in place and a row's variance costs
    d² flops instead of 2d². M is stored beside its inverse: every 16 d rows the inverse is recomputed from
    it, so rounding errors of the updates do not accumulate. New rows are buffered, up to 2d of them, and
    enter M together. If d is above `max_immediate_dim`, rows z whose z zᵀ are subtracted from M⁻¹ are
    buffered too: until they enter M⁻¹, Zᵀ(Zx) is subtracted from M⁻¹x. Both matrices are inaccurate if M is
    ill-conditioned, which `risk` bounds from above; `factored` is then the alternative.

    The scale of a column does not matter: results are the same in other units. So if rows end in a large
    `constant`, squares and norms are computed as for a constant 1.
    """

    max_condition = 1e6
    max_immediate_dim = 256  # up to this size one `dsyr` per row costs no more than deferring would save
    deferred_updates = 16
    # A row with a larger √(1 + q) enters M⁻¹ immediately: until then, M⁻¹x is a difference of large numbers.
    largest_late_scale = math.sqrt(2.0)
    max_deferred_numbers = 2**21  # numbers, which is 16 MB
    axes: ClassVar[Axes] = {
        "gram": "dd",
        "inverse": "dd",
        "moment": "d",
        "coef": "d",
        "recent": "nd",
        "late": "kd",
        "counters": (2,),
    }

    def __init__(
        self, gram: Floats, inverse: Floats, moment: Floats, coef: Floats, constant: float = 1.0
    ) -> None:
        self.gram, self._inverse = np.asfortranarray(gram), np.asfortranarray(inverse)
        self.moment, self.coef = moment, coef
        self.since_refresh = 0
        dim = len(coef)
        self._recent = DeferredRows(max(64, min(2 * dim, self.max_deferred_numbers // dim)), dim, sign=1.0)
        self._late = DeferredRows(
            self.deferred_updates if dim > self.max_immediate_dim else 1, dim, sign=-1.0
        )
        self.constant = constant
        self._squares = self._trace_of_gram()
        self._spread = math.inf

    def add_to_gram(self, X: Floats) -> None:
        """Add rows to M that are already in M⁻¹."""
        self._squares += squares_of(X, self.constant)
        self._recent.add(X, self.gram)

    @classmethod
    def of_rows(cls, X: Floats, regularization: float, constant: float) -> InverseGram:
        """Return M of rows, computed in one step."""
        gram = np.asfortranarray(regularization * np.eye(X.shape[1]))
        add_squares(1.0, X, gram)
        form = cls(gram, gram, np.zeros(len(gram)), np.zeros(len(gram)), constant)
        form.refresh()
        return form

    @classmethod
    def of_factor(cls, factor: FactorGram) -> InverseGram:
        """Return the same matrix through its inverse."""
        R = np.triu(factor.R)
        inverse, _ = blas.dpotri(factor.R)
        return cls(R.T @ R, inverse, R.T @ factor.z, factor.coef, factor.constant)

    @property
    def recent(self) -> Floats:
        """Rows that have yet to enter M."""
        return self._recent.rows

    def up_to_date_inverse(self) -> Floats:
        """Subtract the late rows from M⁻¹ and return it; this changes later rounding only."""
        self._late.enter(self._inverse)
        return self._inverse

    def risk(self, squares: float) -> float:
        """Return a bound, up to a factor d, on the condition number of M after rows with this Σ‖x‖²."""
        # M⁻¹ only falls until `discount`, so its old trace bounds it; a new one is computed only if
        # that bound is too large.
        squares += self._squares
        if squares * self._spread > self.max_condition:
            self._spread = self.trace_of_inverse / len(self.coef)
            if self.constant > 1:
                self._spread = max(self._spread, self.constant**2 * self._variance_of_last())
        if squares * self._spread > self.max_condition:
            # The trace overstates the largest eigenvalue by up to d; row and column sums are often closer.
            self._recent.enter(self.gram)
            gram = self.gram
            if self.constant > 1:  # counts as 1
                gram = gram.copy(order="F")
                gram[:, -1] /= self.constant
                gram[-1, -1] /= self.constant
            sums = blas.dlantr("1", gram) + blas.dlantr("I", gram)
            return float(min(squares, sums + squares - self._squares)) * self._spread
        return squares * self._spread

    @property
    def trace_of_inverse(self) -> float:
        """The trace of M⁻¹, which is no less than its norm."""
        late = self._late.rows
        trace = float(np.trace(self._inverse) - np.vdot(late, late))
        return trace + (self.constant**2 - 1) * self._variance_of_last()

    def variance(self, X: Floats) -> Floats:
        """Return xᵀ M⁻¹ x of each row."""
        if len(X) == 1:
            return np.array([self.posterior_one(X[0])[0]])
        variance = ByHalves(self, X, self._inverse).variance
        if self._late.count:
            V = X @ self._late.rows.T
            variance = np.maximum(variance - np.einsum("ij,ij->i", V, V), 0.0)
        return variance

    def view(self, X: Floats) -> ByHalves:
        """Return a view of a block of rows under the current M."""
        return ByHalves(self, X, self.up_to_date_inverse())

    def solve_one(self, x: Floats) -> Floats:
        """Return M⁻¹x."""
        return self._less_late(blas.dsymv(1.0, self._inverse, x), x)

    def solve(self, X: Floats) -> Floats:
        """Return X M⁻¹."""
        if len(X) <= 4:  # dsymm repacks all of M⁻¹ first: slow for few rows
            return np.stack([self.solve_one(x) for x in X])
        return self._less_late(blas.dsymm(1.0, self._inverse, X.T).T, X)

    def absorb(self, rows: Update, y: Floats) -> tuple[Floats, Floats]:
        """Add rows with labels y; return the normalised innovations and their scales."""
        Z = rows.whitened()
        innovation = rows.innovation(y - rows.X @ self.coef)
        self.coef += innovation @ Z
        add_squares(-1.0, Z, self.up_to_date_inverse())
        self._record(rows.X, y)
        return innovation, rows.L.diagonal()

    def absorb_one(self, x: Floats, solved: Floats, innovation_scale: float, y: float) -> float:
        """Add a row whose M⁻¹x and scale √(1 + q) are given; return its normalised innovation."""
        z = solved / innovation_scale
        innovation = (y - self.score_one(x)) / innovation_scale
        self.coef += innovation * z
        self._late.add(z[None], self._inverse)
        if innovation_scale > self.largest_late_scale:
            self._late.enter(self._inverse)
        self.moment += y * x
        self._recent.add(x[None], self.gram)
        self._count(1, blas.ddot(x, x) if self.constant == 1 else squares_of(x, self.constant))
        return innovation

    def load_from(self, X: Floats, y: Floats, inverse: Floats, coef: Floats) -> None:
        """Load M⁻¹ and θ̂ after these rows."""
        self._inverse, self.coef = inverse, coef
        self._record(X, y)

    def spectrum(self) -> tuple[Floats, Floats]:
        """Return the eigenvalues of M, and the squared components of Σ x y along the eigenvectors."""
        gram = blas.dsyrk(1.0, self.recent.T, beta=1.0, c=self.gram)
        values, vectors = np.linalg.eigh(gram, UPLO="U")
        return values, (self.moment @ vectors) ** 2

    def discount(self, factor: float, regularization: float) -> None:
        """Set M to γM + (1 − γ)λI and recompute M⁻¹."""
        self._recent.enter(self.gram)
        for array in (self.gram, self.moment):
            shrink(array, factor)
        self.gram.flat[:: len(self.coef) + 1] += (1 - factor) * regularization
        self._squares, self._spread = self._trace_of_gram(), math.inf  # M⁻¹ has risen
        self.refresh()

    def factored(self) -> FactorGram:
        """Return the same matrix as a factor, safe where the inverse is not."""
        R, _ = blas.dpotrf(self.gram)
        return FactorGram.of(R, self.recent, self.moment, self.constant)

    def arrays(self) -> dict[str, np.ndarray[Any, Any]]:
        """Return all arrays of the state."""
        return {
            "gram": self.gram,
            "inverse": self._inverse,
            "moment": self.moment,
            "coef": self.coef,
            "recent": self.recent,
            "late": self._late.rows,
            "counters": np.array([self.since_refresh, self._squares]),
        }

    @classmethod
    def restored(cls, arrays: dict[str, np.ndarray[Any, Any]], constant: float = 1.0) -> InverseGram:
        """Return the form stored in `arrays`."""
        form = cls(arrays["gram"], arrays["inverse"], arrays["moment"], arrays["coef"], constant)
        form._recent.add(arrays["recent"], form.gram)
        form._late.add(arrays["late"], form._inverse)
        since_refresh, form._squares = arrays["counters"].tolist()
        form.since_refresh = int(since_refresh)
        return form

    def _less_late(self, solved: Floats, X: Floats) -> Floats:
        if self._late.count:
            solved -= X.dot(self._late.rows.T).dot(self._late.rows)
        return solved

    def _record(self, X: Floats, y: Floats) -> None:
        self.moment += y @ X
        self._recent.add(X, self.gram)
        self._count(len(X), squares_of(X, self.constant))

    def _count(self, rows: int, squares: float) -> None:
        self._squares += squares
        self.since_refresh += rows
        if self.since_refresh >= max(256, 16 * len(self.coef)):
            self.refresh()

    def refresh(self) -> None:
        """Recompute M⁻¹ and θ̂ from M."""
        self._recent.enter(self.gram)
        R, _ = blas.dpotrf(self.gram)
        self._inverse, _ = blas.dpotri(R, overwrite_c=1)
        self._late.clear()
        self.coef = blas.dsymv(1.0, self._inverse, self.moment)
        self.since_refresh = 0

    def _trace_of_gram(self) -> float:
        return float(np.trace(self.gram) - (1 - self.constant**-2) * self.gram[-1, -1])

    def _variance_of_last(self) -> float:
        last = self._late.rows[:, -1]
        return float(self._inverse[-1, -1] - last @ last)


def add_squares(sign: float, X: Floats, matrix: Floats) -> None:
    """Add `sign` · Σ x xᵀ of some rows to the upper triangle of a matrix in Fortran order, in place."""
    if len(X) == 1:
        blas.dsyr(sign, X[0], a=matrix, overwrite_a=1)
    else:
        blas.dsyrk(sign, X.T, beta=1.0, c=matrix, overwrite_c=1)


def squares_of(X: Floats, constant: float) -> float:
    """Return Σ‖x‖² of rows that end in a constant, which counts as 1.

    >>> squares_of(np.array([[2.0, 10.0], [3.0, 10.0]]), 10.0)
    15.0
    """
    if constant == 1:
        return float(np.vdot(X, X))
    rest, last = X[..., :-1], X[..., -1] / constant
    return float(np.vdot(rest, rest) + np.vdot(last, last))
