"""A regularised Gram matrix that chooses its own form: fast while that is accurate, safe from then on."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Union, cast

import numpy as np

from qufur.arrays import Floats, Ints, check_shapes
from qufur.models.diagnostics.evidence import Evidence
from qufur.models.diagnostics.innovations import Innovations
from qufur.models.diagnostics.misfit import MisfitTests, usual_errors
from qufur.models.gram.factor import FactorGram
from qufur.models.gram.inverse import InverseGram, squares_of
from qufur.models.gram.low_rank import LowRankGram
from qufur.models.gram.posterior import View
from qufur.models.gram.update import Absorbed, Update, cholesky_of_sum
from qufur.tensors import beside, on_host

if TYPE_CHECKING:
    from qufur.models.gram.card import CardGram

HostForm = LowRankGram | InverseGram | FactorGram
Form = Union[HostForm, "CardGram"]


class Gram:
    """M = λI + Σ x xᵀ of the rows absorbed, and θ̂ = M⁻¹ Σ x y.

    It is young while it has fewer than d/2 rows (`LowRankGram`), then kept through its inverse
    (`InverseGram`), and from the moment that costs too many digits through a factor (`FactorGram`). Where
    blocks are decided on a GPU, the inverse is kept there (`CardGram`).
    Cost per step O(d²), or O(kd) with k < d/2 rows; memory O(d²).

    Rows that end in a large constant, for an intercept with a weak penalty, start through a factor if that
    costs too many digits, and go back to the inverse once the intercept is known.

    >>> gram = Gram(2, regularization=1.0)
    >>> gram.add(np.array([[1.0, 0.0]]), np.array([1.0]))
    >>> gram.variance(np.eye(2)), gram.coef
    (array([0.5, 1. ]), array([0.5, 0. ]))
    """

    def __init__(self, dim: int, regularization: float, constant: float = 1.0) -> None:
        self.form: Form = LowRankGram(dim, regularization, constant)
        self.innovations = Innovations(dim, constant)

    def start_with(self, X: Floats) -> None:
        """Let a new M have rows whose labels are all 0 and not to be judged, O(nd²) at once."""
        young = cast(LowRankGram, self.form)
        if len(X) > young.most_rows:
            form = InverseGram.of_rows(X, young.regularization, young.constant)
            if form.risk(0.0) <= form.worst_condition:
                self.form = form
                return
        self.add(X)

    @property
    def coef(self) -> Floats:
        """θ̂."""
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
        """Return a function that goes on scoring as the matrix does now; it keeps d numbers."""
        coef = self.form.coef.copy()
        return lambda X: np.asarray(X @ coef)

    def covariance(self, rows: Update, X: Floats) -> Floats:
        """Return a M⁻¹ xᵀ of rows about to be absorbed with those of X."""
        return np.asarray(on_host(beside(rows.W, X) @ X.T))

    def view(self, X: Floats) -> View:
        """Return a block of rows as M sees them now."""
        return LinearView(self, X) if isinstance(self.form, HostForm) else self.form.view(X)

    def move_to(self, device: Any) -> None:
        """Keep M on a device of torch from now on, or, if that is None, on the host.

        A factor stays where it is: its rows enter one by one.
        """
        if device is None and not isinstance(self.form, HostForm):
            self.form, self.innovations = self.form.on_host(), self.innovations.copy()
        elif device is not None and isinstance(self.form, LowRankGram | InverseGram):
            from qufur.models.gram.card import CardGram

            self.form = CardGram.of(self.form, device)

    def prepare(self, X: Floats) -> None:
        """Change to the safe form if absorbing X would make the present one inaccurate."""
        self.prepare_for(self.squares(X))

    def prepare_for(self, squares: float) -> None:
        """Change to the safe form if absorbing rows of such `squares` would make this one inaccurate."""
        if not isinstance(self.form, FactorGram) and self._is_risky(self.form, squares):
            if isinstance(self.form, LowRankGram) and self.form.constant > 1:
                self.form = self.form.inverted()
                self.prepare_for(squares)
            else:
                self.form = self.form.factored()

    def _is_risky(self, form: LowRankGram | InverseGram | CardGram, squares: float) -> bool:
        return form.risk(squares) > form.worst_condition

    def squares(self, X: Floats) -> float:
        """Return Σ‖x‖² of one row or several; their constant, if they have one, counts as 1."""
        return squares_of(X, self.form.constant)

    def largest_square(self, X: Floats) -> float:
        """Return the largest ‖x‖² of some rows, counted so."""
        squares = np.einsum("ij,ij->i", X, X)
        if self.form.constant > 1:
            squares -= (1 - self.form.constant**-2) * X[:, -1] ** 2
        return float(squares.max())

    @property
    def norm_of_inverse(self) -> float:
        """A bound on the norm of M⁻¹, by a constant 1, unless `sequential_only`."""
        if isinstance(self.form, LowRankGram):
            return self.form.constant**2 / self.form.regularization
        return cast(InverseGram, self.form).trace_of_inverse

    @property
    def sequential_only(self) -> bool:
        """Whether rows must enter one after the other: differences of large numbers would lose digits."""
        return isinstance(self.form, FactorGram)

    def add(self, X: Floats, y: Floats | None = None) -> None:
        """Add the rows of X with labels y, or rows of which only M needs to know."""
        if len(X) == 1:
            self.prepare(X)
            variance, solved = self.posterior_one(X[0])
            if solved is not None:
                self.absorb_one(X[0], solved, variance, None if y is None else y.item())
                return
        for part in pieces(len(X)):
            self.absorb(self.update(X[part]), None if y is None else y[part])

    def update(self, X: Floats) -> Update:
        """Prepare rows for `absorb`; they must be few, since their covariances are kept."""
        self.prepare(X)
        if self.sequential_only or not len(X):
            return Update.bare(X)
        if len(X) == 1:
            variance, solved = self.posterior_one(X[0])
            return Update.single(X[0], cast(Floats, solved), variance)
        W = self.solve(X)
        return Update(X, W, cholesky_of_sum(W @ X.T))

    def absorb(self, rows: Update, y: Floats | None = None) -> Floats:
        """Add rows that were looked ahead to; return how far each label was off."""
        if not len(rows):
            return np.empty(0)
        form = self.form
        known = form.R[-1, -1] ** 2 if isinstance(form, FactorGram) and form.constant > 1 else math.inf
        innovation, innovation_scale = form.absorb(rows, np.zeros(len(rows)) if y is None else y)
        if y is not None:
            self.innovations.note(Absorbed(rows.X, y, innovation, innovation_scale))
        if isinstance(form, FactorGram) and form.R[-1, -1] ** 2 > 4 * known:
            self._invert_if_safe(form)
        self._invert_if_full()
        return innovation

    def _invert_if_safe(self, factor: FactorGram) -> None:
        """Go back to the inverse, O(d³), when much was learned of the constant: that is not often."""
        form = InverseGram.of_factor(factor)
        if not 10 * form.risk(0.0) > form.worst_condition:
            self.form = form

    def absorb_one(self, x: Floats, solved: Floats, variance: float, y: float | None) -> None:
        """Add one row that was met, as `absorb` does, and faster."""
        if not isinstance(self.form, InverseGram):
            self.absorb(Update.single(x, solved, variance), None if y is None else np.array([y]))
            return
        innovation_scale = math.sqrt(1.0 + variance)
        innovation = self.form.absorb_one(x, solved, innovation_scale, 0.0 if y is None else y)
        if y is not None:
            self.innovations.note_one(x, y, innovation, innovation_scale)

    def invert(self) -> None:
        """Grow up: from few rows to M⁻¹ itself."""
        if isinstance(self.form, LowRankGram):
            self.form = self.form.inverted()

    def grow(self, labels: Absorbed, Z: Floats, coef: Floats) -> None:
        """Go on from a young M⁻¹ less ZᵀZ, and θ̂ after these rows, where somebody else has computed them."""
        form = cast(LowRankGram, self.form)
        form.take_over(labels.X, labels.y, Z, coef)
        self.innovations.note(labels)
        self._invert_if_full()

    def take_over(self, labels: Absorbed, inverse: Floats, coef: Floats) -> None:
        """Go on from M⁻¹ and θ̂ as they are after these rows, where somebody else has computed them."""
        cast(InverseGram, self.form).take_over(labels.X, labels.y, inverse, coef)
        self.innovations.note(labels)

    def _invert_if_full(self) -> None:
        if isinstance(self.form, LowRankGram) and self.form.is_full:
            self.invert()

    def evidence(self, regularization: float) -> Evidence:
        """Return what the labels say about noise and λ; `regularization` is the λ in M."""
        form, labels, taken = self.form, self.innovations, 0.0
        if form.constant > 1:  # a prior that says nothing about the intercept says nothing about λ
            factor = form if isinstance(form, FactorGram) else form.factored()
            form, taken = factor.without_constant()
        values, energies = form.spectrum()
        return Evidence.of(labels.count, labels.squares - taken, values - regularization, energies)

    def tested(self) -> MisfitTests:
        """Return the tests of the labels' errors."""
        return self.innovations.tested()

    def fade(self, factor: float, regularization: float) -> None:
        """Let every row count γ times as much: M − λI and Σ x y shrink by γ. O(d³), or O(k²d) while young."""
        self.form.fade(factor, regularization)
        self.innovations.fade(factor)

    def copy(self) -> Gram:
        """Return an independent copy."""
        return self._with(self.form.copy(), self.innovations.copy())

    def arrays(self) -> dict[str, np.ndarray[Any, Any]]:
        """Return everything the state consists of."""
        return self.form.arrays() | self.innovations.arrays()

    @classmethod
    def restored(cls, arrays: dict[str, np.ndarray[Any, Any]], dim: int, constant: float = 1.0) -> Gram:
        """Return what `arrays` described, for rows of length `dim`."""
        # Files of older versions do without these.
        early = usual_errors(*arrays["innovations.tests"][:2])
        arrays = {"late": np.empty((0, dim)), "innovations.early": early} | arrays
        marks: dict[str, type[HostForm]] = {"basis": LowRankGram, "inverse": InverseGram, "R": FactorGram}
        (kind,) = (kind for mark, kind in marks.items() if mark in arrays)
        check_shapes(arrays, kind.axes | Innovations.axes, d=dim)
        return cls._with(kind.restored(arrays, constant), Innovations.restored(arrays, constant))

    @classmethod
    def _with(cls, form: Form, innovations: Innovations) -> Gram:
        gram = object.__new__(cls)
        gram.form, gram.innovations = form, innovations
        return gram


class LinearView(View):
    """A block of rows as a Gram matrix sees them."""

    def __init__(self, gram: Gram, X: Floats) -> None:
        self._gram = gram
        self.X = X
        self._covariances = cast(HostForm, gram.form).covariances(X)
        self.variance = self._covariances.variance

    def scores(self) -> Floats:
        return self._gram.scores(self.X)

    def among(self, rows: Ints) -> Floats:
        return self._covariances.among(rows)

    def update(self, rows: Ints, L: Floats) -> Update:
        return Update(self.X[rows], self._covariances.solved(rows), L)

    def toward_later(self, queries: Update, rows: Ints) -> Floats:
        K = np.zeros((len(rows), len(self.X)))
        for part in pieces(len(self.X), size=max(64, len(self.X) // 8)):
            before = rows.searchsorted(part.stop)  # the others come after this part
            K[:before, part] = queries.W[:before] @ self.X[part].T
        return K


def pieces(count: int, *, size: int = 128) -> Iterator[slice]:
    """Cut so many rows into pieces of bounded size: an update takes the square of its rows."""
    return (slice(start, min(start + size, count)) for start in range(0, count, size))
