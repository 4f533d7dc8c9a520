"""The one-step-ahead errors of a linear model's labels, as they come."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from qufur.arrays import Axes, Floats
from qufur.models.diagnostics.misfit import MisfitTests
from qufur.models.gram.update import Absorbed
from qufur.tensors import beside, concatenated, on_host


class Innovations:
    """n and Σ y² of the labels, and tests of their errors e = (y − ŷ)/√(1 + q), told by the labels before.

    If y = ⟨θ, x⟩ + noise with θ ~ N(0, τ²I) and λ = σ²/τ², the errors are independent N(0, σ²). To rounding,
    they depend neither on the blocks in which labels came nor on the form of M. The tests take up to 512
    labels together, so that a label costs two products of length d, a copy of its row, and little else;
    memory O(d). Rows that come as tensors are kept and multiplied on their device.

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

    collected_at_once = 512  # a multiple of the rows kept, as those are of a stretch
    rows_at_once = 64
    axes: ClassVar[Axes] = {
        "innovations.labels": (4, collected_at_once),
        "innovations.rows": (rows_at_once, "d"),
        "innovations.pull": "d",
        "innovations.tests": (20,),
        "innovations.early": (3,),
        "innovations.counters": (3,),
    }

    def __init__(self, dim: int, constant: float = 1.0) -> None:
        self.count = self.squares = 0.0
        self.tests = MisfitTests()
        self._labels = np.zeros((4, self.collected_at_once))  # e, √(1 + q), y, drift
        self._rows = np.zeros((self.rows_at_once, dim))
        self._pull = np.zeros(dim)  # Σ e x over the stretch before these rows
        self._late: list[Any] = []  # drift that is yet to be written beside its labels, the latest
        self._filled = 0
        self._constant = constant

    def note(self, labels: Absorbed) -> None:
        """Take note of labels and their errors."""
        X, y, innovation, innovation_scale = labels
        self._rows, self._pull = beside(self._rows, X), beside(self._pull, X)
        X = beside(X, self._rows)
        self.count += len(y)
        self.squares += float(y @ y)
        start = 0
        while start < len(innovation):
            stop = start + self._room(len(innovation) - start)
            self._collect(X[start:stop], innovation[start:stop], innovation_scale[start:stop], y[start:stop])
            start = stop

    def note_one(self, x: Floats, y: float, innovation: float, innovation_scale: float) -> None:
        """Take note of one label, as `note` does, and faster."""
        self.count += 1.0
        self.squares += y * y
        self._labels[:3, self._filled] = innovation, innovation_scale, y
        self._rows[self._filled % self.rows_at_once] = beside(x, self._rows)
        self._fill(1, self._rows)

    def fade(self, factor: float) -> None:
        """Let the labels so far weigh less in n and Σ y²; the tests are of predictions, and go on."""
        self.count *= factor
        self.squares *= factor

    def tested(self) -> MisfitTests:
        """Return the tests with all labels in them, without changing anything."""
        self._write_drift()
        tests, labels = self.tests.copy(), self._labels.copy()
        first = self._filled - self._filled % self.rows_at_once
        here = slice(first, first + self.rows_at_once)
        labels[3, here] = on_host(self._drift(labels[0, here], self._rows)[0])
        _test(tests, labels[:, : self._filled])
        return tests

    def copy(self) -> Innovations:
        """Return an independent copy."""
        return self.restored({name: array.copy() for name, array in self.arrays().items()}, self._constant)

    def arrays(self) -> dict[str, np.ndarray[Any, Any]]:
        """Return everything remembered."""
        self._write_drift()
        tests, early = np.split(self.tests.array(), [20])
        return {
            "innovations.labels": self._labels,
            "innovations.rows": on_host(self._rows),
            "innovations.pull": on_host(self._pull),
            "innovations.tests": tests,
            "innovations.early": early,
            "innovations.counters": np.array([self.count, self.squares, self._filled]),
        }

    @classmethod
    def restored(cls, arrays: dict[str, np.ndarray[Any, Any]], constant: float = 1.0) -> Innovations:
        """Return what `arrays` described."""
        innovations = object.__new__(cls)
        innovations._constant = constant
        innovations._labels, innovations._rows = arrays["innovations.labels"], arrays["innovations.rows"]
        innovations._pull = arrays["innovations.pull"]
        innovations.count, innovations.squares, filled = arrays["innovations.counters"].tolist()
        innovations._filled, innovations._late = int(filled), []
        tests = arrays["innovations.tests"], arrays["innovations.early"]
        innovations.tests = MisfitTests.restored(np.concatenate(tests))
        return innovations

    def _room(self, count: int) -> int:
        """Return how many labels to take now: those that fill the rows kept, or several times as many."""
        at = self._filled % self.rows_at_once
        if at or count < self.rows_at_once:
            return min(count, self.rows_at_once - at)
        return min(count - count % self.rows_at_once, self.collected_at_once - self._filled)

    def _collect(self, X: Floats, innovation: Floats, innovation_scale: Floats, y: Floats) -> None:
        """Take labels that there is room for."""
        here = self._labels[:, self._filled : self._filled + len(X)]
        here[0], here[1], here[2] = innovation, innovation_scale, y
        if len(X) >= self.rows_at_once:  # no need to keep them
            self._fill(len(X), X)
        else:
            at = self._filled % self.rows_at_once
            self._rows[at : at + len(X)] = X
            self._fill(len(X), self._rows)

    def _fill(self, count: int, rows: Floats) -> None:
        """Move on by labels that were written; where there is no more room, find their drift, and test."""
        stop = self._filled + count
        if stop % self.rows_at_once == 0:
            drift, self._pull = self._drift(self._labels[0, stop - len(rows) : stop], rows)
            self._late.append(drift)
        if stop == self.collected_at_once:
            self._filled = stop
            self._write_drift()
            _test(self.tests, self._labels)
        self._filled = stop % self.collected_at_once

    def _write_drift(self) -> None:
        """Write drift beside its labels: as rarely as can be, for a device is waited for."""
        if self._late:
            drift, self._late = on_host(concatenated(self._late)), []
            stop = self._filled - self._filled % self.rows_at_once
            self._labels[3, stop - len(drift) : stop] = drift

    def _drift(self, innovation: Floats, rows: Floats) -> tuple[Any, Any]:
        """Return the drift of rows, and Σ e x over their last stretch.

        A row's drift depends on earlier stretches alone, so rows that are yet to come do no harm.
        """
        X = _bounded(rows).reshape(-1, MisfitTests.stretch, len(self._pull))
        pulls = beside(_bounded(innovation).reshape(len(X), 1, -1), X) @ X
        before = concatenated([self._pull[None], pulls[:-1, 0]])
        if self._constant > 1:  # it counts as 1, or errors would hang together through it alone
            before[:, -1] /= self._constant**2
        return (X @ before[:, :, None]).ravel(), pulls[-1, 0]


def _test(tests: MisfitTests, labels: Floats) -> None:
    innovation, innovation_scale, y, drift = labels
    tests.update(_bounded(innovation), innovation_scale, _bounded(y - innovation_scale * innovation), drift)


def _bounded(values: Any) -> Any:
    """Return values whose powers in the tests, up to the sixth, are finite."""
    return values.clip(-1e40, 1e40)
