"""Optional libraries; benchmarks that need a missing one are skipped with its name."""

from __future__ import annotations

from importlib import import_module


def importable(module: str) -> bool:
    """Import a module outside the timed part and return whether that worked."""
    try:
        import_module(module)
    except ImportError:
        return False
    return True
