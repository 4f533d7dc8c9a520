"""Pending rows as annotators see them."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from qufur.errors import invalid

Name = str | int
Bytes = np.ndarray[Any, np.dtype[np.uint8]]


class PendingRows:
    """Pending rows by id, each stored as one line of JSON: index of its header, query time, and cells.

    Numbers and text keep their type; anything else becomes text. Only rows that are still pending are saved.

    Examples
    --------
    >>> rows = PendingRows()
    >>> rows.add(["flight", "wind", "delay"], [["LH1", 4.5, ""], ["LH2", None, ""]])
    >>> rows.add(["flight", "gate", "delay"], [["LH3", "A1", ""]])
    >>> rows.columns
    ['flight', 'gate', 'wind', 'delay']
    >>> pending = ["LH3"]
    >>> rows = PendingRows.restored(*rows.save(pending), pending)
    >>> rows.columns, rows.cells("LH3"), rows.cells("LH1")
    (['flight', 'gate', 'delay'], {'flight': 'LH3', 'gate': 'A1', 'delay': ''}, None)
    """

    def __init__(self) -> None:
        self._headers: list[list[str]] = []
        self._lines: dict[Name, str] = {}

    def add(self, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        """Add rows whose first cell is their id."""
        header = list(header)
        if header not in self._headers:
            self._headers.append(header)
        index, now = self._headers.index(header), int(time.time())
        for row in rows:
            line = [index, now, *map(_plain, row)]
            self._lines[row[0]] = json.dumps(line, ensure_ascii=False, separators=(",", ":"))

    @property
    def columns(self) -> list[str]:
        """The union of the columns of all rows; an added column follows its predecessor in its own header."""
        merged: list[str] = []
        headers = {tuple(parsed[1]): None for parsed in map(self._parsed, self._lines) if parsed}
        for header in headers:
            for index, name in enumerate(header):
                if name not in merged:
                    merged.insert(merged.index(header[index - 1]) + 1 if index else 0, name)
        return merged

    def cells(self, id: Name) -> dict[str, Any] | None:
        """Return the cells of a row by column; None if they were not stored."""
        parsed = self._parsed(id)
        return None if parsed is None else parsed[1]

    def asked_at(self, id: Name) -> int | None:
        """Return when a row was queried, in seconds since 1970; None if unknown."""
        parsed = self._parsed(id)
        return None if parsed is None else parsed[0]

    def _parsed(self, id: Name) -> tuple[int, dict[str, Any]] | None:
        """Return query time and cells of a row; raise `InvalidError` for malformed content of a file."""
        if id not in self._lines:
            return None
        try:
            index, at, *cells = json.loads(self._lines[id])
            return int(at), dict(zip(self._headers[index], cells, strict=True))
        except (ValueError, TypeError, IndexError, OverflowError):
            raise invalid("pending rows", "the state file", "lines of cells", "malformed content") from None

    def save(self, ids: Sequence[Name]) -> tuple[list[list[str]], Bytes]:
        """Return the headers, and the lines of these rows as bytes.

        An array of a file may have any size; its header, which stores JSON values, may not.
        """
        lines = "\n".join(self._lines.get(id, "") for id in ids)
        return self._headers, np.frombuffer(lines.encode("utf-8", "surrogatepass"), dtype=np.uint8)

    @classmethod
    def restored(cls, headers: Sequence[Sequence[str]], lines: Bytes, ids: Sequence[Name]) -> PendingRows:
        """Rebuild pending rows from the result of `save` for the same ids."""
        rows = cls()
        rows._headers = [list(header) for header in headers]
        texts = lines.tobytes().decode("utf-8", "surrogatepass").split("\n") if ids else []
        rows._lines = {id: text for id, text in zip(ids, texts, strict=True) if text}
        return rows


def by_column(row: Mapping[str, Any], columns: Sequence[str]) -> list[Any]:
    """Return the cells of a row in the order of columns, empty where it has none.

    >>> by_column({"a": 1}, ["b", "a"])
    ['', 1]
    """
    return [row.get(name, "") for name in columns]


def _plain(cell: Any) -> Any:
    cell = cell.item() if isinstance(cell, np.generic) else cell
    return cell if cell is None or isinstance(cell, str | int | float) else str(cell)
