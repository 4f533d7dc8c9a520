"""Digests of content: a packed file counts as what it unpacks to, since packers differ."""

from __future__ import annotations

import gzip
import hashlib
import zlib
from functools import cache
from pathlib import Path

UNREADABLE = "unreadable"
"""Stands for the digest of a .gz file that does not unpack to its end."""


def content_digest(path: Path, *, packed: bool) -> str:
    """Return the SHA-256 of a file, unpacked by gzip if it is `packed`.

    A file is hashed once as long as its size and date stay the same.

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
