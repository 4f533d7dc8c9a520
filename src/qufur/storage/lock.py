"""Lock that gives one process at a time access to a state file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from qufur.errors import import_extra, invalid


@contextmanager
def locked(state: Path, parameter: str = "state", owner: str = "locked") -> Iterator[None]:
    """Hold the lock of a state file; links to the same file share one lock.

    Parameters
    ----------
    state
        The state file, which need not exist yet.
    parameter, owner
        Names that error messages use.

    Raises
    ------
    InvalidError
        If another process holds the lock, or if `state` cannot be a state file.
    """
    filelock = import_extra("filelock", "cli", "state files")
    lock = lock_of(state)
    if not lock.parent.is_dir():
        raise invalid(parameter, owner, "a file in a folder that exists", repr(str(state)))
    if state.exists() and not state.is_file():
        raise invalid(parameter, owner, "a regular file, or a new one", repr(str(state)))
    try:
        with filelock.FileLock(lock, timeout=0):
            yield
    except filelock.Timeout:
        received, remedy = f"{str(state)!r}, which another process uses", "Wait until it has finished."
        raise invalid(parameter, owner, "free", received, remedy) from None


def lock_of(state: Path) -> Path:
    """Return the lock file of a state file, which is beside the file that links resolve to."""
    return Path(f"{os.path.realpath(state)}.lock")
