"""The experts of a committee at work: fitted now and then, weighed, and judged."""

from __future__ import annotations

import warnings
from functools import cache
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np

from qufur.arrays import Floats, check_shapes, under
from qufur.errors import OtherVersionWarning, invalid
from qufur.models.experts.aggregation import Aggregation
from qufur.models.experts.labelled import Labelled
from qufur.models.experts.records import Records
from qufur.models.experts.scaling import Units

if TYPE_CHECKING:
    from qufur.models.experts.committee import Committee
    from qufur.models.experts.state import Said

GROWTH = {"quick": 0.1, "slow": 0.15}
"""Experts are fitted anew when there are so many more labels, as a share."""
FEWEST_NEW = {"quick": 1, "slow": 3}
"""But not for fewer labels than these."""
MOST_MISSED = 3
"""An error says something of the next ones if no more labels came since what was said, or few as a share."""
STALE = 0.05
"""When the scaling is set anew, slow experts are fitted as well if there are so many more labels."""


class Board:
    """Experts, fitted to the first labelled rows; their weights; and the losses of what they said.

    They are fitted when they are asked: of the times that come before, the last counts. So nothing that was
    fitted is saved, but fitted again, from the same rows in the same units.

    Parameters
    ----------
    model
        Whose experts they are.
    units
        Of the inputs, until the first fit.
    labelled
        The rows to fit them to.
    further
        How many of the columns came after the start.

    Attributes
    ----------
    fitted
        To how many of the labelled rows quick and slow experts are fitted.
    """

    def __init__(self, model: Committee, units: Units, labelled: Labelled, further: int) -> None:
        self._model, self._units, self._labelled, self._further = model, units, labelled, further
        self._panel = model.panel(len(units.mean) - further, further)
        self._to_fit: set[str] = set()
        self._fitted_with = _scikit_learn()
        self.fitted = {"quick": 0, "slow": 0}
        self.names = self._panel.names
        self.aggregation: Aggregation = model.aggregation(self._panel)
        self._first = [model.first_output().tolist()] * len(self.names)
        self.at_random = [place for place, name in enumerate(self.names) if "labels at random" in name]
        self.forget_record()

    def ask(self, X: Floats) -> Floats:
        """Return what each expert says about each row, within no bounds: (rows, experts, outputs)."""
        for speed in sorted(self._to_fit):
            self._fit(speed)
        self._to_fit.clear()
        return self._panel.predict(X, self._units.transform(X))

    def next_fit(self) -> int:
        """Return at how many labels some experts are fitted next."""
        return min(self._due(speed) for speed in self.fitted)

    def fit_what_is_due(self, units: Units) -> None:
        """Fit those experts for which enough labels came since the last time; inputs have these units."""
        for speed in self.fitted:
            if len(self._labelled) >= self._due(speed):
                self.fit(speed, units)

    def fit_what_is_stale(self, units: Units) -> None:
        """Fit slow experts if there are some more labels."""
        if self.fitted["slow"] * (1 + STALE) < len(self._labelled):
            self.fit("slow", units)

    def fit_all(self, units: Units) -> None:
        """Fit all experts to all labelled rows; where there are none, they know nothing."""
        if not len(self._labelled):
            self._panel = self._model.panel(len(units.mean) - self._further, self._further)
        for speed in self.fitted:
            self.fit(speed, units)

    def fit(self, speed: str, units: Units) -> None:
        """Fit quick or slow experts to all labelled rows."""
        if speed == "quick":  # the slow ones see inputs as they come
            self._units = units
        self._fitted_with = _scikit_learn()
        self.fitted[speed] = len(self._labelled)
        self._to_fit.add(speed)

    def _due(self, speed: str) -> int:
        count = self.fitted[speed]
        return count + max(FEWEST_NEW[speed], int(GROWTH[speed] * count))

    def _fit(self, speed: str) -> None:
        count = self.fitted[speed]
        members = self._panel.quick if speed == "quick" else self._panel.slow
        if count and members:
            sample = self._labelled.first(count)
            self._panel.fit(members, sample, self._units.transform(sample.X), self._model.targets(sample.y))

    def take_over_slow(self, board: Board) -> None:
        """Go on with the slow experts of a board of fewer columns: fitted again, they would be the same."""
        if "slow" not in board._to_fit:
            self._panel.take_over_slow(board._panel)
            self._to_fit.remove("slow")

    def take_over(self, board: Board) -> None:
        """Go on with weights and losses of a board of fewer classes, whose experts have the same names."""
        self.aggregation.restore(board.aggregation.arrays())
        self.records.take_over(board.records)

    def forget_record(self) -> None:
        """Let nothing be known of what was said, as at the start, or since labels were others."""
        self.records = Records(self._model, len(self.names), self.at_random)
        self.aggregation.forget_errors()

    def take_in(self, said: Said, label: float) -> None:
        """Take note of a label, against what the experts and all together had said."""
        predictions, _, terms, labels = said
        if predictions.tolist() == self._first:  # nothing was known of labels then
            return
        self.records.take_in(said, label)
        self.aggregation.update(predictions, label, terms.mean_probability / terms.probability)
        if len(self._labelled) - labels > max(MOST_MISSED, GROWTH["slow"] * labels):
            self.aggregation.forget_errors()  # experts have learned from many labels since

    def save(self) -> tuple[dict[str, Any], dict[str, np.ndarray[Any, Any]]]:
        """Return everything as JSON values and named arrays."""
        arrays = {f"aggregation.{name}": array for name, array in self.aggregation.arrays().items()}
        arrays |= self.records.arrays()
        arrays["units"] = np.array([self._units.mean, self._units.deviation])
        values = {f"fitted_{speed}": count for speed, count in self.fitted.items()}
        return values | {"scikit_learn": self._fitted_with}, arrays

    def restore(self, values: dict[str, Any], arrays: dict[str, np.ndarray[Any, Any]]) -> None:
        """Take over what `save` returned."""
        self.fitted = {speed: values[f"fitted_{speed}"] for speed in self.fitted}
        if max(self.fitted.values()) > len(self._labelled):
            raise invalid("fitted", "a saved state", "at most the labels that it has", self.fitted)
        check_shapes(arrays, {"units": (2, "d")}, d=len(self._units.mean))
        self._units = Units(*arrays["units"])
        self.aggregation.restore(under("aggregation.", arrays))
        self.records.restore(arrays)
        self._to_fit = set(self.fitted)
        self._fitted_with = values["scikit_learn"]
        if self._panel.slow and self._fitted_with != _scikit_learn():
            text = f"Experts that scikit-learn {self._fitted_with} fitted are fitted again by"
            more = f"{text} {_scikit_learn()}, and may say other things."
            warnings.warn(more, OtherVersionWarning, stacklevel=2)


@cache
def _scikit_learn() -> str:
    # Not from the package itself: that takes a second and 80 MB to import, also where no expert is.
    return version("scikit-learn")
