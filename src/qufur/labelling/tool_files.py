"""Files of labelling tools: tasks to write, and exported answers to read."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from os import PathLike
from pathlib import Path
from typing import Any

from qufur.errors import invalid
from qufur.ids import Id
from qufur.labelling import label_studio, prodigy
from qufur.labelling.tasks import SKIP, Columns
from qufur.storage.atomic import replacing
from qufur.tables.writers import Write, number_or_text


class Tool(StrEnum):
    """Supported labelling tools."""

    LABEL_STUDIO = "label-studio"
    PRODIGY = "prodigy"


_MODULES = {Tool.LABEL_STUDIO: label_studio, Tool.PRODIGY: prodigy}
"""Module of each tool: `task` writes a row, `labels` reads the answers of a task."""


@dataclass
class Export:
    """Answers in an export of a tool.

    Attributes
    ----------
    ids, labels
        Ids and labels of all answers with a label, in file order; a row may have several.
    places
        Number of the task of each.
    skipped, blank
        Rows without a label that an annotator skipped, and rows without any answer.
    """

    ids: list[Id] = field(default_factory=list)
    labels: list[Any] = field(default_factory=list)
    places: list[int] = field(default_factory=list)
    skipped: list[Id] = field(default_factory=list)
    blank: list[Id] = field(default_factory=list)


@contextmanager
def tasks(path: Path, header: Sequence[str], tool: Tool, columns: Columns) -> Iterator[Write]:
    """Yield a function that writes rows as tasks; the file is replaced atomically at the end.

    Parameters
    ----------
    path
        The file; its extension does not matter.
    header
        Columns of the rows, the id column first and the label column last.
    tool
        Tool that reads the file.
    columns
        Roles of the columns.
    """
    written: list[dict[str, Any]] = []

    def write(rows: Iterable[Sequence[Any]]) -> None:
        for row in rows:
            cells = [_value(cell, whole=not column) for column, cell in enumerate(row)]
            written.append(_MODULES[tool].task(dict(zip(header[:-1], cells, strict=False)), columns))

    with replacing(path) as file:
        yield write
        lines = [json.dumps(entry, ensure_ascii=False) for entry in written]
        text = "[\n" + ",\n".join(lines) + "\n]\n" if tool is Tool.LABEL_STUDIO else "\n".join([*lines, ""])
        file.write(text.encode("utf-8", "replace"))


def read_export(path: str | PathLike[str], tool: Tool, columns: Columns) -> Export:
    """Read the answers of an exported file.

    >>> from tempfile import TemporaryDirectory
    >>> answer = {"meta": {"flight": "LH1"}, "answer": "accept", "accept": ["late"]}
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "export.jsonl")
    ...     _ = path.write_text(json.dumps(answer))
    ...     read_export(path, Tool.PRODIGY, Columns("flight", "state")).labels
    ['late']
    """
    path = Path(path)
    if not path.is_file():
        raise invalid("path", "qufur", "an existing file", repr(str(path)), "Check its folder and spelling.")
    export = Export()
    for id, answers in _answers_by_id(path, tool, columns).items():
        labels = [answer for answer in answers if answer[0] is not SKIP]
        export.ids += [id] * len(labels)
        export.labels += [label for label, _ in labels]
        export.places += [place for _, place in labels]
        if not labels:
            (export.skipped if answers else export.blank).append(id)
    return export


def _answers_by_id(path: Path, tool: Tool, columns: Columns) -> dict[Id, list[tuple[Any, int]]]:
    """Return the labels or `SKIP` of each row, each with the number of its task."""
    module, content = _MODULES[tool], _parsed(path, tool)
    if not isinstance(content, list) or not all(
        isinstance(task, dict) and task.keys() >= module.REQUIRED for task in content
    ):
        allowed = "tasks with their annotations"
        raise invalid("content", path.name, allowed, "something else", module.REMEDY)
    answers: dict[Id, list[tuple[Any, int]]] = {}
    for place, task in enumerate(content, 1):
        cells = task.get(module.CELLS)
        id = cells.get(columns.id) if isinstance(cells, dict) else None
        if not isinstance(id, str | int) or isinstance(id, bool):
            allowed = f"a task of this project, with {columns.id!r} in {module.CELLS}"
            raise invalid(f"task {place}", path.name, allowed, "none", "Is it an export of another project?")
        labels = [label for label in module.labels(task, columns) if label is not None]
        answers.setdefault(id, []).extend((label, place) for label in labels)
    return answers


def _parsed(path: Path, tool: Tool) -> Any:
    try:
        text = path.read_text(encoding="utf-8-sig")
        if tool is Tool.LABEL_STUDIO:
            return json.loads(text)
        return [json.loads(line) for line in text.splitlines() if line.strip()]
    except ValueError as error:
        allowed = "JSON" if tool is Tool.LABEL_STUDIO else "a JSON object per line"
        raise invalid("text", path.name, allowed, str(error), f"Is it an export of {tool.value}?") from None


def _value(cell: Any, *, whole: bool) -> Any:
    cell = cell.item() if hasattr(cell, "item") else cell
    if cell is None or isinstance(cell, int | float):
        return cell if cell is None or math.isfinite(cell) else None
    return number_or_text(str(cell), whole=whole)
