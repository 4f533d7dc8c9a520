"""A block of rows as a Gram matrix on a GPU sees them, or on any device of torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from qufur.arrays import Floats, Ints
from qufur.models.gram.posterior import View
from qufur.models.gram.update import Update
from qufur.tensors import Tensor, beside, on_device, on_host

if TYPE_CHECKING:
    from qufur.models.gram.card import CardGram


@dataclass(frozen=True)
class CardUpdate(Update):
    """Rows X, X M⁻¹, L and Z = L⁻¹X M⁻¹ as tensors; on the host what is predicted of them, and Σ‖x‖²."""

    Z: Tensor
    scores: Floats
    squares: float

    def off(self, y: Floats) -> Tensor:
        """Return how far each of the labels y is off, in its own scale."""
        import torch

        residual = beside((y - self.scores)[:, None], self.Z)
        return torch.linalg.solve_triangular(self.L, residual, upper=False)[:, 0]


class CardView(View):
    """A block of rows, a tensor, as a Gram matrix on its device sees them.

    Attributes
    ----------
    variance, squares
        As in `View`, and Σ‖x‖², the constant counting as 1; there after `fetch`.
    """

    X: Any
    squares: float

    def __init__(self, form: CardGram, X: Tensor) -> None:
        import torch

        self._T, self.X = form.half(), X
        self._Y = form.halved(X)
        variance = (2.0 * (self._Y * X).sum(1)).clamp_(min=0.0)
        self._found = torch.stack([variance, form.scored(X), squares_of(X, form.constant)])
        self._whole: Floats | None = None

    def fetch(self) -> None:
        """Wait for what was computed of each row, in one copy."""
        self.variance, self._scores, self._squares = on_host(self._found)
        self.squares = float(self._squares.sum())

    def scores(self) -> Floats:
        return np.array(self._scores)

    def among(self, rows: Ints) -> Any:
        """Return the covariances of some rows: a tensor, unless `fetch_all` has brought them."""
        if self._whole is not None:
            return np.ascontiguousarray(self._whole[np.ix_(rows, rows)])
        places = on_device(rows, self.X.device)
        half = self._Y[places] @ self.X[places].T
        return half + half.T

    def fetch_all(self) -> None:
        """Bring the covariances of all rows to the host, where many will be asked for a few at a time."""
        half = self._Y @ self.X.T
        self._whole = on_host(half + half.T)

    def update(self, rows: Ints, L: Floats) -> Update:
        """Return L alone; `with_rows` does the rest, once for all of a block's queries."""
        nothing = np.empty((len(rows), 0))
        return Update(nothing, nothing, L)

    def with_rows(self, rows: Ints, L: Any) -> CardUpdate:
        """Return some rows, ready to be absorbed, as tensors."""
        import torch

        L, places = on_device(L, self.X.device), on_device(rows, self.X.device)
        X = self.X[places]
        W = self._Y[places] + X @ self._T.T
        Z = torch.linalg.solve_triangular(L, W, upper=False)
        return CardUpdate(X, W, L, Z, self._scores[rows], float(self._squares[rows].sum()))

    def toward_later(self, queries: Update, rows: Ints) -> Floats:
        """Return the covariances of rows with all others; `fetch_all` must have brought them."""
        return cast(Floats, self._whole)[rows]


def squares_of(X: Tensor, constant: float) -> Tensor:
    """Return ‖x‖² of each of some rows that end in a constant, which counts as 1."""
    squares = X.norm(dim=1) ** 2
    return squares if constant == 1 else squares - (1 - constant**-2) * X[:, -1] ** 2
