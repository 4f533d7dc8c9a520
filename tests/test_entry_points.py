"""Rules, models and commands of another package, which is installed in a folder on PYTHONPATH."""

import json
import os
import subprocess
import sys

import pytest

MODULE = '''
from dataclasses import dataclass

from qufur import Ridge
from qufur.rules import Rule


@dataclass(frozen=True)
class Cautious(Rule):
    half: float
    budget: int | None = None

    def probability(self, uncertainty, domain):
        return uncertainty / (uncertainty + self.half)

    @classmethod
    def for_budget(cls, budget, horizon, domains):
        return lambda scale: cls(1 / scale, budget=budget)

    @classmethod
    def examples(cls, horizon):
        return [cls(0.5)]


class Unregistered(Cautious):
    """Another rule, without an entry point."""


class Flat(Ridge):
    """Ridge under another name."""


def hello(name: str = "you"):
    """Greet the user."""
    print(f"Hello, {name}")
'''
ENTRY_POINTS = """
[qufur.rules]
Cautious = extension:Cautious
Gone = missing_module:Gone
Renamed = extension:Cautious
Wrong = extension:Flat

[qufur.models]
Flat = extension:Flat
Lost = missing_module:Lost

[qufur.commands]
hello = extension:hello
stuck = missing_module:stuck
run = missing_module:run
"""
BROKEN = "of extension 1.2 must be importable, got ModuleNotFoundError: No module named 'missing_module'."


def install(folder, name, entry_points):
    """Write the metadata that an installer writes for a package."""
    metadata = folder / f"{name}-1.2.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.4\nName: {name}\nVersion: 1.2\n")
    (metadata / "entry_points.txt").write_text(entry_points)


@pytest.fixture
def site(tmp_path):
    """Return a folder with a package that registers entry points, some of them broken."""
    install(tmp_path / "site", "extension", ENTRY_POINTS)
    (tmp_path / "site" / "extension.py").write_text(MODULE)
    return tmp_path / "site"


@pytest.fixture
def python(site, tmp_path):
    """Return a function that runs a fresh Python in which the package is installed."""

    def run(*arguments, code=0):
        path = os.pathsep.join([str(site), *filter(None, sys.path)])
        done = subprocess.run(
            [sys.executable, *map(str, arguments)],
            env=os.environ | {"PYTHONPATH": path},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == code, done.stderr
        return done.stdout if code == 0 else done.stderr

    return run


@pytest.fixture
def qufur(python):
    """Return a function that runs a command where the package is installed."""
    return lambda *arguments, code=0: python("-m", "qufur", *arguments, code=code)


@pytest.fixture
def table(tmp_path):
    lines = [f"{t % 7},{t % 5},{2 * (t % 7) - t % 5}" for t in range(60)]
    (tmp_path / "readings.csv").write_text("wind,rain,delay\n" + "\n".join(lines) + "\n")
    return "readings.csv"


def test_import_reads_no_entry_points(python):
    python("-c", "import importlib.metadata as m; m.entry_points = None; import qufur")


@pytest.mark.parametrize("rule", ["Cautious", "extension:Cautious", "extension:Unregistered"])
def test_run_compares_the_rule_of_another_package(qufur, table, rule):
    options = [
        "--target",
        "delay",
        "--model",
        "ridge",
        "--budget",
        10,
        "--seeds",
        1,
        "--rule",
        rule,
        "--json",
    ]
    runs = json.loads(qufur("run", table, *options))["runs"]
    rules = {run["rule"] for run in runs}
    assert {rule.rpartition(":")[2], "Uniform", "Steady"} <= rules


def test_run_compares_rules_with_the_model_of_another_package(qufur, table):
    options = ["--target", "delay", "--budget", 10, "--seeds", 1, "--json"]
    runs = {
        model: json.loads(qufur("run", table, "--model", model, *options))["runs"]
        for model in ("Flat", "extension:Flat")
    }
    assert runs["Flat"] == runs["extension:Flat"]
    assert {run["rule"] for run in runs["Flat"]} > {"Uniform", "Paced"}


def test_plan_forecasts_with_the_model_of_another_package(qufur, table):
    options = ["--skip", "delay", "--budget", 10, "--seeds", 2, "--json"]
    plans = [json.loads(qufur("plan", table, "--model", model, *options)) for model in ("kernel", "Flat")]
    assert plans[0]["parts"][0].keys() == plans[1]["parts"][0].keys()


def test_state_file_with_the_model_of_another_package_continues_in_a_fresh_process(qufur, table, tmp_path):
    start = ["--target", "delay", "--budget", 20, "--model", "Flat", "--label-range", -4, 12]
    qufur("ask", table, *start, "--state", "s.qufur", "-o", "todo.csv")
    rows = (tmp_path / "todo.csv").read_text().splitlines()
    labelled = [rows[0], *(f"{row.rpartition(',')[0]},3" for row in rows[1:])]
    (tmp_path / "done.csv").write_text("\n".join(labelled) + "\n")
    qufur("tell", "done.csv", "--state", "s.qufur")
    assert "20 of 20 labels" in qufur("status", "--state", "s.qufur")


def test_model_of_a_state_file_must_be_installed_by_name(qufur, table):
    start = ["--target", "delay", "--budget", 20, "--model", "extension:Flat", "--label-range", -4, 12]
    error = qufur("ask", table, *start, "--state", "s.qufur", "-o", "todo.csv", code=2)
    assert "--model of qufur ask must be the name of an installed model" in error


SAVE = """
from qufur import Learner, Ridge
from extension import Cautious, Flat, Unregistered
for model, rule in ((Flat(2), Cautious(0.5)), (Ridge(2), Unregistered(0.5))):
    learner = Learner(model, rule, seed=3)
    learner.ask_many([[0.5, 0.1], [0.2, 0.9]])
    learner.save(f"{type(rule).__name__}.qufur")
"""
LOAD = """
import sys
from qufur import Learner
try:
    Learner.load("Unregistered.qufur")
except ValueError as error:
    print(error)
learner = Learner.load("Cautious.qufur")
print(type(learner.model).__name__, type(learner.rule).__name__)
"""


def test_saved_learner_finds_registered_classes_only(python):
    """The file names classes; a class that is neither imported nor registered is not searched for."""
    python("-c", SAVE)
    refused, loaded = python("-c", LOAD).splitlines()
    assert loaded == "Flat Cautious"
    assert "rule of Learner.load must be a registered class, got 'Unregistered'" in refused


def test_help_lists_commands_of_other_packages_without_importing_them(python, qufur):
    listed = {line.split()[0]: line for line in qufur("--help").splitlines() if line.startswith("  ")}
    assert listed["hello"].endswith("Command of the package extension 1.2.")
    assert "stuck" in listed
    assert "Compare" in listed["run"]
    show_help = "import sys; from qufur.cli import execute; execute(['--help'])"
    python("-c", f"{show_help}; assert 'extension' not in sys.modules")


def test_command_of_another_package_runs(qufur):
    assert qufur("hello", "--name", "world") == "Hello, world\n"
    assert "Greet the user." in qufur("hello", "--help")
    assert qufur("hello", "--nme", code=2).endswith("See `qufur hello --help`.\n")


WRONG = [
    (["run", "--rule", "Gone"], f"missing_module:Gone {BROKEN} Update or uninstall extension 1.2."),
    (["run", "--model", "Lost"], f"missing_module:Lost {BROKEN} Update or uninstall extension 1.2."),
    (["stuck"], f"missing_module:stuck {BROKEN} Update or uninstall extension 1.2."),
    (["run", "--rule", "Renamed"], "extension:Cautious of extension 1.2 must be a class named Renamed"),
    (["run", "--rule", "Wrong"], "extension:Flat of extension 1.2 must be a class with all members of Rule"),
    (["run", "--rule", "nowhere:Rule"], "nowhere:Rule of nowhere must be importable, got ModuleNotFound"),
    (["run", "--rule", "Uniform"], "the name of an installed rule (here Cautious, Gone, Renamed, Wrong)"),
    (["run", "--model", "tree"], "--model of qufur run must be module:Class, or the name of an installed"),
    (["run", "--model", "Flat", "--classes", "a,b"], "--classes of qufur run must be omitted without"),
]
"""Wrong calls, and a part of their messages."""
CALLS = """
import json, sys
from qufur.__main__ import main
for arguments in json.loads(sys.argv.pop()):
    sys.argv[1:] = arguments
    try:
        main()
    except SystemExit as stop:
        assert stop.code == 2, arguments
sys.exit(2)
"""


def test_broken_entry_points_raise_in_one_line_that_names_the_package(python):
    calls = json.dumps([arguments for arguments, _ in WRONG])
    errors = python("-c", CALLS, calls, code=2).splitlines()
    for (_, message), error in zip(WRONG, errors, strict=True):
        assert error.startswith("qufur: ")
        assert message in error


def test_model_must_accept_the_options_that_are_given(qufur, table, site):
    (site / "narrow.py").write_text(
        "from qufur import Ridge\n\nclass Narrow(Ridge):\n    def __init__(self, dim): ...\n"
    )
    options = ["--target", "delay", "--model", "narrow:Narrow", "--regularization", 2]
    error = qufur("run", table, *options, code=2)
    assert "--model of qufur run must be a class with the parameters dim, regularization" in error


def test_name_registered_by_two_packages_is_rejected(qufur, tmp_path):
    install(tmp_path / "site", "copycat", "[qufur.rules]\nCautious = copycat:Cautious\n")
    error = qufur("run", "--rule", "Cautious", code=2)
    assert "must be registered by one package, got copycat 1.2 and extension 1.2." in error
