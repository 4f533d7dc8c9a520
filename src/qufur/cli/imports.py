"""Imports that a command can do without."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from qufur.models import Model
from qufur.models.engines import compiled


@contextmanager
def without_pandas() -> Iterator[None]:
    """Let scikit-learn be imported without pandas: 30 MB, and half a second.

    It imports pandas wherever that is installed, to know its frames, and commands have none. None in
    `sys.modules` is how Python is told that a module is not there; afterwards it can be imported as ever.
    """
    if "pandas" in sys.modules:
        yield
        return
    sys.modules["pandas"] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        del sys.modules["pandas"]


@contextmanager
def few_imports(model: Model) -> Iterator[None]:
    """Let a model decide on a large table without numba: to read it takes far longer than to decide."""
    from qufur.models.experts.committee import Committee

    if isinstance(model, Committee):
        with without_pandas():
            import sklearn.ensemble  # noqa: F401
    with compiled.left_out():
        yield
