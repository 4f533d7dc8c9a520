"""The eluder dimension: exact for small classes (Definitions 2 and 3), bounded for common ones."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike

from qufur.arrays import Floats, as_count, as_number
from qufur.errors import invalid
from qufur.theory.spans import Span, intersect, merge, subtract

MOST_FUNCTIONS, MOST_INPUTS = 128, 16


def eluder_dimension(values: ArrayLike, epsilon: float) -> int:
    """Return the ε-eluder dimension of a finite class on finitely many inputs, exactly.

    The length of the longest sequence of inputs such that, for some ε′ > ε, every element is ε′-independent
    of its predecessors: two functions differ by at most ε′ in Euclidean norm on the predecessors and by more
    than ε′ on the element. (Russo and Van Roy allow ε′ = ε; the longest sequences are the same.)

    Parameters
    ----------
    values
        The table f(x): a row per function, a column per input. At most 128 functions and, once equal
        columns and columns that no two functions tell apart by ε are left out, 16 inputs.
    epsilon
        ε > 0.

    Notes
    -----
    A pair of functions makes an element independent for ε′² in an interval, so a set of predecessors carries
    the union of intervals in which it can be reached in some order. An input that cannot follow a set cannot
    follow a larger one, which bounds the search. At worst 2^inputs sets, times pairs of functions; ties
    within 1e-12 count as equal.

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
    if gaps.shape[1] > MOST_INPUTS:
        received = f"{gaps.shape[1]} inputs that differ"
        remedy = "Use a bound such as linear_eluder_bound, or fewer inputs."
        raise invalid("values", "eluder_dimension", f"of at most {MOST_INPUTS} inputs", received, remedy)
    return _longest(gaps, (floor, math.inf)) if gaps.size else 0


def _longest(gaps: Floats, start: Span) -> int:
    """Return the length of the longest sequence, from squared differences per pair of functions and input."""
    best, explored = 0, dict[int, list[Span]]()

    def follow(seen: int, spans: list[Span], spent: Floats, inputs: list[int], length: int) -> None:
        nonlocal best
        known = explored.get(seen, [])
        fresh = subtract(spans, known)
        if not fresh:
            return
        explored[seen], best = merge(known + fresh), max(best, length)
        after = {x: intersect(fresh, _independent(gaps[:, x], spent)) for x in inputs}
        after = {x: reach for x, reach in after.items() if reach}
        for x, reach in after.items():
            if length + len(after) <= best:
                return
            follow(seen | 1 << x, reach, spent + gaps[:, x], [y for y in after if y != x], length + 1)

    follow(0, [start], np.zeros(len(gaps)), list(range(gaps.shape[1])), 0)
    return best


def _independent(gap: Floats, spent: Floats) -> list[Span]:
    """Return the ε′² for which some pair makes an input independent: from what it spent to its gap."""
    pairs = gap > spent * (1 + 1e-12)
    return merge(list(zip(spent[pairs].tolist(), gap[pairs].tolist(), strict=True)))


def _table(values: ArrayLike) -> Floats:
    owner = "eluder_dimension"
    table = np.asarray(values, dtype=np.float64)
    if table.ndim != 2 or 0 in table.shape:
        allowed = "a table of at least one function (row) and one input (column)"
        raise invalid("values", owner, allowed, f"shape {table.shape}")
    if not np.isfinite(table).all():
        raise invalid("values", owner, "finite", "NaN or infinity")
    table = np.unique(table, axis=0)
    if len(table) > MOST_FUNCTIONS:
        remedy = "Use a bound such as finite_eluder_bound, or fewer functions."
        raise invalid("values", owner, f"of at most {MOST_FUNCTIONS} functions", len(table), remedy)
    return table


def finite_eluder_bound(functions: int, inputs: int) -> int:
    """Return min{|X|, |F|(|F| − 1)/2}, a bound on the eluder dimension of a finite class at every ε.

    Neither an input nor a pair of functions can serve twice in a sequence. (|F| − 1, which holds for exact
    agreement, can be exceeded when ε′ > 0.)

    Examples
    --------
    >>> finite_eluder_bound(4, 100)
    6
    """
    functions = as_count(functions, "functions", "finite_eluder_bound", remedy="An empty class has none.")
    return min(as_count(inputs, "inputs", "finite_eluder_bound"), functions * (functions - 1) // 2)


def linear_eluder_bound(dim: int, epsilon: float, *, norm_bound: float = 1.0) -> int:
    """Return a bound on the ε-eluder dimension of x ↦ ⟨θ, x⟩ with ‖θ‖ ≤ C on ‖x‖ ≤ 1, in d dimensions.

    `glm_eluder_bound` with slope 1: O(d ln(C/ε)).

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

    With 0 < h ≤ g′ ≤ H and r = H/h, the largest n such that
    (1 + 1/(2r²))^(n/d) ≤ 1 + (2Ch/ε)² n/d. This is where the proof in Russo and Van Roy, to whom the paper
    refers, arrives before it is rounded up to a closed form.

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
    least, most = (as_number(slope, "each of slopes", owner, low=0) for slope in slopes)
    if least > most:
        raise invalid("slopes", owner, "(smallest, largest)", slopes)
    growth, scale = math.log1p((least / most) ** 2 / 2), (2 * C * least / epsilon) ** 2

    def allowed(n: int) -> bool:
        return n * growth <= dim * math.log1p(scale * n / dim)

    high = 1
    while allowed(high):
        high *= 2
    low = high // 2  # allowed, or 0: the inequality holds from 0 up to one point and never again
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if allowed(middle) else (low, middle)
    return low
