"""The last versions of a state file, kept beside it, so that a change can be taken back.

They lie in the folder `<file>.versions`, each under its digest. A version is a hard link to the file that is
about to be replaced: no copy is made, except where there are no hard links. The new file names the versions
before it, so that nothing else that a crash leaves in the folder is ever taken for one.
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
"""How many versions are kept."""
MOST_BYTES = 1 << 28
"""How large they may be together; the last is kept however large it is."""


@dataclass(frozen=True)
class History:
    """What made a version of the file, and which came before.

    Attributes
    ----------
    command, outcome
        What was called, and what came of it.
    at
        When, in seconds since 1970.
    before
        The digests of earlier versions, the last one first.
    """

    command: str = ""
    outcome: str = ""
    at: int = 0
    before: Sequence[str] = ()

    def __post_init__(self) -> None:
        """Refuse what a file from elsewhere may say: digests become names of files, and the rest is shown."""
        known = isinstance(self.command, str) and isinstance(self.outcome, str) and type(self.at) is int
        if not known or not all(DIGEST.fullmatch(digest) for digest in self.before):
            raise invalid("history", "the file", "a command, its outcome, a time and digests", "others")


def folder_of(path: str | os.PathLike[str]) -> Path:
    """Return where the versions of a file are kept: beside the one that links lead to."""
    return Path(f"{os.path.realpath(path)}.versions")


def version_of(path: str | os.PathLike[str], digest: str) -> Path:
    """Return the file of a version."""
    return folder_of(path) / f"{digest}.qufur"


def keep(path: str | os.PathLike[str], before: Sequence[str]) -> list[str]:
    """Keep a file that is going to be replaced; return the digests of what is kept, the last one first.

    Parameters
    ----------
    path
        The file, which may not be there yet.
    before
        What it says of the versions before it.
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
    """Remove versions that the file does not name, and the oldest ones where all are too large together."""
    size, wanted = 0, set()
    for place, version in enumerate(version_of(path, digest) for digest in kept):
        size += version.stat().st_size if version.exists() else 0
        if place == 0 or size <= MOST_BYTES:
            wanted.add(version.name)
    for version in folder_of(path).glob("*.qufur"):
        if version.name not in wanted and DIGEST.fullmatch(version.stem):
            version.unlink(missing_ok=True)


def take_back(path: str | os.PathLike[str], digest: str) -> None:
    """Put a version in the place of the file: a rename, so that one of the two is there at any moment."""
    target, version = Path(os.path.realpath(path)), version_of(path, digest)
    version.chmod(target.stat().st_mode & 0o7777)
    os.replace(version, target)
    force(target.parent)
    force(version.parent)
