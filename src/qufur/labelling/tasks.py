"""Tasks and opinions, common to the files of all labelling tools."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from qufur.errors import invalid
from qufur.ids import Id

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


class Opinion(NamedTuple):
    """Opinion of one annotator on a row: a label, `SKIP` or None, and the number of its task in the file."""

    id: Id
    label: Any
    place: int


def id_of(cells: Any, columns: Columns, place: int, file: str, where: str) -> Id:
    """Return the id of a task's row; raise `InvalidError` for a task of another project."""
    id = cells.get(columns.id) if isinstance(cells, dict) else None
    if isinstance(id, str | int) and not isinstance(id, bool):
        return id
    allowed = f"a task of this project, with {columns.id!r} in {where}"
    raise invalid(f"task {place}", file, allowed, "none", "Is it an export of another project?")


def not_tasks(file: str, remedy: str) -> ValueError:
    """Return the error for a file without tasks."""
    return invalid("content", file, "tasks with their annotations", "something else", remedy)
