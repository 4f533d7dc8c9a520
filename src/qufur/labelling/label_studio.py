"""Label Studio: the JSON of tasks to import, and that of its export."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from qufur.labelling.tasks import SKIP, Columns, Opinion, id_of, not_tasks

VALUES = ("choices", "number", "rating", "text")
"""What the tags Choices, Number, Rating and TextArea call what was said."""
_EXPORT = "In Label Studio, export as JSON; not as JSON-MIN or CSV."


def task(row: dict[str, Any], columns: Columns) -> dict[str, Any]:
    """Return a task: all columns are in `data`, to be shown by $name.

    >>> task({"flight": "LH1", "wind": 4.5, "prediction": 31.2}, Columns("flight", "delay"))
    {'data': {'flight': 'LH1', 'wind': 4.5, 'prediction': 31.2}}
    """
    return {"data": row}


def opinions(content: Any, columns: Columns, file: str) -> Iterator[Opinion]:
    """Yield what was said of each task, by each person; `was_cancelled` is a task that was skipped.

    Of several tags in an annotation the one counts whose name is the column of labels, or else the first.

    >>> annotation = {"result": [{"from_name": "delay", "type": "number", "value": {"number": 12}}]}
    >>> content = [{"id": 7, "data": {"flight": "LH1"}, "annotations": [annotation]}]
    >>> list(opinions(content, Columns("flight", "delay"), "export.json"))
    [Opinion(id='LH1', label=12, place=1)]
    """
    if not isinstance(content, list) or not all(isinstance(task, dict) for task in content):
        raise not_tasks(file, _EXPORT)
    for place, task in enumerate(content, 1):
        if "data" not in task:
            raise not_tasks(file, _EXPORT)
        id = id_of(task["data"], columns, place, file, "data")
        said = task.get("annotations") or [{}]
        for annotation in said if isinstance(said, list) else [{}]:
            yield Opinion(id, _label(annotation, columns), place)


def _label(annotation: Any, columns: Columns) -> Any:
    if not isinstance(annotation, dict):  # an id of one that was not exported
        return None
    if annotation.get("was_cancelled"):
        return SKIP
    result = annotation.get("result")
    regions = [part for part in (result if isinstance(result, list) else []) if _has_value(part)]
    regions.sort(key=lambda region: region.get("from_name") != columns.target)
    values = [region["value"][name] for region in regions for name in VALUES if name in region["value"]]
    return _single(values[0]) if values else None


def _has_value(region: Any) -> bool:
    return isinstance(region, dict) and isinstance(region.get("value"), dict)


def _single(value: Any) -> Any:
    """Return a choice or a text, which come as lists; several at once are shown as they are, and refused."""
    if isinstance(value, list):
        return value[0] if len(value) == 1 else ", ".join(map(str, value)) or None
    return value
