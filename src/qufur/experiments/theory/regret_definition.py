"""Equality of the two definitions of regret in expectation: E[R] = E[Reg] (Theorem 10)."""

from __future__ import annotations

import numpy as np

from qufur.arrays import Floats
from qufur.experiments.base import Cell, Experiment, Figure, Row, Statement, Table, cells_of
from qufur.figures.style import LOOKS, subplots
from qufur.hypotheses import FiniteLinear
from qufur.models import ConfidenceSet, Model, Ridge
from qufur.rules import QuFUR
from qufur.streams import HiddenDomains, MostUncertain, Stream
from qufur.sweep.grid import play as play_rule
from qufur.sweep.statistics import Interval, jackknife

NOISE = 0.3
ALPHA = 0.3
HORIZON = 200
MEMBERS = 40
"""Linear functions in the finite class, besides f*."""

LEARNERS = {
    "Ridge": "ridge regression, whose queries do not depend on labels, on hidden domains",
    "ConfidenceSet": "a confidence set, whose queries depend on labels, against an adaptive adversary",
}
REPEATS = 20
"""Streams per requested seed; many, because R − Reg has a standard deviation of 2η√E[R]."""

CONFIDENCE = 0.999
NARROW = 0.1
"""Largest distance from 0, as a share of E[R], that the ends of a conclusive interval may have."""


def cells(seeds: int) -> list[Cell]:
    """Run each learner on separate streams."""
    return cells_of(seed=range(REPEATS * seeds), learner=LEARNERS)


def play(cell: Cell) -> Row:
    """Measure both definitions of regret in one run."""
    seed = cell["seed"]
    model, stream = _ridge(seed) if cell["learner"] == "Ridge" else _confidence_set(seed)
    totals = play_rule(model, QuFUR(ALPHA), stream, seed).totals
    return {"queries": totals.queries, "regret": totals.regret, "excess": totals.excess}


def _ridge(seed: int) -> tuple[Model, Stream]:
    stream = HiddenDomains([HORIZON, HORIZON], [4, 1], noise=NOISE, seed=seed)
    return Ridge(stream.dim, noise=NOISE), stream


def _confidence_set(seed: int) -> tuple[Model, Stream]:
    stream = MostUncertain(2, HORIZON, noise=NOISE, pool=16, seed=seed)
    false_thetas = np.random.default_rng([seed, 2]).uniform(-0.7, 0.7, (MEMBERS, 2))
    # f* is last: a learner without labels predicts the first function.
    hypotheses = FiniteLinear(np.vstack([false_thetas, stream.theta]))
    return ConfidenceSet(hypotheses, radius=1.0, noise=NOISE), stream


def judge(table: Table) -> list[Statement]:
    """Compare the means of both definitions."""
    return [_statement(name, samples(table, name)) for name in LEARNERS]


def _statement(name: str, pairs: Floats) -> Statement:
    gap, (regret, excess) = relative_gap(pairs), pairs.mean(axis=0)
    return Statement(
        "Theorem 10",
        f"E[R] = E[Reg] for {LEARNERS[name]}: the interval of E[R − Reg] contains 0 (by chance it does not, "
        f"{1 - CONFIDENCE:.1%} of the time) and reaches no further than {NARROW:.0%} of E[R]",
        f"R {regret:.3f}, Reg {excess:.3f}; (R − Reg)/R {gap.value:+.3f} [{gap.low:+.3f}, {gap.high:+.3f}]",
        (gap.within(-NARROW, NARROW) or None) if gap.low <= 0 <= gap.high else False,
    )


def samples(table: Table, name: str) -> Floats:
    """Return R and Reg, a row per run."""
    return table.filter(learner=name).sort("seed").select("regret", "excess").to_numpy()


def relative_gap(pairs: Floats) -> Interval:
    """Return the mean of R − Reg in units of the mean R."""
    gap = jackknife(lambda part: float((part[:, 0] - part[:, 1]).mean()), pairs, confidence=CONFIDENCE)
    unit = float(pairs[:, 0].mean())
    return Interval(gap.value / unit, gap.low / unit, gap.high / unit)


def draw(table: Table) -> Figure:
    """Draw Reg against R, a point per run, and the interval of R − Reg against the number of runs."""
    figure, (first, second) = subplots(1, 2)
    for name, look in zip(LEARNERS, (LOOKS["QuFUR"], LOOKS["Uniform"]), strict=True):
        pairs = samples(table, name)
        first.plot(*pairs.T, "o", ms=2.5, alpha=0.5, color=look["color"], label=name)
        runs = np.unique(np.geomspace(min(10, len(pairs)), len(pairs), 30).astype(int))
        gaps = np.array([(gap.value, gap.low, gap.high) for gap in (relative_gap(pairs[:n]) for n in runs)])
        second.plot(runs, gaps[:, 0], color=look["color"], label=name)
        second.fill_between(runs, gaps[:, 1], gaps[:, 2], color=look["color"], alpha=0.15, lw=0)
    largest = max(first.get_xlim()[1], 0.0)
    first.plot([0, largest], [0, largest], color="0.3", lw=0.8)
    first.set(xlabel="R", ylabel="Reg", title="Both notions of regret; a point per run")
    first.legend(frameon=False)
    second.axhline(0.0, color="0.3", lw=0.8)
    second.set(xscale="log", xlabel="runs", ylabel="(R − Reg) / R, of means", title="Difference and interval")
    return figure


EXPERIMENT = Experiment("regret_definition", "R and Reg, two notions of regret", cells, play, draw, judge)
