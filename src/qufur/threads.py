"""One BLAS thread: the fastest in small matrices and in many processes, and the same bits everywhere."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController


def one_thread() -> AbstractContextManager[Any]:
    """Hold NumPy's and SciPy's BLAS to one thread; their pools would fight over the cores."""
    limited: AbstractContextManager[Any] = _controller().limit(limits=1)
    return limited


@cache
def _controller() -> ThreadpoolController:
    import scipy.linalg  # noqa: F401  (only pools of what is imported are found)

    return ThreadpoolController()
