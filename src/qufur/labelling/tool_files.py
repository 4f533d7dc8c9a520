"""Files of labelling tools: tasks to write, and exported opinions to read."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from os import PathLike
from pathlib import Path
from typing import Any

from qufur.errors import invalid
from qufur.ids import Id
from qufur.labelling import label_studio, prodigy
from qufur.labelling.tasks import SKIP, Columns, Opinion
from qufur.storage.atomic import replacing
from qufur.tables.writers import Write, number_or_text


class Tool(StrEnum):
    """Supported labelling tools."""

    LABEL_STUDIO = "label-studio"
    PRODIGY = "prodigy"


@dataclass
class Export:
    """Opinions in an export of a tool.

    Attributes
    ----------
    ids, labels
        Ids and labels of all opinions with a label, in file order; a row may have several.
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
    task = label_studio.task if tool is Tool.LABEL_STUDIO else prodigy.task

    def write(rows: Iterable[Sequence[Any]]) -> None:
        for row in rows:
            cells = [_value(cell, whole=not column) for column, cell in enumerate(row)]
            written.append(task(dict(zip(header[:-1], cells, strict=False)), columns))

    with replacing(path) as file:
        yield write
        lines = [json.dumps(entry, ensure_ascii=False) for entry in written]
        text = "[\n" + ",\n".join(lines) + "\n]\n" if tool is Tool.LABEL_STUDIO else "\n".join([*lines, ""])
        file.write(text.encode("utf-8", "replace"))


def read_export(path: str | PathLike[str], tool: Tool, columns: Columns) -> Export:
    """Read the opinions of an exported file.

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
    read: Callable[[Any, Columns, str], Iterator[Opinion]]
    read = label_studio.opinions if tool is Tool.LABEL_STUDIO else prodigy.opinions
    export = Export()
    opinions_by_id: dict[Id, list[Opinion]] = {}
    for opinion in read(_parsed(path, tool), columns, path.name):
        opinions_by_id.setdefault(opinion.id, []).append(opinion)
    for id, opinions in opinions_by_id.items():
        labels = [opinion for opinion in opinions if opinion.label is not None and opinion.label is not SKIP]
        export.ids += [id] * len(labels)
        export.labels += [opinion.label for opinion in labels]
        export.places += [opinion.place for opinion in labels]
        if labels:
            continue
        if any(opinion.label is SKIP for opinion in opinions):
            export.skipped.append(id)
        else:
            export.blank.append(id)
    return export


def _parsed(path: Path, tool: Tool) -> Any:
    try:
        text = path.read_text(encoding="utf-8-sig")
        if tool is Tool.LABEL_STUDIO:
            return json.loads(text)
        return [json.loads(line) for line in text.splitlines() if not line.isspace() and line]
    except ValueError as error:
        allowed = "JSON" if tool is Tool.LABEL_STUDIO else "a JSON object per line"
        raise invalid("text", path.name, allowed, str(error), f"Is it an export of {tool.value}?") from None


def _value(cell: Any, *, whole: bool) -> Any:
    cell = cell.item() if hasattr(cell, "item") else cell
    if cell is None or isinstance(cell, int | float):
        return cell if cell is None or math.isfinite(cell) else None
    return number_or_text(str(cell), whole=whole)
