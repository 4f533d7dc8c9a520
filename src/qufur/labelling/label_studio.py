"""Label Studio: JSON of tasks and of exported annotations."""

from __future__ import annotations

from typing import Any

from qufur.labelling.tasks import SKIP, Columns, only

CELLS = "data"
"""Field of a task with the cells of its row."""
REQUIRED = {CELLS}
"""Fields of every exported task."""
REMEDY = "In Label Studio, export as JSON; not as JSON-MIN or CSV."
VALUES = ("choices", "number", "rating", "text")
"""Value fields of the tags Choices, Number, Rating and TextArea."""


def task(row: dict[str, Any], columns: Columns) -> dict[str, Any]:
    """Return a task with all columns in `data`, where a template refers to them as $name.

    >>> task({"flight": "LH1", "wind": 4.5, "prediction": 31.2}, Columns("flight", "delay"))
    {'data': {'flight': 'LH1', 'wind': 4.5, 'prediction': 31.2}}
    """
    return {CELLS: row}


def labels(task: dict[str, Any], columns: Columns) -> list[Any]:
    """Return the label of each annotator, `SKIP` or None; `was_cancelled` marks a skipped task.

    Of several tags in an annotation, the one named like the label column is used, otherwise the first.

    >>> annotation = {"result": [{"from_name": "delay", "type": "number", "value": {"number": 12}}]}
    >>> labels({"data": {"flight": "LH1"}, "annotations": [annotation]}, Columns("flight", "delay"))
    [12]
    """
    annotations = task.get("annotations")
    return [_label(each, columns) for each in annotations] if isinstance(annotations, list) else []


def _label(annotation: Any, columns: Columns) -> Any:
    if not isinstance(annotation, dict):  # the id of an annotation that was not exported
        return None
    if annotation.get("was_cancelled"):
        return SKIP
    result = annotation.get("result")
    regions = [region for region in (result if isinstance(result, list) else []) if _has_value(region)]
    regions.sort(key=lambda region: region.get("from_name") != columns.target)
    values = [region["value"][name] for region in regions for name in VALUES if name in region["value"]]
    first = values[0] if values else None
    return only(first) if isinstance(first, list) else first


def _has_value(region: Any) -> bool:
    return isinstance(region, dict) and isinstance(region.get("value"), dict)
