"""What a file of a table offers whatever its format, and the one wording for what can be wrong with it."""

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
"""Columns of a CSV, JSON or Excel file: more take minutes, one by one."""


class TableFile(ABC):
    """A file of named columns, read from the start as often as asked; opening it checks that it has rows.

    Attributes
    ----------
    columns
        Their names, in the order of the file.
    numbers
        The names of single numbers in a column that is a matrix, as in a `Batch`; they can be read too.
    target, domain, truth
        The columns that the format itself sets aside for labels, hidden domains and f*.
    notes
        What was found out about the file, and may be wrong.
    dialect
        How a CSV file is written; None for others.
    """

    columns: list[str]
    numbers: dict[str, tuple[str, int]]
    notes: list[str]
    target: str | None = None
    domain: str | None = None
    truth: str | None = None
    dialect: Dialect | None = None
    format: ClassVar[str]

    def __init__(self, path: Path) -> None:
        self.path, self.numbers, self.notes = path, {}, []

    def aside(self, target: str | None = None, domain: str | None = None) -> list[str]:
        """Return the columns that are no inputs, with those that somebody names for labels and domains."""
        return [name for name in (target or self.target, domain or self.domain, self.truth) if name]

    @abstractmethod
    def count(self) -> int:
        """Return the number of rows."""

    @abstractmethod
    def batches(self, size: int, columns: Sequence[str] | None = None) -> Iterator[Batch]:
        """Yield the named columns, by default all, `size` rows at a time."""

    def check(self, name: str) -> None:
        """Complain if there is no column of this name."""
        if name not in self.columns and name not in self.numbers:
            raise invalid(f"column {name!r}", self.path.name, *nearest(name, self.columns))

    @contextmanager
    def sound(self) -> Iterator[None]:
        """Turn whatever can be wrong with bytes from elsewhere into one complaint."""
        try:
            yield
        except BaseException as error:
            # That of polars is no Exception.
            if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
                raise
            raise unreadable(self.path, self.format, error) from None


def check_width(columns: int, path: Path) -> None:
    """Complain if there are too many columns."""
    if columns > MOST_COLUMNS:
        remedy = (
            "Save numbers that belong together as one column of lists in a Parquet file, for --embedding."
        )
        raise invalid("columns", path.name, f"at most {MOST_COLUMNS:,}", f"{columns:,}", remedy)


def check_names(columns: list[str], path: Path) -> None:
    """Complain if two columns have one name."""
    if len(set(columns)) < len(columns):
        twice = next(name for name in columns if columns.count(name) > 1)
        raise invalid("columns", path.name, "of different names", f"{twice!r} more than once")


def unreadable(path: Path, format: str, error: BaseException) -> ValueError:
    """Build the error for a file that is not what its ending says, in one line whatever the reader said."""
    reason = str(error).partition("\n")[0] or type(error).__name__
    return invalid("content", path.name, f"a readable {format} file", f"an error ({reason})")


def no_rows(path: Path) -> ValueError:
    """Build the error for a file without rows."""
    return invalid("content", path.name, "at least one row", "none")
