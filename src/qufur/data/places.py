"""Where files may lie: the user's own folder, the cache, or an installed package."""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from qufur.data.digest import UNREADABLE, content_digest
from qufur.data.files import File, Found
from qufur.errors import missing_extra

OWN = "QUFUR_DATA"
CACHE = "cache"


def own_folder() -> Path | None:
    """Return the folder that the user has named in $QUFUR_DATA."""
    named = os.environ.get(OWN)
    return Path(named).expanduser() if named else None


def cache_folder() -> Path:
    """Return the folder where downloads are kept."""
    try:
        from pooch import os_cache
    except ImportError:
        raise missing_extra("pooch", "data", "keeping and downloading datasets") from None
    return Path(os_cache("qufur"))


def look(file: File) -> Found | None:
    """Return the first copy of a file, whole or not; nothing is downloaded or changed."""
    return next((_inspect(file, path, place) for place, path in _paths(file) if path.is_file()), None)


def record_of(path: Path) -> Path:
    """Return where the digest of a download is recorded that was not known in advance."""
    return path.with_name(f"{path.name}.sha256")


def _paths(file: File) -> Iterator[tuple[str, Path]]:
    if file.package:
        spec = find_spec(file.package)
        places = spec.submodule_search_locations if spec else None
        yield from ((f"package {file.package}", Path(place, file.name)) for place in places or [])
        return
    own = own_folder()
    if own:
        yield OWN, own / file.name
    yield CACHE, cache_folder() / file.name


def _inspect(file: File, path: Path, place: str) -> Found:
    digest = content_digest(path, packed=file.packed)
    return Found(file, path, place, digest, damage(file, digest, record_of(path)))


def damage(file: File, digest: str, record: Path) -> str:
    """Say in what a digest differs from the one that is known or was recorded."""
    if digest == UNREADABLE:
        return "it does not unpack to its end"
    expected = file.sha256 or (record.read_text().strip() if record.is_file() else digest)
    return "" if digest == expected else f"its sha256 is {digest}, not {expected}"
