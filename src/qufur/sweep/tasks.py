"""Independent tasks that return one row each, in parallel and resumable.

The key of a task is a fingerprint of everything that decides its row: arrays by their content, code of
installed packages by version, code of this library by a digest of its source, other code by its bytecode.

`joblib.hash` does not suffice: it hashes functions and classes by name, and rejects lambdas. Their source by
`inspect.getsource` does not either: that reads the current file, so after an edit the row of the old code,
which still runs, would get the key of the new code. It also lacks values of enclosing functions.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, reduce
from hashlib import sha256
from importlib import metadata
from inspect import getattr_static
from pathlib import Path
from types import CodeType, FunctionType, GetSetDescriptorType, MemberDescriptorType, ModuleType, UnionType
from typing import Any

import numpy as np

from qufur._internal.progress import track
from qufur.sweep.parallel import PROCESSES, parallel_map

NUMERIC_PACKAGES = ("numpy", "scipy", "scikit-learn", "numba")
DISPLAY_PACKAGES = ("cli", "figures")


@cache
def library() -> str:
    """Return a digest of this library's source without display code, and of its numeric dependencies."""
    root = Path(__file__).parents[1]
    paths = sorted(
        path for path in root.rglob("*.py") if path.relative_to(root).parts[0] not in DISPLAY_PACKAGES
    )
    digest = sha256(repr([_version(name) for name in NUMERIC_PACKAGES]).encode())
    for path in paths:
        digest.update(f"{path.relative_to(root)} {path.stat().st_size}\n".encode() + path.read_bytes())
    return digest.hexdigest()


@cache
def release_of(module: str) -> str | None:
    """Return the version that identifies a module's code.

    None for code that can change without a new version: a script, a notebook, an editable installation.

    >>> release_of("numpy.linalg") == release_of("numpy"), release_of("__main__")
    (True, None)
    """
    package = module.partition(".")[0]
    if package == "qufur":
        return library()
    if package in sys.stdlib_module_names:
        return f"Python {sys.version}"
    loaded = sys.modules.get(package)
    parts = Path(getattr(loaded, "__file__", None) or "").parts
    version = getattr(loaded, "__version__", None) or _version(package)
    installed = version and {"site-packages", "dist-packages"}.intersection(parts)
    return f"{package} {version}" if installed else None


def _version(distribution: str) -> str | None:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


PLAIN = (type(None), type(Ellipsis), bool, int, float, complex, str, bytes)
CODE_ATTRIBUTES = (
    "co_code",
    "co_flags",
    "co_argcount",
    "co_posonlyargcount",
    "co_kwonlyargcount",
    "co_consts",
    "co_names",
)
"""Attributes of a code object that decide what it does; the others are names and line numbers."""
METADATA_ATTRIBUTES = {
    "__module__",
    "__doc__",
    "__annotations__",
    "__abstractmethods__",
    "_abc_impl",
    "__dataclass_fields__",
    "__dataclass_params__",
    "__orig_bases__",
    "__parameters__",
    "__firstlineno__",
    "__static_attributes__",
}
"""Attributes of a class that only repeat its methods and values."""


class IndistinctError(TypeError):
    """Value without a fingerprint, such as an open file or a lock."""

    def __init__(self, value: object) -> None:
        super().__init__(f"a {type(value).__module__}.{type(value).__qualname__}")


def fingerprint(*values: object) -> str:
    """Return a digest of values, equal in every process; raise `IndistinctError` if there is none.

    Objects are hashed by class and pickled state. Code of installed packages is hashed by version, code of
    this library by its source, and all other functions and classes by their bytecode and by the functions,
    classes and values that it names.

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
    """Incremental digest of values."""

    def __init__(self) -> None:
        self._digest = sha256()
        self._numbers: dict[int, int] = {}
        self._references: list[object] = []

    def hexdigest(self) -> str:
        """Return the digest of the values added so far."""
        return self._digest.hexdigest()

    def add(self, value: Any) -> None:
        """Add a value, or raise `IndistinctError`."""
        kind = type(value)
        if kind in PLAIN:
            self._update(kind.__name__, repr(value))
        elif kind in (np.ndarray, np.memmap) or isinstance(value, np.generic):
            self._add_array(value)
        elif kind in (tuple, list):
            self._add_all(kind.__name__, value)
        elif kind in (set, frozenset):
            self._add_all("set", sorted(map(fingerprint, value)))
        elif kind is UnionType:
            self._add_all("union", value.__args__)
        elif kind is CodeType:
            self._add_all("code", [getattr(value, name) for name in CODE_ATTRIBUTES])
        elif id(value) in self._numbers:
            self._update("again", str(self._numbers[id(value)]))
        else:
            self._numbers[id(value)] = len(self._numbers)
            self._references.append(value)  # else the id may be reused
            self._add_object(value)

    def _add_object(self, value: Any) -> None:
        if type(value) is dict:
            self._add_all("dict", value.items())
        elif isinstance(value, ModuleType):
            release = release_of(value.__name__)
            content = {} if release else {n: v for n, v in vars(value).items() if not n.startswith("__")}
            self._add_all("module", [value.__name__, release, content])
        elif release := _released(value, getattr(value, "__qualname__", None)):
            self._update("released", release)
        elif isinstance(value, FunctionType):
            cells = [_content(cell) for cell in value.__closure__ or ()]
            called = [value.__code__, value.__defaults__, value.__kwdefaults__, vars(value), cells]
            self._add_all("function", [*called, dict(_named(value))])
        elif isinstance(value, type):
            self._add_all("class", [value.__qualname__, value.__bases__, dict(_members(value))])
        else:
            self._add_pickled(value)

    def _add_pickled(self, value: Any) -> None:
        kind = type(value)
        try:
            reduced = value.__reduce_ex__(4)
        except Exception:
            raise IndistinctError(value) from None
        if isinstance(reduced, str):  # pickled by name
            release, wrapped = _released(value, reduced), getattr(value, "__wrapped__", None)
            if release is None and wrapped is None:
                raise IndistinctError(value)
            self._add_all("name", [reduced, release, wrapped])
            return
        make, arguments, state, items, pairs = (*reduced, None, None, None)[:5]
        if isinstance(state, dict):
            cached = {name for name in state if isinstance(getattr_static(kind, name, None), cached_property)}
            state = {name: part for name, part in state.items() if name not in cached}
        self._add_all("object", [kind, make, arguments, state, list(items or ()), list(pairs or ())])

    def _add_array(self, value: Any) -> None:
        array = np.asarray(value)
        if array.dtype.hasobject:
            self._add_all("objects", [array.shape, array.tolist()])
        else:
            self._update("array", repr((array.dtype.descr, array.shape)), array.tobytes())

    def _add_all(self, title: str, parts: Iterable[Any]) -> None:
        values = list(parts)
        self._update(title, str(len(values)))
        for value in values:
            self.add(value)

    def _update(self, *parts: str | bytes) -> None:
        for part in parts:
            content = part.encode(errors="surrogatepass") if isinstance(part, str) else part
            self._digest.update(b"%d:" % len(content) + content)


def _released(value: Any, name: str | None) -> str | None:
    """Return the qualified name and version of a value in an installed package, else None."""
    module = getattr(value, "__module__", None) or type(value).__module__
    release = release_of(module)
    if name is None or release is None:
        return None
    try:
        named = reduce(getattr, name.split("."), sys.modules[module])
    except (AttributeError, KeyError):
        return None
    return f"{release} {module}.{name}" if named is value else None


def _named(function: FunctionType) -> Iterator[tuple[str, object]]:
    """Yield the globals and modules that a function's bytecode names, with their values."""
    for name in sorted(_names(function.__code__)):
        if name in function.__globals__:
            yield name, function.__globals__[name]
        elif name in sys.modules:  # imported inside the function
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
        elif name not in METADATA_ATTRIBUTES and not isinstance(
            part, MemberDescriptorType | GetSetDescriptorType
        ):
            yield name, part


def _content(cell: Any) -> object:
    try:
        return cell.cell_contents
    except ValueError:
        return "empty"  # not yet assigned


Row = dict[str, Any]


@dataclass(frozen=True)
class Task:
    """Call that returns a row of numbers and names.

    Parameters
    ----------
    key
        Unique key of the task, also in a file of rows: a digest of everything that decides the result.
    play, arguments
        Function and its arguments, sent to another process if there are several jobs.
    """

    key: str
    play: Callable[..., Row]
    arguments: tuple[Any, ...]

    def run(self) -> tuple[str, Row]:
        """Return the key with its row."""
        return self.key, self.play(*self.arguments)


def key_of(*parts: object) -> str:
    """Return a short digest of everything that decides a result, including the code of this library.

    >>> key_of("QuFUR", 0.5) == key_of("QuFUR", 0.5), key_of("QuFUR", 0.5) == key_of("QuFUR", 0.25)
    (True, False)
    """
    return fingerprint(library(), *parts)[:32]


def perform(
    tasks: Sequence[Task],
    *,
    jobs: int = 1,
    out: str | os.PathLike[str] | None = None,
    label: str = "Running",
    backend: str = PROCESSES,
) -> list[Row]:
    """Run the tasks and return their rows in order.

    Parameters
    ----------
    tasks
        Tasks, started in this order; the rows do not depend on `jobs`.
    jobs, backend
        Number of processes and the joblib backend that runs them.
    out
        JSON-lines file to which each finished row is appended. Tasks in the file are not repeated.
    label
        Text beside the progress bar.

    Examples
    --------
    >>> perform([Task(str(n), lambda n: {"square": n * n}, (n,)) for n in (2, 3)])
    [{'square': 4}, {'square': 9}]
    """
    rows = _read(out)
    missing = [task for task in tasks if task.key not in rows]
    for key, row in track(parallel_map(Task.run, missing, jobs, backend), len(missing), label):
        rows[key] = row
        _append(out, key, row)
    return [rows[task.key] for task in tasks]


def _read(path: str | os.PathLike[str] | None) -> dict[str, Row]:
    if path is None or not Path(path).exists():
        return {}
    rows: dict[str, Row] = {}
    for line in Path(path).read_text().splitlines():
        try:
            rows.update([json.loads(line)])
        except json.JSONDecodeError:  # blank first line, or a truncated one: that task is repeated
            continue
    return rows


def _append(path: str | os.PathLike[str] | None, key: str, row: Row) -> None:
    if path is not None:
        with open(path, "a") as file:
            # The line break comes first: it also ends a line that an interruption truncated.
            file.write("\n" + json.dumps([key, row]))
