"""Files that are replaced as a whole: after a crash there is the old one or the new one, not a half."""

from __future__ import annotations

import contextlib
import os
import secrets
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

LEFTOVER_AGE = 600.0
"""Seconds after which a temporary file is taken for one that a crash left behind: a save takes far less."""


@contextlib.contextmanager
def replacing(
    path: str | os.PathLike[str], *, like: str | os.PathLike[str] | None = None
) -> Iterator[BinaryIO]:
    """Yield a file to write and read back; it takes the place of another if all is well, and is gone if not.

    It is a temporary file beside the other, forced to the disk, and renamed. A link stays a link, and an
    existing file keeps its permissions, or gets those of `like`; the temporary file has them too. What
    earlier crashes left behind is removed.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     for content in (b"1", b"2"):
    ...         with replacing(Path(folder, "a")) as file:
    ...             _ = file.write(content)
    ...     Path(folder, "a").read_bytes(), len(os.listdir(folder))
    (b'2', 1)
    """
    target = Path(os.path.realpath(path))
    _remove_leftovers(target)
    with _temporary(target) as part:
        with open(part, "x+b", opener=_like(target if like is None else Path(like))) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, target)
    force(target.parent)


def _like(target: Path) -> Callable[[str, int], int]:
    """Return how to open the new file: nobody may ever read it who may not read the one that it replaces."""
    mode = target.stat().st_mode & 0o7777 if target.exists() else None

    def opener(name: str, flags: int) -> int:
        handle = os.open(name, flags, 0o666 if mode is None else mode & 0o600)
        if mode is not None:
            os.chmod(name, mode)  # whatever the umask
        return handle

    return opener


@contextlib.contextmanager
def _temporary(target: Path) -> Iterator[Path]:
    """Yield a new name beside the target, and leave nothing there."""
    part = target.with_name(f".{target.name}.{secrets.token_hex(8)}.part")
    try:
        yield part
    finally:
        part.unlink(missing_ok=True)


def force(folder: Path) -> None:
    """Force the new name to the disk, where folders can be opened: not on Windows."""
    if os.name != "nt":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _remove_leftovers(target: Path) -> None:
    before = time.time() - LEFTOVER_AGE
    start = f".{target.name}."
    for path in target.parent.glob(".*.part"):
        if path.name.startswith(start) and len(path.name) == len(start) + len(".part") + 16:
            with contextlib.suppress(OSError):  # another process may be faster, or own it
                if path.stat().st_mtime < before:
                    path.unlink()
