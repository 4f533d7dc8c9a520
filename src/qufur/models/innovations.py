"""The one-step-ahead errors of a linear model's labels, as they come."""

from __future__ import annotations

from typing import Any

import numpy as np

from qufur.arrays import Floats
from qufur.models.misfit import MisfitTests
from qufur.models.update import Update


class Innovations:
    """n and Σ y² of the labels, and tests of their errors e = (y − ŷ)/√(1 + q), told by the labels before.

    If y = ⟨θ, x⟩ + noise with θ ~ N(0, τ²I) and λ = σ²/τ², the errors are independent N(0, σ²). They do not
    depend on the blocks in which labels came. Some 32 labels are collected and tested together, which makes
    their cost that of copying a row; memory O(d).

    Attributes
    ----------
    count, squares
        n and Σ y². Labels absorbed where single errors are not at hand (`FactorGram`) are counted here, and
        left out of the tests.

    Examples
    --------
    >>> innovations = Innovations(2)
    >>> X, y = np.array([[1.0, 0.0]]), np.array([0.5])
    >>> innovations.note(Update(X, X, np.array([[2.0]])), y, np.array([0.25]))
    >>> innovations.count, innovations.squares, innovations.tested().count
    (1.0, 0.25, 1.0)
    """

    collected_at_once = 32

    def __init__(self, dim: int) -> None:
        self.count = self.squares = 0.0
        self.tests = MisfitTests()
        room = self.collected_at_once + MisfitTests.window
        self._rows = np.empty((room, dim))
        self._labels = np.empty((3, room))  # e, √(1 + q), y
        self._old = self._filled = 0

    def note(self, rows: Update, y: Floats, error: Floats) -> None:
        """Take note of labels and their errors, `Update.surprise`; none where they are not at hand."""
        self.count += len(y)
        self.squares += float(y @ y)
        if len(error):
            self._collect(rows.X, np.array([error, rows.L.diagonal(), y]))

    def fade(self, factor: float) -> None:
        """Let the labels so far weigh less in n and Σ y²; the tests are of predictions, and go on."""
        self.count *= factor
        self.squares *= factor

    def tested(self) -> MisfitTests:
        """Return the tests with all labels in them, without changing anything."""
        tests = self.tests.copy()
        self._test(tests)
        return tests

    def copy(self) -> Innovations:
        """Return an independent copy."""
        return self.restored(self.arrays())

    def arrays(self) -> dict[str, np.ndarray[Any, Any]]:
        """Return everything remembered."""
        return {
            "innovations.rows": self._rows[: self._filled],
            "innovations.labels": self._labels[:, : self._filled],
            "innovations.tests": self.tests.array(),
            "innovations.counters": np.array([self.count, self.squares, self._old]),
        }

    @classmethod
    def restored(cls, arrays: dict[str, np.ndarray[Any, Any]]) -> Innovations:
        """Return what `arrays` described; they are copied."""
        rows, labels = arrays["innovations.rows"], arrays["innovations.labels"]
        innovations = cls(rows.shape[1])
        innovations._rows[: len(rows)], innovations._labels[:, : len(rows)] = rows, labels
        innovations._filled = len(rows)
        innovations.count, innovations.squares, old = arrays["innovations.counters"].tolist()
        innovations._old = int(old)
        innovations.tests = MisfitTests.restored(arrays["innovations.tests"].copy())
        return innovations

    def _collect(self, X: Floats, labels: Floats) -> None:
        start = 0
        while start < len(X):
            stop = min(len(X), start + len(self._rows) - self._filled)
            end = self._filled + stop - start
            self._rows[self._filled : end] = X[start:stop]
            self._labels[:, self._filled : end] = labels[:, start:stop]
            self._filled, start = end, stop
            if end == len(self._rows):
                self._test(self.tests)
                self._keep_recent()

    def _test(self, tests: MisfitTests) -> None:
        error, spread, y = self._labels[:, self._old : self._filled]
        tests.update(error, spread, y - spread * error, self._drift())

    def _drift(self) -> Floats:
        """Return Σ e_j ⟨x_j, x⟩ over the window before each new row, from running sums of e_j x_j."""
        X, i = self._rows[: self._filled], np.arange(self._old, self._filled)
        sums = np.zeros((len(X) + 1, X.shape[1]))
        np.cumsum(self._labels[0, : self._filled, None] * X, axis=0, out=sums[1:])
        recent = sums[i] - sums[np.maximum(i - MisfitTests.window, 0)]
        return np.asarray(np.einsum("ij,ij->i", recent, X[i]))

    def _keep_recent(self) -> None:
        keep = slice(self._filled - MisfitTests.window, self._filled)
        self._rows[: MisfitTests.window] = self._rows[keep]
        self._labels[:, : MisfitTests.window] = self._labels[:, keep]
        self._old = self._filled = MisfitTests.window
