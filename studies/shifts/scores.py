"""Scores of alarms: detected shifts, delays and false alarms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from qufur.arrays import Floats, Ints
from qufur.estimates.shifts import BLOCK, ShiftSignal
from qufur.learner import Learner
from qufur.models import Model
from qufur.rules import Paced, QuFUR, Rule, Uniform
from qufur.run import run
from qufur.streams import Stream
from qufur.sweep.statistics import per_seed
from qufur.sweep.tasks import Row

if TYPE_CHECKING:
    import polars as pl

WITHIN = 50
"""Examples within which a shift must be detected."""

RISE = 1.5
"""Smallest ratio of the mean Δ of up to 50 examples after a beginning to that before it, for the beginning to
count as clear."""

RULES: dict[str, Callable[[int], Rule]] = {
    "QuFUR(0.3)": lambda horizon: QuFUR(0.3),
    "QuFUR(1)": lambda horizon: QuFUR(1.0),
    "QuFUR(4)": lambda horizon: QuFUR(4.0),
    "QuFUR(1), 5 % spent": lambda horizon: QuFUR(1.0, budget=horizon // 20),
    "Paced, 5 %": lambda horizon: Paced(horizon // 20, horizon),
    "Paced, 10 %": lambda horizon: Paced(horizon // 10, horizon),
    "Paced, 20 %": lambda horizon: Paced(horizon // 5, horizon),
    "Uniform(0.05)": lambda horizon: Uniform(0.05),
    "Uniform(0.2)": lambda horizon: Uniform(0.2),
}


def measure(model: Model, stream: Stream, seed: int) -> Row:
    """Run every rule on a stream and score the signal of each."""
    rows = [_score(model, rule(stream.horizon), stream, seed) for rule in RULES.values()]
    return {"rule": list(RULES), "examples": stream.horizon} | {
        name: [row[name] for row in rows] for name in rows[0]
    }


def _score(model: Model, rule: Rule, stream: Stream, seed: int) -> dict[str, float]:
    trace = run(Learner(model, rule, seed=seed), stream)
    starts = beginnings(trace.domain)
    delays, false = match(alarms(trace.uncertainty), starts)
    clear = {start for start in starts if rise(trace.uncertainty, trace.domain, start) >= RISE}
    return {
        "beginnings": len(starts),
        "found": len(delays),
        "clear": len(clear),
        "clear_found": len(clear & delays.keys()),
        "delay": sum(delays.values()),
        "false": false,
    }


def beginnings(domain: Ints) -> list[int]:
    """Return the first example of every domain except the one that comes first.

    >>> beginnings(np.array([0, 0, 2, 0, 1, 1, 2]))
    [2, 4]
    """
    return sorted(np.unique(domain, return_index=True)[1].tolist())[1:]


def alarms(uncertainty: Floats) -> list[int]:
    """Return the number of examples seen at each alarm."""
    signal, alarm_times = ShiftSignal(), []
    for part in np.split(uncertainty, range(BLOCK, len(uncertainty), BLOCK)):
        before = signal.times
        signal.update(part)
        if signal.times != before:
            alarm_times.append(signal.examples)
    return alarm_times


def match(alarms: Sequence[int], beginnings: Sequence[int]) -> tuple[dict[int, int], int]:
    """Return the delay of each detected shift, and the number of false alarms.

    An alarm belongs to the latest beginning before it. It is false if that beginning is more than `WITHIN`
    examples ago or already detected.

    >>> match([24, 120, 136, 300], [100, 400])
    ({100: 20}, 3)
    """
    delays: dict[int, int] = {}
    for alarm in alarms:
        latest = max((start for start in beginnings if start < alarm), default=None)
        if latest is not None and alarm - latest <= WITHIN:
            delays.setdefault(latest, alarm - latest)
    return delays, len(alarms) - len(delays)


def rise(uncertainty: Floats, domain: Ints, start: int) -> float:
    """Return the ratio of the mean Δ after a beginning to that before it.

    Each mean covers at most `WITHIN` examples and ends at the nearest other change of domain.

    >>> rise(np.array([9.0, 1.0, 1.0, 3.0, 3.0, 9.0]), np.array([0, 1, 1, 2, 2, 0]), 3)
    3.0
    """
    changes = np.flatnonzero(np.diff(domain)) + 1
    first = max(start - WITHIN, *changes[changes < start], 0)
    last = min(start + WITHIN, *changes[changes > start], len(domain))
    before = uncertainty[first:start].mean()
    return float(uncertainty[start:last].mean() / before) if before > 0 else np.inf


def rate(samples: Floats) -> float:
    """Return the sum of the first column divided by that of the second; NaN if the second sum is 0."""
    above, below = samples.sum(axis=0)
    return float(above / below) if below else np.nan


def counts(table: pl.DataFrame, above: str, below: str) -> Floats:
    """Return the sums of two columns for each seed."""
    sums = table.select("seed", above, below).group_by("seed").sum()
    return np.stack([per_seed(sums, [], name) for name in (above, below)], axis=-1)


def cells_of(table: pl.DataFrame) -> list[str]:
    """Return the cells under `HEADER`; the delay is the mean over detected shifts."""
    detected, clear, delay, false = (
        rate(counts(table, *names))
        for names in (
            ("found", "beginnings"),
            ("clear_found", "clear"),
            ("delay", "found"),
            ("false", "examples"),
        )
    )
    formatted = [f"{table['beginnings'].sum()}", f"{detected:.0%}", f"{table['clear'].sum()}", f"{clear:.0%}"]
    return ["–" if "nan" in text else text for text in (*formatted, f"{delay:.0f}", f"{1000 * false:.2f}")]


HEADER = ("beginnings", "found", "clear beginnings", "found", "delay", "false per 1000")
