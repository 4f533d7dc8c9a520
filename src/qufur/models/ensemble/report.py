"""Report on an ensemble: losses and weights of its experts."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from qufur.models.ensemble.learning_curve import RandomSamplingLoss
    from qufur.models.ensemble.losses import ClassError

ERRORS = 2.0
"""Standard errors above which a difference is reported."""
WATCHED_ERRORS = 3.0
"""Standard errors of an interval that users monitor continuously."""
_IMPORTANCE = re.compile(r", importance [0-9.]+$")
AT_RANDOM = ", labels at random"
"""Name suffix of experts that use only uniformly sampled labels."""
ALL, NONE = 0.95, 0.0
"""Shares of uniformly sampled labels at or beyond which a comparison is meaningless."""


class RandomLabels(NamedTuple):
    """Loss with uniformly sampled labels, divided by the loss with the labels that the rule chose.

    It compares one model with itself. An ensemble against a single model would show what ensembles gain.

    Attributes
    ----------
    ratio, low, high
        The estimate and its interval.
    """

    ratio: float
    low: float
    high: float

    @property
    def is_clear(self) -> bool:
        """Whether the interval excludes equality."""
        return not self.low <= 1.0 <= self.high


@dataclass(frozen=True)
class EnsembleReport:
    """Mean out-of-sample losses over the stream, estimated by inverse probability.

    Attributes
    ----------
    labels
        Number of bought labels in the estimate.
    loss
        Loss of the ensemble.
    names, losses, weights
        Names, losses and current weights of the experts.
    standard_errors
        Standard errors of the differences between the ensemble and each expert.
    constant, at_random
        Indices of the experts that predict a constant, and of those that use only uniformly sampled labels.
    share_at_random
        Share of uniformly sampled labels.
    squared
        Whether the loss is squared, so that its root has the units of the labels.
    all_at_random
        Loss of the best expert on uniformly sampled labels had all labels been such, with its standard error;
        None without enough labels. `qufur.models.ensemble.learning_curve` describes the method.
    class_errors
        Errors per class; empty for numbers.
    """

    labels: int
    loss: float
    names: tuple[str, ...]
    losses: tuple[float, ...]
    weights: tuple[float, ...]
    standard_errors: tuple[float, ...]
    constant: tuple[int, ...]
    at_random: tuple[int, ...]
    share_at_random: float
    squared: bool
    all_at_random: RandomSamplingLoss | None = None
    class_errors: tuple[ClassError, ...] = ()

    @property
    def best(self) -> int:
        """The expert with the lowest loss."""
        return self._lowest(range(len(self.losses)))

    @property
    def best_constant(self) -> int | None:
        """The constant with the lowest loss; None without constants."""
        return self._lowest(self.constant) if self.constant else None

    @property
    def best_at_random(self) -> int | None:
        """The expert on uniformly sampled labels with the lowest loss; None if no or all labels are."""
        return self._lowest(self.at_random) if self.at_random and NONE < self.share_at_random < ALL else None

    @property
    def heaviest(self) -> list[int]:
        """The three experts with the largest weights, in the order of weights as printed, with two decimals.

        Ties keep the order of the experts: rounding on another CPU does not change the printed order.
        """
        return sorted(range(len(self.weights)), key=lambda expert: -round(self.weights[expert], 2))[:3]

    def is_worse_than(self, expert: int | None) -> bool:
        """Return whether the ensemble's loss is higher than an expert's, beyond the standard error."""
        if expert is None or not self.labels:
            return False
        return self.loss - self.losses[expert] > ERRORS * self.standard_errors[expert]

    @property
    def random_labels(self) -> RandomLabels | None:
        """The comparison with uniformly sampled labels; None without enough labels.

        It needs an expert that learns from uniformly sampled labels alone and the same expert on all labels.
        The standard error of their difference is at most the sum of their standard errors against the
        ensemble.
        """
        expert = self.best_at_random
        if self.all_at_random is None or expert is None:
            return None
        model = self.names[expert].removesuffix(AT_RANDOM)
        weighted = (index for index, name in enumerate(self.names) if _IMPORTANCE.sub("", name) == model)
        twin = next(weighted, None)
        if twin is None or not self.losses[twin] > 0:
            return None
        chosen = self.losses[twin]
        ratio = self.all_at_random.loss / chosen
        half = WATCHED_ERRORS * (self.all_at_random.lead_error + self.standard_errors[twin]) / chosen
        return RandomLabels(ratio, max(ratio - half, 0.0), ratio + half)

    @property
    def random_would_do(self) -> bool:
        """Whether uniformly sampled labels give a lower loss, beyond the interval."""
        comparison = self.random_labels
        return comparison is not None and comparison.high < 1.0

    def in_units(self, loss: float) -> float:
        """Return a loss in the units of the labels, or as a share of wrong classes."""
        return math.sqrt(loss) if self.squared else loss

    def _lowest(self, experts: range | tuple[int, ...]) -> int:
        return min(experts, key=lambda expert: self.losses[expert])
