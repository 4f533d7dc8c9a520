"""Sweeps over rules, parameters and seeds, in parallel and resumable, compared at equal labels."""

from qufur.sweep.grid import sweep

__all__ = ["sweep"]
__dir__ = __all__.copy
