"""scikit-learn's kernels as JSON values and back, without running anything that a file brings along."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from qufur.arrays import Floats
from qufur.errors import invalid
from qufur.registry import class_named, name_of


def adds_noise(kernel: Any, X: Floats) -> bool:
    """Return whether k(x, x) is larger where both are one row, and not just equal.

    `WhiteKernel` adds the noise of labels there, also within sums and products. That is nothing that equal
    inputs have in common, and least squares has it in λ already.

    >>> from sklearn.gaussian_process.kernels import RBF, WhiteKernel
    >>> adds_noise(RBF() * WhiteKernel(), np.ones((1, 2))), adds_noise(RBF(), np.ones((1, 2)))
    (True, False)
    """
    alone, together = np.asarray(kernel.diag(X)), np.asarray(kernel(X, X)).diagonal()
    return not np.allclose(alone, together, rtol=1e-10, atol=0)


def noise_in(kernel: Any) -> ValueError:
    """Build the complaint about a kernel that adds noise."""
    allowed = "without noise, so that diag(X) is the diagonal of k(X, X)"
    remedy = "Leave WhiteKernel out, and add its variance to regularization."
    return invalid("kernel", "KernelRidge", allowed, repr(kernel), remedy)


def describe_kernel(kernel: Any) -> dict[str, Any]:
    """Return the kernel's class and parameters.

    >>> from sklearn.gaussian_process.kernels import RBF
    >>> describe_kernel(RBF(2.0))
    {'type': 'RBF', 'length_scale': 2.0, 'length_scale_bounds': [1e-05, 100000.0]}
    """
    from sklearn.gaussian_process.kernels import Kernel

    parameters = kernel.get_params(deep=False)
    kind = name_of(type(kernel), Kernel, "kernel", "KernelRidge")
    return {"type": kind, **{name: _plain(value) for name, value in parameters.items()}}


def build_kernel(description: Mapping[str, Any]) -> Any:
    """Return the kernel that `describe_kernel` described, of a class that is defined by now."""
    from sklearn.gaussian_process.kernels import Kernel

    parameters = {name: _parameter(value) for name, value in description.items() if name != "type"}
    return class_named(description["type"], Kernel, "kernel", "KernelRidge")(**parameters)


def _parameter(value: Any) -> Any:
    if isinstance(value, Mapping):
        return build_kernel(value)
    return tuple(value) if isinstance(value, list) else value  # the bounds, which JSON turned into lists


def _plain(value: Any) -> Any:
    if hasattr(value, "get_params"):
        return describe_kernel(value)
    return np.asarray(value).tolist() if isinstance(value, np.ndarray | np.generic | tuple) else value
