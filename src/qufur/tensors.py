"""Tensors of torch in the place of arrays; torch is imported for those alone who name a device."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

Tensor = Any
"""A tensor of torch, float64, on a device."""


def is_tensor(values: object) -> bool:
    """Return whether something is a tensor; where nobody has imported torch, nothing is.

    >>> is_tensor(np.ones(3))
    False
    """
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(values, torch.Tensor)


def on_host(values: Any) -> Any:
    """Return a tensor as NumPy's array, and anything else as it is."""
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
    """Return an array as a tensor where X is one, on its device; otherwise as it is."""
    if not is_tensor(X):
        return array
    return sys.modules["torch"].as_tensor(array, dtype=X.dtype).to(X.device, non_blocking=True)


def concatenated(parts: Sequence[Any]) -> Any:
    """Return arrays, or tensors, one after the other."""
    return sys.modules["torch"].cat(list(parts)) if is_tensor(parts[0]) else np.concatenate(parts)


def on_device(values: Any, device: Any) -> Tensor:
    """Return an array as a tensor on a device, a copy; a tensor is a copy only where it is elsewhere.

    A copy of an array that is not large does not wait for the device.
    """
    import torch

    if isinstance(values, torch.Tensor):
        return values.to(device, torch.float64)
    kind = torch.int64 if values.dtype.kind == "i" else torch.float64
    return torch.tensor(values, dtype=kind).to(device, non_blocking=True)
