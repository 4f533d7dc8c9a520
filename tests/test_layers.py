"""Imports point downwards only."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import qufur

ROOT = Path(qufur.__file__).parent
# From the bottom up; a file may import from its own layer and from those below it.
LAYERS = [
    {"arrays", "atomic", "classes", "errors", "fingerprint", "operation", "progress", "releases"}
    | {"spread", "state_file", "stored", "threads"},
    {"data", "fields", "hypotheses"},
    {"models", "rules", "streams"},
    {"asked", "coin_bets", "loss_estimate", "records", "shift_signal"},
    {"answer", "at_random", "ids", "ledger", "lookahead", "report", "snapshot", "tasks", "theory", "trace"},
    {"learner"},
    {"run", "workbook"},
    {"faces"},
    {"checks", "drawn", "forecast", "online_to_batch", "plan", "sweep"},
    {"budgets", "tradeoff"},
    {"figures"},
    {"experiments"},
    {"cli"},
    {"__init__", "__main__"},
]
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}
APART = {"models", "rules", "streams"}


def part(path):
    return path.relative_to(ROOT).with_suffix("").parts[0]


def imports(path):
    """Yield the parts that a file imports when it is loaded; names for the type checker do not count."""
    tree = ast.parse(path.read_text())
    guarded = {id(node) for test in ast.walk(tree) if isinstance(test, ast.If) for node in ast.walk(test)}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and id(node) not in guarded and node.module:
            names = [node.module] if node.module != "qufur" else [f"qufur.{a.name}" for a in node.names]
            yield from (name.split(".")[1] for name in names if name.startswith("qufur."))


@pytest.mark.parametrize("path", sorted(ROOT.rglob("*.py")), ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_downwards(path):
    for name in imports(path):
        assert name in LEVEL, f"{name} has no layer: give it one in this test"
        assert LEVEL[name] <= LEVEL[part(path)], f"{path.name} imports {name} from above"
        if part(path) in APART and name in APART:
            assert name == part(path), f"{path.name} ties {part(path)} to {name}"


def test_every_file_has_a_layer():
    assert {part(path) for path in ROOT.rglob("*.py")} == set(LEVEL)


def test_an_upward_import_would_be_caught(tmp_path):
    file = tmp_path / "x.py"
    file.write_text("from qufur.cli import app\nfrom qufur import run\n")
    assert list(imports(file)) == ["cli", "run"]


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
