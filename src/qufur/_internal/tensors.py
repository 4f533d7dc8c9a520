"""Operations on NumPy arrays or torch tensors. torch is imported only if the caller names a device."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

Tensor = Any
"""A float64 torch tensor on a device."""


def is_tensor(values: object) -> bool:
    """Return whether `values` is a torch tensor; False if torch is not imported.

    >>> is_tensor(np.ones(3))
    False
    """
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(values, torch.Tensor)


def on_host(values: Any) -> Any:
    """Convert a tensor to a NumPy array; return anything else unchanged."""
    return values.detach().cpu().numpy() if is_tensor(values) else values


def sums_of_squares(X: Any) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return ‖x‖² of each row of an array or a tensor.

    >>> sums_of_squares(np.array([[3.0, 4.0]]))
    array([25.])
    """
    return np.asarray(on_host((X * X).sum(1)) if is_tensor(X) else np.einsum("ij,ij->i", X, X))


def with_constant(X: Any, constant: float) -> Any:
    """Return rows with a constant appended.

    >>> with_constant(np.array([[3.0, 4.0]]), 1.0)
    array([[3., 4., 1.]])
    """
    if is_tensor(X):
        return sys.modules["torch"].cat([X, X.new_full((len(X), 1), constant)], 1)
    return np.column_stack([X, np.full(len(X), constant)])


def beside(array: Any, X: Any) -> Any:
    """Convert an array to a tensor on the device of X if X is a tensor; otherwise return it unchanged."""
    if not is_tensor(X):
        return array
    return sys.modules["torch"].as_tensor(array, dtype=X.dtype).to(X.device, non_blocking=True)


def concatenated(parts: Sequence[Any]) -> Any:
    """Concatenate arrays or tensors along the first axis."""
    return sys.modules["torch"].cat(list(parts)) if is_tensor(parts[0]) else np.concatenate(parts)


def on_device(values: Any, device: Any) -> Tensor:
    """Copy an array to a device. A tensor is copied only if its device or dtype differs.

    The copy of a small array does not wait for the device.
    """
    import torch

    if isinstance(values, torch.Tensor):
        return values.to(device, torch.float64)
    dtype = torch.int64 if values.dtype.kind == "i" else torch.float64
    return torch.tensor(values, dtype=dtype).to(device, non_blocking=True)
