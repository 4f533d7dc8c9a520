"""Prodigy: JSON lines of tasks and of answers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from qufur.labelling.tasks import SKIP, Columns, Opinion, id_of, not_tasks

INPUT = "user_input"
"""Default `field_id` of the interface text_input."""


def task(row: dict[str, Any], columns: Columns) -> dict[str, Any]:
    """Return a task: a text, options if labels are classes, and other columns in `meta`.

    >>> task({"flight": "LH1", "wind": 4.5}, Columns("flight", "state", classes=("late", "on time")))
    {'text': 'wind: 4.5',
     'meta': {'flight': 'LH1'},
     'options': [{'id': 'late', 'text': 'late'}, {'id': 'on time', 'text': 'on time'}]}
    """
    options = {"options": [{"id": name, "text": name} for name in columns.classes]} if columns.classes else {}
    if columns.text in row:
        meta = {name: cell for name, cell in row.items() if name != columns.text}
        return {"text": str(row[columns.text]), "meta": meta} | options
    others = [f"{name}: {'' if cell is None else cell}" for name, cell in row.items() if name != columns.id]
    return {"text": "\n".join(others), "meta": {columns.id: row[columns.id]}} | options


def opinions(content: Any, columns: Columns, file: str) -> Iterator[Opinion]:
    """Yield the answers; `ignore` marks a skipped task.

    >>> answers = [{"meta": {"flight": "LH1"}, "user_input": "12.5", "answer": "accept"}]
    >>> list(opinions(answers, Columns("flight", "delay"), "export.jsonl"))
    [Opinion(id='LH1', label='12.5', place=1)]
    """
    if not all(isinstance(task, dict) for task in content):
        raise not_tasks(file, "In Prodigy, `prodigy db-out DATASET` writes it.")
    for place, task in enumerate(content, 1):
        id = id_of(task.get("meta"), columns, place, file, "meta")
        yield Opinion(id, _label(task, columns), place)


def _label(task: dict[str, Any], columns: Columns) -> Any:
    answer = task.get("answer")
    if answer == "ignore":
        return SKIP
    if answer == "reject":
        return _other(task.get("label"), columns)
    if answer != "accept":
        return None
    chosen = task.get("accept")
    if isinstance(chosen, list):
        return chosen[0] if len(chosen) == 1 else ", ".join(map(str, chosen)) or None
    typed = next((task[name] for name in (columns.target, INPUT, "label") if name in task), None)
    return typed if typed != "" else None


def _other(label: Any, columns: Columns) -> Any:
    """Return the other of two classes if one is rejected; None with more classes."""
    others = [name for name in columns.classes if name != label]
    return others[0] if len(others) == 1 and len(columns.classes) == 2 else None
