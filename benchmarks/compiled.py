"""The compiled extra: the one place that knows whether it is there and how it is switched."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

from qufur.models.engines import compiled


def missing() -> str | None:
    """Return why the compiled loop cannot be measured, None if it can."""
    return None if compiled.available() else "numba is not installed"


@contextmanager
def switched(on: bool) -> Iterator[None]:
    """Run the body with the compiled loop, or with NumPy and SciPy only."""
    with patch.object(compiled, "available", lambda: on):
        yield
