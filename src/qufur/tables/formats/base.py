"""Base class of table files, and errors that all formats share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar

from qufur.errors import invalid
from qufur.tables.batch import Batch, nearest
from qufur.tables.formats.dialect import Dialect

MOST_COLUMNS = 10_000
"""Maximum number of columns of a CSV, JSON or Excel file: parsing more takes minutes."""


class TableFile(ABC):
    """File of named columns that can be read repeatedly; the constructor checks that it has rows.

    Attributes
    ----------
    columns
        Names of the columns, in the order of the file.
    numbers
        Names of the columns of a matrix, as in a `Batch`; they can be read too.
    target, domain, truth
        Columns that the format reserves for labels, hidden domains and f*.
    notes
        Messages about detected properties of the file, which may be wrong.
    dialect
        Dialect of a CSV file; None for other formats.
    """

    columns: list[str]
    numbers: dict[str, tuple[str, int]]
    notes: list[str]
    target: str | None = None
    domain: str | None = None
    truth: str | None = None
    dialect: Dialect | None = None
    format: ClassVar[str]
    _count: int

    def __init__(self, path: Path) -> None:
        self.path, self.numbers, self.notes = path, {}, []

    def aside(self, target: str | None = None, domain: str | None = None) -> list[str]:
        """Return the columns that are not inputs; arguments replace the reserved columns."""
        return [name for name in (target or self.target, domain or self.domain, self.truth) if name]

    def count(self) -> int:
        """Return the number of rows; formats that do not know it when they open a file override this."""
        return self._count

    @abstractmethod
    def batches(self, size: int, columns: Sequence[str] | None = None) -> Iterator[Batch]:
        """Yield the named columns, by default all, `size` rows at a time."""

    def check(self, name: str) -> None:
        """Raise InvalidError if there is no column of this name."""
        if name not in self.columns and name not in self.numbers:
            raise invalid(f"column {name!r}", self.path.name, *nearest(name, self.columns))

    @contextmanager
    def sound(self) -> Iterator[None]:
        """Turn any exception of a parser into one error about an unreadable file."""
        try:
            yield
        except BaseException as error:
            # PanicException of polars derives from BaseException.
            if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
                raise
            raise unreadable(self.path, self.format, error) from None


def check_width(columns: int, path: Path) -> None:
    """Raise InvalidError if there are too many columns."""
    if columns > MOST_COLUMNS:
        remedy = (
            "Save numbers that belong together as one column of lists in a Parquet file, for `embedding=`."
        )
        raise invalid("columns", path.name, f"at most {MOST_COLUMNS:,}", f"{columns:,}", remedy)


def check_names(columns: list[str], path: Path) -> None:
    """Raise InvalidError if two columns have the same name."""
    if len(set(columns)) < len(columns):
        twice = next(name for name in columns if columns.count(name) > 1)
        raise invalid("columns", path.name, "of different names", f"{twice!r} more than once")


def unreadable(path: Path, format: str, error: BaseException) -> ValueError:
    """Build a one-line error for a file whose content does not match its suffix."""
    reason = str(error).partition("\n")[0] or type(error).__name__
    return invalid("content", path.name, f"a readable {format} file", f"an error ({reason})")


def no_rows(path: Path) -> ValueError:
    """Build the error for a file without rows."""
    return invalid("content", path.name, "at least one row", "none")
