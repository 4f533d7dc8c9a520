"""Import layers: a package imports only packages and modules on lower levels."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import qufur

ROOT = Path(qufur.__file__).parent
LEVELS = """
    errors
    _internal storage
    figures
    arrays
    hypotheses ids moments rules trace
    pending tables theory
    data models
    answer background_fits blocks estimates file_upgrades streams
    replay snapshot
    learner
    online_to_batch run workbook
    adapters checks cluster labelling planning
    service sweep
    cli
    experiments
    __init__ __main__
"""
LEVEL = {name: level for level, names in enumerate(LEVELS.split("\n")) for name in names.split()}


def top_package(path):
    """Return the top-level package or module of a path."""
    return path.relative_to(ROOT).with_suffix("").parts[0]


def is_for_types(test):
    """Return whether a condition is `TYPE_CHECKING`."""
    return ast.unparse(test).endswith("TYPE_CHECKING")


def imports(source, package=()):
    """Yield the top-level packages that a source imports in any form, except under `TYPE_CHECKING`.

    `package` is the package of the source, without the name of the library.
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


def upward(source, importer, package=()):
    """Return the packages on the same or a higher level that a source imports."""
    imported_names = {name for name in imports(source, package) if name in LEVEL and name != importer}
    return sorted(name for name in imported_names if LEVEL[name] >= LEVEL[importer])


@pytest.mark.parametrize("path", sorted(ROOT.rglob("*.py")), ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_downwards(path):
    assert upward(path.read_text(), top_package(path), path.relative_to(ROOT).parts[:-1]) == []


LEAVES = {"experiments", "theory"}
"""The evaluation of the paper; the product refers to it by strings only."""


def leaf_imports(source, package=()):
    """Return the leaf packages that a source imports."""
    return sorted(LEAVES.intersection(imports(source, package)))


@pytest.mark.parametrize(
    "path",
    sorted(path for path in ROOT.rglob("*.py") if top_package(path) not in LEAVES),
    ids=lambda path: str(path.relative_to(ROOT)),
)
def test_product_imports_no_evaluation(path):
    assert leaf_imports(path.read_text(), path.relative_to(ROOT).parts[:-1]) == []


def test_product_import_of_evaluation_is_detected():
    assert leaf_imports("def later():\n    from qufur.theory import bounds") == ["theory"]
    assert leaf_imports("from ..experiments import paper", ("cli",)) == ["experiments"]


RUN_COMMAND = """
import sys
from qufur.cli import execute
code = execute(["run", "table.csv", "--target", "y", "--budget", "5"])
loaded = sorted(name for name in sys.modules if name.startswith(("qufur.experiments", "qufur.theory")))
print()
print(code, *loaded)
"""


def test_run_command_loads_no_evaluation(tmp_path):
    rows = "\n".join(f"{i % 7},{i % 5},{i % 7 + 2 * (i % 5)}" for i in range(40))
    (tmp_path / "table.csv").write_text(f"a,b,y\n{rows}\n")
    result = subprocess.run(
        [sys.executable, "-c", RUN_COMMAND], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert result.stdout.splitlines()[-1] == "0", result.stdout + result.stderr


def test_packages_all_have_a_level():
    assert {top_package(path) for path in ROOT.rglob("*.py")} == set(LEVEL)


@pytest.mark.parametrize("importer", [name for name in LEVEL if not name.startswith("__")])
def test_upward_imports_are_detected_in_every_package(importer):
    assert upward("from qufur import __main__", importer) == ["__main__"]
    assert upward("def later():\n    import qufur.__main__ as main", importer) == ["__main__"]


@pytest.mark.parametrize(
    ("source", "expected"),
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
def test_imports_are_detected_in_every_form(source, expected):
    assert [name for name in imports(source, ("models",)) if name in LEVEL and name != "models"] == expected


HEAVY = ["joblib", "matplotlib", "numba", "pandas", "polars", "pooch", "ray", "requests", "rich"]
HEAVY += ["river", "scipy", "skactiveml", "sklearn", "torch", "transformers"]


OTHERS = ["fastapi", "starlette", "typer"]


def imported(code):
    """Return the heavy packages and `OTHERS` that a fresh interpreter has loaded after running code."""
    script = f"import sys\n{code}\nprint(*[name for name in {[*HEAVY, *OTHERS]} if name in sys.modules])"
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return result.stdout.splitlines()[-1].split()


def test_library_import_loads_no_heavy_packages():
    assert imported("import qufur") == []


def test_help_loads_no_heavy_packages():
    code = "from qufur.cli import execute; execute(['--help']); execute(['reproduce', '--help'])"
    assert imported(code) == ["typer"]


def test_service_loads_one_web_framework():
    web = [name for name in imported("import qufur.service.server, qufur.service.demo") if name in OTHERS]
    assert web == ["starlette"]


def test_heavy_imports_are_detected():
    assert imported("import scipy, rich") == ["rich", "scipy"]


def test_library_import_loads_at_most_60_modules():
    code = "import sys, qufur; print(sum(name.partition('.')[0] == 'qufur' for name in sys.modules))"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(result.stdout) <= 60
