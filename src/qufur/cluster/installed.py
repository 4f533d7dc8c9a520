"""Ray, where it is installed."""

from __future__ import annotations

from typing import Any

from qufur.errors import missing_extra


def ray_with_data() -> Any:
    """Return the module `ray`, with `ray.data` imported; complain if that cannot be."""
    try:
        import pyarrow  # noqa: F401  # without which `ray.data` fails at length
        import ray
        import ray.data
    except ImportError:
        raise missing_extra("ray[data]", "ray", "tables on a cluster") from None
    return ray
