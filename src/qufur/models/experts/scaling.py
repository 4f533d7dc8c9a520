"""Inputs as they come: units and offsets are learned from all inputs, labelled or not."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from qufur.arrays import Axes, Bools, Floats, check_shapes
from qufur.tables.moments import Moments

FARTHEST = 8.0
"""Deviations from the mean beyond which an input counts as this far."""
PART = 64
"""Rows that are summed up together, wherever blocks end: then no bit depends on blocks."""
ROWS = 4096
"""Rows that are summed up together where all are there."""
EMBEDDING_COLUMNS, EMBEDDING_RATIO = 32, 10.0
"""So many columns, none of which deviates more than this times their median, share one unit."""


class Units:
    """Offset and unit of every column.

    Parameters
    ----------
    mean, deviation
        Of every column; one that has not varied has deviation 0.
    """

    def __init__(self, mean: Floats, deviation: Floats) -> None:
        self.mean, self.deviation = mean, deviation
        varying = deviation > 0
        self._highest = FARTHEST * deviation
        self._lowest = 0.0 - self._highest
        root = max(1.0, float(np.count_nonzero(varying))) ** 0.5
        self._inverse = np.divide(1 / root, deviation, out=np.zeros(len(deviation)), where=varying)

    def transform(self, X: Floats) -> Floats:
        """Return rows in deviations from the mean, over the root of the number of columns that vary.

        Their squares then sum up to about 1. Columns that have not varied are 0.
        """
        near = X - self.mean
        np.minimum(near, self._highest, out=near)
        np.maximum(near, self._lowest, out=near)
        near *= self._inverse
        return near


class Scaling:
    """Mean and deviation of every column, set anew at fixed positions of the stream.

    The positions are 1, 2, 4 … 32, and then every eighth of the examples so far. Besides, the scaling is set
    anew before an input in which a column first varies, or goes beyond all values so far and eight deviations
    from the mean. All that depends on inputs alone. A column that has not varied is 0.

    Columns that look like an embedding share one deviation: directions in which it hardly varies stay small.

    Examples
    --------
    >>> scaling = Scaling()
    >>> rows = np.array([[1e9, 5.0], [1e9 + 2, 5.0]])
    >>> for x in rows:
    ...     if not scaling.ahead(x[None]):
    ...         scaling.renew(x)
    ...     scaling.take_in(x[None])
    >>> scaling.units.transform(rows)
    array([[-1.,  0.],
           [ 1.,  0.]])
    """

    def __init__(self) -> None:
        self.seen = 0
        self.next_position = 1
        self.units = Units(np.empty(0), np.empty(0))
        self._expected = self._range = np.empty((2, 0))
        self._moments = Moments()
        self._part: list[Floats] = []

    @property
    def dim(self) -> int:
        """Number of columns; 0 before the first input."""
        return len(self.units.mean)

    def ahead(self, X: Floats) -> int:
        """Return how many of the next rows come before the scaling must be set anew; 0 is right now."""
        count = min(len(X), self.next_position - self.seen - 1)
        if count < 1:
            return 0
        rows, (low, high) = X if count == len(X) else X[:count], self._expected
        new: Bools = (rows < low) | (rows > high)
        return int(new.any(axis=1).argmax()) if np.count_nonzero(new) else count

    def renew(self, x: Floats) -> None:
        """Set the scaling anew; x is the next input."""
        moments, rows = copy.copy(self._moments), np.vstack([*self._part, x])
        moments.add(rows)
        lowest, highest = self._widened(rows)
        deviation = np.where(highest > lowest, moments.std, 0.0)
        self._set(moments.mean, deviation, lowest, highest)
        if self.seen + 1 >= self.next_position:
            place = self.next_position
            self.next_position = 2 * place if place < 32 else place + place // 8

    def take_in(self, X: Floats) -> None:
        """Take note of rows."""
        self.seen += len(X)
        self._part.append(X.copy())
        if self.seen - self._moments.count < PART:
            return
        rows = np.concatenate(self._part)
        for start in range(0, len(rows) - PART + 1, PART):
            part = rows[start : start + PART]
            self._range = self._widened(part)
            self._moments.add(part)
        self._part = [rows[len(rows) - len(rows) % PART :].copy()]

    def _widened(self, X: Floats) -> Floats:
        """Return the lowest and the highest value of every column, those of some rows included."""
        low, high = np.minimum.reduce(X), np.maximum.reduce(X)
        if self._moments.count:
            low, high = np.minimum(low, self._range[0]), np.maximum(high, self._range[1])
        return np.array([low, high])

    def _set(self, mean: Floats, deviation: Floats, lowest: Floats, highest: Floats) -> None:
        far = FARTHEST * deviation
        self._expected = np.array([np.minimum(lowest, mean - far), np.maximum(highest, mean + far)])
        self.units = Units(mean, _shared(deviation))

    def save(self) -> tuple[dict[str, Any], dict[str, np.ndarray[Any, Any]]]:
        """Return everything as JSON values and named arrays."""
        moments, dim = self._moments, self.dim
        arrays = {
            "units": np.array([self.units.mean, self.units.deviation]),
            "expected": self._expected,
            "range": self._range if moments.count else np.empty((0, dim)),
            "moments": np.array(moments.arrays()) if moments.count else np.empty((0, dim)),
            "part": np.concatenate([np.empty((0, dim)), *self._part]),
        }
        return {"seen": self.seen, "next_position": self.next_position, "summed": moments.count}, arrays

    def restore(self, values: dict[str, Any], arrays: dict[str, np.ndarray[Any, Any]]) -> None:
        """Take over what `save` returned."""
        self.seen, self.next_position = values["seen"], values["next_position"]
        if not self.seen:
            return
        some = bool(values["summed"])
        axes: Axes = {"units": (2, "d"), "expected": (2, "d"), "part": "nd"}
        check_shapes(arrays, axes | {"moments": (3 * some, "d"), "range": (2 * some, "d")})
        self.units = Units(*arrays["units"])
        self._expected, self._range, self._part = arrays["expected"], arrays["range"], [arrays["part"]]
        if some:
            self._moments = Moments.restored(values["summed"], arrays["moments"])


def units_of(X: Floats) -> Units:
    """Return the units of rows that are all there, in O(dim) further memory.

    >>> units_of(np.array([[1e9, 5.0], [1e9 + 2, 5.0]])).deviation
    array([1., 0.])
    """
    moments = Moments()
    for start in range(0, len(X), ROWS):
        moments.add(X[start : start + ROWS])
    return Units(moments.mean, _shared(moments.std))


def _shared(deviation: Floats) -> Floats:
    """Let the columns of what looks like an embedding have one deviation."""
    varying = np.sort(deviation[deviation > 0])
    n = len(varying)
    if n < EMBEDDING_COLUMNS:
        return deviation
    median = (varying[(n - 1) // 2] + varying[n // 2]) / 2  # NumPy's takes longer than all the rest
    if varying[-1] > EMBEDDING_RATIO * median:
        return deviation
    return np.where(deviation > 0, np.sqrt(np.mean(deviation[deviation > 0] ** 2)), 0.0)
