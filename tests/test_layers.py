"""Imports point downwards only: from a room to rooms and files on lower levels, never to its own or above."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import qufur

ROOT = Path(qufur.__file__).parent
LEVELS = """
    counts errors progress tensors threads
    arrays figures operation registry storage
    hypotheses rules tables trace
    data models theory
    answer blocks estimates ids labels streams
    decisions snapshot
    learner
    online_to_batch run workbook
    bookkeeping checks planning
    adapters
    cluster faces labelling service sweep
    experiments
    cli
    __init__ __main__
"""
LEVEL = {name: level for level, names in enumerate(LEVELS.split("\n")) for name in names.split()}


def room(path):
    """Return the room or file that a path is in."""
    return path.relative_to(ROOT).with_suffix("").parts[0]


def is_for_types(test):
    """Whether a condition is `TYPE_CHECKING`."""
    return ast.unparse(test).endswith("TYPE_CHECKING")


def imports(source, package=()):
    """Yield the rooms that a source imports from, whatever the form; imports for types alone do not count.

    `package` is where the source is, without the name of the library.
    """
    tree = ast.parse(source)
    guards = [node for node in ast.walk(tree) if isinstance(node, ast.If) and is_for_types(node.test)]
    guarded = {id(inner) for guard in guards for part in guard.body for inner in ast.walk(part)}
    for node in ast.walk(tree):
        if id(node) in guarded:
            continue
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = ["qufur", *package][: 1 + len(package) - node.level + 1] if node.level else []
            base = ".".join([*above, *filter(None, [node.module])])
            names = [f"{base}.{alias.name}" for alias in node.names]
        yield from (name.split(".")[1] for name in names if name.startswith("qufur."))


def upward(source, here, package=()):
    """Return the rooms on the same level or above that a source of some room imports from."""
    named = {name for name in imports(source, package) if name in LEVEL and name != here}
    return sorted(name for name in named if LEVEL[name] >= LEVEL[here])


@pytest.mark.parametrize("path", sorted(ROOT.rglob("*.py")), ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_downwards(path):
    assert upward(path.read_text(), room(path), path.relative_to(ROOT).parts[:-1]) == []


def test_every_room_has_a_level():
    assert {room(path) for path in ROOT.rglob("*.py")} == set(LEVEL)


@pytest.mark.parametrize("here", [name for name in LEVEL if not name.startswith("__")])
def test_an_upward_import_would_be_seen_in_every_room(here):
    assert upward("from qufur import __main__", here) == ["__main__"]
    assert upward("def later():\n    import qufur.__main__ as main", here) == ["__main__"]


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("import qufur.cli.run", ["cli"]),
        ("import numpy, qufur.sweep as runs", ["sweep"]),
        ("from qufur import Learner, run, streams as s", ["run", "streams"]),
        ("from qufur.run import run", ["run"]),
        ("from ..cli import app", ["cli"]),
        ("from .. import cli", ["cli"]),
        ("from .ridge import Ridge", []),
        ("if True:\n    from qufur.cli import app", ["cli"]),
        ("if TYPE_CHECKING:\n    from qufur.cli import app\nelse:\n    import qufur.run", ["run"]),
    ],
)
def test_every_form_of_import_is_seen(source, found):
    assert [name for name in imports(source, ("models",)) if name in LEVEL and name != "models"] == found


HEAVY = ["joblib", "matplotlib", "numba", "pandas", "polars", "pooch", "ray", "requests", "rich"]
HEAVY += ["river", "scipy", "skactiveml", "sklearn", "torch", "transformers"]


def imported(code):
    """Return which heavy packages a fresh interpreter has after some code."""
    shown = f"import sys\n{code}\nprint(*[name for name in {[*HEAVY, 'typer']} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", shown], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()[-1].split()


def test_importing_the_library_imports_no_tools():
    assert imported("import qufur") == []


def test_asking_for_help_imports_no_tools():
    code = "from qufur.cli import execute; execute(['--help']); execute(['reproduce', '--help'])"
    assert imported(code) == ["typer"]


def test_a_heavy_import_would_be_caught():
    assert imported("import scipy, rich") == ["rich", "scipy"]


def test_few_modules_are_loaded():
    code = "import sys, qufur; print(sum(name.partition('.')[0] == 'qufur' for name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout) <= 72
