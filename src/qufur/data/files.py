"""A file of a dataset, and where it was found."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


class MissingDataError(FileNotFoundError):
    """A dataset is neither on this machine nor within reach; what needs it can be skipped by name."""


@dataclass(frozen=True)
class File:
    """A file that many people share, and that has to be the same for all of them.

    Parameters
    ----------
    name
        Its path inside a data folder, with forward slashes.
    urls
        Where the public original can be had, tried in this order.
    sha256
        Digest of its content, a .gz file unpacked. None where it is not known in advance: it is then recorded
        beside the file when it is first downloaded, and verified from then on.
    package
        The installed package that carries the file, if it comes in one; `name` is then inside that package.
    remedy
        How it can be had where no program can fetch it.
    """

    name: str
    urls: tuple[str, ...] = ()
    sha256: str | None = None
    package: str | None = None
    remedy: str = ""

    @property
    def packed(self) -> bool:
        """Whether its content has to be unpacked by gzip."""
        return self.name.endswith(".gz")


@dataclass(frozen=True)
class Found:
    """A file on this machine.

    Parameters
    ----------
    file, path
        What was looked for and where it lies.
    place
        "QUFUR_DATA", "cache" or "package …".
    sha256
        Digest of its content.
    damage
        What is wrong with it; empty for a file that is whole.
    """

    file: File
    path: Path
    place: str
    sha256: str
    damage: str = ""
