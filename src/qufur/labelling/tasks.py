"""Roles of columns and the mark of a skipped row, common to the files of all labelling tools."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

SKIP = object()
"""Label of a row that an annotator skipped."""


@dataclass(frozen=True)
class Columns:
    """Roles of the columns of a table.

    Parameters
    ----------
    id, target
        Columns of ids and of labels.
    text
        Column of the text to label; if it is missing, all columns are shown.
    classes
        Possible labels; empty for numbers.
    """

    id: str
    target: str
    text: str = "text"
    classes: tuple[str, ...] = ()


def only(values: Sequence[Any]) -> Any:
    """Return the element of a list of one; join several, which are rejected as a label later.

    >>> only([4]), only(["late", "on time"]), only([])
    (4, 'late, on time', None)
    """
    return values[0] if len(values) == 1 else ", ".join(map(str, values)) or None
