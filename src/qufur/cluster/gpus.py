"""Checks of the GPUs that tasks request."""

from __future__ import annotations

import warnings
from typing import Any

from qufur.errors import DeviceWarning


def has_gpu() -> bool:
    """Return whether torch can use a GPU in this process."""
    try:
        import torch
    except ImportError:
        return False
    return bool(torch.cuda.is_available())


def check_gpus(ray: Any, gpus: float, *, text: bool) -> None:
    """Warn if the cluster has fewer than `gpus` GPUs, or if torch cannot use them for text on a worker."""
    if gpus <= 0:
        return
    available = ray.cluster_resources().get("GPU", 0.0)
    if available < gpus:
        _warn(f"A task needs {gpus:g} GPUs and the cluster has {available:g}: it waits for more.")
    elif text and not ray.get(ray.remote(num_cpus=0, num_gpus=gpus)(has_gpu).remote()):
        _warn("torch finds no CUDA GPU on a worker: text is embedded on its CPU.")


def _warn(message: str) -> None:
    warnings.warn(message, DeviceWarning, stacklevel=4)
