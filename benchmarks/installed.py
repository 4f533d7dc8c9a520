"""Libraries that may be missing: what needs them is skipped by name."""

from __future__ import annotations

from importlib import import_module


def importable(module: str) -> bool:
    """Import a module, so that no clock counts it later, and tell whether that worked."""
    try:
        import_module(module)
    except ImportError:
        return False
    return True
