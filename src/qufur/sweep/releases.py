"""Code that a version or a digest of its source stands for."""

from __future__ import annotations

import sys
from functools import cache
from hashlib import sha256
from importlib import metadata
from pathlib import Path

COMPUTING = ("numpy", "scipy", "scikit-learn", "numba")
SHOWING = ("cli", "figures")


@cache
def library() -> str:
    """Return a digest of this library's source, less what only shows results, and of what computes for it."""
    root = Path(__file__).parents[1]
    paths = sorted(path for path in root.rglob("*.py") if path.relative_to(root).parts[0] not in SHOWING)
    digest = sha256(repr([_version(name) for name in COMPUTING]).encode())
    for path in paths:
        digest.update(f"{path.relative_to(root)} {path.stat().st_size}\n".encode() + path.read_bytes())
    return digest.hexdigest()


@cache
def release_of(module: str) -> str | None:
    """Return what stands for the code of a module, None where it may change without notice.

    >>> release_of("numpy.linalg") == release_of("numpy"), release_of("__main__")
    (True, None)
    """
    package = module.partition(".")[0]
    if package == "qufur":
        return library()
    if package in sys.stdlib_module_names:
        return f"Python {sys.version}"
    loaded = sys.modules.get(package)
    places = Path(getattr(loaded, "__file__", None) or "").parts
    version = getattr(loaded, "__version__", None) or _version(package)
    installed = version and {"site-packages", "dist-packages"}.intersection(places)
    return f"{package} {version}" if installed else None


def _version(distribution: str) -> str | None:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None
