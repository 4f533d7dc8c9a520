"""Tests of the command line as a whole: help, errors, exit codes and `qufur run`."""

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass

import pytest

from qufur import __version__, experiments
from qufur.__main__ import main
from qufur.data import MissingDataError
from qufur.errors import command_for
from qufur.experiments.paper import fig1
from qufur.experiments.paper.learners import unit_ridge
from qufur.experiments.paper.panels import Panel, figure_of
from qufur.rules import RULES, Uniform


def qufur(monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["qufur", *map(str, arguments)])
    with pytest.raises(SystemExit) as stop:
        main()
    return stop.value.code


@pytest.fixture
def table(tmp_path):
    lines = [f"{t % 7},{t % 5},{2 * (t % 7) - (t % 5)}" for t in range(120)]
    path = tmp_path / "readings.csv"
    path.write_text("wind,rain,delay\n" + "\n".join(lines) + "\n")
    return path


def test_run_on_a_file(monkeypatch, capsys, tmp_path, table):
    out = tmp_path / "out"
    options = ["--model", "ridge", "--budget", 30, "--seeds", 2, "--out", out]
    code = qufur(monkeypatch, "run", table, "--target", "delay", *options)
    text = capsys.readouterr().out
    assert code == 0
    assert "readings.csv: 120 examples, 2 features" in text
    for rule in ("QuFUR", "FixedBudget", "Uniform", "Greedy", "Threshold", "no labels", "every label"):
        assert rule in text
    assert "Omitted: DomainOracle" in text
    assert {path.name for path in out.iterdir()} == {"run.csv", "run.png", "run.svg"}


def test_run_prints_json(monkeypatch, capsys, tmp_path, table, no_pictures):
    arguments = ["--model", "ridge", "--target", "delay", "--budget", "25%", "--budget", "50"]
    arguments += ["--seeds", 2, "--json"]
    assert qufur(monkeypatch, "run", table, *arguments, "--out", tmp_path) == 0
    result = json.loads(capsys.readouterr().out)
    runs = {(row["rule"], row["seed"], round(row["parameter"], 3)): row for row in result["runs"]}
    assert runs["Greedy", 1, 0.25]["queries"] == 30
    assert runs["Uniform", 0, 0.42]["queries"] <= 50
    assert runs["every label", 0, 1.0]["mean squared error"] < runs["no labels", 0, 0.0]["mean squared error"]
    assert all(row["regret"] is None for row in result["runs"])


@dataclass(frozen=True)
class EveryOther(Uniform):
    """A rule added as described in `docs/contributing.md`."""


def test_new_rule_is_swept_printed_and_drawn(monkeypatch, capsys, tmp_path, table):
    monkeypatch.setattr("qufur.sweep.at_budgets.RULES", (*RULES, EveryOther))
    arguments = ["--model", "ridge", "--target", "delay", "--budget", "30", "--seeds", 1, "--out", tmp_path]
    assert qufur(monkeypatch, "run", table, *arguments) == 0
    assert "EveryOther" in capsys.readouterr().out
    assert "\nEveryOther," in (tmp_path / "run.csv").read_text()
    drawn = (tmp_path / "run.svg").read_text()
    assert "<!-- EveryOther -->" in drawn
    assert "<!-- every label -->" not in drawn  # it is a reference, not a rule


def test_run_in_several_processes_gives_the_same_numbers(monkeypatch, capsys, tmp_path, table):
    arguments = ["--model", "ridge", "--target", "delay", "--budget", 30, "--seeds", 2, "--out", tmp_path]
    results = []
    for jobs in (1, 2):
        assert qufur(monkeypatch, "run", table, *arguments, "--jobs", jobs, "--json") == 0
        results.append(json.loads(capsys.readouterr().out)["runs"])
    assert results[0] == results[1]


@pytest.mark.parametrize("command", [["run", "--target", "delay"], ["plan", "--skip", "delay"]], ids=str)
def test_titles_accept_any_file_name(monkeypatch, capsys, tmp_path, table, command):
    """Titles of figures and tables are plain text, neither formulas nor markup."""
    name = "[bold] :smile: cost_$5_to_$6^ [red].csv"
    file = table.rename(tmp_path / name)
    options = ["--model", "ridge", "--budget", 30, "--seeds", 1, "--out", tmp_path / "out"]
    assert qufur(monkeypatch, *command, file, *options) == 0
    assert capsys.readouterr().out.startswith(f"{name}: 120 examples, 2 features")
    assert (tmp_path / "out" / f"{command[0]}.png").exists()


@pytest.mark.parametrize("column", ["wind", "delay"])
def test_too_large_numbers_raise_in_one_line(monkeypatch, capsys, tmp_path, table, column):
    lines = table.read_text().splitlines()
    lines[4] = {"wind": "-1e200,2,3", "delay": "1,2,1e200"}[column]
    table.write_text("\n".join(lines))
    assert qufur(monkeypatch, "run", table, "--target", "delay", "--budget", 30, "--out", tmp_path) == 2
    message = f"column '{column}' of readings.csv must be numbers below 1e+50 in size, got '"
    error = capsys.readouterr().err
    assert error.startswith(f"qufur: {message}")
    assert "1e200' in row 4." in error
    assert len(error.splitlines()) == 1


def test_run_on_the_synthetic_stream(monkeypatch, capsys, tmp_path):
    assert qufur(monkeypatch, "run", "--seeds", 2, "--budget", "10%", "--out", tmp_path) == 0
    text = capsys.readouterr().out
    assert "20 hidden domains" in text
    assert "DomainOracle" in text
    # Streams of different seeds differ in length, and only this rule leaves budget unspent.
    assert re.findall(r"(\w+) bought only", text) == ["FixedBudget"]


def gone(seed):
    raise MissingDataError("gone.npz is missing.")


def test_reproduce_prints_measurements_and_verdicts(monkeypatch, capsys, tmp_path):
    synthetic = {"synthetic": fig1.PANELS["synthetic"], "gone": Panel("Gone", gone, unit_ridge, (1.0,))}
    figure = figure_of("fig1", "Figure 1", "Section 6", synthetic)
    monkeypatch.setitem(experiments.PARTS, "fig1", (figure,))
    arguments = ["reproduce", "fig1", "--seeds", 2, "--jobs", 1, "--quick", "--out", tmp_path]
    assert qufur(monkeypatch, *arguments) == 0
    text = capsys.readouterr().out
    assert "Synthetic, authors' scripts: regret R" in text
    assert "holds: " in text
    assert "Skipped because data are missing: Gone. gone.npz is missing." in text
    assert "report.html" in text
    assert "<svg" in (tmp_path / "report.html").read_text()
    assert qufur(monkeypatch, *arguments, "--json") == 0
    result = json.loads(capsys.readouterr().out)
    assert result["settings"]["seeds"] == "2"
    found = result["experiments"]["fig1"]
    assert found["missing"] == {"Gone": "gone.npz is missing."}
    assert {statement["verdict"] for statement in found["statements"]} <= {"holds", "undecided"}


BAD_FILES = {
    "missing column": ("a,b\n1,2\n", "--target y", "column 'y' of t.csv must be one of 'a', 'b'"),
    "text label": (
        "a,y\n1,2\n2,x\n",
        "--target y",
        "column 'y' of t.csv must be finite numbers, got 'x' in row 2",
    ),
    "model": (
        "a,y\n1,2\n",
        "--target y --text-model m",
        "--text-model of qufur run must be omitted",
    ),
    "empty": ("", "--target y", "content of t.csv must be at least one row"),
    "header only": ("a,y\n", "--target y", "content of t.csv must be at least one row"),
    "long row": ("a,y\n1,2\n1,2,3\n", "--target y", "row 2 of t.csv must be 2 fields wide"),
    "short row": ("a,y\n1,2\n1\n", "--target y", "row 2 of t.csv must be 2 fields wide"),
    "missing value": ("a,y\n1,2\n,3\n", "--target y", "got an empty cell in row 2"),
    "constant label": ("a,y\n1,2\n2,2\n", "--target y", "at least two different labels"),
    "no target": ("a,y\n1,2\n", "", "--target of qufur run must be given with a file"),
    "skip unknown": ("a,y\n1,2\n", "--target y --skip b", "column 'b' of t.csv"),
    "budget 3": (
        "a,y\n1,2\n2,3\n",
        "--target y --budget 3",
        "--budget of qufur run must be at most 2 labels",
    ),
    "seeds 0": ("a,y\n1,2\n", "--target y --seeds 0", "--seeds"),
    "unknown option": ("a,y\n1,2\n", "--nope", "No such option: --nope"),
}


@pytest.mark.parametrize("case", BAD_FILES)
def test_bad_input_is_one_line_and_code_2(monkeypatch, capsys, tmp_path, case):
    content, arguments, message = BAD_FILES[case]
    path = tmp_path / "t.csv"
    path.write_text(content)
    assert qufur(monkeypatch, "run", path, *arguments.split(), "--out", tmp_path / "out") == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.startswith("qufur: ")
    assert output.err.count("\n") == 1
    assert message in output.err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "gone.csv", "--target", "y"],
        ["rnu"],
        ["reproduce", "fig9"],
        ["reproduce", "realizability", "--backend", "nowhere"],
    ],
)
def test_wrong_calls_are_one_line_and_code_2(monkeypatch, capsys, tmp_path, arguments):
    monkeypatch.chdir(tmp_path)
    assert qufur(monkeypatch, *arguments) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_no_arguments_show_help(monkeypatch, capsys):
    assert qufur(monkeypatch) == 0
    assert "reproduce" in capsys.readouterr().out


def test_as_a_process(tmp_path):
    command = [sys.executable, "-m", "qufur", "run", "gone.csv", "--target", "y"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert (
        done.stderr
        == "qufur: path of qufur must be an existing file, got 'gone.csv'. Check its folder and spelling.\n"
    )


def test_the_version(monkeypatch, capsys):
    assert qufur(monkeypatch, "--version") == 0
    assert capsys.readouterr().out == f"qufur {__version__}\n"


@pytest.mark.parametrize(
    ("typed", "word", "offered"),
    [("qufur re", 1, ["retract", "reproduce"]), ("qufur run --model ", 3, ["experts", "ridge", "kernel"])],
)
def test_shell_completion_offers_commands_and_values(tmp_path, typed, word, offered):
    asked = {"_QUFUR_COMPLETE": "complete_bash", "COMP_WORDS": typed, "COMP_CWORD": str(word)}
    command = [sys.executable, "-m", "qufur"]
    environment = {**os.environ, **asked}
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment, check=False)
    assert (done.stdout.split(), done.stderr) == (offered, "")


def test_missing_extra_is_named(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "qufur.cli", None)
    monkeypatch.setitem(sys.modules, "typer", None)
    monkeypatch.delitem(sys.modules, "qufur.cli")
    assert qufur(monkeypatch, "run") == 2
    assert command_for("all") in capsys.readouterr().err
