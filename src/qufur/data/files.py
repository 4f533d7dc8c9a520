"""Dataset files, their digests, and their copies: in $QUFUR_DATA, the cache and installed packages.

The digest of a .gz file is that of its decompressed content, since compressors differ.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit

from qufur.errors import import_extra, invalid

OWN = "QUFUR_DATA"
CACHE = "cache"


class MissingDataError(FileNotFoundError):
    """A dataset is not on this machine and cannot be downloaded; callers may skip what needs it."""


@dataclass(frozen=True)
class File:
    """Public file whose content must be the same for every user.

    Parameters
    ----------
    name
        Path inside a data folder, with forward slashes.
    urls
        URLs of the public original, tried in this order. Without a `sha256` they must be https or refer to
        this machine, since other content can be substituted in transit.
    sha256
        Digest of the content, decompressed for a .gz file. If None, the digest of the first download is
        recorded beside the file, and later downloads are verified against it.
    package
        Installed package that contains the file; `name` is then relative to that package.
    remedy
        How the user can obtain a file that cannot be downloaded.
    """

    name: str
    urls: tuple[str, ...] = ()
    sha256: str | None = None
    package: str | None = None
    remedy: str = ""

    def __post_init__(self) -> None:
        for url in self.urls:
            if not (self.sha256 or is_private(url)):
                raise invalid("urls", f"File {self.name}", "https, or with a sha256 to verify", repr(url))

    @property
    def packed(self) -> bool:
        """Whether the content is compressed by gzip."""
        return self.name.endswith(".gz")


@dataclass(frozen=True)
class Found:
    """Copy of a file on this machine.

    Parameters
    ----------
    file, path
        The file and its path.
    place
        "QUFUR_DATA", "cache" or "package …".
    sha256
        Digest of its content.
    damage
        Description of the damage; empty if there is none.
    """

    file: File
    path: Path
    place: str
    sha256: str
    damage: str = ""


def is_private(url: str) -> bool:
    """Return whether the content of a URL cannot be changed in transit.

    >>> [is_private(url) for url in ("https://a.org/b", "http://a.org/b", "http://127.0.0.1:80/b")]
    [True, False, True]
    """
    address = urlsplit(url)
    return address.scheme == "https" or address.hostname in ("localhost", "127.0.0.1", "::1")


UNREADABLE = "unreadable"
"""Value in place of the digest of a .gz file that cannot be decompressed completely."""


def content_digest(path: Path, *, packed: bool) -> str:
    """Return the SHA-256 of a file, decompressed if it is `packed`.

    The digest is cached until the size or modification time of the file changes.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     plain, twin = Path(folder, "a"), Path(folder, "a.gz")
    ...     _ = plain.write_bytes(b"digits"), twin.write_bytes(gzip.compress(b"digits"))
    ...     content_digest(plain, packed=False) == content_digest(twin, packed=True)
    True
    """
    status = path.stat()
    return _digest(path, packed, status.st_size, status.st_mtime_ns)


@cache
def _digest(path: Path, packed: bool, size: int, changed: int) -> str:
    try:
        with gzip.open(path) if packed else path.open("rb") as file:
            digest = hashlib.sha256()
            while block := file.read(2**20):
                digest.update(block)
            return digest.hexdigest()
    except (EOFError, gzip.BadGzipFile, zlib.error):
        return UNREADABLE


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
