"""Prodigy: JSON lines of tasks and of answers."""

from __future__ import annotations

from typing import Any

from qufur.labelling.tasks import SKIP, Columns, only

CELLS = "meta"
"""Field of a task with the id of its row."""
REQUIRED: set[str] = set()
"""Fields of every exported task; one without `CELLS` is of another project."""
REMEDY = "In Prodigy, `prodigy db-out DATASET` writes it."
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
        return {"text": str(row[columns.text]), CELLS: meta} | options
    others = [f"{name}: {'' if cell is None else cell}" for name, cell in row.items() if name != columns.id]
    return {"text": "\n".join(others), CELLS: {columns.id: row[columns.id]}} | options


def labels(task: dict[str, Any], columns: Columns) -> list[Any]:
    """Return the label of the annotator, `SKIP` or None; `ignore` marks a skipped task.

    >>> answer = {"meta": {"flight": "LH1"}, "user_input": "12.5", "answer": "accept"}
    >>> labels(answer, Columns("flight", "delay"))
    ['12.5']
    """
    return [_label(task, columns)]


def _label(task: dict[str, Any], columns: Columns) -> Any:
    answer = task.get("answer")
    if answer == "ignore":
        return SKIP
    if answer == "reject":  # the other of two classes
        others = [name for name in columns.classes if name != task.get("label")]
        return others[0] if len(others) == 1 and len(columns.classes) == 2 else None
    if answer != "accept":
        return None
    chosen = task.get("accept")
    if isinstance(chosen, list):
        return only(chosen)
    typed = next((task[name] for name in (columns.target, INPUT, "label") if name in task), None)
    return typed if typed != "" else None
