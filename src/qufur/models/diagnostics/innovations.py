"""One-step-ahead prediction errors (innovations) of a linear model."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from qufur._internal.tensors import beside, concatenated, on_host
from qufur.arrays import Axes, Floats
from qufur.models.diagnostics.misfit import MisfitTests
from qufur.models.gram.update import Absorbed


class Innovations:
    """Label count n, Σ y², and tests of the scaled one-step-ahead errors e = (y − ŷ)/√(1 + q).

    If y = ⟨θ, x⟩ + noise with θ ~ N(0, τ²I) and λ = σ²/τ², the errors are independent N(0, σ²). Up to
    rounding, they depend neither on the blocks in which labels arrive nor on the form of M. The tests process
    up to 512 labels in one batch, so a label costs two products of length d and a copy of its row; memory
    O(d). Rows given as tensors are stored and multiplied on their device.

    Attributes
    ----------
    count, squares
        n and Σ y².

    Examples
    --------
    >>> innovations = Innovations(2)
    >>> X, y = np.array([[1.0, 0.0]]), np.array([0.5])
    >>> innovations.note(Absorbed(X, y, innovation=np.array([0.25]), innovation_scale=np.array([2.0])))
    >>> innovations.count, innovations.squares, innovations.tested().count
    (1.0, 0.25, 1.0)
    """

    label_capacity = 512  # a multiple of row_capacity, which is a multiple of a segment
    row_capacity = 64
    axes: ClassVar[Axes] = {
        "innovations.labels": (4, label_capacity),
        "innovations.rows": (row_capacity, "d"),
        "innovations.pull": "d",
        "innovations.tests": (20,),
        "innovations.early": (3,),
        "innovations.counters": (3,),
    }

    def __init__(self, dim: int, constant: float = 1.0) -> None:
        self.count = self.squares = 0.0
        self.tests = MisfitTests()
        self._labels = np.zeros((4, self.label_capacity))  # e, √(1 + q), y, drift
        self._rows = np.zeros((self.row_capacity, dim))
        self._error_sum = np.zeros(dim)  # Σ e x over the segment before these rows
        self._unwritten_drift: list[Any] = []  # drift of the latest labels, not yet copied to _labels
        self._filled = 0
        self._constant = constant

    def note(self, labels: Absorbed) -> None:
        """Record labels and their errors."""
        X, y, innovation, innovation_scale = labels
        self._rows, self._error_sum = beside(self._rows, X), beside(self._error_sum, X)
        X = beside(X, self._rows)
        self.count += len(y)
        self.squares += float(y @ y)
        start = 0
        while start < len(innovation):
            stop = start + self._batch_size(len(innovation) - start)
            self._collect(X[start:stop], innovation[start:stop], innovation_scale[start:stop], y[start:stop])
            start = stop

    def note_one(self, x: Floats, y: float, innovation: float, innovation_scale: float) -> None:
        """Record one label; a faster `note` for a single row."""
        self.count += 1.0
        self.squares += y * y
        self._labels[:3, self._filled] = innovation, innovation_scale, y
        self._rows[self._filled % self.row_capacity] = beside(x, self._rows)
        self._fill(1, self._rows)

    def discount(self, factor: float) -> None:
        """Discount n and Σ y²; the tests are unaffected, because they are of predictions."""
        self.count *= factor
        self.squares *= factor

    def tested(self) -> MisfitTests:
        """Return a copy of the tests that includes all labels recorded so far."""
        self._write_drift()
        tests, labels = self.tests.copy(), self._labels.copy()
        first = self._filled - self._filled % self.row_capacity
        last_rows = slice(first, first + self.row_capacity)
        labels[3, last_rows] = on_host(self._drift(labels[0, last_rows], self._rows)[0])
        _test(tests, labels[:, : self._filled])
        return tests

    def copy(self) -> Innovations:
        """Return an independent copy."""
        return self.restored({name: array.copy() for name, array in self.arrays().items()}, self._constant)

    def arrays(self) -> dict[str, np.ndarray[Any, Any]]:
        """Return the state as named arrays."""
        self._write_drift()
        tests, early = np.split(self.tests.array(), [20])
        return {
            "innovations.labels": self._labels,
            "innovations.rows": on_host(self._rows),
            "innovations.pull": on_host(self._error_sum),
            "innovations.tests": tests,
            "innovations.early": early,
            "innovations.counters": np.array([self.count, self.squares, self._filled]),
        }

    @classmethod
    def restored(cls, arrays: dict[str, np.ndarray[Any, Any]], constant: float = 1.0) -> Innovations:
        """Load the state from arrays that `arrays` returned."""
        innovations = cls(len(arrays["innovations.pull"]), constant)
        innovations._labels, innovations._rows = arrays["innovations.labels"], arrays["innovations.rows"]
        innovations._error_sum = arrays["innovations.pull"]
        innovations.count, innovations.squares, filled = arrays["innovations.counters"].tolist()
        innovations._filled = int(filled)
        tests = arrays["innovations.tests"], arrays["innovations.early"]
        innovations.tests = MisfitTests.restored(np.concatenate(tests))
        return innovations

    def _batch_size(self, count: int) -> int:
        """Return the number of labels to record next: up to the end of `_rows`, or a multiple of its size."""
        start = self._filled % self.row_capacity
        if start or count < self.row_capacity:
            return min(count, self.row_capacity - start)
        return min(count - count % self.row_capacity, self.label_capacity - self._filled)

    def _collect(self, X: Floats, innovation: Floats, innovation_scale: Floats, y: Floats) -> None:
        """Record labels for which there is room."""
        columns = self._labels[:, self._filled : self._filled + len(X)]
        columns[0], columns[1], columns[2] = innovation, innovation_scale, y
        if len(X) >= self.row_capacity:  # complete: no need to copy them to _rows
            self._fill(len(X), X)
        else:
            start = self._filled % self.row_capacity
            self._rows[start : start + len(X)] = X
            self._fill(len(X), self._rows)

    def _fill(self, count: int, rows: Floats) -> None:
        """Count labels that were written; compute the drift of full `_rows`, and test full `_labels`."""
        stop = self._filled + count
        if stop % self.row_capacity == 0:
            drift, self._error_sum = self._drift(self._labels[0, stop - len(rows) : stop], rows)
            self._unwritten_drift.append(drift)
        if stop == self.label_capacity:
            self._filled = stop
            self._write_drift()
            _test(self.tests, self._labels)
        self._filled = stop % self.label_capacity

    def _write_drift(self) -> None:
        """Copy the drift to its labels. Called rarely, because it synchronises with the device."""
        if self._unwritten_drift:
            drift, self._unwritten_drift = on_host(concatenated(self._unwritten_drift)), []
            stop = self._filled - self._filled % self.row_capacity
            self._labels[3, stop - len(drift) : stop] = drift

    def _drift(self, innovation: Floats, rows: Floats) -> tuple[Any, Any]:
        """Return the drift of rows, and Σ e x over their last segment.

        A row's drift depends only on earlier segments, so rows that are not filled yet do not matter.
        """
        X = _bounded(rows).reshape(-1, MisfitTests.segment, len(self._error_sum))
        error_sums = beside(_bounded(innovation).reshape(len(X), 1, -1), X) @ X
        before = concatenated([self._error_sum[None], error_sums[:-1, 0]])
        if self._constant > 1:  # counts as 1; otherwise the constant alone would correlate the errors
            before[:, -1] /= self._constant**2
        return (X @ before[:, :, None]).ravel(), error_sums[-1, 0]


def _test(tests: MisfitTests, labels: Floats) -> None:
    innovation, innovation_scale, y, drift = labels
    tests.update(_bounded(innovation), innovation_scale, _bounded(y - innovation_scale * innovation), drift)


def _bounded(values: Any) -> Any:
    """Return values whose powers in the tests, up to the sixth, are finite."""
    return values.clip(-1e40, 1e40)
