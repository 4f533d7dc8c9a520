"""Sums over blocks of inputs in bounded memory, the data of `input_shifts`."""

from __future__ import annotations

from typing import Any

import numpy as np

from qufur.arrays import Floats
from qufur.errors import invalid

BASE = 8
"""Rows of the smallest block; blocks have 8, 16, 32, … rows as the stream grows."""
MAX_BLOCKS = 256
"""Maximum number of blocks; when it is reached, neighbouring blocks are merged in pairs."""

_NUMBERS = ("first", "count", "per_block")


class InputBlocks:
    """Sums of the columns of the inputs over blocks of rows.

    For each block and column, the sums of x − a and of |x − a| are stored, where a is the mean of the first
    eight rows, and for each column the sum of (x − a)² over all blocks. The result does not depend on how the
    stream is divided into calls.

    Parameters
    ----------
    first
        Number of rows before the first one that is added.

    Notes
    -----
    A row costs O(d), about 0.2 µs and 15 ns a column; memory is at most 4 KB a column.
    """

    def __init__(self, first: int = 0) -> None:
        self.first, self.count, self.per_block = first, 0, 1
        self.anchor: Floats | None = None
        self._pending: Floats | None = None
        self._sums: list[Floats] = []
        self._squares = np.empty(0)

    @property
    def block(self) -> int:
        """Rows in a block."""
        return BASE * self.per_block

    @property
    def sums(self) -> Floats:
        """Sums of x − a and of |x − a| over the complete blocks, of shape (blocks, 2, d)."""
        whole = self.count // self.per_block
        return np.array(self._sums[:whole]).reshape(whole, 2, len(self._squares))

    @property
    def squares(self) -> Floats:
        """Means of (x − a)² over all blocks."""
        return self._squares / max(1, BASE * self.count)

    def update(self, X: Floats) -> None:
        """Add the next rows."""
        rows = X if self._pending is None else np.concatenate([self._pending, X])
        blocks = len(rows) // BASE
        self._pending = rows[blocks * BASE :].copy()
        if blocks:
            base = rows[: blocks * BASE].reshape(blocks, BASE, rows.shape[1])
            if self.anchor is None:
                self.anchor, self._squares = base[0].mean(axis=0), np.zeros(rows.shape[1])
            away = base - self.anchor
            self._add(np.stack([away.sum(axis=1), abs(away).sum(axis=1)], axis=1), (away**2).sum(axis=1))

    def _add(self, sums: Floats, squares: Floats) -> None:
        self._squares = _added(self._squares, squares)
        while len(sums):
            filled = self.count % self.per_block
            if not filled:
                if len(self._sums) == MAX_BLOCKS:
                    self._sums = [a + b for a, b in zip(self._sums[::2], self._sums[1::2], strict=True)]
                    self.per_block *= 2
                self._sums.append(np.zeros(sums.shape[1:]))
            part, sums = np.split(sums, [self.per_block - filled])
            self._sums[-1] = _added(self._sums[-1], part)
            self.count += len(part)

    def widen(self, constants: Floats) -> None:
        """Append columns, which are constant at these values in all rows so far."""
        if self._pending is not None:
            shape = len(self._pending), len(constants)
            self._pending = np.column_stack([self._pending, np.broadcast_to(constants, shape)])
        if self.anchor is not None:
            self.anchor = np.append(self.anchor, constants)
            self._squares = np.append(self._squares, np.zeros(len(constants)))
            self._sums = [np.pad(both, ((0, 0), (0, len(constants)))) for both in self._sums]

    def save(self) -> tuple[dict[str, Any], dict[str, Floats]]:
        """Return the state as JSON values and named arrays."""
        d = len(self._squares)
        arrays = {
            "sums": np.array(self._sums).reshape(len(self._sums), 2, d),
            "squares": self._squares,
            "pending": np.empty((0, d)) if self._pending is None else self._pending,
            "anchor": np.empty(0) if self.anchor is None else self.anchor,
        }
        return {name: getattr(self, name) for name in _NUMBERS}, arrays

    @classmethod
    def restored(cls, values: dict[str, Any], arrays: dict[str, Floats]) -> InputBlocks:
        """Return the blocks from the result of `save`."""
        blocks = cls()
        for name in _NUMBERS:
            setattr(blocks, name, int(values[name]))
        if blocks.count:
            blocks.anchor = arrays["anchor"]
        blocks._sums, blocks._squares = list(arrays["sums"]), arrays["squares"]
        d, whole = len(blocks._squares), -(-blocks.count // blocks.per_block)
        if arrays["sums"].shape != (whole, 2, d) or len(arrays["anchor"]) != d or blocks.count < 0:
            raise invalid("sums", "the file", f"of {whole} blocks and {d} columns", arrays["sums"].shape)
        if arrays["pending"].shape[1]:
            blocks._pending = arrays["pending"]
        return blocks


def _added(total: Floats, parts: Floats) -> Floats:
    """Return the total after adding parts one by one, so that rounding does not depend on the calls."""
    return np.asarray(np.add.accumulate(np.concatenate([total[None], parts]), axis=0)[-1])
