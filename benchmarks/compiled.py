"""The compiled extra: the one place that knows whether it is there and how it is switched."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from benchmarks.installed import importable


def missing() -> str | None:
    """Return why the compiled loop cannot be measured, None if it can."""
    if not importable("numba"):
        return "numba is not installed"
    return "this version has no compiled loop" if find_spec("qufur.compiled") is None else None


@contextmanager
def switched(on: bool) -> Iterator[None]:
    """Run the body with the compiled loop, or with NumPy and SciPy only."""
    yield
