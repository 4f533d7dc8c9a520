"""Do prediction intervals cover what they say? Each is made before its label, on streams with all labels."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from qufur.arrays import Floats
from qufur.estimates.intervals import Errors
from qufur.learner import Learner
from qufur.models.base import Model
from qufur.rules import Rule
from qufur.run import run
from qufur.streams import Arrays
from qufur.trace import Trace

LEVELS = (0.8, 0.9, 0.95)


class Coverage(NamedTuple):
    """How many labels the intervals of one level covered.

    Attributes
    ----------
    stream, rule, labels, level
        What was played, how many labels were bought, and the share that was to be covered.
    covered, covered_late
        The share of examples, labelled or not, whose label lay in the interval made before it came; over
        those with ends, and over the last fifth of the stream.
    half_width
        The mean of r, in standard deviations of the labels.
    endless
        The share of examples before there were labels enough for ends.
    """

    stream: str
    rule: str
    labels: int
    level: float
    covered: float
    covered_late: float
    half_width: float
    endless: float


def coverage(
    streams: Mapping[str, Arrays],
    rules: Mapping[str, Callable[[Arrays], Rule]],
    *,
    model: Callable[[], Model],
    levels: Sequence[float] = LEVELS,
    seed: int = 0,
) -> list[Coverage]:
    """Play every stream with every rule, and return a row for each level."""
    return [
        row
        for name, stream in streams.items()
        for rule, make in rules.items()
        for row in _rows(name, rule, stream, run(Learner(model(), make(stream), seed=seed), stream), levels)
    ]


def table(rows: Sequence[Coverage]) -> str:
    """Return the rows as text, the levels of a run side by side: nominal → over all / in the last fifth."""
    lines: dict[tuple[str, str, int], list[str]] = {}
    for row in rows:
        cell = f"{row.level:g} → {row.covered:.3f} / {row.covered_late:.3f} (± {row.half_width:.2f} sd)"
        lines.setdefault((row.stream, row.rule, row.labels), []).append(cell)
    return "\n".join(f"{s:12} {r:8} {n:5d}  {'   '.join(cells)}" for (s, r, n), cells in lines.items())


def half_widths(trace: Trace, y: Floats, levels: Sequence[float]) -> Floats:
    """Return r at each level for every example, from the labels bought before it."""
    errors, found = Errors(), np.full((len(y), len(levels)), np.inf)
    bought = np.flatnonzero(trace.query)
    mean = np.cumsum(trace.probability) / np.arange(1, len(y) + 1)
    for place, following in zip(bought, [*bought[1:], len(y) - 1], strict=True):
        errors.add_one(abs(trace.prediction[place] - y[place]), trace.probability[place])
        found[place + 1 : following + 1] = errors.quantiles(levels, mean[place])
    return found


def _rows(
    stream: str, rule: str, played: Arrays, trace: Trace, levels: Sequence[float]
) -> Iterator[Coverage]:
    error = abs(trace.prediction - played.y)
    late = slice(4 * len(error) // 5, None)
    for level, r in zip(levels, half_widths(trace, played.y, levels).T, strict=True):
        ends, inside = np.isfinite(r), error <= r
        width = r[ends].mean() / played.y.std()
        share = inside[ends].mean(), inside[late].mean()
        yield Coverage(stream, rule, trace.queries, level, *map(float, (*share, width, 1 - ends.mean())))
