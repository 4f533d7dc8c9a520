"""How the experts of a committee are doing, beside the committee itself."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from qufur.models.experts.class_errors import ClassError
    from qufur.models.experts.learning_curve import AllAtRandom

ERRORS = 2.0
"""A difference is one if it is larger than so many standard errors."""
WATCHED_ERRORS = 3.0
"""Standard errors of an interval that users look at again and again, as on a page."""
_KAPPA = re.compile(r", weights κ=[0-9.]+$")
AT_RANDOM = ", labels at random"
"""How the names of experts end that learn from uniformly sampled labels alone."""
ALL, NONE = 0.95, 0.0
"""Shares of labels at random with which there is nothing to compare."""


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
class Standing:
    """Mean losses over the stream of what was said when each example came, estimated by inverse probability.

    Attributes
    ----------
    labels
        How many bought labels it rests on.
    loss
        That of the committee.
    names, losses, weights
        Of the experts, the weights as they are now.
    standard_errors
        Of each difference between the committee and an expert.
    constant, at_random
        Which experts predict a constant, and which learn from the labels at random alone.
    share_at_random
        How many of the labels those are.
    squared
        Whether the loss is squared, so that its root has the units of the labels.
    all_at_random
        What the best expert on labels at random would lose if all labels were such, with its standard error;
        None where it cannot be said. `qufur.models.experts.learning_curve` has the method.
    class_errors
        The errors of each class; none for numbers.
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
    all_at_random: AllAtRandom | None = None
    class_errors: tuple[ClassError, ...] = ()

    @property
    def best(self) -> int:
        """The expert with the lowest loss."""
        return self._lowest(range(len(self.losses)))

    @property
    def best_constant(self) -> int | None:
        """The constant with the lowest loss; None if there is none."""
        return self._lowest(self.constant) if self.constant else None

    @property
    def best_at_random(self) -> int | None:
        """The expert on labels at random with the lowest loss; None if none or all labels are such."""
        return self._lowest(self.at_random) if self.at_random and NONE < self.share_at_random < ALL else None

    @property
    def heaviest(self) -> list[int]:
        """The three experts that count most."""
        return sorted(range(len(self.weights)), key=lambda expert: -self.weights[expert])[:3]

    def is_worse_than(self, expert: int | None) -> bool:
        """Return whether the committee's loss is higher than an expert's, beyond the standard error."""
        if expert is None or not self.labels:
            return False
        return self.loss - self.losses[expert] > ERRORS * self.standard_errors[expert]

    @property
    def random_labels(self) -> RandomLabels | None:
        """The comparison with uniformly sampled labels; None while it is not known.

        It needs an expert that learns from uniformly sampled labels alone and the same expert on all labels.
        The standard error of their difference is at most the sum of their standard errors against the
        ensemble.
        """
        expert, twin = self.best_at_random, self._twin
        if self.all_at_random is None or expert is None or twin is None or not self.losses[twin] > 0:
            return None
        chosen = self.losses[twin]
        ratio = self.all_at_random.loss / chosen
        half = WATCHED_ERRORS * (self.all_at_random.lead_error + self.standard_errors[twin]) / chosen
        return RandomLabels(ratio, max(ratio - half, 0.0), ratio + half)

    @property
    def _twin(self) -> int | None:
        """The expert that differs from the best one on labels at random only by learning from all labels."""
        if self.best_at_random is None:
            return None
        model = self.names[self.best_at_random].removesuffix(AT_RANDOM)
        weighted = (place for place, name in enumerate(self.names) if _KAPPA.sub("", name) == model)
        return next(weighted, None)

    @property
    def random_would_do(self) -> bool:
        """Whether uniformly sampled labels give a lower loss, beyond the interval."""
        found = self.random_labels
        return found is not None and found.high < 1.0

    def in_units(self, loss: float) -> float:
        """Return a loss in the units of the labels, or as a share of wrong classes."""
        return math.sqrt(loss) if self.squared else loss

    def _lowest(self, experts: range | tuple[int, ...]) -> int:
        return min(experts, key=lambda expert: self.losses[expert])
