"""View of a block of rows under a Gram matrix on a torch device."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from qufur._internal.tensors import Tensor, beside, on_device, on_host
from qufur.arrays import Floats, Ints
from qufur.models.gram.posterior import View
from qufur.models.gram.update import Update

if TYPE_CHECKING:
    from qufur.models.gram.torch_inverse import TorchGram


@dataclass(frozen=True)
class TorchUpdate(Update):
    """Rows X, X M⁻¹, L and Z = L⁻¹X M⁻¹ as tensors; their scores and Σ‖x‖² on the host."""

    Z: Tensor
    scores: Floats
    squares: float

    def innovations(self, y: Floats) -> Tensor:
        """Return the normalised innovation of each label."""
        import torch

        residual = beside((y - self.scores)[:, None], self.Z)
        return torch.linalg.solve_triangular(self.L, residual, upper=False)[:, 0]


class TorchBlock(View):
    """View of a block of rows, a tensor, under a Gram matrix on its device.

    Attributes
    ----------
    variance, squares
        As in `View`, and Σ‖x‖² with the constant counted as 1; set by `fetch`.
    """

    X: Any
    squares: float

    def __init__(self, form: TorchGram, X: Tensor) -> None:
        import torch

        self._T, self.X = form.half(), X
        self._Y = form.halved(X)
        variance = (2.0 * (self._Y * X).sum(1)).clamp_(min=0.0)
        self._fetched = torch.stack([variance, form.scored(X), squares_of(X, form.constant)])
        self._whole: Floats | None = None

    def fetch(self) -> None:
        """Wait for variances, scores and norms, in one copy from the device."""
        self.variance, self._scores, self._squares = on_host(self._fetched)
        self.squares = float(self._squares.sum())

    def scores(self) -> Floats:
        return np.array(self._scores)

    def among(self, rows: Ints) -> Any:
        """Return the covariances of some rows: a tensor, unless `fetch_all` copied them."""
        if self._whole is not None:
            return np.ascontiguousarray(self._whole[np.ix_(rows, rows)])
        indices = on_device(rows, self.X.device)
        half = self._Y[indices] @ self.X[indices].T
        return half + half.T

    def fetch_all(self) -> None:
        """Copy the covariances of all rows to the host, for many small requests."""
        half = self._Y @ self.X.T
        self._whole = on_host(half + half.T)

    def update(self, rows: Ints, L: Floats) -> Update:
        """Return an update with L only; `with_rows` adds the rows, once for all queries of a block."""
        nothing = np.empty((len(rows), 0))
        return Update(nothing, nothing, L)

    def with_rows(self, rows: Ints, L: Any) -> TorchUpdate:
        """Return the update that adds these rows to M, as tensors."""
        import torch

        L, indices = on_device(L, self.X.device), on_device(rows, self.X.device)
        X = self.X[indices]
        W = self._Y[indices] + X @ self._T.T
        Z = torch.linalg.solve_triangular(L, W, upper=False)
        return TorchUpdate(X, W, L, Z, self._scores[rows], float(self._squares[rows].sum()))

    def toward_later(self, queries: Update, rows: Ints) -> Floats:
        """Return the covariances of rows with all others; call `fetch_all` first."""
        return cast(Floats, self._whole)[rows]


def squares_of(X: Tensor, constant: float) -> Tensor:
    """Return ‖x‖² of rows that end in a constant, which counts as 1."""
    squares = X.norm(dim=1) ** 2
    return squares if constant == 1 else squares - (1 - constant**-2) * X[:, -1] ** 2
