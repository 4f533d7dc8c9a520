"""Excel files, read by fastexcel after a check of the extent of the sheet.

Readers of Excel files allocate the whole rectangle from the first to the last cell. A stray cell in the
last corner of a sheet makes this 17 billion cells, and the allocation aborts the process.
"""

from __future__ import annotations

import math
import posixpath
import re
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import IO
from xml.parsers import expat
from zipfile import ZipFile

from qufur.errors import import_extra, invalid
from qufur.tables.batch import Batch
from qufur.tables.formats.base import TableFile, check_width, no_rows
from qufur.tables.formats.parquet_file import batches_of

MAX_CELLS = 50_000_000
"""Maximum number of cells of the rectangle from the first to the last cell, rows times columns."""
_ADDRESS = re.compile(r"([A-Za-z]{1,3})([0-9]{1,7})")
_CELL = re.compile(rb'<(?:[\w.-]+:)?c(?=[\s/>])(?:[^>]*?\sr="([A-Z]{1,3})([0-9]{1,7})")?')
_CHUNK = 2**16


class ExcelFile(TableFile):
    """First sheet of an Excel file, with a header in its first row.

    The whole sheet is held in memory; Excel limits it to about a million rows.
    """

    format = "Excel"

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        fastexcel = import_extra("fastexcel", "excel", "reading Excel files")
        with self.sound():
            too_large = extent_error(path)
        if too_large is not None:
            raise too_large
        with self.sound():
            sheet = fastexcel.read_excel(path).load_sheet(
                0, schema_sample_rows=None, skip_whitespace_tail_rows=True, whitespace_as_null=True
            )
            frame = sheet.to_polars()
        if frame.is_empty():
            raise no_rows(path)
        self._frame = frame.rename({name: name.strip() for name in frame.columns})
        self.columns, self._count = self._frame.columns, len(frame)
        check_width(len(self.columns), path)

    def batches(self, size: int, columns: Sequence[str] | None = None) -> Iterator[Batch]:
        """Yield batches of `size` rows."""
        return batches_of(self._frame[list(columns or self.columns)], size, 1, self.path.name)


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
        with archive.open(name) as sheet:
            cells, outermost = _extent(sheet)
    if cells <= MAX_CELLS:
        return None
    allowed = f"at most {MAX_CELLS:,} cells, rows times columns"
    received = f"{cells:,}, because of {outermost}"
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


def _extent(sheet: IO[bytes]) -> tuple[int, str]:
    """Return the size of the rectangle around the cells that have a value, and its outermost cells.

    Empty cells with a format do not count.
    """
    row, column = 0, 0
    first: tuple[int, int] | None = None
    lowest = rightmost = (0, 0)
    for name, attributes in _elements(sheet):
        if name == "row":
            row, column = int(attributes.get("r", row + 1)), 0
        elif name == "c" and "r" in attributes:
            address = _ADDRESS.fullmatch(attributes["r"])
            if address is None:
                raise ValueError(f"a cell at {attributes['r']!r}")
            row, column = int(address[2]), _number(address[1].upper())
        elif name == "c":
            column += 1
        elif name in ("v", "is"):
            first = (row, column) if first is None else (min(first[0], row), min(first[1], column))
            lowest = (row, column) if row > lowest[0] else lowest
            rightmost = (row, column) if column > rightmost[1] else rightmost
    if first is None:
        return 0, ""
    cells = (lowest[0] - first[0] + 1) * (rightmost[1] - first[1] + 1)
    return cells, " and ".join(dict.fromkeys(f"{_letters(c)}{r}" for r, c in (lowest, rightmost)))


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
    package = _relations(archive, parts, "")
    workbook = next((part for type_, part in package.values() if type_.endswith("/officeDocument")), "")
    if workbook not in parts:
        return ""
    with archive.open(parts[workbook]) as file:
        sheets = [attributes for name, attributes in _elements(file) if name == "sheet"]
    ids = [value for sheet in sheets for key, value in sheet.items() if _local(key) == "id"]
    return _relations(archive, parts, workbook).get(ids[0] if ids else "", ("", ""))[1]


def _relations(archive: ZipFile, parts: dict[str, str], part: str) -> dict[str, tuple[str, str]]:
    """Return type and path of each file in the archive that `part` refers to, by relationship id."""
    folder, name = posixpath.split(part)
    relations_file = parts.get(posixpath.join(folder, "_rels", f"{name}.rels"))
    if relations_file is None:
        return {}
    relations = {}
    with archive.open(relations_file) as file:
        for element, attributes in _elements(file):
            if element == "Relationship":
                target = posixpath.join("/", folder, attributes.get("Target", "").replace("\\", "/"))
                target = posixpath.normpath(target).lower().lstrip("/")
                relations[attributes.get("Id", "")] = attributes.get("Type", ""), target
    return relations


def _elements(file: IO[bytes]) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield name and attributes of the elements of an XML file, which is parsed in chunks.

    Document type declarations, which can define entity bombs, are rejected.
    """
    started: list[tuple[str, dict[str, str]]] = []
    parser = expat.ParserCreate()
    parser.StartElementHandler = lambda name, attributes: started.append((_local(name), attributes))
    parser.StartDoctypeDeclHandler = _reject_doctype
    while True:
        chunk = file.read(_CHUNK)
        parser.Parse(chunk, not chunk)
        yield from started
        if not chunk:
            return
        started.clear()


def _local(name: str) -> str:
    return name.rpartition(":")[2]


def _reject_doctype(*declaration: object) -> None:
    raise ValueError("a document type declaration")
