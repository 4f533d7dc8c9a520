"""Availability and switch of the compiled extra."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

from qufur.models.engines import compiled


def missing() -> str | None:
    """Return why the compiled loop is unavailable, or None."""
    return None if compiled.available() else "numba is not installed"


@contextmanager
def switched(on: bool) -> Iterator[None]:
    """Run the body with the compiled loop, or with NumPy and SciPy only."""
    with patch.object(compiled, "available", lambda: on):
        yield
