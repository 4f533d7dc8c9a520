"""Memory that was in use for a moment, given back to the system."""

from __future__ import annotations

import ctypes
import sys
from typing import Any


def _found() -> Any:
    """Return glibc's `malloc_trim`; None where there is another C library."""
    return getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None


_trim = _found()


def give_back() -> None:
    """Give back what is free, for after work that takes several times what it leaves behind.

    A snapshot is copied on its way into the store. What small things lie above such copies would keep the
    C library from giving their pages back, and resident memory would grow with the largest snapshot.
    """
    if _trim is not None:
        _trim(0)
