"""Bayes risk of one direction: at least 1/(6(n + 2)) after n labels (proof of Theorem 3)."""

from __future__ import annotations

from dataclasses import astuple

import numpy as np

from qufur.arrays import Ints
from qufur.experiments.base import Cell, Experiment, Figure, Row, Statement, Table, cells_of
from qufur.experiments.theory.lower_bound import MODELS
from qufur.figures.style import LOOKS, subplots
from qufur.rules import QuFUR, Rule, Threshold, Uniform
from qufur.streams import LowerBound
from qufur.sweep.grid import play as play_rule
from qufur.sweep.statistics import Interval, every, jackknife, per_seed, ratio
from qufur.theory import bayes_risk

DIM = 64
HORIZON = 80 * DIM
RULES: dict[str, Rule] = {"QuFUR": QuFUR(20.0), "Threshold": Threshold(1 / 40), "Uniform": Uniform(0.5)}
LABELS = (0, 1, 2, 4, 8, 16, 32)
"""Numbers n of labels at which errors are compared."""

ENOUGH = 100
"""Minimum number of directions with n labels, over all runs, for a statement about n."""

REPEATS = 5
"""Streams per requested seed."""

ODDS = 0.001
"""Probability that at least one of the intervals of all comparisons misses its true value."""


def cells(seeds: int) -> list[Cell]:
    """Run three rules over both models; θ* is drawn for each seed."""
    return cells_of(seed=range(REPEATS * seeds), model=MODELS, rule=RULES)


def play(cell: Cell) -> Row:
    """Return, for every n, the number of directions with n labels and the sum of their errors."""
    stream = LowerBound([HORIZON], [DIM], seed=cell["seed"])
    trace = play_rule(MODELS[cell["model"]](DIM), RULES[cell["rule"]], stream, cell["seed"])
    direction = np.repeat(np.arange(DIM), stream.subblocks)
    before: Ints = np.cumsum(trace.query) - trace.query
    labels: Ints = before - before[np.searchsorted(direction, direction)]
    # A prediction is constant until the next label of its direction: its first step suffices.
    first = np.flatnonzero(np.diff(direction * HORIZON + labels, prepend=-1))
    errors, labels = trace.regret[first], labels[first]
    sums = {f"error_{n}": float(errors[labels == n].sum()) for n in LABELS}
    return sums | {f"count_{n}": int((labels == n).sum()) for n in LABELS}


def judge(table: Table) -> list[Statement]:
    """Compare the errors of both models with the Bayes risk."""
    paper, bayes = (list(error_ratios(table, model).values()) for model in ("paper", "Bayes"))
    lowest = min(paper + bayes, key=lambda interval: interval.value)
    furthest = max(bayes, key=lambda interval: abs(interval.value - 1))
    return [
        Statement(
            "proof of Theorem 3",
            "after n labels of a direction E(ŷ − θ)² ≥ 1/(6(n + 2)), for every n and both models: "
            f"no interval of the ratio below 1 ({ODDS:.1%} by chance), all above 0.9",
            f"smallest ratio {_exact(lowest)} of {len(paper + bayes)}",
            every(False if interval.high < 1 else interval.low >= 0.9 or None for interval in paper + bayes),
        ),
        Statement(
            "proof of Theorem 3",
            "ridge regression with λ = 2 on labels in [0, 1] attains 1/(6(n + 2)): ratio within 0.1 of 1",
            f"the furthest from 1 is {_exact(furthest)} of {len(bayes)}",
            every(interval.within(0.9, 1.1) for interval in bayes),
        ),
    ]


def _exact(interval: Interval) -> str:
    return f"{interval.value:.3f} [{interval.low:.3f}, {interval.high:.3f}]"


def error_ratios(table: Table, model: str) -> dict[int, Interval]:
    """Return the mean squared error after n labels over the Bayes risk, for the n with enough data."""
    part, ratios = table.filter(model=model), {}
    for n in LABELS:
        errors, counts = (per_seed(part, ["rule"], f"{name}_{n}").sum(axis=1) for name in ("error", "count"))
        if counts.sum() >= ENOUGH:
            samples = np.stack([errors, bayes_risk(n) * counts], axis=1)
            ratios[n] = jackknife(ratio, samples, confidence=1 - ODDS / (len(LABELS) * len(MODELS)))
    return ratios


def draw(table: Table) -> Figure:
    """Draw the errors of both models against n, and their ratio to the Bayes risk."""
    figure, (first, second) = subplots(1, 2)
    for model, look in (("paper", LOOKS["Uniform"]), ("Bayes", LOOKS["QuFUR"])):
        ratios = error_ratios(table, model)
        value, _, high = np.transpose([astuple(interval) for interval in ratios.values()])
        style = {"ms": 4, "lw": 0, "elinewidth": 1, "capsize": 2, "label": f"{model} ridge", **look}
        n, risk = np.array(list(ratios)), np.array([bayes_risk(labels) for labels in ratios])
        for panel, unit in ((first, risk), (second, 1.0)):
            panel.errorbar(n + 2, unit * value, yerr=unit * (high - value), **style)
    shifted = np.array(LABELS) + 2
    first.plot(shifted, 1 / (6 * shifted), color="0.3", lw=1, label="1/(6(n + 2))")
    first.set(xscale="log", yscale="log", ylabel="E(ŷ − θ)²", title="Error after n labels")
    second.axhline(1.0, color="0.3", lw=1)
    second.set(xscale="log", ylabel="E(ŷ − θ)² · 6(n + 2)", title="The same over 1/(6(n + 2))")
    for panel in (first, second):
        panel.set_xticks(shifted, labels=LABELS)
        panel.minorticks_off()
        panel.set_xlabel("labels n of a direction")
    first.legend(frameon=False)
    return figure


EXPERIMENT = Experiment("bayes_risk", "Error after n labels against the Bayes risk", cells, play, draw, judge)
