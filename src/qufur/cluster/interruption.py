"""What must not be interrupted: Ray interrupts the tasks of a dataset that has failed elsewhere."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib import import_module
from typing import Any


@cache
def polars() -> Any:
    """Return polars, which is imported to its end, come what may.

    An import that stops in its middle leaves parts behind with which polars never works again in its process,
    and Ray gives that further tasks. Threads other than the first are not interrupted.
    """
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(import_module, "polars").result()
