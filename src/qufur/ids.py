"""Ids of examples: consecutive numbers by default, or ids that the caller passes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from qufur.arrays import is_integer
from qufur.errors import invalid

Id = int | str
LARGEST_NUMBER = 10**1000
"""Upper limit of numeric ids; Python cannot parse integers of more than 4300 digits."""


def as_ids(ids: Sequence[Any] | None, count: int, next_id: int, taken: Collection[Id]) -> Sequence[Id]:
    """Validate ids, one per example; without ids, return consecutive numbers from `next_id`."""
    if ids is None:
        return range(next_id, next_id + count)
    ids = [int(id) if isinstance(id, np.integer) else id for id in ids]
    if len(ids) != count:
        raise invalid("ids", "Learner", f"{count} ids, one per input", len(ids))
    _check_types(ids)
    _check_distinct(ids)
    repeated = [id for id in ids if id in taken]
    if repeated:
        raise invalid("id", "Learner", "new while its label is outstanding", repr(repeated[0]))
    return ids


def check_outstanding(ids: Sequence[Any], outstanding: Collection[Id]) -> None:
    """Raise `InvalidError` unless all ids are outstanding and distinct."""
    if len(ids) == 1 and type(ids[0]) in (int, str) and ids[0] in outstanding:
        return  # fast path
    unknown = [id for id in ids if not _is_id(id) or id not in outstanding]
    if unknown:
        examples = ", ".join(map(repr, list(outstanding)[:5])) or "none"
        raise invalid("id", "Learner", "outstanding", repr(unknown[0]), f"Outstanding: {examples}.")
    _check_distinct(ids)


def next_free_id(ids: Sequence[Id], next_id: int) -> int:
    """Return the first number above all ids so far, so that default ids never collide with given ones.

    >>> next_free_id(["a", 7], 3), next_free_id(range(3), 5)
    (8, 5)
    """
    if isinstance(ids, range):
        return max(next_id, ids.stop)
    return max([next_id, *(id + 1 for id in ids if isinstance(id, int))])


def _is_id(id: object) -> bool:
    return isinstance(id, str) or is_integer(id)


def _check_types(ids: Sequence[Any]) -> None:
    types = set(map(type, ids))
    if types <= {str} or (types == {int} and -LARGEST_NUMBER < min(ids) <= max(ids) < LARGEST_NUMBER):
        return  # fast path
    for id in ids:
        if not _is_id(id):
            raise invalid("id", "Learner", "an int or a str", repr(id))
        if isinstance(id, int) and abs(id) >= LARGEST_NUMBER:
            allowed = "a number of at most 1000 digits"
            raise invalid("id", "Learner", allowed, f"an integer of {id.bit_length()} bits")


def _check_distinct(ids: Sequence[Id]) -> None:
    if len(set(ids)) == len(ids):
        return
    duplicate = next(id for id, times in Counter(ids).items() if times > 1)
    raise invalid("ids", "Learner", "distinct", f"{duplicate!r} more than once")
