"""Result of `plan` and its printed form."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from qufur.arrays import Floats
from qufur.rules import QuFUR, Rule, Steady


@dataclass(frozen=True)
class Spread:
    """Mean over simulated runs, and a 90 % prediction interval for one more run.

    The interval needs at least 19 runs; with fewer it is the range of the values.
    """

    mean: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Floats) -> Spread:
        """Return the mean and the interval of simulated values.

        Examples
        --------
        >>> print(Spread.of(np.arange(21.0)))
        10 (0.1–19.9)
        """
        # The ranks 0.05 (n + 1) and 0.95 (n + 1) enclose one more run with probability 90 % for every n.
        low, high = np.quantile(values, [0.05, 0.95], method="weibull")
        return cls(float(values.mean()), float(low), float(high))

    def __str__(self) -> str:
        return f"{_text(self.mean)} ({_text(self.low)}–{_text(self.high)})"


@dataclass(frozen=True)
class Part:
    """Expected number of labels for the examples start, …, stop − 1 of the stream."""

    start: int
    stop: int
    labels: Spread


@dataclass(frozen=True)
class Forecast:
    """Forecast for a budget: the α that spends it on average, the labels, and the regret Σ (ŷ − f*(x))²."""

    budget: int
    alpha: float
    labels: Spread
    regret: Spread | None


@dataclass(frozen=True)
class Expected:
    """Expected mean loss at a budget, with a range of two standard errors to either side."""

    budget: int
    loss: float
    low: float
    high: float

    @property
    def rmse(self) -> Spread:
        """Square roots of loss, low and high, in the units of the labels."""
        return Spread(math.sqrt(self.loss), math.sqrt(self.low), math.sqrt(self.high))


@dataclass(frozen=True)
class Plan:
    """Forecast for a budget on a stream.

    Attributes
    ----------
    budget, horizon
        B and T.
    alpha
        The α of `QuFUR(alpha)` whose mean spend is the budget; None if `Steady` spends it.
    spend
        Number of labels that the rule buys.
    parts
        Labels in each part of the stream.
    forecast
        Labels and regret at this and other budgets, in increasing order; the regret is None if the model is
        not linear. Empty for `Steady`.
    noise, norm
        σ in the units of the labels and the mean of ‖θ*‖ assumed for the regret; None without a forecast.
    guessed
        Whether σ was not given and is the value at which the λ of the model is optimal.
    expected
        Expected loss at this and other budgets from a pilot; empty without one.
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
        """The rule of the plan, which never exceeds the budget."""
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
        tables = [
            (["examples", "labels"], parts),
            (["budget", "alpha", "labels", "regret"], budgets),
            (["budget", "RMSE"], errors),
        ]
        lines = [line for header, rows in tables if rows for line in (*_lines(header, rows), "")]
        return "\n".join([head, "", *lines, *self._notes()])

    def _notes(self) -> list[str]:
        notes = ["In brackets: 90 % prediction interval for one run."]
        if self.expected:
            notes.append("RMSE is for random labels, two standard errors in brackets; a rule may do better.")
        if self.alpha is None:
            return notes
        if self.spend.mean < 0.95 * self.budget - 1:
            notes.insert(0, "No α spends this budget: inputs with zero uncertainty are never queried.")
        if self.noise is None:
            return [*notes, "Regret is forecast for Ridge only."]
        guess = ", a guess at which the model's λ is optimal; pass the noise if known" if self.guessed else ""
        return [
            *notes,
            f"Regret assumes linear labels with noise of standard deviation {self.noise:.3g}{guess}.",
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
