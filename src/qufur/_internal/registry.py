"""Lookup by name: of classes named in files, and of attributes that a package imports on first use."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from qufur.errors import invalid


def class_named(name: object, base: Any, parameter: str, owner: str, group: str = "") -> type[Any]:
    """Return the class of this name that derives from `base`.

    Only classes that are imported or registered by an installed package match, so a file cannot load other
    code. Of several matches, one from the package of `base` wins, so that foreign classes cannot replace it;
    otherwise the latest one does. `group` names the entry points to search if no imported class matches.

    >>> class_named("bool", int, "kind", "a file")
    <class 'bool'>
    """
    matches = [cls for cls in _descendants(base) if cls.__name__ == name]
    if not matches:
        from qufur._internal import entry_points

        point = entry_points.find(group, name) if group and isinstance(name, str) else None
        if point is not None:
            return entry_points.load_class(point, base)
        remedy = "Import the module that defines it first."
        raise invalid(parameter, owner, "a registered class", repr(name), remedy)
    return ([cls for cls in matches if _package(cls) == _package(base)] or matches)[-1]


def name_of(cls: type[Any], base: Any, parameter: str, owner: str) -> str:
    """Return the name of a class in a file. Raise if loading would resolve it to a class of the package."""
    name, package = cls.__name__, _package(base)
    if _package(cls) != package and _package(class_named(name, base, parameter, owner)) == package:
        received = f"{cls.__module__}.{cls.__qualname__}"
        allowed = f"of a class with another name than {package}'s {name}"
        raise invalid(parameter, owner, allowed, received, "Rename the class.")
    return name


def _descendants(base: type[Any]) -> list[type[Any]]:
    return [cls for child in base.__subclasses__() for cls in (child, *_descendants(child))]


def _package(cls: type[Any]) -> str:
    return cls.__module__.split(".")[0]


def lazy_attributes(package: str, modules: Mapping[str, str]) -> Callable[[str], Any]:
    """Return a `__getattr__` for a package that imports each name from its module on first use.

    >>> lazy_attributes("qufur", {"streams": "qufur.streams"})("streams").__name__
    'qufur.streams'
    """

    def __getattr__(name: str) -> Any:  # noqa: N807
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = import_module(modules[name])
        value = module if modules[name] == f"{package}.{name}" else getattr(module, name)
        setattr(sys.modules[package], name, value)
        return value

    return __getattr__
