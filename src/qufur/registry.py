"""Classes by name, for files: only what is defined already is ever found, so no file brings in code."""

from __future__ import annotations

from typing import Any

from qufur.errors import invalid


def class_named(name: object, base: Any, parameter: str, owner: str) -> type[Any]:
    """Return the class of this name that derives from `base`.

    Of several it is the one of the same package as `base`, which nobody else's can replace, or the latest.

    >>> class_named("bool", int, "kind", "a file")
    <class 'bool'>
    """
    kinds = [kind for kind in _descendants(base) if kind.__name__ == name]
    if not kinds:
        remedy = "Import the module that defines it first."
        raise invalid(parameter, owner, "a class that is known", repr(name), remedy)
    return ([kind for kind in kinds if _is_at_home(kind, base)] or kinds)[-1]


def name_of(kind: type[Any], base: Any, parameter: str, owner: str) -> str:
    """Return the name under which a file has a class; one that would be taken for another is refused."""
    name = kind.__name__
    if not _is_at_home(kind, base) and _is_at_home(class_named(name, base, parameter, owner), base):
        received = f"{kind.__module__}.{kind.__qualname__}"
        allowed = f"of a class of another name than {_package(base)}'s own {name}"
        raise invalid(parameter, owner, allowed, received, "Rename the class.")
    return name


def _descendants(base: type[Any]) -> list[type[Any]]:
    return [kind for child in base.__subclasses__() for kind in (child, *_descendants(child))]


def _is_at_home(kind: type[Any], base: type[Any]) -> bool:
    return _package(kind) == _package(base)


def _package(kind: type[Any]) -> str:
    return kind.__module__.split(".")[0]
