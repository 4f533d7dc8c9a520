"""Tests of the models of the commands: experts on raw columns, ridge and kernel."""

import csv
import json
from importlib import import_module

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeRegressor
from tests.cli.test_cli import qufur
from tests.cli.test_state_file import DELAY, LINEAR, SKY, START, WIND, filled, write

from qufur import Experts, KernelRidge, Learner, Refit, Ridge, Steady, Uniform
from qufur.cli._start import boosting
from qufur.tables import read
from qufur.workbook import Workbook

pytestmark = pytest.mark.usefixtures("few_trees")
START = [option for option in START if option not in ("--model", "ridge", "--label-range", 0, 60)]


@pytest.fixture
def table(tmp_path):
    """Return labels far from 0; the units of the columns differ by many orders of magnitude."""
    rng = np.random.default_rng(2)
    seconds, rate = 1.7e9 + 3600.0 * np.arange(80), 1e-4 * rng.normal(size=80)
    rows = np.column_stack([seconds, rate, 5000 + 2e5 * rate + seconds % 7])
    path = tmp_path / "readings.csv"
    np.savetxt(path, rows, delimiter=",", header="seconds,rate,load", comments="", fmt="%.12g")
    return path


def asked(work, tmp_path, *options, rows=range(120)):
    out = tmp_path / "to_label.csv"
    code, text = work("ask", write(tmp_path / "may.csv", rows), "-o", out, *START, *options)
    assert code == 0, text
    return out


def test_loop_is_a_learner_of_experts_on_raw_columns(work, tmp_path):
    out = asked(work, tmp_path, "--seed", 3)
    X = np.column_stack([WIND, *np.equal.outer(range(3), SKY)])
    learner = Learner(Experts(4), Steady(40, 120), seed=3)
    answers = learner.ask_many(X[:120])
    with out.open(newline="") as file:
        places = [int(row["flight"][2:]) for row in csv.DictReader(file)]
    assert places == np.flatnonzero(answers.query).tolist()
    assert work("tell", filled(out))[0] == 0
    learner.tell_many(places, DELAY[places])
    workbook = Workbook.load(tmp_path / "s.qufur")
    assert (workbook.learner.model, workbook.learner.rule) == (Experts(4), Steady(40, 120))
    predicted = tmp_path / "predicted.csv"
    assert work("predict", write(tmp_path / "june.csv", range(120, 200)), "-o", predicted)[0] == 0
    with predicted.open(newline="") as file:
        found = [float(row["prediction"]) for row in csv.DictReader(file)]
    np.testing.assert_allclose(found, learner.predict(X[120:200]), rtol=1e-5)
    assert np.sqrt(np.mean((np.array(found) - DELAY[120:200]) ** 2)) < 3 < DELAY.std()


def test_table_in_two_files_equals_one(work, tmp_path):
    """The state file keeps the rows, the labels and the scaling between the calls."""
    out = asked(work, tmp_path, "--horizon", 160)
    work("tell", filled(out))
    work("ask", write(tmp_path / "june.csv", range(120, 160)), "-o", out)
    workbook = Workbook.load(tmp_path / "s.qufur")
    learner = Learner(Experts(4), Steady(40, 160))
    X = np.column_stack([WIND, *np.equal.outer(range(3), SKY)])
    first = learner.ask_many(X[:120], ids=[f"LH{t}" for t in range(120)])
    learner.tell_many(list(learner.outstanding), DELAY[:120][first.query])
    second = learner.ask_many(X[120:160], ids=[f"LH{t}" for t in range(120, 160)])
    assert list(workbook.learner.outstanding) == [f"LH{120 + t}" for t in np.flatnonzero(second.query)]
    np.testing.assert_array_equal(workbook.learner.predict(X), learner.predict(X))


def test_label_is_replaced(work, tmp_path):
    out = asked(work, tmp_path)
    right = {name: DELAY[int(name[2:])] for name in Workbook.load(tmp_path / "s.qufur").learner.outstanding}
    work("tell", filled(out, right | dict.fromkeys(list(right)[3:6], 70.0)))
    code, text = work("tell", filled(out, right), "--replace")
    assert (code, "3 labels were replaced." in text) == (0, True)
    state = Workbook.load(tmp_path / "s.qufur").learner.state
    assert state.labelled.first().y.tolist() == list(right.values())


def test_constant_column_affects_predictions_when_it_varies(work, tmp_path):
    first, second, out = (tmp_path / name for name in ("1.csv", "2.csv", "out.csv"))
    first.write_text("year,wind\n" + "".join(f"2011,{t % 7}\n" for t in range(30)))
    _, text = work("ask", first, "-o", out, "--budget", "100%")
    assert "Constant in all rows" not in text
    labels = tmp_path / "labels.csv"
    labels.write_text("row,label\n" + "".join(f"{t + 1},{10 + t % 7}\n" for t in range(30)))
    assert work("tell", labels)[0] == 0
    second.write_text("year,wind\n" + "".join(f"2012,{t % 7}\n" for t in range(30)))
    assert work("ask", second, "-o", out, "--force")[0] == 0
    workbook = Workbook.load(tmp_path / "s.qufur")
    np.testing.assert_array_equal(workbook.encoding.encode(next(iter(read(second))))[0], [2012.0, 0.0])
    assert workbook.learner.uncertainty([[2013.0, 3.0]]) > workbook.learner.uncertainty([[2012.0, 3.0]])


@pytest.mark.parametrize(
    ("options", "model", "rule"),
    [
        ([], Experts(4), Steady(40, 120)),
        (["--model", "experts"], Experts(4), Steady(40, 120)),
        (["--horizon", 1000], Experts(4), Steady(40, 1000)),
        (["--label-range", 0, 60], Experts(4, label_range=(0, 60)), Steady(40, 120)),
        (["--at-random"], Experts(4), Uniform(1 / 3, budget=40)),
        (["--model", "ridge", "--label-range", 0, 60, "--at-random"], None, Uniform(1 / 3, budget=40)),
    ],
    ids=str,
)
def test_first_table_starts_the_given_model_and_rule(work, tmp_path, options, model, rule):
    asked(work, tmp_path, *options)
    learner = Workbook.load(tmp_path / "s.qufur").learner
    assert learner.model == (model or Ridge(4, intercept=True, label_range=(0.0, 60.0)))
    assert learner.rule == rule


@pytest.mark.parametrize(
    ("command", "option"),
    [
        ("ask", ["--alpha", 2.0]),
        ("ask", ["--fixed-budget", 60]),
        ("plan", ["--noise", 1.0]),
        ("plan", ["--norm", 1.0]),
        ("plan", ["--label-range", 0.0, 60.0]),
    ],
    ids=str,
)
@pytest.mark.parametrize("said", [[], ["--model", "experts"]], ids=str)
def test_ridge_options_name_ridge_in_the_error(work, monkeypatch, capsys, tmp_path, command, option, said):
    may, out = write(tmp_path / "may.csv", range(30)), ["--out", tmp_path / "out"]
    options = [*said, "--budget", 5, "--skip", "flight", *option, *out]
    call = work if command == "ask" else lambda *parts: (qufur(monkeypatch, *parts), capsys.readouterr().err)
    code, text = call(command, may, *options)
    assert (code, len(text.splitlines())) == (2, 1)
    assert f"{option[0]} of qufur {command} must be omitted with --model experts, the default" in text
    assert text.endswith("--model ridge accepts it.\n")
    assert not (tmp_path / "out").exists()


def test_run_compares_rules_on_experts(monkeypatch, capsys, tmp_path, table, no_pictures):
    arguments = ["--target", "load", "--budget", 20, "--seeds", 1, "--out", tmp_path / "out", "--json"]
    assert qufur(monkeypatch, "run", table, *arguments) == 0
    result = json.loads(capsys.readouterr().out)
    error = {row["rule"]: row["mean squared error"] for row in result["runs"]}
    assert {"QuFUR", "Steady", "Uniform", "Threshold", "every label"} <= set(error)
    spent = {row["rule"]: row["queries"] for row in result["runs"]}
    assert spent["Steady"] == 20
    assert {spent["QuFUR"], spent["Threshold"]} <= {18, 19, 20}  # tuned on the inputs without the first row
    assert error["every label"] < error["no labels"]
    assert result["decision"]["rule"] == "Steady"


def test_long_streams_are_not_learned_with_every_label(monkeypatch, capsys, tmp_path, table):
    monkeypatch.setattr(import_module("qufur.cli.run"), "MAX_LABELS", 78)
    monkeypatch.setattr("qufur.cli._compare.Decision.of", lambda *_: None)
    monkeypatch.setattr("qufur.cli._compare.budget_grid", lambda *_: ({}, {}))
    monkeypatch.setattr("qufur.cli._compare.Comparison.write", lambda *_: [])
    arguments = ["--target", "load", "--seeds", 1, "--out", tmp_path, "--json"]
    for model, left_out in {"experts": ["every label"], "ridge": []}.items():
        assert qufur(monkeypatch, "run", table, "--model", model, *arguments) == 0
        result = json.loads(capsys.readouterr().out)
        assert list(result["left_out"]) == left_out
        rules = {row["rule"] for row in result["runs"]}
        assert rules == {"no labels", "every label", "at random, boosting"} - set(left_out)


def test_plan_prints_where_steady_buys(monkeypatch, capsys, tmp_path, table):
    arguments = ["--target", "load", "--budget", "25%", "--parts", 4, "--seeds", 5, "--out", tmp_path / "out"]
    assert qufur(monkeypatch, "plan", table, *arguments) == 0
    text = capsys.readouterr().out
    assert "20 of 80 labels: Steady buys 20 (20–20)" in text
    assert "80 rows have labels; the expected error is estimated from them" in text
    written = {"plan-parts.csv", "plan-error.csv", "plan.png", "plan.svg"}
    assert {path.name for path in (tmp_path / "out").iterdir()} == written
    assert qufur(monkeypatch, "plan", table, *arguments, "--json") == 0
    result = json.loads(capsys.readouterr().out)
    assert (result["alpha"], result["forecast"], result["spend"]["mean"]) == (None, [], 20)
    labels = [part["labels"]["mean"] for part in result["parts"]]
    assert sum(labels) == pytest.approx(20)
    assert labels[0] > labels[1]


@pytest.mark.parametrize(
    ("options", "model"),
    [
        (
            ["--model", "ridge", "--label-range", 0, 60, "--regularization", 0.5, "--half-life", 70],
            Ridge(4, intercept=True, label_range=(0, 60), regularization=0.5, half_life=70),
        ),
        (
            ["--model", "kernel", "--label-range", 0, 60],
            KernelRidge(ConstantKernel(1.0) + RBF(2.0), dim=4, regularization=0.1, label_range=(0, 60)),
        ),
        (
            ["--also", "linear-regression", "--also", "DecisionTreeRegressor"],
            Experts(4, also=[LinearRegression(), DecisionTreeRegressor()]),
        ),
    ],
    ids=str,
)
def test_ask_uses_the_given_model(work, tmp_path, options, model):
    out = asked(work, tmp_path, *options)
    assert Workbook.load(tmp_path / "s.qufur").learner.model == model
    assert work("tell", filled(out))[0] == 0
    predicted = tmp_path / "predicted.csv"
    assert work("predict", write(tmp_path / "june.csv", range(120, 200)), "-o", predicted)[0] == 0
    with predicted.open(newline="") as file:
        found = [float(row["prediction"]) for row in csv.DictReader(file)]
    assert np.sqrt(np.mean((np.array(found) - DELAY[120:200]) ** 2)) < 0.5 * DELAY.std()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--regularization", 0.5], "must be omitted with --model experts, the default, got 0.5"),
        (["--half-life", 50], "--half-life of qufur ask must be omitted with --model experts, got 50."),
        (
            ["--model", "kernel", "--half-life", 50],
            "omitted with --model kernel, got 50. --model ridge accepts",
        ),
        (["--model", "kernel"], "--label-range of qufur ask must be given with --model kernel, got none."),
        (["--model", "ridge", "--also", "svr"], "--also of qufur ask must be omitted with --model ridge"),
        (
            ["--model", "ridge", "--label-range", 0, 9, "--regularization", 0],
            "--regularization of qufur ask must",
        ),
        (
            ["--also", "random-forst"],
            "scikit-learn regressor, got 'random-forst'. Did you mean random-fore",
        ),
        (
            ["--also", "logistic-regression"],
            "--also of qufur ask must be the name of a scikit-learn regressor",
        ),
        (["--also", "zzz"], "An example is hist-gradient-boosting."),
        (["--also", "voting"], "--also of qufur ask must be the name of a scikit-learn regressor"),
    ],
    ids=str,
)
def test_invalid_model_options_raise(work, tmp_path, options, message):
    may, out = write(tmp_path / "may.csv", range(30)), tmp_path / "out.csv"
    code, text = work("ask", may, "-o", out, *START, *options)
    assert (code, len(text.splitlines())) == (2, 1)
    assert message in text
    assert {path.name for path in tmp_path.iterdir()} <= {"may.csv", "s.qufur.lock"}


@pytest.mark.parametrize(
    "options", [["--model", "kernel", "--regularization", 0.2], ["--half-life", 30, *LINEAR]]
)
def test_run_uses_the_given_model(monkeypatch, capsys, tmp_path, table, options, no_pictures):
    arguments = ["--target", "load", "--budget", 20, "--seeds", 1, "--out", tmp_path / "out", "--json"]
    assert qufur(monkeypatch, "run", table, *arguments, *options) == 0
    error = {row["rule"]: row["mean squared error"] for row in json.loads(capsys.readouterr().out)["runs"]}
    assert error["every label"] < error["no labels"]
    assert qufur(monkeypatch, "run", table, *arguments, *options, "--also", "svr") == 2
    assert "--also of qufur run must be omitted with --model" in capsys.readouterr().err


def test_plan_works_with_a_kernel(monkeypatch, capsys, tmp_path, table, no_pictures):
    arguments = ["--target", "load", "--budget", 20, "--seeds", 2, "--out", tmp_path / "out", "--json"]
    assert qufur(monkeypatch, "plan", table, *arguments, "--model", "kernel") == 0
    assert json.loads(capsys.readouterr().out)["spend"]["mean"] == pytest.approx(20, abs=4)


def test_intervals_are_written(work, tmp_path):
    linear = ["--model", "ridge", "--label-range", 0, 60]
    out, predicted = asked(work, tmp_path, *linear), tmp_path / "predicted.csv"
    june = write(tmp_path / "june.csv", range(120, 200))
    assert work("tell", filled(out))[0] == 0
    assert work("predict", june, "-o", predicted, "--interval", 0.8)[0] == 0
    with predicted.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["flight", "prediction", "low", "high", "uncertainty"]
    ends = np.array([[float(row[name]) for name in ("low", "prediction", "high")] for row in rows])
    learner = Workbook.load(tmp_path / "s.qufur").learner
    assert (np.diff(ends) > 0).all()
    assert np.ptp(ends[:, 2] - ends[:, 0]) < 1e-3 or ends.max() == 60
    assert np.mean((ends[:, 0] <= DELAY[120:200]) & (DELAY[120:200] <= ends[:, 2])) > 0.6
    assert learner.spent == 40
    code, text = work("predict", june, "-o", predicted, "--interval", 1.5)
    assert (code, "interval" in text) == (2, True)


def test_intervals_are_empty_without_labels(work, tmp_path):
    asked(work, tmp_path)
    predicted = tmp_path / "predicted.csv"
    code, text = work("predict", tmp_path / "may.csv", "-o", predicted, "--interval", 0.9)
    assert (code, "Cells of low and high are empty: there are too few labels" in text) == (0, True)
    with predicted.open(newline="") as file:
        assert {(row["low"], row["high"]) for row in csv.DictReader(file)} == {("", "")}


@pytest.mark.parametrize(
    ("classes", "kind"), [(None, HistGradientBoostingRegressor), ((0, 1), HistGradientBoostingClassifier)]
)
def test_runs_are_compared_with_boosting(classes, kind):
    found = boosting(3, classes)
    assert found == Refit(kind(), dim=3, classes=classes)
