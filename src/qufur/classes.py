"""Classes by name, for files: only what is defined already is ever found, so no file brings in code."""

from __future__ import annotations

from typing import Any

from qufur.errors import invalid


def class_named(name: object, base: Any, parameter: str, owner: str) -> type[Any]:
    """Return the class of this name that derives from `base`, the latest if there are several.

    >>> class_named("bool", int, "kind", "a file")
    <class 'bool'>
    """
    kinds = [kind for kind in _descendants(base) if kind.__name__ == name]
    if not kinds:
        remedy = "Import the module that defines it first."
        raise invalid(parameter, owner, "a class that is known", repr(name), remedy)
    return kinds[-1]


def _descendants(base: type[Any]) -> list[type[Any]]:
    return [kind for child in base.__subclasses__() for kind in (child, *_descendants(child))]
