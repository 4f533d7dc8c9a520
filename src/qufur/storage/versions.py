"""Earlier versions of a state file, for undo.

The folder `<file>.versions` holds them, each named after its digest. A version is a hard link to the file
that is about to be replaced, or a copy on file systems without hard links. The new file lists the digests of
its earlier versions, so anything else that a crash leaves in the folder is ignored.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from qufur.errors import invalid
from qufur.storage.atomic import force, replacing
from qufur.storage.container import digest_in

DIGEST = re.compile("[0-9a-f]{64}")
KEPT = 5
"""Number of versions that are stored."""
MAX_BYTES = 1 << 28
"""Largest total size of the versions; the latest one is stored whatever its size."""


@dataclass(frozen=True)
class History:
    """Command that wrote a version of the file, and the versions before it.

    Attributes
    ----------
    command, outcome
        The command and a summary of its result.
    at
        Time of the call, in seconds since 1970.
    before
        Digests of earlier versions, the latest first.
    """

    command: str = ""
    outcome: str = ""
    at: int = 0
    before: Sequence[str] = ()

    def __post_init__(self) -> None:
        """Check values from untrusted files: digests become file names, and the rest is printed."""
        is_typed = isinstance(self.command, str) and isinstance(self.outcome, str) and type(self.at) is int
        if not is_typed or not all(DIGEST.fullmatch(digest) for digest in self.before):
            raise invalid("history", "the file", "a command, its outcome, a time and digests", "others")


def folder_of(path: str | os.PathLike[str]) -> Path:
    """Return the folder of the versions of a file, beside the file that links resolve to."""
    return Path(f"{os.path.realpath(path)}.versions")


def version_of(path: str | os.PathLike[str], digest: str) -> Path:
    """Return the path of a version."""
    return folder_of(path) / f"{digest}.qufur"


def keep(path: str | os.PathLike[str], before: Sequence[str]) -> list[str]:
    """Store a file that is about to be replaced as a version.

    Parameters
    ----------
    path
        The state file, which need not exist.
    before
        The digests of the versions before it.

    Returns
    -------
    list of str
        Digests of the stored versions, the latest first.
    """
    target = Path(os.path.realpath(path))
    if not target.exists():
        return []
    digest = digest_in(target)
    version = version_of(path, digest)
    version.parent.mkdir(exist_ok=True)
    if not version.exists():
        try:
            os.link(target, version)
        except OSError:
            with replacing(version, like=target) as file:
                file.write(target.read_bytes())
    force(version.parent)
    return [digest, *before][:KEPT]


def prune(path: str | os.PathLike[str], kept: Sequence[str]) -> None:
    """Remove versions that are not in `kept`, and the oldest ones beyond a total of `MAX_BYTES`."""
    size, names = 0, set()
    for age, version in enumerate(version_of(path, digest) for digest in kept):
        size += version.stat().st_size if version.exists() else 0
        if age == 0 or size <= MAX_BYTES:
            names.add(version.name)
    for version in folder_of(path).glob("*.qufur"):
        if version.name not in names and DIGEST.fullmatch(version.stem):
            version.unlink(missing_ok=True)


def restore(path: str | os.PathLike[str], digest: str) -> None:
    """Replace the file by a version. The rename is atomic, so one of the two exists at any moment."""
    target, version = Path(os.path.realpath(path)), version_of(path, digest)
    version.chmod(target.stat().st_mode & 0o7777)
    os.replace(version, target)
    force(target.parent)
    force(version.parent)
