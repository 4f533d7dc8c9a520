"""The experts of a committee at work: fitted now and then, weighed, and judged."""

from __future__ import annotations

import copy
import sys
import warnings
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np

from qufur.arrays import Floats, as_inputs, check_shapes, is_whole, under
from qufur.errors import OtherVersionWarning, invalid
from qufur.models.experts.aggregation import Aggregation
from qufur.models.experts.fitting import Fitted, Fitting
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
        self._model, self._units, self._labelled = model, units, labelled
        self._fresh = model.panel(len(units.mean) - further, further)
        self._panel = copy.copy(self._fresh)
        self._to_fit: dict[str, Fitting] = {}
        self._elsewhere = False
        self._wanted: set[str] = set()
        self._fitted_with = _scikit_learn()
        self.fitted = {"quick": 0, "slow": 0}
        self.names = self._panel.names
        self.aggregation: Aggregation = model.aggregation(self._panel)
        self._first = [model.first_output().tolist()] * len(self.names)
        self.at_random = [place for place, name in enumerate(self.names) if "labels at random" in name]
        self.forget_record()

    def ask(self, X: Floats) -> Floats:
        """Return what each expert says about each row, within no bounds: (rows, experts, outputs)."""
        for speed in [speed for speed, fitting in self._to_fit.items() if not fitting.again]:
            self._panel.take_over(speed, self._to_fit.pop(speed).run().panel)
        said = self._panel.predict(X, self._units.transform(X))
        if self._elsewhere and self._quick_speak and ("slow" in self._to_fit or not self.fitted["slow"]):
            self._speak_for_slow(said)
        return said

    @property
    def _quick_speak(self) -> bool:
        return bool(self._panel.quick and self.fitted["quick"])

    def _speak_for_slow(self, said: Floats) -> None:
        """Let slow experts that are still being fitted, once they are needed, say what the quick ones do."""
        quick = sum(len(member.names) for member in self._panel.quick)
        weights = self.aggregation.weights[:quick]
        said[:, quick:] = np.average(said[:, :quick], axis=1, weights=weights if weights.any() else None)[
            :, None
        ]

    def next_fit(self) -> int:
        """Return at how many labels some experts are fitted next; never, where somebody else does it."""
        return sys.maxsize if self._elsewhere else min(self._due(speed) for speed in self.fitted)

    def fit_elsewhere(self, units: Units) -> None:
        """Only take note, from now on, of which experts are to be fitted.

        Slow ones that would be fitted when they are asked are due then, where quick ones can speak for them.
        """
        self._elsewhere = True
        slow = self._to_fit.get("slow")
        if slow is not None and slow.labels and self._quick_speak:
            self._to_fit["slow"] = replace(slow, again=True)
        self.fit_what_is_due(units)

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
            self._panel = copy.copy(self._fresh)
        for speed in self.fitted:
            self.fit(speed, units)

    def fit(self, speed: str, units: Units) -> None:
        """Fit quick or slow experts to all labelled rows, or note that it is due where somebody else does."""
        count = len(self._labelled)
        if self._elsewhere and count and self._panel.members(speed):
            self._wanted.add(speed)
        else:
            self._fit_when_needed(self.fit_to(speed, count, units))

    def fit_to(self, speed: str, count: int, units: Units) -> Fitting:
        """Return the fit of quick or slow experts to the first so many labelled rows."""
        sample = self._labelled.first(count)
        return Fitting(self._model, self._fresh, speed, sample, units, self._labelling)

    def due_fit(self, units: Units) -> Fitting | None:
        """Return the fit that is due: the quick one first, last what was fitted before."""
        speed = min(self._wanted, default=None)  # in the order of the alphabet
        if speed is not None:
            return self.fit_to(speed, len(self._labelled), units)
        return next((fitting for fitting in self._to_fit.values() if fitting.again), None)

    def install(self, fitted: Fitted) -> bool:
        """Go on with fitted experts, and return True, unless they have been overtaken."""
        fitting = fitted.fitting
        if fitting.again:
            if self._to_fit.get(fitting.speed) is not fitting:
                return False
        elif fitting.labelling is not self._labelling or fitting.labels < self.fitted[fitting.speed]:
            return False
        else:
            self._count_as_fitted(fitting)
        self._to_fit.pop(fitting.speed, None)
        self._panel.take_over(fitting.speed, fitted.panel)
        return True

    def refit(self, values: Mapping[str, Any]) -> None:
        """Go on with the experts that the values of a fit describe; they are fitted when they are needed."""
        self._fit_when_needed(self._fit_as(values))

    def _fit_when_needed(self, fitting: Fitting) -> None:
        """Count experts as fitted, as they will be once they are asked: of several fits the last counts."""
        self._count_as_fitted(fitting)
        self._to_fit[fitting.speed] = fitting

    def _fit_as(self, values: Mapping[str, Any]) -> Fitting:
        found: dict[str, Any] = {"speed": None, "labels": None, "units": ()} | dict(values)
        speed, count, dim = found["speed"], found["labels"], len(self._units.mean)
        units = as_inputs(found["units"], dim, "the units of a fit")
        check_shapes({"units": units}, {"units": (2, "d")}, d=dim)
        if speed not in self.fitted:
            raise invalid("speed", "a fit", " or ".join(map(repr, self.fitted)), repr(speed))
        if not (is_whole(count) and count >= self.fitted[speed]):
            raise invalid("labels", "a fit", f"an integer of at least {self.fitted[speed]}", repr(count))
        return self.fit_to(speed, count, Units(*units))

    def _count_as_fitted(self, fitting: Fitting) -> None:
        self.fitted[fitting.speed] = fitting.labels
        if fitting.speed == "quick":  # the slow ones see inputs as they come
            self._units = fitting.units
        self._fitted_with = _scikit_learn()
        self._wanted.discard(fitting.speed)

    def _due(self, speed: str) -> int:
        count = self.fitted[speed]
        return count + max(FEWEST_NEW[speed], int(GROWTH[speed] * count))

    def take_over_slow(self, board: Board) -> None:
        """Go on with the slow experts of a board of fewer columns: fitted again, they would be the same."""
        self._wanted |= board._wanted
        if "slow" not in board._to_fit:
            self._panel.take_over("slow", board._panel)
            del self._to_fit["slow"]
        elif board._elsewhere:  # labels may be others by now than those it is to be fitted to
            self._to_fit["slow"] = board._to_fit["slow"]

    def take_over(self, board: Board) -> None:
        """Go on with weights, losses and experts of a board of fewer classes, whose names are the same.

        Until they are fitted anew, experts say 0 of further classes.
        """
        self.aggregation.restore(board.aggregation.arrays())
        self.records.take_over(board.records)
        for speed in self.fitted:
            self._panel.take_over(speed, board._panel)
        self.fitted, self._units = board.fitted.copy(), board._units
        self._to_fit = board._to_fit.copy()

    def forget_record(self) -> None:
        """Let nothing be known of what was said, as at the start, or since labels were others."""
        self.records = Records(self._model, len(self.names), self.at_random)
        self.aggregation.forget_errors()
        self._labelling = object()
        self.fitted = {speed: min(count, len(self._labelled)) for speed, count in self.fitted.items()}

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
        again = (self.fit_to(speed, count, self._units) for speed, count in self.fitted.items())
        self._to_fit = {fitting.speed: fitting for fitting in again}
        self._fitted_with = values["scikit_learn"]
        if self._panel.slow and self._fitted_with != _scikit_learn():
            text = f"Experts that scikit-learn {self._fitted_with} fitted are fitted again by"
            more = f"{text} {_scikit_learn()}, and may say other things."
            warnings.warn(more, OtherVersionWarning, stacklevel=2)


@cache
def _scikit_learn() -> str:
    # Not from the package itself: that takes a second and 80 MB to import, also where no expert is.
    return version("scikit-learn")
