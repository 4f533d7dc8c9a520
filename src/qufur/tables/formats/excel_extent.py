"""Limit on the extent of an Excel sheet, checked before its cells are loaded.

Readers of Excel files allocate the whole rectangle from the first to the last cell. A stray cell in the
last corner of a sheet makes this 17 billion cells, and the allocation aborts the process.
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

MAX_CELLS = 50_000_000
"""Maximum number of cells of the rectangle from the first to the last cell, rows times columns."""
_ADDRESS = re.compile(r"([A-Za-z]{1,3})([0-9]{1,7})")
_CELL = re.compile(rb'<(?:[\w.-]+:)?c(?=[\s/>])(?:[^>]*?\sr="([A-Z]{1,3})([0-9]{1,7})")?')
_CHUNK = 2**16
Attributes = dict[str, str]


def extent_error(path: Path) -> ValueError | None:
    """Return an error that names the outermost cells if the first sheet spans too many cells, else None."""
    with ZipFile(path) as archive:
        parts = {name.replace("\\", "/").lower(): name for name in archive.namelist()}
        name = parts.get(_first_sheet(archive, parts))
        if name is None:
            return None  # fastexcel raises the error
        with archive.open(name) as sheet:
            if _upper_bound(sheet) <= MAX_CELLS:
                return None
        extent = _Extent()
        with archive.open(name) as sheet:
            _parse(sheet, extent.start)
    if extent.cells <= MAX_CELLS:
        return None
    outermost = " and ".join(dict.fromkeys([extent.lowest[1], extent.rightmost[1]]))
    allowed = f"at most {MAX_CELLS:,} cells, rows times columns"
    received = f"{extent.cells:,}, because of {outermost}"
    remedy = f"Clear {outermost} if not part of the table, or save the table as CSV."
    return invalid("first sheet", path.name, allowed, received, remedy)


def _upper_bound(sheet: IO[bytes]) -> float:
    """Return an upper bound on the extent of a sheet, from the addresses of all cells, empty or not.

    The bound is infinite if there are no cells or if a cell has no address. An XML parser takes six times as
    long as this search.
    """
    columns: set[bytes] = set()
    row, rest = 0, b""
    while chunk := sheet.read(_CHUNK):
        chunk = rest + chunk
        last = chunk.rfind(b"<")
        end = last if last >= 0 and b">" not in chunk[last:] else len(chunk)  # keep an incomplete tag
        addresses, rest = {*_CELL.findall(chunk, 0, end)}, chunk[end:]
        columns.update(letters for letters, _ in addresses)
        row = max([row, *(int(digits or b"0") for _, digits in addresses)])
    if not columns or b"" in columns:
        return math.inf
    return row * max(_number(letters.decode()) for letters in columns)


class _Extent:
    """Bounding rectangle of the cells that have a value. Empty cells with a format do not count."""

    def __init__(self) -> None:
        self.lowest = self.rightmost = (0, "")
        self._first_row = self._first_column = 0
        self._row = self._column = 0

    @property
    def cells(self) -> int:
        """Number of cells, rows times columns."""
        return (self.lowest[0] - self._first_row + 1) * (self.rightmost[0] - self._first_column + 1)

    def start(self, name: str, attributes: Attributes) -> None:
        """Handle the start tag of an XML element."""
        if name == "row":
            self._row, self._column = int(attributes.get("r", self._row + 1)), 0
        elif name == "c" and "r" in attributes:
            address = _ADDRESS.fullmatch(attributes["r"])
            if address is None:
                raise ValueError(f"a cell at {attributes['r']!r}")
            self._row, self._column = int(address[2]), _number(address[1].upper())
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
    """Return the number of a column from its letters.

    >>> _number("A"), _number("XFD")
    (1, 16384)
    """
    number = 0
    for letter in letters:
        number = 26 * number + ord(letter) - 64
    return number


def _letters(column: int) -> str:
    """Return the letters of a column.

    >>> _letters(1), _letters(16384)
    ('A', 'XFD')
    """
    letters = ""
    while column:
        column, index = divmod(column - 1, 26)
        letters = chr(65 + index) + letters
    return letters


def _first_sheet(archive: ZipFile, parts: dict[str, str]) -> str:
    """Return the path in the archive of the first sheet, empty if there is none."""
    sheets: list[str] = []

    def sheet(name: str, attributes: Attributes) -> None:
        if name == "sheet":
            sheets.extend(value for key, value in attributes.items() if _local(key) == "id")

    package = _relations(archive, parts, "")
    workbook = next((part for type_, part in package.values() if type_.endswith("/officeDocument")), "")
    if workbook not in parts:
        return ""
    with archive.open(parts[workbook]) as file:
        _parse(file, sheet)
    return _relations(archive, parts, workbook).get(sheets[0] if sheets else "", ("", ""))[1]


def _relations(archive: ZipFile, parts: dict[str, str], part: str) -> dict[str, tuple[str, str]]:
    """Return type and path of each file in the archive that `part` refers to, by relationship id."""
    folder, name = posixpath.split(part)
    relations_file = parts.get(posixpath.join(folder, "_rels", f"{name}.rels"))
    relations: dict[str, tuple[str, str]] = {}

    def relation(name: str, attributes: Attributes) -> None:
        if name == "Relationship":
            target = posixpath.join("/", folder, attributes.get("Target", "").replace("\\", "/"))
            target = posixpath.normpath(target).lower().lstrip("/")
            relations[attributes.get("Id", "")] = attributes.get("Type", ""), target

    if relations_file is not None:
        with archive.open(relations_file) as file:
            _parse(file, relation)
    return relations


def _parse(file: IO[bytes], start: Callable[[str, Attributes], None]) -> None:
    """Parse an XML file in chunks. Reject document type declarations, which can define entity bombs."""
    parser = expat.ParserCreate()
    parser.StartElementHandler = lambda name, attributes: start(_local(name), attributes)
    parser.StartDoctypeDeclHandler = _reject_doctype
    while chunk := file.read(_CHUNK):
        parser.Parse(chunk)
    parser.Parse(b"", True)


def _local(name: str) -> str:
    return name.rpartition(":")[2]


def _reject_doctype(*declaration: object) -> None:
    raise ValueError("a document type declaration")
