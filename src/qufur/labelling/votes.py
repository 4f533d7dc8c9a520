"""Several opinions on one row: number needed, resulting label and agreement."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any


def needed(opinions: Sequence[Any], max_opinions: int) -> int:
    """Return the number of opinions to request: two, then one at a time until there is a majority.

    Parameters
    ----------
    opinions
        Received opinions; None (skip) counts as one.
    max_opinions
        Maximum number of opinions.

    Examples
    --------
    >>> [needed(opinions, 3) for opinions in ([], ["a"], ["a", "a"], ["a", "b"], ["a", "b", "c"])]
    [2, 1, 0, 1, 0]
    """
    first = min(max_opinions, 2)
    if len(opinions) < first:
        return first - len(opinions)
    is_decided = 2 * Counter(opinions).most_common(1)[0][1] > len(opinions)
    return 0 if len(opinions) >= max_opinions or is_decided else 1


def majority(opinions: Sequence[Any], *, mean: bool) -> Any:
    """Return the mean of numbers, or the most frequent class; None to skip the row.

    Of equally frequent classes the first one wins.

    >>> majority([4.0, 5.0, None], mean=True), majority(["b", "a", "a"], mean=False)
    (4.5, 'a')
    """
    if not mean:
        return Counter(opinions).most_common(1)[0][0]
    numbers = [opinion for opinion in opinions if opinion is not None]
    return sum(numbers) / len(numbers) if 2 * len(numbers) >= len(opinions) else None


def agreement(rows: Iterable[Mapping[int, Any]]) -> tuple[int, int]:
    """Return the number of rows whose first two opinions agree, and of rows with two opinions.

    >>> agreement([{1: "4", 2: "4.0"}, {1: "4", 2: "5", 3: "4"}, {1: "3"}])
    (1, 2)
    """
    pairs = [(_plain(row[1]), _plain(row[2])) for row in rows if 1 in row and 2 in row]
    return sum(first == second for first, second in pairs), len(pairs)


def _plain(opinion: Any) -> Any:
    """Return numbers as floats: annotators may write the same number differently."""
    try:
        return float(opinion)
    except (TypeError, ValueError):
        return opinion
