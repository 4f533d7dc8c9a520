"""Where blocks are decided: on the CPU by NumPy, or on a device of torch."""

from __future__ import annotations

import sys
import warnings
from typing import Any

from qufur.errors import DeviceWarning, invalid, missing_extra
from qufur.models.base import Model, State
from qufur.models.engines.gpu import GpuEngine

SMALLEST_DIM = 256
"""From here on `auto` takes a GPU: below, a compiled loop on the CPU is about as fast."""
_ALLOWED = '"cpu", "auto", "cuda", "cuda:1" and so on, or a torch.device'


def place(state: State, model: Model, device: Any) -> None:
    """Let a state decide blocks on a device, or on the CPU with a warning where that cannot be.

    Parameters
    ----------
    state, model
        What is learned, and its description.
    device
        "cpu" is NumPy. "auto" takes a GPU if there is one, and only where that pays. A `torch.device` is
        taken as it is, that of torch's CPU as well.
    """
    state.device = None
    wanted = _named(device, model) if isinstance(device, str) else _given(device)
    if wanted is None:
        return
    reason = None if state.takes_device else f"{model} has no path on a GPU"
    reason = reason or _too_little_memory(wanted, model)
    if reason is None:
        state.device = wanted
    elif device != "auto":
        _warn(reason)


def _named(device: str, model: Model) -> Any:
    """Return the device of a name; None is the CPU."""
    kind, colon, number = device.partition(":")
    if device == "cpu":
        return None
    if not (device == "auto" or (kind == "cuda" and number.isdecimal() == bool(colon))):
        raise invalid("device", "Learner", _ALLOWED, repr(device))
    if device == "auto" and (model.dim or 0) < SMALLEST_DIM:
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


def _given(device: Any) -> Any:
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(device, torch.device):
        raise invalid("device", "Learner", _ALLOWED, repr(device))
    if device.type not in ("cpu", "cuda"):
        raise invalid("device", "Learner", "one with numbers of 64 bits: of CUDA, or the CPU", repr(device))
    return device


def _too_little_memory(device: Any, model: Model) -> str | None:
    """Say so, if the matrices and the blocks on their way do not fit into what is free."""
    if device.type == "cpu":
        return None
    import torch

    dim = (model.dim or 0) + 1
    needed = 8 * (8 * dim**2 + 8 * dim * GpuEngine.reach(dim, at_once=True).largest)
    free = torch.cuda.mem_get_info(device)[0]
    if free >= needed:
        return None
    return f"{device} has {free / 1e9:.1f} GB free, and {needed / 1e9:.1f} GB are needed"


def _warn(reason: str) -> None:
    warnings.warn(f"{reason}: the learner runs on the CPU.", DeviceWarning, stacklevel=4)
