"""Tests of `qufur plan`."""

import csv
import json

import numpy as np
import pytest
from tests.cli.test_cli import qufur


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "inputs.csv"
    rows = np.random.default_rng(0).normal(size=(90, 2)).round(3)
    path.write_text("wind,rain,delay,place\n" + "".join(f"{a},{b},,here\n" for a, b in rows))
    return path


COLUMNS = ["--model", "ridge", "--target", "delay", "--skip", "place"]


def test_plan_of_a_file_without_labels(monkeypatch, capsys, tmp_path, table):
    out = tmp_path / "out"
    assert qufur(monkeypatch, "plan", table, *COLUMNS, "--budget", "20%", "--seeds", 4, "--out", out) == 0
    text = capsys.readouterr().out
    assert text.startswith("inputs.csv: 90 examples, 2 features\n18 of 90 labels: QuFUR(")
    assert "a guess" in text
    files = {"plan-parts.csv", "plan-forecast.csv", "plan.png", "plan.svg"}
    assert {path.name for path in out.iterdir()} == files
    with (out / "plan-parts.csv").open(newline="") as file:
        assert [row["stop"] for row in csv.DictReader(file)][-1] == "90"
    with (out / "plan-forecast.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [int(row["budget"]) for row in rows] == [4, 9, 18, 36, 72]
    assert float(rows[0]["regret"]) > float(rows[-1]["regret"]) > 0


def test_plan_prints_json(monkeypatch, capsys, tmp_path, table):
    arguments = ["--model", "ridge", "--skip", "delay", "--domain", "place", "--budget", 18]
    arguments += ["--noise", 3, "--label-range", 0, 60]
    arguments += ["--seeds", 4, "--parts", 3, "--norm", 0.5, "--out", tmp_path, "--json"]
    assert qufur(monkeypatch, "plan", table, *arguments) == 0
    result = json.loads(capsys.readouterr().out)
    assert (result["budget"], result["horizon"], result["noise"], result["guessed"]) == (18, 90, 3.0, False)
    assert len(result["parts"]) == 3
    assert result["forecast"][2]["regret"]["mean"] > result["forecast"][3]["regret"]["mean"]
    assert 0 < result["norm"] <= 0.5


def test_labels_of_archives_are_not_inputs(monkeypatch, capsys, tmp_path):
    path = tmp_path / "t.npz"
    np.savez(path, X=np.random.default_rng(0).normal(size=(30, 1)), y=np.zeros(30))
    assert qufur(monkeypatch, "plan", path, "--budget", 5, "--seeds", 2, "--out", tmp_path) == 0
    assert "30 examples, 1 feature" in capsys.readouterr().out


def test_plan_works_with_one_column(monkeypatch, capsys, tmp_path, table):
    skip = [*COLUMNS, "--skip", "rain"]
    assert qufur(monkeypatch, "plan", table, *skip, "--budget", 5, "--seeds", 2, "--out", tmp_path) == 0
    assert "90 examples, 1 feature" in capsys.readouterr().out


WRONG = {
    "budget 91": ([*COLUMNS, "--budget", "91"], "--budget of qufur plan must be at most 90 labels"),
    "no budget": (COLUMNS, "Missing option '--budget'"),
    "target": (["--target", "dela", "--budget", "9"], "Did you mean 'delay'?"),
    "blank": (["--budget", "9"], "column 'delay' of inputs.csv must be without missing cells"),
    "model": (
        [*COLUMNS, "--budget", "9", "--text-model", "m"],
        "--text-model of qufur plan must be",
    ),
    "noise": ([*COLUMNS, "--budget", "9", "--noise", "-1"], "noise of plan must be a finite number"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_calls_are_one_line_and_code_2(monkeypatch, capsys, tmp_path, table, case):
    arguments, message = WRONG[case]
    assert qufur(monkeypatch, "plan", table, *arguments, "--out", tmp_path / "out") == 2
    output = capsys.readouterr()
    assert (output.out, output.err.count("\n")) == ("", 1)
    assert message in output.err
    assert not (tmp_path / "out").exists()
