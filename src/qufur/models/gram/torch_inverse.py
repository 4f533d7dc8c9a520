"""Inverse of the regularised Gram matrix on a torch device."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from qufur._internal.tensors import Tensor, on_device, on_host
from qufur.arrays import Floats
from qufur.models.gram.cholesky import FactorGram
from qufur.models.gram.inverse import InverseGram
from qufur.models.gram.low_rank import LowRankGram
from qufur.models.gram.posterior import LinearForm
from qufur.models.gram.torch_block import TorchBlock, TorchUpdate, squares_of
from qufur.models.gram.update import Update


class TorchGram(LinearForm):
    """M = λI + Σ x xᵀ through M⁻¹, with the least-squares solution θ̂ = M⁻¹ Σ x y, all on a torch device.

    As in `InverseGram`, M is stored beside its inverse, which is recomputed from it every 16 d rows. Only the
    upper triangles of both are valid, so that files are the same on every device, to the last bit. With T the
    upper triangle of M⁻¹ and half its diagonal, M⁻¹ = T + Tᵀ, and variances are 2 xᵀTx: a product of
    d²(1 + 1/panels) flops per row instead of 2d².

    Parameters
    ----------
    gram, inverse, moment, coef
        M, M⁻¹, Σ x y and θ̂ as tensors; the object owns them.
    constant
        The last number of every row, or 1.
    """

    max_condition = InverseGram.max_condition
    panels = 4
    # M⁻¹ is recomputed after rows with a larger √(1 + q), since it is then a difference of large numbers.
    largest_scale = 30.0

    def __init__(
        self, gram: Tensor, inverse: Tensor, moment: Tensor, coef: Tensor, constant: float = 1.0
    ) -> None:
        self.gram, self.inverse = gram, inverse
        self._moment, self._coef = moment, coef
        self.constant = constant
        self.since_refresh = 0
        self._squares = self._trace(gram, 1 / constant)
        self._spread = math.inf
        self._half: Tensor | None = None
        self._expected: TorchBlock | None = None

    @classmethod
    def of(cls, form: LowRankGram | InverseGram, device: Any) -> TorchGram:
        """Return the same matrix on a device."""
        import torch

        tensors = {name: on_device(array, device) for name, array in form.arrays().items()}
        moment, coef = tensors["moment"], tensors["coef"]
        if isinstance(form, LowRankGram):
            rows, basis, penalty = tensors["rows"], tensors["basis"], form.regularization
            unit = torch.eye(len(coef), dtype=torch.float64, device=device)
            gram, inverse = penalty * unit + rows.T @ rows, (unit - basis.T @ basis) / penalty
            gram_on_device = cls(gram, inverse, moment, coef, form.constant)
            if form.constant > 1:  # a small remainder of a large M⁻¹ is a difference with few digits
                gram_on_device.refresh()
            return gram_on_device
        gram, inverse, recent, late = (tensors[name] for name in ("gram", "inverse", "recent", "late"))
        gram += recent.T @ recent
        inverse -= late.T @ late
        gram_on_device = cls(gram, inverse, moment, coef, form.constant)
        since_refresh, gram_on_device._squares = tensors["counters"].tolist()
        gram_on_device.since_refresh = int(since_refresh)
        return gram_on_device

    @property
    def coef(self) -> Floats:  # type: ignore[override]
        """Least-squares solution θ̂, copied to the host."""
        return np.asarray(on_host(self._coef))

    @property
    def device(self) -> Any:
        """Torch device of the matrices."""
        return self._coef.device

    def risk(self, squares: float) -> float:
        """Return a bound, up to a factor d, on the condition number of M after rows with this Σ‖x‖²."""
        # As in `InverseGram`: an old trace of M⁻¹ bounds the current one, which is computed only if needed.
        squares += self._squares
        if squares * self._spread > self.max_condition:
            last = self.constant**2 * float(self.inverse[-1, -1])
            self._spread = max(
                self._trace(self.inverse, self.constant) / len(self._coef), last if self.constant > 1 else 0.0
            )
        if squares * self._spread > self.max_condition:
            import torch

            units = torch.ones_like(self._coef)
            units[-1] /= self.constant
            upper = (torch.triu(self.gram) * units).abs() * units[:, None]
            sums = float(upper.sum(0).max() + upper.sum(1).max())
            return min(squares, sums + squares - self._squares) * self._spread
        return squares * self._spread

    def half(self) -> Tensor:
        """Return T, the upper triangle of M⁻¹ with half its diagonal; cached until M⁻¹ changes."""
        import torch

        if self._half is None:
            self._half = torch.triu(self.inverse)
            self._half.diagonal().mul_(0.5)
        return self._half

    def halved(self, X: Tensor) -> Tensor:
        """Return XT by panels of columns: T is triangular, so a panel needs X only up to its last column."""
        import torch

        T, dim = self.half(), len(self._coef)
        Y, width = X.new_empty(X.shape), max(256, -(-dim // self.panels))
        for start in range(0, dim, width):
            stop = min(start + width, dim)
            torch.mm(X[:, :stop], T[:stop, start:stop], out=Y[:, start:stop])
        return Y

    def scored(self, X: Tensor) -> Tensor:
        """Return ⟨θ̂, x⟩ of each row."""
        return X @ self._coef

    def prefetch(self, X: Tensor) -> None:
        """Start a view of rows that are likely to come next; the host does not wait."""
        self._expected = TorchBlock(self, X)

    def view(self, X: Tensor) -> TorchBlock:
        """Return a view of a block of rows under the current M."""
        view, self._expected = self._expected, None
        if view is None or view.X is not X:
            view = TorchBlock(self, X)
        view.fetch()
        return view

    def variance(self, X: Floats) -> Floats:
        """Return xᵀ M⁻¹ x of each row."""
        return self.view(on_device(X, self.device)).variance

    def solve(self, X: Floats) -> Floats:
        """Return X M⁻¹."""
        T, rows = self.half(), on_device(X, self.device)
        return np.asarray(on_host(rows @ T + rows @ T.T))

    def solve_one(self, x: Floats) -> Floats:
        """Return M⁻¹x."""
        return np.asarray(self.solve(x[None])[0])

    def absorb(self, rows: Update, y: Floats) -> tuple[Floats, Floats]:
        """Add rows with labels y; return the normalised innovations and their scales.

        If the rows come from a look-ahead, the host waits for their errors only.
        """
        import torch

        update = rows if isinstance(rows, TorchUpdate) else self._whitened(rows)
        innovations = update.innovations(y)
        innovation, innovation_scale = on_host(torch.stack([innovations, update.L.diagonal()]))
        self._coef = self._coef + innovations @ update.Z
        self._moment = self._moment + on_device(y, self.device) @ update.X
        self.inverse.addmm_(update.Z.T, update.Z, alpha=-1.0)
        self.gram.addmm_(update.X.T, update.X)
        self._half = self._expected = None
        self._count(len(y), update.squares)
        if innovation_scale.max() > self.largest_scale:
            self.refresh()
        return innovation, innovation_scale

    def _whitened(self, rows: Update) -> TorchUpdate:
        """Return rows without a look-ahead, ready to be absorbed."""
        import torch

        X, W, L = (on_device(part, self.device) for part in (rows.X, rows.W, rows.L))
        Z = torch.linalg.solve_triangular(L, W, upper=False)
        scores, squares = on_host(self.scored(X)), squares_of(X, self.constant)
        return TorchUpdate(X, W, L, Z, scores, float(squares.sum()))

    def spectrum(self) -> tuple[Floats, Floats]:
        """Return the eigenvalues of M, and the squares of Σ x y along their vectors."""
        return self.on_host().spectrum()

    def discount(self, factor: float, regularization: float) -> None:
        """Raise `NotImplementedError`: models that forget run on the host."""
        raise NotImplementedError

    def factored(self) -> FactorGram:
        """Return the same matrix as a factor on the host, safe where the inverse is not."""
        return self.on_host().factored()

    def on_host(self) -> InverseGram:
        """Return the same matrix on the host."""
        arrays = self.arrays()
        return InverseGram.restored(
            {name: np.array(a, order="K") for name, a in arrays.items()}, self.constant
        )

    def copy(self) -> TorchGram:
        """Return an independent copy."""
        gram, inverse = self.gram.clone(), self.inverse.clone()
        gram_on_device = TorchGram(gram, inverse, self._moment.clone(), self._coef.clone(), self.constant)
        gram_on_device.since_refresh, gram_on_device._squares = self.since_refresh, self._squares
        return gram_on_device

    def arrays(self) -> dict[str, np.ndarray[Any, Any]]:
        """Return all arrays of the state, as `InverseGram` does."""
        none = np.empty((0, len(self._coef)))
        return {
            "gram": on_host(self.gram),
            "inverse": on_host(self.inverse),
            "moment": on_host(self._moment),
            "coef": self.coef,
            "recent": none,
            "late": none,
            "counters": np.array([self.since_refresh, self._squares]),
        }

    def refresh(self) -> None:
        """Recompute M⁻¹ and θ̂ from M."""
        import torch

        R, _ = torch.linalg.cholesky_ex(self.gram, upper=True)
        self.inverse = torch.cholesky_inverse(R, upper=True)
        self._half = self._expected = None
        T = self.half()
        self._coef = T @ self._moment + T.T @ self._moment
        self.since_refresh = 0

    def _count(self, rows: int, squares: float) -> None:
        self._squares += squares
        self.since_refresh += rows
        if self.since_refresh >= max(256, 16 * len(self._coef)):
            self.refresh()

    def _trace(self, matrix: Tensor, unit: float) -> float:
        """Return a trace with the last row and column multiplied by `unit`."""
        diagonal = on_host(matrix.diagonal())
        return float(diagonal[:-1].sum() + unit**2 * diagonal[-1])
