"""Dataset files, their copies on this machine and their digests.

The digest of a .gz file is that of its decompressed content, since compressors differ.
"""

from __future__ import annotations

import gzip
import hashlib
import zlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit

from qufur.errors import invalid


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
