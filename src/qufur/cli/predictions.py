"""What is written of predictions: a number or a class, how sure it is, and between which ends it lies."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any

from qufur.arrays import Floats
from qufur.bookkeeping.wanted import shown_prediction
from qufur.cli.classes import probability_headings
from qufur.errors import invalid
from qufur.workbook import Workbook

NO_ENDS = "Cells of low and high are empty: too few labels came to say how large errors are."


class Predictions:
    """Predictions of a workbook as columns of text.

    Parameters
    ----------
    book
        Whose predictions they are.
    interval
        The share of labels that are to lie between low and high; None for no such columns.
    """

    def __init__(self, book: Workbook, interval: float | None = None) -> None:
        if interval is not None and book.classes is not None:
            remedy = "The probabilities say how sure a class is."
            raise invalid("--interval", "qufur predict", "left out for classes", interval, remedy)
        self._book, self._interval = book, interval
        self.unbounded = False

    @property
    def headings(self) -> list[str]:
        """The names of the columns."""
        classes, ends = self._book.classes, ["low", "high"] if self._interval is not None else []
        return ["prediction", *probability_headings(classes or ()), *ends, "uncertainty"]

    def columns(self, X: Floats) -> Iterator[Iterable[Any]]:
        """Return the columns for some inputs."""
        learner, classes = self._book.learner, self._book.classes
        if classes is not None:
            probabilities = learner.predict_proba(X)
            yield [classes[number] for number in probabilities.argmax(axis=1)]
            yield from ([f"{p:.4f}" for p in column] for column in probabilities.T)
        elif self._interval is not None:
            prediction, *ends = learner.predict(X, self._interval)
            yield map(shown_prediction, prediction)
            yield from (map(self._end, end) for end in ends)
        else:
            yield map(shown_prediction, learner.predict(X))
        yield [f"{delta:.4g}" for delta in learner.uncertainty(X)]

    def _end(self, end: float) -> str:
        self.unbounded = self.unbounded or not math.isfinite(end)
        return f"{end:.6g}" if math.isfinite(end) else ""

    def notes(self) -> list[str]:
        """Say what cannot be seen from the columns."""
        return [NO_ENDS] if self.unbounded else []
