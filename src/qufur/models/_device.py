"""Choice of the device that decides blocks: the CPU (NumPy) or a torch device."""

from __future__ import annotations

import sys
import warnings
from typing import Any

from qufur.errors import DeviceWarning, invalid, missing_extra
from qufur.models.base import Model, State
from qufur.models.capabilities import OnDevice
from qufur.models.engines.gpu import GpuEngine

MIN_GPU_DIM = 256
"""Fewest columns for which `auto` uses a GPU; below, a compiled loop on the CPU is about as fast."""
_ALLOWED = '"cpu", "auto", "cuda", "cuda:1" and so on, or a torch.device'


def choose_device(state: State, model: Model, device: Any) -> None:
    """Set the device on which a state decides blocks; fall back to the CPU with a warning.

    Parameters
    ----------
    state, model
        The state whose `device` is set, and its model.
    device
        "cpu" is NumPy. "auto" uses a GPU if one is available and inputs have at least `MIN_GPU_DIM` columns.
        A `torch.device` is used unchanged, torch's CPU included.

    Raises
    ------
    InvalidError
        For any other device.
    ImportError
        If `device` names a CUDA device and torch is not installed.
    """
    if isinstance(state, OnDevice):
        state.device = None
    chosen = _device_by_name(device, model) if isinstance(device, str) else _check_torch_device(device)
    if chosen is None:
        return
    if not (isinstance(state, OnDevice) and state.takes_device):
        reason: str | None = f"{model} cannot run on a GPU"
    else:
        reason = _too_little_memory(chosen, model)
        if reason is None:
            state.device = chosen
    if reason is not None and device != "auto":
        _warn(reason)


def _device_by_name(device: str, model: Model) -> Any:
    """Return the torch device of this name, or None for NumPy on the CPU."""
    device_type, colon, number = device.partition(":")
    if device == "cpu":
        return None
    if not (device == "auto" or (device_type == "cuda" and number.isdecimal() == bool(colon))):
        raise invalid("device", "Learner", _ALLOWED, repr(device))
    if device == "auto" and (model.dim or 0) < MIN_GPU_DIM:
        return None
    try:
        import torch
    except ImportError:
        if device == "auto":
            return None
        raise missing_extra("torch", "gpu", f"device={device!r}") from None
    if not torch.cuda.is_available():
        if device != "auto":
            _warn("torch finds no GPU with CUDA")
        return None
    if number and int(number) >= torch.cuda.device_count():
        raise invalid("device", "Learner", f"one of {torch.cuda.device_count()} GPUs", repr(device))
    return torch.device("cuda" if device == "auto" else device)


def _check_torch_device(device: Any) -> Any:
    """Return a `torch.device`; raise `InvalidError` for other objects and for devices without float64."""
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(device, torch.device):
        raise invalid("device", "Learner", _ALLOWED, repr(device))
    if device.type not in ("cpu", "cuda"):
        raise invalid("device", "Learner", "a CUDA device or the CPU, which have float64", repr(device))
    return device


def _too_little_memory(device: Any, model: Model) -> str | None:
    """Return a message if the matrices and prefetched blocks exceed the free memory of the device."""
    if device.type == "cpu":
        return None
    import torch

    dim = (model.dim or 0) + 1
    needed = 8 * (8 * dim**2 + 8 * dim * GpuEngine.block_limits(dim, at_once=True).largest)
    free = torch.cuda.mem_get_info(device)[0]
    if free >= needed:
        return None
    return f"{device} has {free / 1e9:.1f} GB free, and {needed / 1e9:.1f} GB are needed"


def _warn(reason: str) -> None:
    warnings.warn(f"{reason}: the learner runs on the CPU.", DeviceWarning, stacklevel=4)
