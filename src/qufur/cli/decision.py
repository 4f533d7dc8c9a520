"""What a comparison comes to: whether to let the rule choose, and how many labels that saves."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from qufur.arrays import Floats
from qufur.cli.comparison import AT_RANDOM, BOOSTED, FIRST_ROWS, Comparison
from qufur.experiments.statistics import Interval, jackknife, ratio
from qufur.sweep.equal_error import LEAST, labels_ratio, reaches


@dataclass(frozen=True)
class Decision:
    """A rule beside labels at random, for the same model at the same budget.

    Parameters
    ----------
    rule
        Its name.
    loss_ratio
        Its loss over theirs, with an interval of 95 % over seeds.
    labels_saved
        How many labels fewer it needs for the same error, as a share of theirs; negative if more.
    exact
        Whether labels at random were seen to have the same error: else it is a bound.
    first_rows, boosting, constant
        The loss of the same model on the labels of the first rows, of histogram boosting on labels at random,
        and of the best constant, over that of the rule; NaN for what was not compared.
    """

    rule: str
    loss_ratio: Interval
    labels_saved: Interval
    exact: bool
    first_rows: Interval
    boosting: float
    constant: float

    @classmethod
    def of(cls, found: Comparison, rule: str, share: float) -> Decision:
        """Decide at one of the budgets."""
        ours, theirs = found.runs(rule, share), found.runs(AT_RANDOM, share)
        table = found.table
        tried = table.filter(table["rule"] == AT_RANDOM)["parameter"].unique().sort().to_list()
        runs = np.stack([ours, *(found.runs(AT_RANDOM, other) for other in tried)], axis=1)
        more = jackknife(labels_ratio, runs)
        first = (
            found.runs(FIRST_ROWS, share)[:, 1] if FIRST_ROWS in table["rule"] else np.full(len(ours), np.nan)
        )
        losses = np.column_stack([ours[:, 1], theirs[:, 1], first])
        losses = np.maximum(losses, max(1e-9 * np.nanmax(losses), LEAST[1]))  # no loss at all has no ratio
        loss = float(losses[:, 0].mean())
        return cls(
            rule,
            jackknife(ratio, losses[:, :2]),
            Interval(*(1 - math.exp(-part) for part in (more.value, more.low, more.high))),
            reaches(runs),
            jackknife(ratio, losses[:, [2, 0]]),
            _mean(found.runs(BOOSTED, share)[:, 1]) / loss,
            float(found.constant / loss),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return everything under its name."""
        return {
            field.name: [part.value, part.low, part.high] if isinstance(part, Interval) else part
            for field in fields(self)
            for part in (getattr(self, field.name),)
        }

    def finding(self, budget: str) -> str:
        """Say how it does beside labels at random."""
        at = f"At {budget} {self.rule} has {_range(self.loss_ratio)} of the loss of labels at random"
        if self.loss_ratio.high < 1:
            return f"{at}: {self._saved()}."
        if self.loss_ratio.low > 1:
            return f"{at}: leave the choice to chance here."
        return f"{at}, which these seeds do not tell apart."

    def sentence(self, budget: str, command: str) -> str:
        """Say it, with the command to go on with."""
        advice = f"Use `{command}`."
        if self.loss_ratio.high >= 1:
            chance = self.loss_ratio.low > 1
            advice = f"Use `{command} --at-random`." if chance else "--seeds says how many to try."
        return f"{self.finding(budget)} {self._beside()}{advice}"

    def _saved(self) -> str:
        saved = self.labels_saved
        if not self.exact:
            return f"at least {saved.value:.0%} fewer labels for the same error"
        low = f"{max(saved.low, 0):.0%} to {saved.high:.0%}"
        return f"{saved.value:.0%} fewer labels for the same error ({low})"

    def _beside(self) -> str:
        """Name what does better without the rule."""
        if self.constant <= 1:
            part = f"{self.constant:.2f} of its loss"
            return f"The best constant has {part}: with so few labels the columns say nothing. "
        if self.boosting < 1:
            return f"Boosting alone, on labels at random, has {self.boosting:.2f} of its loss. "
        if self.first_rows.high < 1:
            part = f"{self.first_rows.value:.2f} of its loss"
            return f"Labels of the first rows alone have {part}: nothing here changed much later. "
        return ""


def _mean(values: Floats) -> float:
    return float(values.mean()) if len(values) else math.nan


def _range(interval: Interval) -> str:
    if math.isinf(interval.low):
        return f"{interval.value:.2f}"
    return f"{interval.value:.2f} ({interval.low:.2f} to {interval.high:.2f})"
