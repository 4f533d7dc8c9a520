"""Kernel least squares with a growing Cholesky factor (appendix on kernels)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from qufur.arrays import Floats, Ints, check_shapes
from qufur.errors import invalid
from qufur.models.diagnostics.evidence import Evidence
from qufur.models.diagnostics.misfit import MisfitTests
from qufur.models.gram.gram import pieces
from qufur.models.gram.posterior import View
from qufur.models.gram.update import Update, cholesky_of_sum, forward


class Kernel(Protocol):
    """Interface that this module uses of scikit-learn's kernels."""

    def __call__(self, X: Floats, Y: Floats | None = None) -> Floats:
        """Return k(x, y) for every row of X with every row of Y, or of X."""

    def diag(self, X: Floats) -> Floats:
        """Return k(x, x) of each row."""


class KernelGram:
    """M = K + λI of the rows so far through its factor L, with w = L⁻¹y.

    With V = L⁻¹k(rows, x), the coordinates of x in the span of the rows, the variance of x is
    (k(x, x) − ‖V‖²)/λ and its prediction ⟨w, V⟩. New rows add the rows [Vᵀ, √λ L'] to L, with L' the factor
    of I + their covariances, and L'⁻¹(y − ŷ)/√λ to w. Cost per step O(Q²) for Q rows; memory O(Q²): the label
    budget bounds both.
    """

    sequential_only = False

    def __init__(self, kernel: Kernel, regularization: float) -> None:
        self.kernel = kernel
        self.regularization = regularization
        self.rows = np.empty((0, 0))
        self.L = np.empty((0, 0), order="F")
        self.w = np.empty(0)

    def coordinates(self, X: Floats) -> Floats:
        """Return V, a column for each row of X."""
        if not len(self.rows):
            if adds_noise(self.kernel, X[:1]):
                raise kernel_noise_error(self.kernel)
            return np.empty((0, len(X)))
        return forward(self.L, self.kernel(self.rows, X))

    def variance(self, X: Floats) -> Floats:
        """Return q = ‖φ(x)‖² in (ΦᵀΦ + λI)⁻¹ of each row."""
        return KernelView(self, X).variance

    def scores(self, X: Floats) -> Floats:
        """Return the prediction of each row."""
        return np.asarray(self.w @ self.coordinates(X))

    def scorer(self) -> Callable[[Floats], Floats]:
        """Return a function that scores with a copy of the current factor."""
        return self.copy().scores

    def score_one(self, x: Floats) -> float:
        """Return the prediction of one row."""
        return self.scores(x[None]).item()

    def posterior_one(self, x: Floats) -> tuple[float, Floats | None]:
        """Return q of one row."""
        return self.variance(x[None]).item(), None

    def view(self, X: Floats) -> KernelView:
        """Return a view of a block of rows under the current factor."""
        return KernelView(self, X)

    def squares(self, X: Floats) -> float:
        """Return 0: norms do not affect this form."""
        return 0.0

    def prepare_for(self, squares: float) -> None:
        """Do nothing: there is only one form."""

    def update(self, X: Floats) -> Update:
        """Prepare rows for `absorb`; memory grows with the square of their number."""
        V = self.coordinates(X)
        return Update(X, V.T, cholesky_of_sum(self.covariance_of(X, V, X, V)))

    def covariance(self, rows: Update, X: Floats) -> Floats:
        """Return the covariances of rows about to be absorbed with those of X."""
        return self.covariance_of(rows.X, rows.W.T, X, self.coordinates(X))

    def covariance_of(self, A: Floats, V_A: Floats, X: Floats, V: Floats) -> Floats:
        """Return (k(a, x) − ⟨V_a, V_x⟩)/λ."""
        return np.asarray((self.kernel(A, X) - V_A.T @ V) / self.regularization)

    def absorb(self, rows: Update, y: Floats | None = None) -> Floats:
        """Add rows, with labels y or unlabelled; return the normalised innovation of each label."""
        if not len(rows):
            return np.empty(0)
        if not np.isfinite(rows.L).all() or (rows.L.diagonal() <= 0).any():
            raise ValueError(_not_positive_definite(self.kernel))  # no `InvalidError`: a block was half done
        old, new = len(self.w), len(self.w) + len(rows)
        L = np.zeros((new, new), order="F")
        L[:old, :old] = self.L
        L[old:, :old] = rows.W
        L[old:, old:] = np.sqrt(self.regularization) * np.tril(rows.L)
        labels = np.zeros(len(rows)) if y is None else y
        innovation = rows.innovation(labels - rows.W @ self.w)
        self.rows = np.concatenate([self.rows.reshape(old, rows.X.shape[1]), rows.X])
        self.L, self.w = L, np.concatenate([self.w, innovation / np.sqrt(self.regularization)])
        return innovation

    def evidence(self, regularization: float) -> Evidence:
        """Return the evidence of the labels y = Lw about noise and λ; `regularization` is the λ in M."""
        values, vectors = np.linalg.eigh(self.L @ self.L.T)
        y, eigenvalues = self.L @ self.w, values - regularization
        return Evidence.of(len(y), float(y @ y), eigenvalues, eigenvalues * (y @ vectors) ** 2)

    def tested(self) -> MisfitTests:
        """Return the misfit tests of the innovations √λ w, all of which are stored."""
        root = np.sqrt(self.regularization)
        error, innovation_scale = root * self.w, self.L.diagonal() / root
        tests = MisfitTests()
        tests.update(error, innovation_scale, self.L @ self.w - innovation_scale * error, self._drift(error))
        return tests

    def _drift(self, error: Floats) -> Floats:
        """Return Σ e_j k(x_j, x) over the segment before each row's; LLᵀ is K except on its diagonal."""
        length, drift = MisfitTests.segment, np.zeros(len(error))
        for start in range(length, len(error), length):
            before, segment = slice(start - length, start), slice(start, start + length)
            drift[segment] = self.L[segment, :start] @ (error[before] @ self.L[before, :start])
        return drift

    def add(self, X: Floats, y: Floats | None = None) -> None:
        """Add rows without a look-ahead."""
        for piece in pieces(len(X)):
            self.absorb(self.update(X[piece]), None if y is None else y[piece])

    def copy(self) -> KernelGram:
        """Return an independent copy: its arrays are replaced, never written to."""
        return self.restored(self.kernel, self.regularization, self.arrays())

    def arrays(self) -> dict[str, np.ndarray[Any, Any]]:
        """Return all arrays of the posterior."""
        return {"rows": self.rows, "L": self.L, "w": self.w}

    @classmethod
    def restored(
        cls, kernel: Kernel, regularization: float, arrays: dict[str, np.ndarray[Any, Any]]
    ) -> KernelGram:
        """Return the posterior stored in `arrays`."""
        check_shapes(arrays, {"w": "n", "L": "nn", "rows": "nd"})
        gram = cls(kernel, regularization)
        gram.rows, gram.w = arrays["rows"], arrays["w"]
        gram.L = np.asfortranarray(arrays["L"])
        return gram


class KernelView(View):
    """View of a block of rows, with their coordinates computed once."""

    def __init__(self, gram: KernelGram, X: Floats) -> None:
        self._gram = gram
        self.X = X
        self._V = V = gram.coordinates(X)
        prior = np.asarray(gram.kernel.diag(X), dtype=np.float64)
        posterior = prior - np.einsum("ij,ij->j", V, V)
        if (posterior < -1e-6 * np.maximum(1.0, prior)).any() or not np.isfinite(posterior).all():
            raise _not_positive_definite(gram.kernel)
        self.variance = np.maximum(posterior, 0.0) / gram.regularization

    def scores(self) -> Floats:
        return np.asarray(self._gram.w @ self._V)

    def among(self, rows: Ints) -> Floats:
        X, V = self.X[rows], self._V[:, rows]
        return self._gram.covariance_of(X, V, X, V)

    def update(self, rows: Ints, L: Floats) -> Update:
        return Update(self.X[rows], self._V[:, rows].T, L)

    def toward_later(self, queries: Update, rows: Ints) -> Floats:
        return self._gram.covariance_of(queries.X, queries.W.T, self.X, self._V)


def _not_positive_definite(kernel: Kernel) -> ValueError:
    received = f"{kernel!r}, which is not on these inputs"
    return invalid("kernel", "KernelRidge", "positive definite", received, "Choose another kernel.")


def adds_noise(kernel: Any, X: Floats) -> bool:
    """Return whether k(x, x) is larger for the same row than for two equal rows.

    `WhiteKernel` adds label noise there, also within sums and products. Equal inputs do not share this noise,
    and least squares already has it in λ.

    >>> from sklearn.gaussian_process.kernels import RBF, WhiteKernel
    >>> adds_noise(RBF() * WhiteKernel(), np.ones((1, 2))), adds_noise(RBF(), np.ones((1, 2)))
    (True, False)
    """
    alone, together = np.asarray(kernel.diag(X)), np.asarray(kernel(X, X)).diagonal()
    return not np.allclose(alone, together, rtol=1e-10, atol=0)


def kernel_noise_error(kernel: Any) -> ValueError:
    """Build the error about a kernel that adds noise."""
    allowed = "without noise, so that diag(X) is the diagonal of k(X, X)"
    remedy = "Leave WhiteKernel out, and add its variance to regularization."
    return invalid("kernel", "KernelRidge", allowed, repr(kernel), remedy)
