"""Running mean and scale of the inputs, labelled or not."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from qufur.arrays import Axes, Bools, Floats, check_shapes
from qufur.moments import Moments

MAX_DEVIATIONS = 8.0
"""Deviations from the mean to which inputs are clipped."""
CHUNK_ROWS = 64
"""Rows per summation of a stream. Chunks do not depend on blocks, so neither do the bits of the sums."""
ARRAY_CHUNK_ROWS = 4096
"""Rows per summation of a whole array."""
EMBEDDING_COLUMNS, EMBEDDING_RATIO = 32, 10.0
"""At least 32 columns whose deviations are at most 10 times their median share one deviation."""


class Units:
    """Offset and scale of every column.

    Parameters
    ----------
    mean, deviation
        Mean and deviation of every column; the deviation of a constant column is 0.
    """

    def __init__(self, mean: Floats, deviation: Floats) -> None:
        self.mean, self.deviation = mean, deviation
        varying = deviation > 0
        self._highest = MAX_DEVIATIONS * deviation
        self._lowest = 0.0 - self._highest
        root = max(1.0, float(np.count_nonzero(varying))) ** 0.5
        self._inverse = np.divide(1 / root, deviation, out=np.zeros(len(deviation)), where=varying)

    def transform(self, X: Floats) -> Floats:
        """Return standardised rows, divided by the root of the number of varying columns.

        The squared norms are then about 1. Constant columns are 0.
        """
        scaled = X - self.mean
        np.minimum(scaled, self._highest, out=scaled)
        np.maximum(scaled, self._lowest, out=scaled)
        scaled *= self._inverse
        return scaled


class Scaling:
    """Mean and deviation of every column, updated at fixed positions of the stream.

    The positions are 1, 2, 4 … 32, and then each time the stream has grown by an eighth. The scaling is also
    updated before an input in which a column varies for the first time, or exceeds both all values so far
    and eight deviations from the mean. Updates depend on inputs alone. A constant column is scaled to 0.

    Columns that look like an embedding share one deviation, so that directions of small variance stay small.

    Examples
    --------
    >>> scaling = Scaling()
    >>> rows = np.array([[1e9, 5.0], [1e9 + 2, 5.0]])
    >>> for x in rows:
    ...     if not scaling.ahead(x[None]):
    ...         scaling.renew(x)
    ...     scaling.update(x[None])
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
        self._chunk: list[Floats] = []

    @property
    def dim(self) -> int:
        """Number of columns; 0 before the first input."""
        return len(self.units.mean)

    def ahead(self, X: Floats) -> int:
        """Return the number of next rows before an update of the scaling; 0 if it is due."""
        count = min(len(X), self.next_position - self.seen - 1)
        if count < 1:
            return 0
        rows = X if count == len(X) else X[:count]
        low, high = self._expected
        unexpected: Bools = (rows < low) | (rows > high)
        return int(unexpected.any(axis=1).argmax()) if np.count_nonzero(unexpected) else count

    def renew(self, x: Floats) -> None:
        """Recompute the scaling from all rows so far and x, the next input."""
        moments, rows = copy.copy(self._moments), np.vstack([*self._chunk, x])
        moments.add(rows)
        lowest, highest = self._range_with(rows)
        mean, deviation = moments.mean, np.where(highest > lowest, moments.std, 0.0)
        far = MAX_DEVIATIONS * deviation
        self._expected = np.array([np.minimum(lowest, mean - far), np.maximum(highest, mean + far)])
        self.units = Units(mean, _share_deviation(deviation))
        if self.seen + 1 >= self.next_position:
            position = self.next_position
            self.next_position = 2 * position if position < 32 else position + position // 8

    def update(self, X: Floats) -> None:
        """Add rows to the statistics; the scaling does not change before `renew`."""
        self.seen += len(X)
        self._chunk.append(X.copy())
        if self.seen - self._moments.count < CHUNK_ROWS:
            return
        rows = np.concatenate(self._chunk)
        for start in range(0, len(rows) - CHUNK_ROWS + 1, CHUNK_ROWS):
            chunk = rows[start : start + CHUNK_ROWS]
            self._range = self._range_with(chunk)
            self._moments.add(chunk)
        self._chunk = [rows[len(rows) - len(rows) % CHUNK_ROWS :].copy()]

    def _range_with(self, X: Floats) -> Floats:
        """Return lowest and highest value of every column, including these rows."""
        low, high = np.minimum.reduce(X), np.maximum.reduce(X)
        if self._moments.count:
            low, high = np.minimum(low, self._range[0]), np.maximum(high, self._range[1])
        return np.array([low, high])

    def save(self) -> tuple[dict[str, Any], dict[str, np.ndarray[Any, Any]]]:
        """Return the state as JSON values and named arrays."""
        moments, dim = self._moments, self.dim
        arrays = {
            "units": np.array([self.units.mean, self.units.deviation]),
            "expected": self._expected,
            "range": self._range if moments.count else np.empty((0, dim)),
            "moments": np.array(moments.arrays()) if moments.count else np.empty((0, dim)),
            "part": np.concatenate([np.empty((0, dim)), *self._chunk]),
        }
        return {"seen": self.seen, "next_position": self.next_position, "summed": moments.count}, arrays

    def restore(self, values: dict[str, Any], arrays: dict[str, np.ndarray[Any, Any]]) -> None:
        """Load the state that `save` returned."""
        self.seen, self.next_position = values["seen"], values["next_position"]
        if not self.seen:
            return
        has_sums = bool(values["summed"])
        axes: Axes = {"units": (2, "d"), "expected": (2, "d"), "part": "nd"}
        axes |= {"moments": (3 if has_sums else 0, "d"), "range": (2 if has_sums else 0, "d")}
        check_shapes(arrays, axes)
        self.units = Units(*arrays["units"])
        self._expected, self._range, self._chunk = arrays["expected"], arrays["range"], [arrays["part"]]
        if has_sums:
            self._moments = Moments.restored(values["summed"], arrays["moments"])


def units_of(X: Floats) -> Units:
    """Return the units of the rows of an array, in O(dim) additional memory.

    >>> units_of(np.array([[1e9, 5.0], [1e9 + 2, 5.0]])).deviation
    array([1., 0.])
    """
    moments = Moments()
    for start in range(0, len(X), ARRAY_CHUNK_ROWS):
        moments.add(X[start : start + ARRAY_CHUNK_ROWS])
    return Units(moments.mean, _share_deviation(moments.std))


def _share_deviation(deviation: Floats) -> Floats:
    """Return one common deviation for columns that look like an embedding."""
    varying = np.sort(deviation[deviation > 0])
    n = len(varying)
    if n < EMBEDDING_COLUMNS:
        return deviation
    median = (varying[(n - 1) // 2] + varying[n // 2]) / 2  # np.median would dominate the cost of an update
    if varying[-1] > EMBEDDING_RATIO * median:
        return deviation
    return np.where(deviation > 0, np.sqrt(np.mean(deviation[deviation > 0] ** 2)), 0.0)
