"""GPUs that tasks take: Ray counts them, and whether torch can use them is seen there."""

from __future__ import annotations

import warnings
from typing import Any

from qufur.errors import DeviceWarning


def has_card() -> bool:
    """Return whether torch can use a GPU in this process."""
    try:
        import torch
    except ImportError:
        return False
    return bool(torch.cuda.is_available())


def check_cards(ray: Any, gpus: float, *, text: bool) -> None:
    """Warn if tasks that take so many GPUs have to wait for them, or get none that torch can use for text."""
    if gpus <= 0:
        return
    there = ray.cluster_resources().get("GPU", 0.0)
    if there < gpus:
        _warn(f"A task takes {gpus:g} GPUs and the cluster has {there:g}: it waits until there are enough.")
    elif text and not ray.get(ray.remote(num_cpus=0, num_gpus=gpus)(has_card).remote()):
        _warn("torch finds no GPU with CUDA on a worker: text is embedded on its CPU.")


def _warn(message: str) -> None:
    warnings.warn(message, DeviceWarning, stacklevel=4)
