"""The eluder dimension: exact for small classes (Definitions 2 and 3), bounded for common ones.

Sets of scales are sorted lists of disjoint, half-open intervals.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike

from qufur.arrays import Floats, as_count, as_number
from qufur.errors import invalid

Span = tuple[float, float]
ROUNDING = 1e-12
MAX_FUNCTIONS, MAX_INPUTS = 128, 16


def merge(spans: list[Span]) -> list[Span]:
    """Return the union of intervals in any order.

    >>> merge([(3, 4), (0, 1), (1, 2)])
    [(0, 2), (3, 4)]
    """
    merged: list[Span] = []
    for low, high in sorted(spans):
        if merged and low <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(high, merged[-1][1])
        else:
            merged.append((low, high))
    return merged


def intersect(left: list[Span], right: list[Span]) -> list[Span]:
    """Return the intersection of two sets.

    >>> intersect([(0, 2), (3, 5)], [(1, 4)])
    [(1, 2), (3, 4)]
    """
    both = [(max(a, c), min(b, d)) for a, b in left for c, d in right]
    return [span for span in both if _wide(span)]


def subtract(left: list[Span], right: list[Span]) -> list[Span]:
    """Return the first set without the second.

    >>> subtract([(0, 5)], [(1, 2), (4, 6)])
    [(0, 1), (2, 4)]
    """
    for low, high in right:
        left = [piece for a, b in left for piece in ((a, min(b, low)), (max(a, high), b)) if _wide(piece)]
    return left


def _wide(span: Span) -> bool:
    """Return whether an interval is wider than rounding error."""
    return span[1] > span[0] * (1 + ROUNDING)


def eluder_dimension(values: ArrayLike, epsilon: float) -> int:
    """Return the ε-eluder dimension of a finite class on finitely many inputs, exactly.

    It is the length of the longest sequence of inputs such that, for some ε′ > ε, every element is
    ε′-independent of its predecessors: two functions differ by at most ε′ in Euclidean norm on the
    predecessors and by more than ε′ on the element. (Russo and Van Roy allow ε′ = ε; the longest sequences
    are the same.)

    Parameters
    ----------
    values
        The table f(x): a row per function, a column per input. At most 128 functions and, once equal
        columns and columns on which no two functions differ by more than ε are removed, 16 inputs.
    epsilon
        ε > 0.

    Notes
    -----
    A pair of functions makes an element independent for ε′² in an interval. For each set of predecessors the
    search stores the union of the intervals in which some order of the set is a valid sequence. An input that
    cannot follow a set cannot follow a larger set, which limits the search. The cost is at worst 2^inputs
    sets times pairs of functions. Values within a relative 1e-12 count as equal.

    Examples
    --------
    >>> eluder_dimension(np.eye(4), epsilon=0.5)
    3
    >>> eluder_dimension([[0, 0.3, 0.9], [0, 0.6, -0.9], [1, 0.1, 0.2]], epsilon=0.1)
    3
    """
    floor = as_number(epsilon, "epsilon", "eluder_dimension", low=0) ** 2
    table = _table(values)
    gaps = np.array([(f - g) ** 2 for f, g in combinations(table, 2)]).reshape(-1, table.shape[1])
    gaps = np.unique(gaps[:, gaps.max(axis=0, initial=0.0) > floor], axis=1)
    gaps = np.unique(gaps[gaps.max(axis=1, initial=0.0) > floor], axis=0)
    if gaps.shape[1] > MAX_INPUTS:
        received = f"{gaps.shape[1]} inputs that differ"
        remedy = "Use a bound such as linear_eluder_bound, or fewer inputs."
        raise invalid("values", "eluder_dimension", f"of at most {MAX_INPUTS} inputs", received, remedy)
    return _longest(gaps, (floor, math.inf)) if gaps.size else 0


def _longest(gaps: Floats, start: Span) -> int:
    """Return the length of the longest sequence that is valid for some ε′² in `start`.

    `gaps` are squared differences: a row per pair of functions, a column per input. The order of predecessors
    does not matter, so a set of predecessors (bits of `used`) is explored once for each ε′².
    """
    best, explored = 0, dict[int, list[Span]]()

    def follow(used: int, spans: list[Span], distances: Floats, inputs: list[int], length: int) -> None:
        """Extend sequences of the inputs `used`; `distances` are the pairs' squared distances on them."""
        nonlocal best
        covered = explored.get(used, [])
        new = subtract(spans, covered)
        if not new:
            return
        explored[used] = merge(covered + new)
        best = max(best, length)
        followers = {x: intersect(new, _independent(gaps[:, x], distances)) for x in inputs}
        followers = {x: valid for x, valid in followers.items() if valid}
        for x, valid in followers.items():
            if length + len(followers) <= best:
                return
            others = [y for y in followers if y != x]
            follow(used | 1 << x, valid, distances + gaps[:, x], others, length + 1)

    follow(0, [start], np.zeros(len(gaps)), list(range(gaps.shape[1])), 0)
    return best


def _independent(gap: Floats, distances: Floats) -> list[Span]:
    """Return the ε′² for which some pair of functions makes an input independent of its predecessors.

    For each pair they range from its squared distance on the predecessors to that on the input.
    """
    pairs = gap > distances * (1 + ROUNDING)
    return merge(list(zip(distances[pairs].tolist(), gap[pairs].tolist(), strict=True)))


def _table(values: ArrayLike) -> Floats:
    owner = "eluder_dimension"
    table = np.asarray(values, dtype=np.float64)
    if table.ndim != 2 or 0 in table.shape:
        allowed = "a table of at least one function (row) and one input (column)"
        raise invalid("values", owner, allowed, f"shape {table.shape}")
    if not np.isfinite(table).all():
        raise invalid("values", owner, "finite", "NaN or infinity")
    table = np.unique(table, axis=0)
    if len(table) > MAX_FUNCTIONS:
        remedy = "Use a bound such as finite_eluder_bound, or fewer functions."
        raise invalid("values", owner, f"of at most {MAX_FUNCTIONS} functions", len(table), remedy)
    return table


def finite_eluder_bound(functions: int, inputs: int) -> int:
    """Return min{|X|, |F|(|F| − 1)/2}, a bound on the eluder dimension of a finite class at every ε.

    A sequence uses each input and each pair of functions at most once. (The bound |F| − 1, which holds for
    exact agreement, fails for ε′ > 0.)

    Examples
    --------
    >>> finite_eluder_bound(4, 100)
    6
    """
    functions = as_count(functions, "functions", "finite_eluder_bound", remedy="An empty class has none.")
    return min(as_count(inputs, "inputs", "finite_eluder_bound"), functions * (functions - 1) // 2)


def linear_eluder_bound(dim: int, epsilon: float, *, norm_bound: float = 1.0) -> int:
    """Return a bound on the ε-eluder dimension of x ↦ ⟨θ, x⟩ with ‖θ‖ ≤ C on ‖x‖ ≤ 1, in d dimensions.

    Equals `glm_eluder_bound` with slope 1, O(d ln(C/ε)).

    Examples
    --------
    >>> linear_eluder_bound(3, 0.01)
    104
    """
    return glm_eluder_bound(dim, epsilon, slopes=(1.0, 1.0), norm_bound=norm_bound)


def glm_eluder_bound(
    dim: int, epsilon: float, *, slopes: tuple[float, float], norm_bound: float = 1.0
) -> int:
    """Return a bound on the ε-eluder dimension of x ↦ g(⟨θ, x⟩) with ‖θ‖ ≤ C on ‖x‖ ≤ 1, in d dimensions.

    With 0 < h ≤ g′ ≤ H and r = H/h, the bound is the largest n such that
    (1 + 1/(2r²))^(n/d) ≤ 1 + (2Ch/ε)² n/d. The proof in Russo and Van Roy, which the paper cites, derives
    this inequality and then loosens it to a closed form.

    Parameters
    ----------
    dim
        d ≥ 1.
    epsilon
        ε > 0.
    slopes
        (h, H), the smallest and the largest slope of the link g where it is used.
    norm_bound
        C > 0.

    Examples
    --------
    >>> glm_eluder_bound(3, 0.01, slopes=(0.2, 0.25))
    119
    """
    owner = "glm_eluder_bound"
    dim = as_count(dim, "dim", owner)
    epsilon = as_number(epsilon, "epsilon", owner, low=0)
    C = as_number(norm_bound, "norm_bound", owner, low=0)
    min_slope, max_slope = (as_number(slope, "each of slopes", owner, low=0) for slope in slopes)
    if min_slope > max_slope:
        raise invalid("slopes", owner, "(smallest, largest)", slopes)
    growth, scale = math.log1p((min_slope / max_slope) ** 2 / 2), (2 * C * min_slope / epsilon) ** 2

    def allowed(n: int) -> bool:
        return n * growth <= dim * math.log1p(scale * n / dim)

    high = 1
    while allowed(high):
        high *= 2
    # The inequality holds from 0 up to one point and nowhere beyond.
    return bisect_left(range(1, high), True, key=lambda n: not allowed(n))
