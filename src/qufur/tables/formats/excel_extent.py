"""The extent of a sheet, looked up before its cells are loaded.

A reader of Excel files reserves memory for the whole rectangle from the first to the last cell. One stray
cell in the last corner of a sheet makes this 17 billion cells, for which the process would be aborted.
"""

from __future__ import annotations

import math
import posixpath
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import IO
from xml.parsers import expat
from zipfile import ZipFile

from qufur.errors import invalid

MOST_CELLS = 50_000_000
"""Cells from the first to the last, in rows times columns."""
_ADDRESS = re.compile(r"([A-Za-z]{1,3})([0-9]{1,7})")
_CELL = re.compile(rb'<(?:[\w.-]+:)?c(?=[\s/>])(?:[^>]*?\sr="([A-Z]{1,3})([0-9]{1,7})")?')
_PART = 2**16
Attributes = dict[str, str]


def refused_extent(path: Path) -> ValueError | None:
    """Return the error for an Excel file whose first sheet spans too many cells, with the outermost ones."""
    with ZipFile(path) as archive:
        parts = {name.replace("\\", "/").lower(): name for name in archive.namelist()}
        name = parts.get(_first_sheet(archive, parts))
        if name is None:
            return None  # the reader says what is wrong
        with archive.open(name) as sheet:
            if _most_cells(sheet) <= MOST_CELLS:
                return None
        extent = _Extent()
        with archive.open(name) as sheet:
            _parse(sheet, extent.start)
    if extent.cells <= MOST_CELLS:
        return None
    outermost = " and ".join(dict.fromkeys([extent.lowest[1], extent.rightmost[1]]))
    allowed = f"at most {MOST_CELLS:,} cells, rows times columns"
    received = f"{extent.cells:,}, because of {outermost}"
    remedy = f"Clear {outermost} if no part of the table, or save the table as CSV."
    return invalid("first sheet", path.name, allowed, received, remedy)


def _most_cells(sheet: IO[bytes]) -> float:
    """Return how many cells a sheet spans at most, by the addresses of all cells, whether empty or not.

    It is infinite where a cell has no usual address, or no cell is found. A parser takes six times as long.
    """
    columns: set[bytes] = set()
    row, rest = 0, b""
    while part := sheet.read(_PART):
        part = rest + part
        last = part.rfind(b"<")
        end = last if last >= 0 and b">" not in part[last:] else len(part)
        found, rest = {*_CELL.findall(part, 0, end)}, part[end:]
        columns.update(letters for letters, _ in found)
        row = max([row, *(int(digits or b"0") for _, digits in found)])
    if not columns or b"" in columns:
        return math.inf
    return row * max(_number(letters.decode()) for letters in columns)


class _Extent:
    """The rectangle of the cells with a value; empty cells with a format do not count."""

    def __init__(self) -> None:
        self.lowest = self.rightmost = (0, "")
        self._first_row = self._first_column = 0
        self._row = self._column = 0

    @property
    def cells(self) -> int:
        """Rows times columns."""
        return (self.lowest[0] - self._first_row + 1) * (self.rightmost[0] - self._first_column + 1)

    def start(self, name: str, attributes: Attributes) -> None:
        """Follow the start of an element."""
        if name == "row":
            self._row, self._column = int(attributes.get("r", self._row + 1)), 0
        elif name == "c" and "r" in attributes:
            found = _ADDRESS.fullmatch(attributes["r"])
            if found is None:
                raise ValueError(f"a cell at {attributes['r']!r}")
            self._row, self._column = int(found[2]), _number(found[1].upper())
        elif name == "c":
            self._column += 1
        elif name in ("v", "is"):
            self._add(self._row, self._column)

    def _add(self, row: int, column: int) -> None:
        if not self.lowest[1]:
            self._first_row, self._first_column = row, column
        self._first_row, self._first_column = min(self._first_row, row), min(self._first_column, column)
        if row > self.lowest[0]:
            self.lowest = row, f"{_letters(column)}{row}"
        if column > self.rightmost[0]:
            self.rightmost = column, f"{_letters(column)}{row}"


@cache
def _number(letters: str) -> int:
    """Return the number of a column.

    >>> _number("A"), _number("XFD")
    (1, 16384)
    """
    number = 0
    for letter in letters:
        number = 26 * number + ord(letter) - 64
    return number


def _letters(column: int) -> str:
    """Return what a column is called.

    >>> _letters(1), _letters(16384)
    ('A', 'XFD')
    """
    letters = ""
    while column:
        column, place = divmod(column - 1, 26)
        letters = chr(65 + place) + letters
    return letters


def _first_sheet(archive: ZipFile, parts: dict[str, str]) -> str:
    """Return which part of a workbook is its first sheet; an empty name if that is not to be found."""
    sheets: list[str] = []

    def sheet(name: str, attributes: Attributes) -> None:
        if name == "sheet":
            sheets.extend(value for key, value in attributes.items() if _local(key) == "id")

    package = _relations(archive, parts, "")
    book = next((part for kind, part in package.values() if kind.endswith("/officeDocument")), "")
    if book not in parts:
        return ""
    with archive.open(parts[book]) as file:
        _parse(file, sheet)
    return _relations(archive, parts, book).get(sheets[0] if sheets else "", ("", ""))[1]


def _relations(archive: ZipFile, parts: dict[str, str], part: str) -> dict[str, tuple[str, str]]:
    """Return the kind and the name of each part that another one refers to, by the id that it uses."""
    folder, name = posixpath.split(part)
    listed = parts.get(posixpath.join(folder, "_rels", f"{name}.rels"))
    found: dict[str, tuple[str, str]] = {}

    def relation(name: str, attributes: Attributes) -> None:
        if name == "Relationship":
            target = posixpath.join("/", folder, attributes.get("Target", "").replace("\\", "/"))
            called = posixpath.normpath(target).lower().lstrip("/")
            found[attributes.get("Id", "")] = attributes.get("Type", ""), called

    if listed is not None:
        with archive.open(listed) as file:
            _parse(file, relation)
    return found


def _parse(file: IO[bytes], start: Callable[[str, Attributes], None]) -> None:
    """Read an XML file in parts; one that declares entities, which can be a bomb, is refused."""
    parser = expat.ParserCreate()
    parser.StartElementHandler = lambda name, attributes: start(_local(name), attributes)
    parser.StartDoctypeDeclHandler = _refuse
    while part := file.read(_PART):
        parser.Parse(part)
    parser.Parse(b"", True)


def _local(name: str) -> str:
    return name.rpartition(":")[2]


def _refuse(*declaration: object) -> None:
    raise ValueError("it declares a document type")
