"""One BLAS thread: the fastest in small matrices and in many processes, and the same bits everywhere."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from threadpoolctl import ThreadpoolController

_held = threading.local()


@contextmanager
def one_thread() -> Iterator[None]:
    """Hold NumPy's and SciPy's BLAS to one thread; their pools would fight over the cores."""
    if getattr(_held, "already", False):  # setting them again takes 50 µs
        yield
        return
    with _controller().limit(limits=1):
        _held.already = True
        try:
            yield
        finally:
            _held.already = False


@cache
def _controller() -> ThreadpoolController:
    import scipy.linalg  # noqa: F401  (only pools of what is imported are found)

    return ThreadpoolController()
