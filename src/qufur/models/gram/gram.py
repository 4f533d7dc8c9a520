"""Regularised Gram matrix that selects its form: fast while accurate, safe when ill-conditioned."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Union, cast

import numpy as np

from qufur._internal.tensors import beside, on_host
from qufur.arrays import Floats, check_shapes
from qufur.models.diagnostics.evidence import Evidence
from qufur.models.diagnostics.innovations import Innovations
from qufur.models.diagnostics.misfit import MisfitTests, usual_errors
from qufur.models.gram.cholesky import FactorGram
from qufur.models.gram.inverse import InverseGram, squares_of
from qufur.models.gram.low_rank import LowRankGram
from qufur.models.gram.posterior import HostForm, View
from qufur.models.gram.update import Absorbed, Update, cholesky_of_sum

if TYPE_CHECKING:
    from qufur.models.gram.torch_inverse import TorchGram

Form = Union[LowRankGram, InverseGram, FactorGram, "TorchGram"]


class Gram:
    """M = λI + Σ x xᵀ of the rows absorbed, and θ̂ = M⁻¹ Σ x y.

    The form is `LowRankGram` for fewer than about d/2 rows, then the inverse (`InverseGram`), and a
    triangular factor (`FactorGram`) once the inverse loses too much precision. If a GPU decides blocks, the
    inverse is stored there (`TorchGram`). Cost per step O(d²), or O(kd) with k < d/2 rows; memory O(d²).

    Rows that end in a large constant, for an intercept with a weak penalty, start with a factor if the
    inverse would lose too much precision, and return to the inverse once the intercept is estimated.

    >>> gram = Gram(2, regularization=1.0)
    >>> gram.add(np.array([[1.0, 0.0]]), np.array([1.0]))
    >>> gram.variance(np.eye(2)), gram.coef
    (array([0.5, 1. ]), array([0.5, 0. ]))
    """

    def __init__(self, dim: int, regularization: float, constant: float = 1.0) -> None:
        self.form: Form = LowRankGram(dim, regularization, constant)
        self.innovations = Innovations(dim, constant)

    def initialize(self, X: Floats) -> None:
        """Add unlabelled rows to an empty M in one step, O(nd²)."""
        low_rank = cast(LowRankGram, self.form)
        if len(X) > low_rank.max_rows:
            form = InverseGram.of_rows(X, low_rank.regularization, low_rank.constant)
            if form.risk(0.0) <= form.max_condition:
                self.form = form
                return
        self.add(X)

    @property
    def coef(self) -> Floats:
        """Least-squares solution θ̂."""
        return self.form.coef

    def variance(self, X: Floats) -> Floats:
        """Return q = ‖x‖² in M⁻¹ of each row."""
        return self.form.variance(X)

    def solve(self, X: Floats) -> Floats:
        """Return X M⁻¹."""
        return self.form.solve(X)

    def scores(self, X: Floats) -> Floats:
        """Return ⟨θ̂, x⟩ of each row."""
        return np.asarray(on_host(X @ beside(self.form.coef, X)))

    def score_one(self, x: Floats) -> float:
        """Return ⟨θ̂, x⟩ of one row."""
        return self.form.score_one(x)

    def posterior_one(self, x: Floats) -> tuple[float, Floats | None]:
        """Return q of one row, and M⁻¹x unless `sequential_only`."""
        return self.form.posterior_one(x)

    def scorer(self) -> Callable[[Floats], Floats]:
        """Return a function that scores with a copy of the current θ̂."""
        coef = self.form.coef.copy()
        return lambda X: np.asarray(X @ coef)

    def covariance(self, rows: Update, X: Floats) -> Floats:
        """Return a M⁻¹ xᵀ of rows about to be absorbed with those of X."""
        return np.asarray(on_host(beside(rows.W, X) @ X.T))

    def view(self, X: Floats) -> View:
        """Return a view of a block of rows under the current M."""
        return self.form.view(X)

    def move_to(self, device: Any) -> None:
        """Move M to a torch device, or to the host if `device` is None.

        A factor stays on the host, since its rows enter one by one.
        """
        if device is None and not isinstance(self.form, HostForm):
            self.form, self.innovations = self.form.on_host(), self.innovations.copy()
        elif device is not None and isinstance(self.form, LowRankGram | InverseGram):
            from qufur.models.gram.torch_inverse import TorchGram

            self.form = TorchGram.of(self.form, device)

    def prepare(self, X: Floats) -> None:
        """Change to the safe form if absorbing X would make the current form inaccurate."""
        self.prepare_for(self.squares(X))

    def prepare_for(self, squares: float) -> None:
        """Change to the safe form if absorbing rows with Σ‖x‖² = `squares` would make this one inaccurate."""
        if not isinstance(self.form, FactorGram) and self.form.risk(squares) > self.form.max_condition:
            if isinstance(self.form, LowRankGram) and self.form.constant > 1:
                self.form = self.form.inverted()
                self.prepare_for(squares)
            else:
                self.form = self.form.factored()

    def squares(self, X: Floats) -> float:
        """Return Σ‖x‖² of one row or several; their constant, if they have one, counts as 1."""
        return squares_of(X, self.form.constant)

    def largest_square(self, X: Floats) -> float:
        """Return the largest ‖x‖² of some rows, with a constant counted as 1."""
        squares = np.einsum("ij,ij->i", X, X)
        if self.form.constant > 1:
            squares -= (1 - self.form.constant**-2) * X[:, -1] ** 2
        return float(squares.max())

    @property
    def norm_of_inverse(self) -> float:
        """Bound on the norm of M⁻¹ with the constant counted as 1; undefined if `sequential_only`."""
        if isinstance(self.form, LowRankGram):
            return self.form.constant**2 / self.form.regularization
        return cast(InverseGram, self.form).trace_of_inverse

    @property
    def sequential_only(self) -> bool:
        """Whether rows must enter one by one, because differences of large numbers would lose precision."""
        return isinstance(self.form, FactorGram)

    def add(self, X: Floats, y: Floats | None = None) -> None:
        """Add the rows of X with labels y, or unlabelled rows to M alone."""
        if len(X) == 1:
            self.prepare(X)
            variance, solved = self.posterior_one(X[0])
            if solved is not None:
                self.absorb_one(X[0], solved, variance, None if y is None else y.item())
                return
        for piece in pieces(len(X)):
            self.absorb(self.update(X[piece]), None if y is None else y[piece])

    def update(self, X: Floats) -> Update:
        """Prepare rows for `absorb`; memory grows with the square of their number."""
        self.prepare(X)
        if self.sequential_only or not len(X):
            return Update.bare(X)
        if len(X) == 1:
            variance, solved = self.posterior_one(X[0])
            return Update.single(X[0], cast(Floats, solved), variance)
        W = self.solve(X)
        return Update(X, W, cholesky_of_sum(W @ X.T))

    def absorb(self, rows: Update, y: Floats | None = None) -> Floats:
        """Add prepared rows; return the normalised innovation of each label."""
        if not len(rows):
            return np.empty(0)
        form = self.form
        information = form.R[-1, -1] ** 2 if isinstance(form, FactorGram) and form.constant > 1 else math.inf
        innovation, innovation_scale = form.absorb(rows, np.zeros(len(rows)) if y is None else y)
        if y is not None:
            self.innovations.note(Absorbed(rows.X, y, innovation, innovation_scale))
        if isinstance(form, FactorGram) and form.R[-1, -1] ** 2 > 4 * information:
            # O(d³), so it is tried only when the information about the constant has quadrupled.
            inverse = InverseGram.of_factor(form)
            if not 10 * inverse.risk(0.0) > inverse.max_condition:
                self.form = inverse
        self._invert_if_full()
        return innovation

    def absorb_one(self, x: Floats, solved: Floats, variance: float, y: float | None) -> None:
        """Add one row whose M⁻¹x is given; faster than `absorb`."""
        if not isinstance(self.form, InverseGram):
            self.absorb(Update.single(x, solved, variance), None if y is None else np.array([y]))
            return
        innovation_scale = math.sqrt(1.0 + variance)
        innovation = self.form.absorb_one(x, solved, innovation_scale, 0.0 if y is None else y)
        if y is not None:
            self.innovations.note_one(x, y, innovation, innovation_scale)

    def invert(self) -> None:
        """Change from the low-rank form to the inverse."""
        if isinstance(self.form, LowRankGram):
            self.form = self.form.inverted()

    def load_low_rank(self, labels: Absorbed, Z: Floats, coef: Floats) -> None:
        """Load rows that a compiled loop absorbed into the low-rank form: M⁻¹ falls by ZᵀZ, θ̂ is `coef`."""
        form = cast(LowRankGram, self.form)
        form.load_from(labels.X, labels.y, Z, coef)
        self.innovations.note(labels)
        self._invert_if_full()

    def load_from(self, labels: Absorbed, inverse: Floats, coef: Floats) -> None:
        """Load M⁻¹ and θ̂ after these rows, computed by a compiled loop."""
        cast(InverseGram, self.form).load_from(labels.X, labels.y, inverse, coef)
        self.innovations.note(labels)

    def _invert_if_full(self) -> None:
        if isinstance(self.form, LowRankGram) and len(self.form.rows) >= self.form.max_rows:
            self.invert()

    def evidence(self, regularization: float) -> Evidence:
        """Return the evidence of the labels about noise and λ; `regularization` is the λ in M."""
        form, labels, explained = self.form, self.innovations, 0.0
        if form.constant > 1:  # the prior of the intercept is nearly flat, so the intercept does not inform λ
            factor = form if isinstance(form, FactorGram) else form.factored()
            form, explained = factor.without_constant()
        values, energies = form.spectrum()
        return Evidence.of(labels.count, labels.squares - explained, values - regularization, energies)

    def tested(self) -> MisfitTests:
        """Return the tests of the labels' errors."""
        return self.innovations.tested()

    def discount(self, factor: float, regularization: float) -> None:
        """Multiply M − λI and Σ x y by γ. O(d³), or O(k²d) in low-rank form."""
        self.form.discount(factor, regularization)
        self.innovations.discount(factor)

    def copy(self) -> Gram:
        """Return an independent copy."""
        return self._with(self.form.copy(), self.innovations.copy())

    def arrays(self) -> dict[str, np.ndarray[Any, Any]]:
        """Return all arrays of the state."""
        return self.form.arrays() | self.innovations.arrays()

    @classmethod
    def restored(cls, arrays: dict[str, np.ndarray[Any, Any]], dim: int, constant: float = 1.0) -> Gram:
        """Return the matrix stored in `arrays`, for rows of length `dim`."""
        # Missing in files written by older versions.
        early = usual_errors(*arrays["innovations.tests"][:2])
        arrays = {"late": np.empty((0, dim)), "innovations.early": early} | arrays
        forms: dict[str, type[HostForm]] = {"basis": LowRankGram, "inverse": InverseGram, "R": FactorGram}
        (form,) = (form for name, form in forms.items() if name in arrays)
        check_shapes(arrays, form.axes | Innovations.axes, d=dim)
        restored = cast(Form, form.restored(arrays, constant))
        return cls._with(restored, Innovations.restored(arrays, constant))

    @classmethod
    def _with(cls, form: Form, innovations: Innovations) -> Gram:
        gram = object.__new__(cls)
        gram.form, gram.innovations = form, innovations
        return gram


def pieces(count: int, *, size: int = 128) -> Iterator[slice]:
    """Split `count` rows into slices of bounded size: an update needs memory quadratic in its rows."""
    return (slice(start, min(start + size, count)) for start in range(0, count, size))
