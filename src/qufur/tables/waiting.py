"""The rows whose labels are awaited, as they were written for the people who label."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from qufur.errors import invalid

Name = str | int
Bytes = np.ndarray[Any, np.dtype[np.uint8]]


class Waiting:
    """Rows by id, each as one line of JSON: its header, when it was asked about, and its cells.

    Numbers and text stay what they are, and anything else becomes text. Those are saved that still wait.

    Examples
    --------
    >>> waiting = Waiting()
    >>> waiting.add(["flight", "wind", "delay"], [["LH1", 4.5, ""], ["LH2", None, ""]])
    >>> waiting.add(["flight", "gate", "delay"], [["LH3", "A1", ""]])
    >>> waiting.columns
    ['flight', 'gate', 'wind', 'delay']
    >>> left = ["LH3"]
    >>> waiting = Waiting.restored(*waiting.save(left), left)
    >>> waiting.columns, waiting.cells("LH3"), waiting.cells("LH1")
    (['flight', 'gate', 'delay'], {'flight': 'LH3', 'gate': 'A1', 'delay': ''}, None)
    """

    def __init__(self) -> None:
        self._headers: list[list[str]] = []
        self._lines: dict[Name, str] = {}

    def add(self, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        """Take in rows that begin with their id."""
        header = list(header)
        if header not in self._headers:
            self._headers.append(header)
        place, now = self._headers.index(header), int(time.time())
        for row in rows:
            line = [place, now, *map(_plain, row)]
            self._lines[row[0]] = json.dumps(line, ensure_ascii=False, separators=(",", ":"))

    @property
    def columns(self) -> list[str]:
        """The columns of all rows; one that only a later header has stands after the one before it there."""
        merged: list[str] = []
        headers = {tuple(found[1]): None for found in map(self._parsed, self._lines) if found}
        for header in headers:
            for place, name in enumerate(header):
                if name not in merged:
                    merged.insert(merged.index(header[place - 1]) + 1 if place else 0, name)
        return merged

    def cells(self, id: Name) -> dict[str, Any] | None:
        """Return a row by column, or None if it was asked about before rows were kept."""
        found = self._parsed(id)
        return None if found is None else found[1]

    def asked_at(self, id: Name) -> int | None:
        """Return when a row was asked about, in seconds since 1970; None if that is not known."""
        found = self._parsed(id)
        return None if found is None else found[0]

    def _parsed(self, id: Name) -> tuple[int, dict[str, Any]] | None:
        """Return when a row was asked about, and its cells; files from elsewhere may say anything."""
        if id not in self._lines:
            return None
        try:
            place, at, *cells = json.loads(self._lines[id])
            return int(at), dict(zip(self._headers[place], cells, strict=True))
        except (ValueError, TypeError, IndexError, OverflowError):
            raise invalid("rows that wait", "the state file", "lines of cells", "others") from None

    def save(self, ids: Sequence[Name]) -> tuple[list[list[str]], Bytes]:
        """Return the headers, and the lines of these rows as bytes, of which a file may have any number."""
        lines = "\n".join(self._lines.get(id, "") for id in ids)
        return self._headers, np.frombuffer(lines.encode("utf-8", "surrogatepass"), dtype=np.uint8)

    @classmethod
    def restored(cls, headers: Sequence[Sequence[str]], lines: Bytes, ids: Sequence[Name]) -> Waiting:
        """Return what `save` returned for these rows."""
        waiting = cls()
        waiting._headers = [list(header) for header in headers]
        texts = lines.tobytes().decode("utf-8", "surrogatepass").split("\n") if ids else []
        waiting._lines = {id: text for id, text in zip(ids, texts, strict=True) if text}
        return waiting


def by_column(row: Mapping[str, Any], columns: Sequence[str]) -> list[Any]:
    """Return the cells of a row in the order of columns, empty where it has none.

    >>> by_column({"a": 1}, ["b", "a"])
    ['', 1]
    """
    return [row.get(name, "") for name in columns]


def _plain(cell: Any) -> Any:
    cell = cell.item() if isinstance(cell, np.generic) else cell
    return cell if cell is None or isinstance(cell, str | int | float) else str(cell)
