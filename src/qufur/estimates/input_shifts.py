"""Detection of shifts of the inputs: position, size, and the columns that changed.

`InputBlocks` summarises a stream by means over blocks of rows: of each column x, and of its distance |x − a|
from its start, which measures its spread and is more robust to heavy tails than a square. Both are divided by
their standard deviation within blocks; if successive blocks differ by more than independent rows would, by
the larger deviation that explains the difference. Let z be the vectors of the blocks. At each position with
at least h blocks on either side,

    D = mean ⟨z, z'⟩ over pairs to the left + the same to the right − 2 mean ⟨z, z'⟩ across,

over pairs of different blocks only. D has mean ‖δ‖² if the mean jumps there by δ, and 0 without a jump (the
unbiased MMD² of Gretton et al. 2012 with a linear kernel). One outlying block does not increase it. For ν
independent numbers, D would be distributed like (χ²_ν − ν) T/ν, with T the summed variance of the two means.
A shift is reported where D exceeds 1.5 times the quantile of this distribution at level 1 − 10⁻⁶. T is the
largest of three estimates:

- from the scatter of the blocks on both sides;
- from the lower quartile of |D| over the whole stream at this h, so that cycles, trends and persistent
  weather are not shifts, however far they are from independent rows;
- from smaller h, as if blocks were independent.

ν is estimated from the products of differences between blocks: (tr Σ)²/tr Σ². h is 3, 6, 12 and 24. Positions
above the threshold are selected greedily by the factor by which they exceed it; positions less than h away
from a selected one are dropped.

*Selection of constants.* On seeds 10 to 17 of the design streams of `experiments.shifts`, also considering
the real data; the manual has results on other streams. Alternatives tried, with slightly lower thresholds:

- squares in place of distances: 79 to 87 % instead of 100 % of the shifts are detected on streams whose norms
  differ by factors, with up to twice the false alarms;
- medians of |D| in place of lower quartiles: 59 instead of 83 % on streams of equal norms, since with many
  domains most windows contain a shift.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from qufur.arrays import Bools, Floats, Ints
from qufur.estimates.input_blocks import InputBlocks

MIN_BLOCKS = 24
"""Minimum number of blocks for the detection of shifts."""
MAX_COLUMNS = 3
"""Maximum number of columns reported for a shift."""
_SIDES = (3, 6, 12, 24)
_LEVEL, _MARGIN, _QUARTER = 1e-6, 1.5, 0.25
_MAX_NU = 200.0
_NO_VARIANCE, _LEAST_SHARE = 1e-12, 0.04
_SPREAD_RATIO = 2.0
_MAX_RESETS, _SIGN_LEVEL, _ROUNDING = 0.2, 1e-4, 1e-9
"""Limits for a monotone column: maximum share of resets, level of the sign test, relative rounding error."""


@dataclass(frozen=True)
class Change:
    """Change of one column at a shift.

    Attributes
    ----------
    column
        Name of the column.
    before, after
        Means on either side; NaN if several inputs share the name.
    deviations
        Their difference, in units of the larger of the standard deviation within blocks and a fifth of the
        standard deviation over all rows; for several inputs, the root of the summed squares.
    spread
        Whether the values refer to the distance |x − a| from the start, since the mean changed far less.
    """

    column: str
    before: float
    after: float
    deviations: float
    spread: bool


@dataclass(frozen=True)
class InputShift:
    """A position at which the inputs shifted.

    Attributes
    ----------
    row
        Number of rows before the shift, to the nearest block.
    within
        Rows in a block.
    size
        Jump of the mean of the inputs over all columns, in standard deviations; for autocorrelated columns in
        larger units that account for the correlation.
    score
        Ratio of the statistic to its threshold.
    changes
        The columns that changed most, largest change first.
    """

    row: int
    within: int
    size: float
    score: float
    changes: tuple[Change, ...]


def input_shifts(blocks: InputBlocks, names: Sequence[str], ignored: Bools | None = None) -> list[InputShift]:
    """Return the shifts in stream order.

    Parameters
    ----------
    blocks
        The summarised inputs.
    names
        Names of their columns; adjacent inputs of one name, such as those of a text column, count together.
    ignored
        Mask of the columns that raise no alarm, such as calendar columns.

    Notes
    -----
    Cost: O(256² d), about 50 ms for 768 columns.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(600, 3))
    >>> X[400:, 1] += 2
    >>> blocks = InputBlocks()
    >>> blocks.update(X)
    >>> (shift,) = input_shifts(blocks, ["wind", "rain", "sun"])
    >>> shift.row, shift.changes[0].column, round(shift.changes[0].deviations, 1)
    (400, 'rain', 2.4)
    """
    sums = blocks.sums
    if len(sums) < MIN_BLOCKS or blocks.anchor is None:
        return []
    raw = _features(sums / blocks.block, blocks.squares, blocks.block)
    if ignored is not None:
        raw[:, :, ignored] = 0.0
    means = sums / blocks.block
    means[:, 0] += blocks.anchor
    shifts = []
    for score, position, side, size in _select(_scaled(raw.reshape(len(raw), -1), blocks.block)):
        row, changes = blocks.first + position * blocks.block, _changes(raw, means, position, side, names)
        shifts.append(InputShift(row, blocks.block, size, score, changes))
    return sorted(shifts, key=lambda shift: shift.row)


def largest_shifts(shifts: Sequence[InputShift], count: int) -> list[InputShift]:
    """Return the `count` largest shifts, in stream order."""
    return sorted(sorted(shifts, key=lambda shift: -shift.size)[:count], key=lambda shift: shift.row)


def only_advances(blocks: InputBlocks) -> Bools:
    """Mark the columns that move in one direction, apart from rare resets: clocks, calendars and counters.

    The block means of such a column rise (or fall) from block to block. In other columns, rises and falls are
    about equally frequent; a sign test distinguishes the two. A column with fewer than 15 changes between
    blocks is never marked, so that a setting that changes once or twice remains a shift.

    Examples
    --------
    >>> rows = np.arange(600)
    >>> X = np.column_stack([rows // 20 % 30, rows >= 400, np.random.default_rng(0).normal(size=600)])
    >>> blocks = InputBlocks()
    >>> blocks.update(X)
    >>> only_advances(blocks).tolist()
    [True, False, False]
    """
    from scipy.special import bdtr

    means = blocks.sums[:, 0] / blocks.block
    steps = np.diff(means, axis=0)
    slack = _ROUNDING * np.sqrt(blocks.squares[0]) if len(means) else 0.0
    rises, falls = (steps > slack).sum(axis=0), (steps < -slack).sum(axis=0)
    changes, fewer = rises + falls, np.minimum(rises, falls)
    p_value = 2 * bdtr(fewer.astype(float), changes, 0.5)
    return np.asarray((fewer <= _MAX_RESETS * changes) & (p_value < _SIGN_LEVEL) & (changes > 0))


def _features(means: Floats, squares: Floats, block: int) -> Floats:
    """Return the centred block means in units of the standard deviation; 0 for constant columns."""
    middle = means.mean(axis=0)
    within = (squares - (means**2).mean(axis=0)) * block / (block - 1)
    overall = squares - middle**2
    varies = overall > _NO_VARIANCE * squares
    deviation = np.sqrt(np.where(varies, np.maximum(within, _LEAST_SHARE * overall), 1.0))
    return np.asarray(np.where(varies, (means - middle) / deviation, 0.0))


def _scaled(features: Floats, block: int) -> Floats:
    """Divide features by the row deviation that explains how neighbouring blocks differ, if above 1."""
    apart = (np.diff(features, axis=0) ** 2).mean(axis=0) / 2
    return np.asarray(features / np.maximum(1.0, np.sqrt(block * apart)))


def _select(z: Floats) -> list[tuple[float, int, int, float]]:
    """Return score, position, h and size of the shifts, no two nearer to each other than their h."""
    gram = z @ z.T
    typical, extreme = _null(_degrees_of_freedom(gram))
    lowest, candidates = 0.0, []
    for side in (side for side in _SIDES if 6 * side <= len(gram)):
        positions, distance, scatter = _distances(gram, side)
        lowest = max(lowest, side * float(np.quantile(abs(distance), _QUARTER)) / typical)
        score = distance / (_MARGIN * extreme * np.maximum(scatter, lowest / side) + np.finfo(float).tiny)
        candidates += [
            (float(score[i]), int(positions[i]), side, float(np.sqrt(distance[i])))
            for i in np.flatnonzero(score > 1)
        ]
    chosen: list[tuple[float, int, int, float]] = []
    for candidate in sorted(candidates, reverse=True):
        _, position, side, _ = candidate
        if all(abs(position - other[1]) >= max(side, other[2]) for other in chosen):
            chosen.append(candidate)
    return chosen


def _distances(gram: Floats, side: int) -> tuple[Ints, Floats, Floats]:
    """Return positions, D at each, and the summed variance of the two means from the scatter of blocks."""
    norms = np.diag(gram)
    sums = np.pad((gram - np.diag(norms)).cumsum(axis=0).cumsum(axis=1), ((1, 0), (1, 0)))
    squares = np.append(0.0, norms.cumsum())
    k = np.arange(side, len(gram) - side + 1)

    def pairs(first: Ints, second: Ints) -> Floats:
        ends = ((first + side, second + side), (first, second))
        mixed = sums[first, second + side] + sums[first + side, second]
        return np.asarray(sum(sums[i, j] for i, j in ends) - mixed)

    def scatter(first: Ints, within: Floats) -> Floats:
        total = squares[first + side] - squares[first]
        return np.asarray((total - (total + within) / side) / (side * (side - 1)))

    left, right = pairs(k - side, k - side), pairs(k, k)
    distance = (left + right) / (side * (side - 1)) - 2 * pairs(k - side, k) / side**2
    return k, distance, np.maximum(scatter(k - side, left) + scatter(k, right), 0.0)


def _degrees_of_freedom(gram: Floats) -> float:
    """Return ν; medians make it robust to a few shifts."""
    apart = gram[1:, 1:] - gram[1:, :-1] - gram[:-1, 1:] + gram[:-1, :-1]
    products = apart[np.triu_indices(len(apart), 2)] ** 2
    # The median of a squared normal is 0.455 times its mean.
    mean_square = float(np.median(products)) / 0.455
    ratio = float(np.median(np.diag(apart))) ** 2 / mean_square if mean_square > 0 else 1.0
    return float(np.clip(ratio, 1.0, _MAX_NU))


def _null(nu: float) -> tuple[float, float]:
    """Return the lower quartile of |χ²_ν − ν|/ν, and the upper quantile of χ²_ν/ν − 1 at the level."""
    from scipy.special import chdtri, gammaincinv

    chi2 = 2 * gammaincinv(nu / 2, (np.arange(1000) + 0.5) / 1000)
    typical = float(np.quantile(abs(chi2 - nu), _QUARTER))
    return typical / nu, float(chdtri(nu, _LEVEL) - nu) / nu


def _changes(
    raw: Floats, means: Floats, position: int, side: int, names: Sequence[str]
) -> tuple[Change, ...]:
    """Return the columns that changed most between the blocks on either side of a position."""
    left, right = slice(position - side, position), slice(position, position + side)
    jumps = raw[right].mean(axis=0) - raw[left].mean(axis=0)
    before, after = means[left].mean(axis=0), means[right].mean(axis=0)
    changes = []
    for name, group in groupby(range(len(names)), key=names.__getitem__):
        columns = list(group)
        sizes = np.sqrt((jumps[:, columns] ** 2).sum(axis=1))
        spread = int(sizes[1] > _SPREAD_RATIO * sizes[0])
        ends = before[spread, columns[0]], after[spread, columns[0]], jumps[spread, columns[0]]
        low, high, size = map(float, ends if len(columns) == 1 else (np.nan, np.nan, sizes[spread]))
        changes.append(Change(name, low, high, size, bool(spread)))
    return tuple(sorted(changes, key=lambda change: -abs(change.deviations))[:MAX_COLUMNS])
