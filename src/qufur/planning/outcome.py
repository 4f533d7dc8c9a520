"""A plan for a budget: what `plan` returns, and how it prints."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from qufur.arrays import Floats
from qufur.rules import QuFUR, Rule, Steady


@dataclass(frozen=True)
class Spread:
    """A mean over simulated runs, and the range that one more run falls into with probability 90 %.

    That takes at least 19 runs; of fewer it is the lowest and the highest value.
    """

    mean: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Floats) -> Spread:
        """Return mean and range.

        Examples
        --------
        >>> print(Spread.of(np.arange(21.0)))
        10 (0.1–19.9)
        """
        # These quantiles, at the ranks 0.05 (n + 1) and 0.95 (n + 1), have 90 % between them for every n.
        low, high = np.quantile(values, [0.05, 0.95], method="weibull")
        return cls(float(values.mean()), float(low), float(high))

    def __str__(self) -> str:
        return f"{_text(self.mean)} ({_text(self.low)}–{_text(self.high)})"


@dataclass(frozen=True)
class Part:
    """How many labels the examples start, …, stop − 1 of the stream would get."""

    start: int
    stop: int
    labels: Spread


@dataclass(frozen=True)
class Forecast:
    """What a budget would buy: the α that spends it in the mean, the labels, and Σ (ŷ − f*(x))²."""

    budget: int
    alpha: float
    labels: Spread
    regret: Spread | None


@dataclass(frozen=True)
class Expected:
    """The mean loss to expect of a budget, and the range of two standard errors to either side."""

    budget: int
    loss: float
    low: float
    high: float

    @property
    def rmse(self) -> Spread:
        """The root of all three, in the units of the labels."""
        return Spread(math.sqrt(self.loss), math.sqrt(self.low), math.sqrt(self.high))


@dataclass(frozen=True)
class Plan:
    """What a budget would buy on a stream.

    Attributes
    ----------
    budget, horizon
        B and T.
    alpha
        The α of `QuFUR(alpha)` whose mean spend is the budget; None where `Steady` spends it.
    spend
        Labels that it buys.
    parts
        Labels for each part of the stream.
    forecast
        Regret at this and other budgets, rising; None where the model is not linear. Empty for `Steady`.
    noise, norm
        σ in the user's units and the mean of ‖θ*‖ that the regret is forecast for; None without a forecast.
    guessed
        Whether σ was not given, and is the one at which the model's λ is the best choice.
    expected
        The loss at this and other budgets by a pilot of labels; empty without one.
    """

    budget: int
    horizon: int
    alpha: float | None
    spend: Spread
    parts: tuple[Part, ...]
    forecast: tuple[Forecast, ...]
    noise: float | None
    norm: float | None
    guessed: bool
    expected: tuple[Expected, ...] = ()

    @property
    def rule(self) -> Rule:
        """The rule that carries the plan out, and never exceeds the budget."""
        if self.alpha is None:
            return Steady(self.budget, self.horizon)
        return QuFUR(self.alpha, budget=self.budget)

    def __str__(self) -> str:
        rule = "Steady" if self.alpha is None else f"QuFUR({self.alpha:.3g})"
        head = f"{self.budget} of {self.horizon} labels: {rule} buys {self.spend}"
        parts = [[f"{part.start}–{part.stop - 1}", str(part.labels)] for part in self.parts]
        budgets = [
            [str(f.budget), f"{f.alpha:.3g}", str(f.labels), "–" if f.regret is None else str(f.regret)]
            for f in self.forecast
        ]
        errors = [[str(part.budget), str(part.rmse)] for part in self.expected]
        return "\n".join(
            [
                head,
                "",
                *_lines(["examples", "labels"], parts),
                "",
                *([*_lines(["budget", "alpha", "labels", "regret"], budgets), ""] if budgets else []),
                *([*_lines(["budget", "RMSE"], errors), ""] if errors else []),
                *self._notes(),
            ]
        )

    def _notes(self) -> list[str]:
        notes = ["In brackets: the range for one run, with a probability of 90 %."]
        if self.expected:
            notes.append(
                "RMSE is that of labels at random, two standard errors in brackets; choosing may do better."
            )
        if self.alpha is None:
            return notes
        if self.spend.mean < 0.95 * self.budget - 1:
            notes.insert(0, "No α spends this budget: inputs of which nothing is uncertain are not bought.")
        if self.noise is None:
            return [*notes, "Regret is forecast for Ridge only."]
        guess = ", a guess: with it the model's λ is best. Give the noise if you know it" * self.guessed
        return [
            *notes,
            f"Regret assumes linear labels with noise of deviation {self.noise:.3g}{guess}.",
            f"It assumes a random direction of θ* and ‖θ*‖ = {self.norm:.3g}, for labels mapped to [−1, 1].",
        ]


def _text(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def _lines(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    return [
        "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True))
        for row in [header, *rows]
    ]
