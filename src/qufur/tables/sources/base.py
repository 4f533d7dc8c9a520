"""What a table offers whatever its format, and the one wording for what can be wrong with it."""

from __future__ import annotations

import math
import reprlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from qufur.arrays import LARGEST, Floats
from qufur.errors import invalid

Complaint = Callable[[BaseException], ValueError]


class Source(ABC):
    """A file of named numeric columns, read from the start as often as asked.

    Attributes
    ----------
    columns
        Their names, in the order of the file.
    target, domain, truth
        The columns that the format itself sets aside for labels, hidden domains and f*.
    """

    columns: list[str]
    target: str | None = None
    domain: str | None = None
    truth: str | None = None

    def __init__(self, path: Path) -> None:
        self.path = path

    def positions(self, names: Sequence[str]) -> list[int]:
        """Return where the named columns stand."""
        place = {name: j for j, name in enumerate(self.columns)}
        return [place[name] for name in names]

    @abstractmethod
    def count(self) -> int:
        """Return the number of rows."""

    @abstractmethod
    def blocks(self, names: Sequence[str], size: int) -> Iterator[Floats]:
        """Yield the named columns, finite, `size` rows at a time."""


def first_odd(block: Floats) -> tuple[int, int] | None:
    """Return row and column of the first cell that is NaN or too large, None where there is none."""
    odd = np.argwhere(~(np.abs(block) < LARGEST))
    return (int(odd[0, 0]), int(odd[0, 1])) if len(odd) else None


def bad_cell(path: Path, column: str, row: int, cell: object) -> ValueError:
    """Build the error for a cell that is not a finite number, or too large a one.

    >>> print(bad_cell(Path("flights.csv"), "delay", 7, "n/a"))
    column 'delay' of flights.csv must be finite numbers, got 'n/a' in row 7. Drop or ...
    """
    received = "an empty cell" if cell in (None, "") else reprlib.repr(cell)
    remedy = "Drop or fill such rows, or skip the column."
    allowed = f"numbers below {LARGEST:g} in size" if _is_finite(cell) else "finite numbers"
    return invalid(f"column {column!r}", path.name, allowed, f"{received} in row {row}", remedy)


def _is_finite(cell: Any) -> bool:
    try:
        return math.isfinite(float(cell))
    except (TypeError, ValueError):
        return False


def no_rows(path: Path, finding: str) -> ValueError:
    """Build the error for a file without examples."""
    return invalid("path", "Table", "a file with at least one row", f"{str(path)!r}, which has {finding}")


def unreadable(path: Path, format: str, error: BaseException) -> ValueError:
    """Build the error for a file that is not what its ending says, in one line whatever the reader said."""
    reason = str(error).partition("\n")[0] or type(error).__name__
    return invalid("path", "Table", f"a readable {format} file", f"{str(path)!r} ({reason})")


@contextmanager
def sound(complaint: Complaint) -> Iterator[None]:
    """Turn whatever can be wrong with bytes from elsewhere into one complaint."""
    try:
        yield
    except BaseException as error:
        # That of polars is no Exception.
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        raise complaint(error) from None
