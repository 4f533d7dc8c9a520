"""Inputs as they come: units and offsets are learned from all inputs, labelled or not."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from qufur.arrays import Bools, Floats, check_shapes
from qufur.tables.moments import Moments

FARTHEST = 8.0
"""Deviations from the mean beyond which an input counts as this far."""
PART = 64
"""Rows that are summed up together, wherever blocks end: then no bit depends on blocks."""
EMBEDDING_COLUMNS, EMBEDDING_RATIO = 32, 10.0
"""So many columns, none of which deviates more than this times their median, share one unit."""


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
    >>> scaling.transform(rows)
    array([[-1.,  0.],
           [ 1.,  0.]])
    """

    def __init__(self) -> None:
        self.seen = 0
        self.next_position = 1
        self.mean = self.deviation = self.lowest = self.highest = np.empty(0)
        self._lowest = self._highest = np.empty(0)
        self._moments = Moments()
        self._part: list[Floats] = []

    @property
    def dim(self) -> int:
        """Number of columns; 0 before the first input."""
        return len(self.mean)

    def ahead(self, X: Floats) -> int:
        """Return how many of the next rows come before the scaling must be set anew; 0 is right now."""
        count = min(len(X), self.next_position - self.seen - 1)
        if count < 1:
            return 0
        rows = X[:count]
        far: Bools = np.abs(rows - self.mean) > FARTHEST * self.deviation
        new: Bools = far & ((rows < self.lowest) | (rows > self.highest))
        places = np.flatnonzero(new.any(axis=1))
        return int(places[0]) if len(places) else count

    def renew(self, x: Floats) -> None:
        """Set the scaling anew; x is the next input."""
        moments = copy.deepcopy(self._moments)
        rows = np.array([*self._part, x])
        moments.add(rows)
        lowest, highest = rows.min(axis=0), rows.max(axis=0)
        if self.seen:
            lowest, highest = np.minimum(lowest, self._lowest), np.maximum(highest, self._highest)
        self.mean, self.lowest, self.highest = moments.mean, lowest, highest
        self.deviation = _shared(np.where(highest > lowest, moments.std, 0.0))
        if self.seen + 1 >= self.next_position:
            place = self.next_position
            self.next_position = 2 * place if place < 32 else place + place // 8

    def take_in(self, X: Floats) -> None:
        """Take note of rows."""
        if not len(X):
            return
        lowest, highest = X.min(axis=0), X.max(axis=0)
        if self.seen:
            lowest, highest = np.minimum(lowest, self._lowest), np.maximum(highest, self._highest)
        self._lowest, self._highest = lowest, highest
        self.seen += len(X)
        self._part.extend(X.copy())
        while len(self._part) >= PART:
            self._moments.add(np.array(self._part[:PART]))
            del self._part[:PART]

    def transform(self, X: Floats) -> Floats:
        """Return the rows in deviations from the mean, over the root of the number of columns that vary.

        Their squares then sum up to about 1.
        """
        varying = self.deviation > 0
        unit = self.deviation * max(1.0, float(np.count_nonzero(varying))) ** 0.5
        most = FARTHEST * self.deviation
        near = np.clip(X - self.mean, -most, most)
        return np.asarray(np.divide(near, unit, out=np.zeros(X.shape), where=varying))

    def save(self) -> tuple[dict[str, Any], dict[str, np.ndarray[Any, Any]]]:
        """Return everything as JSON values and named arrays."""
        moments = self._moments
        names = ("mean", "deviation", "lowest", "highest")
        arrays = {name: getattr(self, name) for name in names}
        arrays["moments"] = np.array(moments.arrays()) if moments.count else np.empty((0, 0))
        arrays["part"] = np.array(self._part).reshape(len(self._part), len(self.mean))
        arrays["range"] = np.array([self._lowest, self._highest]) if self.seen else np.empty((0, 0))
        return {"seen": self.seen, "next_position": self.next_position, "summed": moments.count}, arrays

    def restore(self, values: dict[str, Any], arrays: dict[str, np.ndarray[Any, Any]]) -> None:
        """Take over what `save` returned."""
        self.seen, self.next_position = values["seen"], values["next_position"]
        if not self.seen:
            return
        dim = len(arrays["mean"])
        axes = dict.fromkeys(("mean", "deviation", "lowest", "highest"), "d")
        check_shapes(arrays, {**axes, "part": "nd", "range": (2, "d")}, d=dim)
        for name in axes:
            setattr(self, name, arrays[name])
        self._part, (self._lowest, self._highest) = list(arrays["part"]), arrays["range"]
        if values["summed"]:
            check_shapes(arrays, {"moments": (3, "d")}, d=dim)
            self._moments = Moments.restored(values["summed"], arrays["moments"])


def _shared(deviation: Floats) -> Floats:
    """Let the columns of what looks like an embedding have one deviation."""
    varying = deviation[deviation > 0]
    if len(varying) < EMBEDDING_COLUMNS or varying.max() > EMBEDDING_RATIO * np.median(varying):
        return deviation
    return np.where(deviation > 0, np.sqrt(np.mean(varying**2)), 0.0)
