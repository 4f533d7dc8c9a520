"""Where the inputs have shifted, how far, and in which columns.

A stream is summed up by the means of blocks of rows, `InputBlocks`: of each column x, and of its distance
|x − a| from where it began, which tells how far it spreads and minds heavy tails less than a square would.
Both are divided by their standard deviation within blocks, or where blocks that follow each other differ by
more than independent rows would, by what explains that. Then z are the blocks' vectors, and wherever h of
them lie on either side,

    D = mean ⟨z, z'⟩ over pairs to the left + the same to the right − 2 mean ⟨z, z'⟩ across,

pairs of different blocks only, which has mean ‖δ‖² if the mean jumps there by δ, and 0 if nothing does (the
unbiased MMD² of Gretton et al. 2012 with a linear kernel). One odd block does not raise it. If ν numbers
were independent, D would be distributed like (χ²_ν − ν) T/ν, with T the summed variance of the two means. A
shift is where D is above one and a half times the point that this exceeds once in a million. For T the
largest of three is taken:

- what the blocks on both sides say, by their scatter,
- what |D| itself says at this h: its lower quarter over the whole stream. So cycles, trends and weather that
  stays are no shifts, however far from independent rows they are;
- what smaller h say, as if blocks were independent.

ν is from the products of differences between blocks: (tr Σ)²/tr Σ². h is 3, 6, 12 and 24. Where several
places are above the threshold, the one that is so by the largest factor is taken, others less than h away
are not, and so on.

*Choice.* Made on seeds 10 to 17 of the design streams of `experiments.shifts`, with a look at the real data;
figures on others are in the manual. Also tried, with thresholds that were a little lower:

- squares in place of distances: 79 to 87 % of the beginnings are found where norms differ by factors, and not
  100, with up to twice the false alarms;
- medians of |D| in place of lower quarters: 59 % where norms are the same, and not 83, as with many domains
  most of the windows have a shift within.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from qufur.arrays import Bools, Floats, Ints
from qufur.estimates.input_blocks import InputBlocks

FEWEST = 24
"""Blocks from which on shifts are looked for."""
COLUMNS = 3
"""Columns that are named at most."""
_SIDES = (3, 6, 12, 24)
_LEVEL, _MARGIN, _QUARTER = 1e-6, 1.5, 0.25
_MOST_NUMBERS = 200.0
_NO_VARIANCE, _LEAST_SHARE = 1e-12, 0.04
_FAR_MORE = 2.0
_MOST_RESETS, _CHANCE, _ROUNDING = 0.2, 1e-4, 1e-9
"""Of a column that only advances: the largest share of resets, and the level of the sign test."""


@dataclass(frozen=True)
class Change:
    """What became of one column.

    Attributes
    ----------
    column
        Its name.
    before, after
        Means on either side; NaN where several numbers have one name.
    deviations
        Their difference in standard deviations of the column within blocks, or in fifths of that over all
        rows if this is more; of several numbers the root of summed squares.
    spread
        Whether all this is about the distance from where the column began, as the mean changed far less.
    """

    column: str
    before: float
    after: float
    deviations: float
    spread: bool


@dataclass(frozen=True)
class InputShift:
    """A place at which the inputs have shifted.

    Attributes
    ----------
    row
        How many rows came before, to the nearest block.
    within
        Rows in a block.
    size
        How far the mean of the inputs jumps, in standard deviations, all columns together; of columns that
        stay at a value for long, in deviations that allow for that.
    score
        How many times the threshold is exceeded.
    changes
        The columns that changed most, the first most of all.
    """

    row: int
    within: int
    size: float
    score: float
    changes: tuple[Change, ...]


def input_shifts(blocks: InputBlocks, names: Sequence[str], ignored: Bools | None = None) -> list[InputShift]:
    """Return the shifts in the order of the stream.

    Parameters
    ----------
    blocks
        The inputs.
    names
        Of their columns; numbers that follow each other under one name, as those of a text, count together.
    ignored
        Marks columns that raise no alarm, such as those of a calendar.

    Notes
    -----
    It takes O(256² + 256² d), some 50 ms for 768 columns.

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
    if len(sums) < FEWEST or blocks.anchor is None:
        return []
    raw = _features(sums / blocks.block, blocks.squares, blocks.block)
    if ignored is not None:
        raw[:, :, ignored] = 0.0
    found = _chosen(_scaled(raw.reshape(len(raw), -1), blocks.block))
    means = sums / blocks.block
    means[:, 0] += blocks.anchor
    return sorted(
        (
            InputShift(
                blocks.first + place * blocks.block,
                blocks.block,
                size,
                score,
                _changes(raw, means, place, side, names),
            )
            for score, place, side, size in found
        ),
        key=lambda shift: shift.row,
    )


def largest_shifts(shifts: Sequence[InputShift], count: int) -> list[InputShift]:
    """Return the `count` largest shifts, in the order of the stream."""
    return sorted(sorted(shifts, key=lambda shift: -shift.size)[:count], key=lambda shift: shift.row)


def only_advances(blocks: InputBlocks) -> Bools:
    """Mark the columns that move in one direction, apart from rare resets: clocks, calendars and counters.

    Block means of such a column rise (or fall) from block to block. In a column of any other kind, rises and
    falls are about equally frequent: a sign test tells the two apart. A column with fewer than 15 changes
    between blocks is never marked, so that a value that is set to another once or twice remains a shift.

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
    chance = 2 * bdtr(fewer.astype(float), changes, 0.5)
    return np.asarray((fewer <= _MOST_RESETS * changes) & (chance < _CHANCE) & (changes > 0))


def _features(means: Floats, squares: Floats, block: int) -> Floats:
    """Return blocks' means in standard deviations about that of the stream; 0 for what is constant."""
    middle = means.mean(axis=0)
    within = (squares - (means**2).mean(axis=0)) * block / (block - 1)
    in_all = squares - middle**2
    varies = in_all > _NO_VARIANCE * squares
    deviation = np.sqrt(np.where(varies, np.maximum(within, _LEAST_SHARE * in_all), 1.0))
    return np.asarray(np.where(varies, (means - middle) / deviation, 0.0))


def _scaled(features: Floats, block: int) -> Floats:
    """Return features over the deviation of a row that would explain how much neighbouring blocks differ."""
    apart = (np.diff(features, axis=0) ** 2).mean(axis=0) / 2
    return np.asarray(features / np.maximum(1.0, np.sqrt(block * apart)))


def _chosen(z: Floats) -> list[tuple[float, int, int, float]]:
    """Return score, place, side and size of what is above the threshold, no two nearer than their sides."""
    gram = z @ z.T
    numbers = _numbers(gram)
    typical, extreme = _null(numbers)
    least, found = 0.0, []
    for side in (side for side in _SIDES if 6 * side <= len(gram)):
        places, distance, scatter = _distances(gram, side)
        least = max(least, side * float(np.quantile(abs(distance), _QUARTER)) / typical)
        score = distance / (_MARGIN * extreme * np.maximum(scatter, least / side) + np.finfo(float).tiny)
        found += [
            (float(score[i]), int(places[i]), side, float(np.sqrt(distance[i])))
            for i in np.flatnonzero(score > 1)
        ]
    chosen: list[tuple[float, int, int, float]] = []
    for one in sorted(found, reverse=True):
        if all(abs(one[1] - other[1]) >= max(one[2], other[2]) for other in chosen):
            chosen.append(one)
    return chosen


def _distances(gram: Floats, side: int) -> tuple[Ints, Floats, Floats]:
    """Return places, and for each D and the summed variance of the two means by the scatter of blocks."""
    own = np.diag(gram)
    sums = np.pad((gram - np.diag(own)).cumsum(axis=0).cumsum(axis=1), ((1, 0), (1, 0)))
    squares = np.append(0.0, own.cumsum())
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


def _numbers(gram: Floats) -> float:
    """Return ν; medians, so that a few shifts do not count."""
    apart = gram[1:, 1:] - gram[1:, :-1] - gram[:-1, 1:] + gram[:-1, :-1]
    products = apart[np.triu_indices(len(apart), 2)] ** 2
    # The median of a squared normal is 0.455 times its mean.
    mean_square = float(np.median(products)) / 0.455
    ratio = float(np.median(np.diag(apart))) ** 2 / mean_square if mean_square > 0 else 1.0
    return float(np.clip(ratio, 1.0, _MOST_NUMBERS))


def _null(numbers: float) -> tuple[float, float]:
    """Return the lower quarter of |χ²_ν − ν|/ν, and the point that χ²_ν/ν − 1 exceeds with the level."""
    from scipy.special import chdtri, gammaincinv

    chi2 = 2 * gammaincinv(numbers / 2, (np.arange(1000) + 0.5) / 1000)
    typical = float(np.quantile(abs(chi2 - numbers), _QUARTER))
    return typical / numbers, float(chdtri(numbers, _LEVEL) - numbers) / numbers


def _changes(raw: Floats, means: Floats, place: int, side: int, names: Sequence[str]) -> tuple[Change, ...]:
    left, right = slice(place - side, place), slice(place, place + side)
    jumps = raw[right].mean(axis=0) - raw[left].mean(axis=0)
    before, after = means[left].mean(axis=0), means[right].mean(axis=0)
    found = []
    for name, group in groupby(range(len(names)), key=names.__getitem__):
        places = list(group)
        sizes = np.sqrt((jumps[:, places] ** 2).sum(axis=1))
        spread = int(sizes[1] > _FAR_MORE * sizes[0])
        ends = before[spread, places[0]], after[spread, places[0]], jumps[spread, places[0]]
        low, high, size = map(float, ends if len(places) == 1 else (np.nan, np.nan, sizes[spread]))
        found.append(Change(name, low, high, size, bool(spread)))
    return tuple(sorted(found, key=lambda change: -abs(change.deviations))[:COLUMNS])
