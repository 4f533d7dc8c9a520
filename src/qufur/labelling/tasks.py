"""What the files of all labelling tools have in common."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from qufur.errors import invalid
from qufur.models.base import Id

SKIP = object()
"""What is said of a row that cannot be labelled."""


@dataclass(frozen=True)
class Columns:
    """Which columns have which role.

    Parameters
    ----------
    id, target
        Of ids, and of labels.
    text
        Of the text that is to be judged; where there is none, all columns are.
    classes
        The labels there are; empty for numbers.
    """

    id: str
    target: str
    text: str = "text"
    classes: tuple[str, ...] = ()


class Opinion(NamedTuple):
    """What one person said of a row: a label, `SKIP`, or None; and the number of its task in the file."""

    id: Id
    label: Any
    place: int


def id_of(cells: Any, columns: Columns, place: int, file: str, where: str) -> Id:
    """Return the id of the row that a task is about, or complain that it is not one of ours."""
    id = cells.get(columns.id) if isinstance(cells, dict) else None
    if isinstance(id, str | int) and not isinstance(id, bool):
        return id
    allowed = f"a task of this work, with {columns.id!r} in {where}"
    raise invalid(f"task {place}", file, allowed, "none", "Is it an export of another project?")


def not_tasks(file: str, remedy: str) -> ValueError:
    """Build the error for a file that has something else."""
    return invalid("content", file, "tasks and what was said of them", "something else", remedy)
