"""Atomic file replacement: after a crash, either the old or the new file exists, never a partial one."""

from __future__ import annotations

import contextlib
import os
import secrets
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

LEFTOVER_AGE = 600.0
"""Age in seconds after which a temporary file counts as left behind by a crash; a save takes far less."""


@contextlib.contextmanager
def replacing(
    path: str | os.PathLike[str], *, like: str | os.PathLike[str] | None = None
) -> Iterator[BinaryIO]:
    """Yield a file to write and read back; on success it replaces `path`, on an exception it is deleted.

    The file is a temporary one in the same folder, synced to disk and then renamed. A symbolic link stays a
    link. The file has the permissions of the one that it replaces, or those of `like`, from the start.
    Temporary files that earlier crashes left behind are removed.

    Parameters
    ----------
    path
        The file to replace or create.
    like
        A file whose permissions the new file gets; by default the one at `path`.

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
    part = target.with_name(f".{target.name}.{secrets.token_hex(8)}.part")
    try:
        with open(part, "x+b", opener=_opener_like(target if like is None else Path(like))) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, target)
    finally:
        part.unlink(missing_ok=True)
    force(target.parent)


def _opener_like(target: Path) -> Callable[[str, int], int]:
    """Return an opener that gives a new file the mode of `target`, so that it is never more accessible."""
    mode = target.stat().st_mode & 0o7777 if target.exists() else None

    def opener(name: str, flags: int) -> int:
        handle = os.open(name, flags, 0o666 if mode is None else mode & 0o600)
        if mode is not None:
            os.chmod(name, mode)  # independent of the umask
        return handle

    return opener


def force(folder: Path) -> None:
    """Sync a folder to disk so that new names in it persist; Windows cannot open folders."""
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
            with contextlib.suppress(OSError):  # another process may remove it first, or own it
                if path.stat().st_mtime < before:
                    path.unlink()
