"""A first line that is no header."""

from __future__ import annotations

from pathlib import Path

from qufur.errors import invalid
from qufur.tables.cells import numbers

_REMEDY = "Put a line of names on top"


def header_notes(columns: list[str], path: Path) -> list[str]:
    """Return what to say of names that are numbers, and complain if they can only be cells.

    Names 0, 1, 2, … are those that tables without names are saved with.

    >>> header_notes(["wind", "2.5"], Path("t.csv"))
    ['t.csv: a column is called 2.5; if that is a cell, the header is missing. Put a line of names on top.']
    """
    found = [name for name in columns if name and numbers([name]) is not None]
    decimals = [name for name in found if not name.isdecimal()]
    if not found or columns == [str(place) for place in range(len(columns))]:
        return []
    all_numbers = len(found) == len(columns)
    if all_numbers and (decimals or len(set(columns)) < len(columns)):
        received = f"numbers such as {(decimals or found)[0]!r}"
        raise invalid("header", path.name, "names of columns", received, f"{_REMEDY}.")
    if not (all_numbers or decimals):
        return []
    called = (decimals or found)[0]
    return [f"{path.name}: a column is called {called}; if that is a cell, the header is missing. {_REMEDY}."]
