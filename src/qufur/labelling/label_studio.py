"""Label Studio: JSON of tasks and of exported annotations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from qufur.labelling.tasks import SKIP, Columns, Opinion, id_of, not_tasks

VALUES = ("choices", "number", "rating", "text")
"""Value fields of the tags Choices, Number, Rating and TextArea."""
_EXPORT = "In Label Studio, export as JSON; not as JSON-MIN or CSV."


def task(row: dict[str, Any], columns: Columns) -> dict[str, Any]:
    """Return a task with all columns in `data`, where a template refers to them as $name.

    >>> task({"flight": "LH1", "wind": 4.5, "prediction": 31.2}, Columns("flight", "delay"))
    {'data': {'flight': 'LH1', 'wind': 4.5, 'prediction': 31.2}}
    """
    return {"data": row}


def opinions(content: Any, columns: Columns, file: str) -> Iterator[Opinion]:
    """Yield the opinion of each annotator on each task; `was_cancelled` marks a skipped task.

    Of several tags in an annotation, the one named like the label column is used, otherwise the first.

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
        annotations = task.get("annotations") or [{}]
        for annotation in annotations if isinstance(annotations, list) else [{}]:
            yield Opinion(id, _label(annotation, columns), place)


def _label(annotation: Any, columns: Columns) -> Any:
    if not isinstance(annotation, dict):  # the id of an annotation that was not exported
        return None
    if annotation.get("was_cancelled"):
        return SKIP
    result = annotation.get("result")
    regions = [region for region in (result if isinstance(result, list) else []) if _has_value(region)]
    regions.sort(key=lambda region: region.get("from_name") != columns.target)
    values = [region["value"][name] for region in regions for name in VALUES if name in region["value"]]
    return _single(values[0]) if values else None


def _has_value(region: Any) -> bool:
    return isinstance(region, dict) and isinstance(region.get("value"), dict)


def _single(value: Any) -> Any:
    """Return the element of a list of one; join several, which are rejected as a label later."""
    if isinstance(value, list):
        return value[0] if len(value) == 1 else ", ".join(map(str, value)) or None
    return value
