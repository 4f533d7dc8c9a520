"""Kernel ridge regression: QuFUR for functions that are not linear."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from qufur._internal.registry import class_named, name_of
from qufur.arrays import Floats, as_count, check_shapes, set_fields
from qufur.errors import invalid
from qufur.models._least_squares_state import LeastSquaresState
from qufur.models._regression import LeastSquares
from qufur.models.base import Model, State, Tags
from qufur.models.gram.kernel import Kernel, KernelGram, adds_noise, kernel_noise_error
from qufur.pending import PendingQueries, feature_rows, widen_features


@dataclass(frozen=True)
class KernelRidge(LeastSquares):
    """Kernel regression: clip(kᵀ(K + λI)⁻¹y) with Δ = η̃² min(1, (k(x, x) − kᵀ(K + λI)⁻¹k)/λ).

    This is the model of the appendix on kernels. The paper writes this Δ as ‖k_t‖² in M⁻¹; it means ‖φ(x)‖²
    in (ΦᵀΦ + λI)⁻¹, which equals the formula above. With the linear kernel `DotProduct(sigma_0=0)` the model
    equals `Ridge`, and with `sigma_0=1` it equals `Ridge` with an intercept.

    After Q queries a step costs O(Q²) time, and the state O(Q²) memory; the label budget bounds both.
    Results are accurate while k(x, x)/λ stays below about 10⁶; scale inputs for unbounded kernels. The other
    parameters are those of `Ridge`, with C ≥ the norm of f* in the kernel's space.

    Parameters
    ----------
    kernel
        Any kernel of `sklearn.gaussian_process.kernels`, including sums and products, except `WhiteKernel`:
        λ models the noise, and kernels that add noise raise `InvalidError`. The kernel is copied, and its
        hyperparameters are not tuned.
    dim
        Number of input columns; None uses that of the first input.

    Examples
    --------
    >>> from sklearn.gaussian_process.kernels import RBF
    >>> from qufur import KernelRidge, Learner, Uniform
    >>> learner = Learner(KernelRidge(RBF(0.5), regularization=0.01), Uniform(1.0))
    >>> learner.learn([[0.0], [1.0]], [-0.5, 0.5])
    >>> learner.predict([[0.0], [0.9], [1.0]]).round(2)
    array([-0.49,  0.45,  0.49])
    """

    tags = Tags(label_free=True, monotone=True, bounded=False)

    kernel: Kernel
    dim: int | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.dim is not None:
            set_fields(self, dim=as_count(self.dim, "dim", "KernelRidge"))
        if isinstance(self.kernel, Mapping):
            set_fields(self, kernel=build_kernel(self.kernel))
        if not (callable(self.kernel) and hasattr(self.kernel, "diag")):
            allowed = "a kernel of sklearn.gaussian_process.kernels"
            raise invalid("kernel", "KernelRidge", allowed, repr(self.kernel))
        set_fields(self, kernel=copy.deepcopy(self.kernel))
        if _adds_noise(self.kernel, self.dim or 1):
            raise kernel_noise_error(self.kernel)

    def features(self, X: Floats) -> Floats:
        """Return the rows unchanged."""
        return X

    def squared_norms(self, X: Floats) -> Floats:
        return np.asarray(self.kernel.diag(X), dtype=np.float64)

    def posterior(self) -> KernelGram:
        return KernelGram(self.kernel, self.penalty)

    def restored(self, arrays: dict[str, np.ndarray[Any, Any]]) -> KernelGram:
        if self.dim is not None and len(arrays["rows"]):
            check_shapes(arrays, {"rows": "nd"}, d=self.dim)
        return KernelGram.restored(self.kernel, self.penalty, arrays)

    def start(self, pending: PendingQueries | None = None) -> LeastSquaresState:
        return LeastSquaresState(self, pending)

    def with_columns(self, state: State, constants: Floats) -> tuple[Model, State]:
        """Append columns that were 0 so far, if they do not affect the kernel."""
        from qufur.models._widen import check_zeros

        check_zeros(constants, self)
        values, arrays = state.save()
        padded = {name: _padded(name, array, len(constants)) for name, array in arrays.items()}
        for rows in (arrays["labelled.rows"], feature_rows(state.pending.values())):
            if not _is_unaffected(self.kernel, rows, np.pad(rows, ((0, 0), (0, len(constants))))):
                allowed, remedy = "one to which columns of 0 make no difference", "Experts takes any columns."
                raise invalid("kernel", "Learner.widen", allowed, repr(self.kernel), remedy)
        model = self if self.dim is None else dataclasses.replace(self, dim=self.dim + len(constants))
        widen_features(state.pending, constants)
        new_state = model.start(state.pending)
        new_state.restore(values, padded)
        return model, new_state

    def describe(self) -> dict[str, Any]:
        return super().describe() | {"kernel": describe_kernel(self.kernel)}

    @classmethod
    def examples(cls, dim: int) -> Sequence[KernelRidge]:
        from sklearn.gaussian_process.kernels import RBF, DotProduct

        smooth = RBF(1.0) + 0.5 * DotProduct(sigma_0=1.0)
        return [cls(DotProduct(sigma_0=0.0), dim=dim), cls(smooth, regularization=0.1, label_range=(1, 5))]


def _padded(name: str, array: Floats, columns: int) -> Floats:
    """Return arrays of inputs with columns of 0 appended, and other arrays unchanged."""
    return np.pad(array, ((0, 0), (0, columns))) if name.endswith("rows") and len(array) else array


def _is_unaffected(kernel: Kernel, X: Floats, padded: Floats) -> bool:
    """Return whether the kernel gives the same values for rows with columns appended."""
    try:
        return not len(X) or np.allclose(kernel(X), kernel(padded), rtol=1e-12)
    except Exception:  # kernels with a scale per column reject other dimensions; users' may raise anything
        return False


def _adds_noise(kernel: Kernel, columns: int) -> bool:
    """Return whether the kernel adds noise, tested on one row; `KernelGram` tests the first input again."""
    try:
        return adds_noise(kernel, np.full((1, columns), 0.5))
    except Exception:  # kernels with a scale per column reject other dimensions; users' may raise anything
        return False


def describe_kernel(kernel: Any) -> dict[str, Any]:
    """Return the kernel's class and parameters.

    >>> from sklearn.gaussian_process.kernels import RBF
    >>> describe_kernel(RBF(2.0))
    {'type': 'RBF', 'length_scale': 2.0, 'length_scale_bounds': [1e-05, 100000.0]}
    """
    from sklearn.gaussian_process.kernels import Kernel

    parameters = kernel.get_params(deep=False)
    type_name = name_of(type(kernel), Kernel, "kernel", "KernelRidge")
    return {"type": type_name, **{name: _plain(value) for name, value in parameters.items()}}


def build_kernel(description: Mapping[str, Any]) -> Any:
    """Build a kernel from the output of `describe_kernel`; its class must have been imported."""
    from sklearn.gaussian_process.kernels import Kernel

    parameters = {name: _parameter(value) for name, value in description.items() if name != "type"}
    return class_named(description["type"], Kernel, "kernel", "KernelRidge")(**parameters)


def _parameter(value: Any) -> Any:
    if isinstance(value, Mapping):
        return build_kernel(value)
    return tuple(value) if isinstance(value, list) else value  # bounds are lists in JSON


def _plain(value: Any) -> Any:
    if hasattr(value, "get_params"):
        return describe_kernel(value)
    return np.asarray(value).tolist() if isinstance(value, np.ndarray | np.generic | tuple) else value
