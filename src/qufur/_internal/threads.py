"""Limit of one BLAS thread: fastest for small matrices and many processes, and bitwise reproducible."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from threadpoolctl import ThreadpoolController

_limit = threading.local()


@contextmanager
def single_blas_thread() -> Iterator[None]:
    """Limit the BLAS of NumPy and SciPy to one thread; their pools would compete for the cores."""
    if getattr(_limit, "is_set", False):  # setting the limit again takes 50 µs
        yield
        return
    with _controller().limit(limits=1):
        _limit.is_set = True
        try:
            yield
        finally:
            _limit.is_set = False


@cache
def _controller() -> ThreadpoolController:
    import scipy.linalg  # noqa: F401  (the controller sees only pools of imported libraries)

    return ThreadpoolController()
