"""Datasets, each with one or more editions of the same data."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from qufur.data.fetch import fetch, find, missing
from qufur.data.files import File, Found


@dataclass(frozen=True)
class Edition:
    """Edition of a dataset.

    Parameters
    ----------
    files
        All files of the edition.
    origin
        Relation to the data of the paper, in a few words.
    stand_in
        Whether the edition replaces the data of the paper by other data.
    variants
        Origin by digest, for files whose origin differs from `origin`.
    make
        Function that computes the files from other data; None if they are published.
    """

    files: tuple[File, ...]
    origin: str = "original"
    stand_in: bool = False
    variants: Mapping[str, str] = field(default_factory=dict)
    make: Callable[[], None] | None = None

    @property
    def downloadable(self) -> bool:
        """Whether every file has a public URL."""
        return all(file.urls for file in self.files)


@dataclass(frozen=True)
class Copy:
    """An edition of a dataset on this machine.

    Parameters
    ----------
    title
        Title of the dataset.
    edition, found
        The edition and its files on this machine.
    """

    title: str
    edition: Edition
    found: tuple[Found, ...]

    @property
    def paths(self) -> list[Path]:
        """Paths of the files, in the order of the edition."""
        return [file.path for file in self.found]

    @property
    def origin(self) -> str:
        """Relation to the data of the paper, in a few words."""
        variants = (self.edition.variants.get(file.sha256) for file in self.found)
        return next(filter(None, variants), self.edition.origin)

    @property
    def provenance(self) -> str:
        """Title, origin, files and digests in one line."""
        files = ", ".join(f"{copy.file.name} (sha256 {copy.sha256})" for copy in self.found)
        return f"{self.title}, {self.origin}: {files}"


@dataclass(frozen=True)
class Dataset:
    """Data of a stream.

    Parameters
    ----------
    name, title
        Name on the command line, and title in printed text.
    source
        Origin of the data, for readers.
    editions
        The preferred edition first.
    """

    name: str
    title: str
    source: str
    editions: tuple[Edition, ...]

    def here(self, editions: Sequence[Edition] | None = None) -> Copy | None:
        """Return the first edition whose files are all on this machine, or None."""
        for edition in editions or self.editions:
            copies = tuple(copy for file in edition.files if (copy := find(file)))
            if len(copies) == len(edition.files):
                return Copy(self.title, edition, copies)
        return None

    def get(self, editions: Sequence[Edition] | None = None) -> Copy:
        """Return the first edition on this machine; download one if there is none.

        Raises
        ------
        MissingDataError
            If none is on this machine and none can be downloaded.
        """
        return self.here(editions) or self.download(editions)

    def provide(self) -> Copy:
        """Download or compute the first edition for which this is possible, unless it exists already."""
        for edition in self.editions:
            if edition.make and not self.here([edition]):
                edition.make()
            if edition.make or edition.downloadable:
                return self.get([edition])
        return self.get()

    def download(self, editions: Sequence[Edition] | None = None) -> Copy:
        """Download the first edition whose files all have public URLs; raise MissingDataError otherwise."""
        editions = editions or self.editions
        for edition in editions:
            if edition.downloadable:
                return Copy(self.title, edition, tuple(fetch(file) for file in edition.files))
        raise missing(editions[0].files[0], [])


_REMEDY = "Download hour.csv from archive.ics.uci.edu/dataset/275, and compress it with gzip to this name."
BIKE = Dataset(
    "bike",
    "Bike sharing",
    "the UCI repository, archive.ics.uci.edu/dataset/275",
    (Edition((File("tables/bike_hour.csv.gz", remedy=_REMEDY),)),),
)
"""Hourly rentals of bikes over two years, with calendar and weather."""
