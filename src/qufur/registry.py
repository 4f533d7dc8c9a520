"""Names: of classes in files, and of what a package imports when somebody names it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from qufur.errors import invalid


def class_named(name: object, base: Any, parameter: str, owner: str) -> type[Any]:
    """Return the class of this name that derives from `base`.

    Only what is defined already is ever found, so no file brings in code. Of several it is the one of the
    same package as `base`, which nobody else's can replace, or the latest.

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


def lazily(package: str, places: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the `__getattr__` of a package that imports names when they are used, from their `places`.

    >>> lazily("qufur", {"streams": "qufur.streams"})("streams").__name__
    'qufur.streams'
    """

    def __getattr__(name: str) -> Any:  # noqa: N807
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = import_module(places[name])
        value = module if places[name] == f"{package}.{name}" else getattr(module, name)
        setattr(sys.modules[package], name, value)
        return value

    return __getattr__
