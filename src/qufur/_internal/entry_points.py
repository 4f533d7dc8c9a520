"""Rules, models and commands of other packages. They register entry points, which are loaded on first use."""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points
from inspect import isabstract
from typing import Any

from qufur.errors import InvalidError, invalid

RULES, MODELS, COMMANDS = "qufur.rules", "qufur.models", "qufur.commands"
"""Groups of entry points. The name of an entry point is that of its class or command."""


def registered(group: str) -> list[EntryPoint]:
    """Return the entry points of a group. Reads the metadata of installed packages and imports none."""
    return sorted(entry_points(group=group))


def find(group: str, name: str) -> EntryPoint | None:
    """Return the entry point of this name; None if no package registers one."""
    points = [*entry_points(group=group, name=name)]
    if len(points) > 1:
        packages = " and ".join(sorted(map(package_of, points)))
        raise invalid(f"{name!r}", group, "registered by one package", packages, "Uninstall one of them.")
    return points[0] if points else None


def package_of(point: EntryPoint) -> str:
    """Return name and version of the package that registers an entry point."""
    return f"{point.dist.name} {point.dist.version}" if point.dist else point.module


def load(point: EntryPoint) -> Any:
    """Import what an entry point refers to.

    Raises
    ------
    InvalidError
        If that fails in any way. The message names the package.
    """
    try:
        return point.load()
    except Exception as error:  # third-party modules may raise anything
        raise _broken(point, "importable", f"{type(error).__name__}: {error}") from None


def load_class(point: EntryPoint, base: type[Any]) -> type[Any]:
    """Import the class that an entry point names; it is a concrete subclass of `base`."""
    cls = load(point)
    if not (isinstance(cls, type) and issubclass(cls, base) and not isabstract(cls)):
        raise _broken(point, f"a class with all members of {base.__name__}", repr(cls))
    if point.dist and cls.__name__ != point.name:  # files store the name of the class
        raise _broken(point, f"a class named {point.name}", cls.__name__)
    return cls


def load_command(point: EntryPoint) -> Any:
    """Import a command: a function with typer parameters, or a typer group."""
    command = load(point)
    if not callable(command):
        raise _broken(point, "a function or a typer.Typer", repr(command))
    return command


def class_given(text: str, base: type[Any], group: str, parameter: str, owner: str) -> type[Any]:
    """Return the class that a user names, as module:Class or by the name of its entry point."""
    point = EntryPoint(text, text, group) if ":" in text else find(group, text)
    if point is None:
        names = ", ".join(point.name for point in registered(group)) or "none"
        allowed = f"module:Class, or the name of an installed {base.__name__.lower()} (here {names})"
        raise invalid(parameter, owner, allowed, repr(text))
    return load_class(point, base)


def _broken(point: EntryPoint, allowed: str, received: str) -> InvalidError:
    package = package_of(point)
    remedy = f"Update or uninstall {package}." if point.dist else ""
    return invalid(point.value, package, allowed, received, remedy)
