"""A dataset: one or more editions of the same data, the best first."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from qufur.data.fetch import fetch, find, missing
from qufur.data.files import File, Found


@dataclass(frozen=True)
class Edition:
    """One way in which a dataset comes.

    Parameters
    ----------
    files
        All that is needed of it.
    origin
        How it stands to the data of the paper, in a few words.
    stand_in
        Whether it merely stands in for them.
    variants
        The origin of files with these digests, where it is another.
    make
        Makes the files, where they are computed from something else.
    """

    files: tuple[File, ...]
    origin: str = "original"
    stand_in: bool = False
    variants: Mapping[str, str] = field(default_factory=dict)
    make: Callable[[], None] | None = None

    @property
    def downloadable(self) -> bool:
        """Whether every file has a public address."""
        return all(file.urls for file in self.files)


@dataclass(frozen=True)
class Copy:
    """An edition of a dataset on this machine.

    Parameters
    ----------
    title
        Of the dataset.
    edition, found
        Which edition it is and where its files lie.
    """

    title: str
    edition: Edition
    found: tuple[Found, ...]

    @property
    def paths(self) -> list[Path]:
        """Where the files lie, in the order of the edition."""
        return [found.path for found in self.found]

    @property
    def origin(self) -> str:
        """How it stands to the data of the paper, in a few words."""
        variants = (self.edition.variants.get(found.sha256) for found in self.found)
        return next(filter(None, variants), self.edition.origin)

    @property
    def provenance(self) -> str:
        """Title, origin, files and digests in one line."""
        files = ", ".join(f"{found.file.name} (sha256 {found.sha256})" for found in self.found)
        return f"{self.title}, {self.origin}: {files}"


@dataclass(frozen=True)
class Dataset:
    """Data that a stream is made of.

    Parameters
    ----------
    name, title
        How it is called on the command line and in print.
    source
        Where it comes from, for people.
    editions
        The best first.
    """

    name: str
    title: str
    source: str
    editions: tuple[Edition, ...]

    def here(self, editions: Sequence[Edition] | None = None) -> Copy | None:
        """Return the best edition that is on this machine, None where there is none."""
        for edition in editions or self.editions:
            found = [find(file) for file in edition.files]
            whole = tuple(one for one in found if one)
            if len(whole) == len(found):
                return Copy(self.title, edition, whole)
        return None

    def get(self, editions: Sequence[Edition] | None = None) -> Copy:
        """Return the best edition that is on this machine; where there is none, download one."""
        return self.here(editions) or self.download(editions)

    def provide(self) -> Copy:
        """Download or make the best edition for which there is a way, unless it is here already."""
        for edition in self.editions:
            if edition.make and not self.here([edition]):
                edition.make()
            if edition.make or edition.downloadable:
                return self.get([edition])
        return self.get()

    def download(self, editions: Sequence[Edition] | None = None) -> Copy:
        """Download the best edition that has public addresses."""
        editions = editions or self.editions
        for edition in editions:
            if edition.downloadable:
                return Copy(self.title, edition, tuple(fetch(file) for file in edition.files))
        raise missing(editions[0].files[0], [])
