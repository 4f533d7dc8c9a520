"""Digests of values by all that decides how they act: arrays by every number, code by what it does."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterable, Iterator
from functools import cached_property, reduce
from types import CodeType, FunctionType, GetSetDescriptorType, MemberDescriptorType, ModuleType
from typing import Any

import numpy as np

from qufur.sweep.releases import release_of

PLAIN = (type(None), type(Ellipsis), bool, int, float, complex, str, bytes)
CALL = (
    "co_code",
    "co_flags",
    "co_argcount",
    "co_posonlyargcount",
    "co_kwonlyargcount",
    "co_consts",
    "co_names",
)
# What classes say about themselves; their methods and values say the same.
ABOUT = {"__dict__", "__weakref__", "__module__", "__doc__", "__annotations__", "__abstractmethods__"}
ABOUT |= {"_abc_impl", "__dataclass_fields__", "__dataclass_params__", "__orig_bases__", "__parameters__"}
ABOUT |= {"__firstlineno__", "__static_attributes__"}


class IndistinctError(TypeError):
    """A value that cannot be told apart from others of its kind, such as an open file or a lock."""

    def __init__(self, value: object) -> None:
        super().__init__(f"a {type(value).__module__}.{type(value).__qualname__}")


def fingerprint(*values: object) -> str:
    """Return a digest of values, the same in every process; raise `IndistinctError` where there is none.

    Objects count by their class and by what pickle would keep of them. The code of installed packages counts
    by their version, that of this library by its source, and all other functions and classes by their
    instructions and by whatever they name: functions, classes, values.

    >>> table = np.arange(5000)
    >>> fingerprint(table) == fingerprint(np.arange(5000)), fingerprint(table) == fingerprint(table % 4999)
    (True, False)
    >>> fingerprint(lambda x: x + table[1]) == fingerprint(lambda x: x + table[2])
    False
    """
    digest = Fingerprint()
    for value in values:
        digest.add(value)
    return digest.hexdigest()


class Fingerprint:
    """A digest that values are added to, one after the other."""

    def __init__(self) -> None:
        self._digest = hashlib.sha256()
        self._met: dict[int, int] = {}
        self._kept: list[object] = []

    def hexdigest(self) -> str:
        """Return the digest of what was added so far."""
        return self._digest.hexdigest()

    def add(self, value: Any) -> None:
        """Add a value, or raise `IndistinctError`."""
        kind = type(value)
        if kind in PLAIN:
            self._note(kind.__name__, repr(value))
        elif kind in (np.ndarray, np.memmap) or isinstance(value, np.generic):
            self._array(value)
        elif kind in (tuple, list):
            self._all(kind.__name__, value)
        elif kind in (set, frozenset):
            self._all("set", sorted(map(fingerprint, value)))
        elif kind is CodeType:
            self._all("code", [getattr(value, name) for name in CALL])
        elif id(value) in self._met:
            self._note("again", str(self._met[id(value)]))
        else:
            self._met[id(value)] = len(self._met)
            self._kept.append(value)  # or the id may be given to another
            self._enter(value)

    def _enter(self, value: Any) -> None:
        if type(value) is dict:
            self._all("dict", value.items())
        elif isinstance(value, ModuleType):
            release = release_of(value.__name__)
            own = {} if release else {n: v for n, v in vars(value).items() if not n.startswith("__")}
            self._all("module", [value.__name__, release, own])
        elif release := _released(value, getattr(value, "__qualname__", None)):
            self._note("released", release)
        elif isinstance(value, FunctionType):
            cells = [_content(cell) for cell in value.__closure__ or ()]
            called = [value.__code__, value.__defaults__, value.__kwdefaults__, vars(value), cells]
            self._all("function", [*called, dict(_named(value))])
        elif isinstance(value, type):
            self._all("class", [value.__qualname__, value.__bases__, dict(_members(value))])
        else:
            self._object(value)

    def _object(self, value: Any) -> None:
        kind = type(value)
        try:
            kept = value.__reduce_ex__(4)
        except Exception:
            raise IndistinctError(value) from None
        if isinstance(kept, str):  # pickle would look it up
            release, wrapped = _released(value, kept), getattr(value, "__wrapped__", None)
            if release is None and wrapped is None:
                raise IndistinctError(value)
            self._all("name", [kept, release, wrapped])
            return
        make, arguments, state, items, pairs = (*kept, None, None, None)[:5]
        if isinstance(state, dict):
            state = {name: part for name, part in state.items() if not _is_cache(kind, name)}
        self._all("object", [kind, make, arguments, state, list(items or ()), list(pairs or ())])

    def _array(self, value: Any) -> None:
        array = np.asarray(value)
        if array.dtype.hasobject:
            self._all("objects", [array.shape, array.tolist()])
        else:
            self._note("array", repr((array.dtype.descr, array.shape)), array.tobytes())

    def _all(self, title: str, parts: Iterable[Any]) -> None:
        values = list(parts)
        self._note(title, str(len(values)))
        for value in values:
            self.add(value)

    def _note(self, *parts: str | bytes) -> None:
        for part in parts:
            content = part.encode(errors="surrogatepass") if isinstance(part, str) else part
            self._digest.update(b"%d:" % len(content) + content)


def _released(value: Any, name: str | None) -> str | None:
    """Say by name which part of an installed package a value is; None where it is none."""
    module = getattr(value, "__module__", None) or type(value).__module__
    release = release_of(module)
    if name is None or release is None:
        return None
    try:
        found = reduce(getattr, name.split("."), sys.modules[module])
    except (AttributeError, KeyError):
        return None
    return f"{release} {module}.{name}" if found is value else None


def _named(function: FunctionType) -> Iterator[tuple[str, object]]:
    """Yield whatever the instructions name that is neither built in nor their own."""
    for name in sorted(_names(function.__code__)):
        if name in function.__globals__:
            yield name, function.__globals__[name]
        elif name in sys.modules:  # imported where it is used
            yield name, sys.modules[name]


def _names(code: CodeType) -> set[str]:
    inner = (_names(constant) for constant in code.co_consts if isinstance(constant, CodeType))
    return set(code.co_names).union(*inner)


def _members(kind: type) -> Iterator[tuple[str, object]]:
    for name, part in vars(kind).items():
        if isinstance(part, property):
            yield name, (part.fget, part.fset, part.fdel)
        elif isinstance(part, classmethod | staticmethod):
            yield name, (type(part), part.__func__)
        elif isinstance(part, cached_property):
            yield name, part.func
        elif name not in ABOUT and not isinstance(part, MemberDescriptorType | GetSetDescriptorType):
            yield name, part


def _is_cache(kind: type, name: str) -> bool:
    return any(isinstance(vars(base).get(name), cached_property) for base in kind.__mro__)


def _content(cell: Any) -> object:
    try:
        return cell.cell_contents
    except ValueError:
        return "empty"  # not yet assigned
