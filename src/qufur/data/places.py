"""Folders of dataset files: $QUFUR_DATA, the cache and installed packages."""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from qufur.data.files import UNREADABLE, File, Found, content_digest
from qufur.errors import import_extra

OWN = "QUFUR_DATA"
CACHE = "cache"


def own_folder() -> Path | None:
    """Return the folder in $QUFUR_DATA, or None if it is not set."""
    folder = os.environ.get(OWN)
    return Path(folder).expanduser() if folder else None


def cache_folder() -> Path:
    """Return the folder of downloads."""
    return Path(import_extra("pooch", "data", "downloading datasets").os_cache("qufur"))


def look(file: File) -> Found | None:
    """Return the first copy of a file, damaged or not, without downloading or changing anything."""
    return next((_inspect(file, path, place) for place, path in _paths(file) if path.is_file()), None)


def record_of(path: Path) -> Path:
    """Return the file that records the digest of a download without a known digest."""
    return path.with_name(f"{path.name}.sha256")


def _paths(file: File) -> Iterator[tuple[str, Path]]:
    """Yield the places where a file may be, with its path there: the user's folder precedes the cache."""
    if file.package:
        spec = find_spec(file.package)
        folders = spec.submodule_search_locations if spec else None
        yield from ((f"package {file.package}", Path(folder, file.name)) for folder in folders or [])
        return
    user_folder = own_folder()
    if user_folder:
        yield OWN, user_folder / file.name
    yield CACHE, cache_folder() / file.name


def _inspect(file: File, path: Path, place: str) -> Found:
    digest = content_digest(path, packed=file.packed)
    return Found(file, path, place, digest, damage(file, digest, record_of(path)))


def damage(file: File, digest: str, record: Path) -> str:
    """Describe how a digest differs from the known or recorded one; empty if it does not."""
    if digest == UNREADABLE:
        return "it cannot be decompressed completely"
    expected = file.sha256 or (record.read_text().strip() if record.is_file() else digest)
    return "" if digest == expected else f"its sha256 is {digest}, not {expected}"
