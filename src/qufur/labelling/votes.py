"""Several opinions on one row: how many are needed, what they come to, and whether they agree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any


def needed(opinions: Sequence[Any], most: int) -> int:
    """Return how many opinions more to ask for: two first, then one by one until most of them are the same.

    Parameters
    ----------
    opinions
        Those that came; None is one too.
    most
        How many there may be.

    Examples
    --------
    >>> [needed(opinions, 3) for opinions in ([], ["a"], ["a", "a"], ["a", "b"], ["a", "b", "c"])]
    [2, 1, 0, 1, 0]
    """
    first = min(most, 2)
    if len(opinions) < first:
        return first - len(opinions)
    return 0 if len(opinions) >= most or _is_majority(opinions) else 1


def verdict(opinions: Sequence[Any], *, mean: bool) -> Any:
    """Return what opinions come to: the mean of numbers, or the most frequent class; None to skip.

    Of classes that are equally frequent the one that was named first counts.

    >>> verdict([4.0, 5.0, None], mean=True), verdict(["b", "a", "a"], mean=False)
    (4.5, 'a')
    """
    if not mean:
        return Counter(opinions).most_common(1)[0][0]
    numbers = [opinion for opinion in opinions if opinion is not None]
    return sum(numbers) / len(numbers) if 2 * len(numbers) >= len(opinions) else None


def agreement(rows: Iterable[Mapping[int, Any]]) -> tuple[int, int]:
    """Return of how many rows the first two opinions are the same, and how many rows have two.

    >>> agreement([{1: "4", 2: "4.0"}, {1: "4", 2: "5", 3: "4"}, {1: "3"}])
    (1, 2)
    """
    pairs = [(_plain(row[1]), _plain(row[2])) for row in rows if 1 in row and 2 in row]
    return sum(one == other for one, other in pairs), len(pairs)


def _is_majority(opinions: Sequence[Any]) -> bool:
    return 2 * Counter(opinions).most_common(1)[0][1] > len(opinions)


def _plain(opinion: Any) -> Any:
    """Return a number as such: judges may write the same one differently."""
    try:
        return float(opinion)
    except (TypeError, ValueError):
        return opinion
