"""Reading and writing of recorded expectations."""

import json
from pathlib import Path

FOLDER = Path(__file__).parent / "recorded"
WIDTH = 170


def read(name):
    """Return the recorded value of a golden test."""
    return json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))


def write(name, value):
    """Record a value."""
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / f"{name}.json").write_text(as_text(value), encoding="utf-8")


def as_text(value):
    """Return a value as JSON: a small container on one line, a large container with one entry per line."""
    return f"{_lines(value, '')}\n"


def as_json(value):
    """Return a value as reading it back from JSON would give it."""
    return json.loads(json.dumps(value))


def _lines(value, indent):
    flat = json.dumps(value, sort_keys=True, ensure_ascii=False)
    if len(indent + flat) <= WIDTH or not isinstance(value, (dict, list)) or not value:
        return flat
    inner = f"{indent} "
    if isinstance(value, list):
        if all(not isinstance(entry, (dict, list)) for entry in value):
            return flat
        return "[\n" + ",\n".join(inner + _lines(entry, inner) for entry in value) + f"\n{indent}]"
    entries = (
        f"{inner}{json.dumps(key, ensure_ascii=False)}: {_lines(value[key], inner)}" for key in sorted(value)
    )
    return "{\n" + ",\n".join(entries) + f"\n{indent}}}"
