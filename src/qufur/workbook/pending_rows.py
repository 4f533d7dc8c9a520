"""Pending rows as annotators see them."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from qufur.errors import invalid
from qufur.ids import Id
from qufur.pending import Pending


class PendingRows:
    """View of pending queries as annotators see them.

    Each row is stored in its query (`Pending.cells`) as one line of JSON: the index of its header, then the
    cells. Numbers and text keep their type; anything else becomes text.

    Parameters
    ----------
    headers
        The headers of all rows so far; `add` appends new ones.
    pending
        The pending queries by id.

    Examples
    --------
    >>> rows = PendingRows([], {id: Pending(id) for id in ("LH1", "LH3")})
    >>> rows.add(["flight", "wind", "delay"], [["LH1", 4.5, ""]])
    >>> rows.add(["flight", "gate", "delay"], [["LH3", "A1", ""]])
    >>> rows.columns
    ['flight', 'gate', 'wind', 'delay']
    >>> rows.cells("LH3"), rows.cells("LH2")
    ({'flight': 'LH3', 'gate': 'A1', 'delay': ''}, None)
    """

    def __init__(self, headers: list[list[str]], pending: Mapping[Id, Pending]) -> None:
        self._headers, self._pending = headers, pending

    def add(self, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        """Add the cells of pending rows; the first cell of each row is its id."""
        header = list(header)
        if header not in self._headers:
            self._headers.append(header)
        index, now = self._headers.index(header), int(1e6 * time.time())
        for row in rows:
            query, line = self._pending[row[0]], [index, *map(_plain, row)]
            query.cells = json.dumps(line, ensure_ascii=False, separators=(",", ":"))
            query.asked_at = now if query.asked_at is None else query.asked_at

    @property
    def columns(self) -> list[str]:
        """The union of the columns of all rows; an added column follows its predecessor in its own header."""
        merged: list[str] = []
        headers = {tuple(cells): None for cells in map(self.cells, self._pending) if cells}
        for header in headers:
            for index, name in enumerate(header):
                if name not in merged:
                    merged.insert(merged.index(header[index - 1]) + 1 if index else 0, name)
        return merged

    def cells(self, id: Id) -> dict[str, Any] | None:
        """Return the cells of a row by column; None if they were not stored."""
        line = self._pending[id].cells if id in self._pending else None
        if line is None:
            return None
        try:
            index, *cells = json.loads(line)
            return dict(zip(self._headers[index], cells, strict=True))
        except (ValueError, TypeError, IndexError):
            raise invalid("pending rows", "the state file", "lines of cells", "malformed content") from None


def restore_lines(pending: Mapping[Id, Pending], lines: np.ndarray[Any, np.dtype[np.uint8]]) -> None:
    """Add the cells and times of a workbook file of version 1.

    Its lines contain the time of the query, in seconds, after the index of the header.
    """
    texts = lines.tobytes().decode("utf-8", "surrogatepass").split("\n") if pending else []
    for query, text in zip(pending.values(), texts, strict=True):
        if text:
            index, at, *cells = json.loads(text)
            query.asked_at = 1_000_000 * int(at)
            query.cells = json.dumps([index, *cells], ensure_ascii=False, separators=(",", ":"))


def by_column(row: Mapping[str, Any], columns: Sequence[str]) -> list[Any]:
    """Return the cells of a row in the order of columns, empty where it has none.

    >>> by_column({"a": 1}, ["b", "a"])
    ['', 1]
    """
    return [row.get(name, "") for name in columns]


def _plain(cell: Any) -> Any:
    cell = cell.item() if isinstance(cell, np.generic) else cell
    return cell if cell is None or isinstance(cell, str | int | float) else str(cell)
