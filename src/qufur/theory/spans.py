"""Sets of numbers as sorted, disjoint, half-open intervals."""

from __future__ import annotations

Span = tuple[float, float]
ROUNDING = 1e-12


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
    """Return what two sets share.

    >>> intersect([(0, 2), (3, 5)], [(1, 4)])
    [(1, 2), (3, 4)]
    """
    both = [(max(a, c), min(b, d)) for a, b in left for c, d in right]
    return [span for span in both if _wide(span)]


def subtract(left: list[Span], right: list[Span]) -> list[Span]:
    """Return what the first set has and the second has not.

    >>> subtract([(0, 5)], [(1, 2), (4, 6)])
    [(0, 1), (2, 4)]
    """
    for low, high in right:
        left = [piece for a, b in left for piece in ((a, min(b, low)), (max(a, high), b)) if _wide(piece)]
    return left


def _wide(span: Span) -> bool:
    """Return whether an interval is more than what rounding makes of an empty one."""
    return span[1] > span[0] * (1 + ROUNDING)
