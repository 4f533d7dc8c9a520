"""A file of a dataset, and where it was found."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from qufur.errors import invalid


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
        Where the public original can be had, tried in this order. Without a `sha256` they must be https:
        anybody on the way could put something else in its place. This machine itself is excepted.
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

    def __post_init__(self) -> None:
        for url in self.urls:
            if not (self.sha256 or is_private(url)):
                raise invalid("urls", f"File {self.name}", "https, or with a sha256 to verify", repr(url))

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


def is_private(url: str) -> bool:
    """Return whether nobody on the way to an address can change what it sends.

    >>> [is_private(url) for url in ("https://a.org/b", "http://a.org/b", "http://127.0.0.1:80/b")]
    [True, False, True]
    """
    address = urlsplit(url)
    return address.scheme == "https" or address.hostname in ("localhost", "127.0.0.1", "::1")
