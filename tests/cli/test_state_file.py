"""Tests of `qufur ask`, `tell`, `status` and `predict` with one state file."""

import csv
import gzip
import json
import os
import sys
from pathlib import Path

import numpy as np
import pytest
from filelock import FileLock

from qufur import FixedBudget, Learner, Paced, QuFUR, Ridge, Uniform
from qufur.snapshot import encode
from qufur.tables import Batch, Encoding
from qufur.workbook import Workbook

RNG = np.random.default_rng(5)
WIND, SKY = RNG.normal(size=400).round(4), RNG.integers(0, 3, 400)
DELAY = (30 + 5 * WIND + 8 * SKY + RNG.normal(size=400)).round(3)
LINEAR = ["--model", "ridge"]
START = [*LINEAR, "--budget", 40, "--label-range", 0, 60, "--id", "flight", "--target", "delay"]


def write(path, rows, with_delay=False):
    """Write flights as a user would; the sky is a word."""
    names = ["flight", "wind", "sky", *["delay"] * with_delay]
    lines = [
        [f"LH{t}", WIND[t], ("clear", "cloudy", "storm")[SKY[t]], *[DELAY[t]] * with_delay] for t in rows
    ]
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([names, *lines])
    return path


def filled(path, labels=None):
    """Fill in the labels, as an annotator would, and return the file."""
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        row["delay"] = DELAY[int(row["flight"][2:])] if labels is None else labels.get(row["flight"], "")
    done = path.with_name("labels.csv")
    with done.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    return done


def asked(work, tmp_path, *options):
    out = tmp_path / "to_label.csv"
    code, text = work("ask", write(tmp_path / "may.csv", range(300)), "-o", out, *START, *options)
    assert code == 0, text
    return out, text


def test_ask_label_and_tell_until_the_budget_is_spent(work, tmp_path):
    out, text = asked(work, tmp_path)
    assert text.splitlines()[0].startswith("40 of 300 rows to label: written to ")
    with out.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["flight", "wind", "sky", "prediction", "delay"]
    assert {row["delay"] for row in rows} == {""}
    assert len(rows) == 40
    code, text = work("tell", filled(out))
    assert (code, text.splitlines()[0]) == (0, "40 labels learned, 0 already known, 0 rows without a label.")
    code, text = work("status")
    assert code == 0
    assert "40 of 300 examples, 0 outstanding; 0 left" in text
    predicted = tmp_path / "predicted.csv"
    code, text = work("predict", write(tmp_path / "june.csv", range(300, 400)), "-o", predicted)
    assert code == 0
    with predicted.open(newline="") as file:
        found = {row["flight"]: float(row["prediction"]) for row in csv.DictReader(file)}
    errors = [found[f"LH{t}"] - DELAY[t] for t in range(300, 400)]
    assert np.sqrt(np.mean(np.square(errors))) < 2.0


def test_ask_and_tell_equal_the_library(work, tmp_path):
    """Queries and predictions are those of a learner on the encoded rows: scaled wind, one-hot sky."""
    out, _ = asked(work, tmp_path, "--seed", 3)
    wind = WIND[:300]
    X = np.column_stack([(wind - wind.mean()) / wind.std(), *(SKY[:300] == k for k in range(3))])
    learner = Learner(Ridge(4, intercept=True, label_range=(0, 60)), Paced(40, 300), seed=3)
    answers = learner.ask_many(X)
    with out.open(newline="") as file:
        names = [row["flight"] for row in csv.DictReader(file)]
    assert names == [f"LH{t}" for t in np.flatnonzero(answers.query)]
    work("tell", filled(out))
    places = np.flatnonzero(answers.query).tolist()
    learner.tell_many(places, DELAY[places])
    workbook = Workbook.load(tmp_path / "s.qufur")
    np.testing.assert_allclose(workbook.learner.predict(X), learner.predict(X), rtol=1e-9)


def test_labels_in_the_first_table_are_no_inputs(work, tmp_path):
    out = tmp_path / "to_label.csv"
    may = write(tmp_path / "may.csv", range(300), with_delay=True)
    assert work("ask", may, "-o", out, *START)[0] == 0
    assert Workbook.load(tmp_path / "s.qufur").encoding.names == [
        "wind",
        "sky=clear",
        "sky=cloudy",
        "sky=storm",
    ]
    with out.open(newline="") as file:
        assert {row["delay"] for row in csv.DictReader(file)} == {""}


def test_repeated_tell_changes_nothing(work, tmp_path):
    out, _ = asked(work, tmp_path)
    work("tell", filled(out))
    before = encode(Workbook.load(tmp_path / "s.qufur").learner)
    code, text = work("tell", filled(out))
    assert (code, text.splitlines()[0]) == (0, "0 labels learned, 40 already known, 0 rows without a label.")
    after = encode(Workbook.load(tmp_path / "s.qufur").learner)
    assert before[0] == after[0]
    np.testing.assert_array_equal(before[1]["ledger.seen"], after[1]["ledger.seen"])


def test_labels_may_arrive_in_several_files(work, tmp_path):
    out, _ = asked(work, tmp_path)
    with out.open(newline="") as file:
        first = next(csv.DictReader(file))["flight"]
    code, text = work("tell", filled(out, {first: 31.5}))
    assert (code, text.splitlines()[0]) == (0, "1 label learned, 0 already known, 39 rows without a label.")
    assert "39 outstanding" in work("status")[1]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("flight,delay\nLH0,30\nnobody,4\n", "id of labels.csv must be outstanding, got 'nobody'"),
        ("flight,delay\nLH0,30\nLH0,30\n", "id of labels.csv must be unique, got 'LH0' in rows 1 and 2."),
        (
            "flight,delay\nLH0,late\n",
            "column 'delay' of labels.csv must be finite numbers, got 'late' in row 1",
        ),
        ("flight,late\nLH0,3\n", "column 'delay' of labels.csv must be one of"),
        ("delay\n3\n", "column 'flight' of labels.csv must be one of"),
    ],
)
def test_invalid_row_changes_nothing(work, tmp_path, lines, message):
    asked(work, tmp_path)
    state = (tmp_path / "s.qufur").read_bytes()
    (tmp_path / "labels.csv").write_text(lines)
    code, text = work("tell", tmp_path / "labels.csv")
    assert code == 2
    assert message in text
    assert len(text.splitlines()) == 1
    assert (tmp_path / "s.qufur").read_bytes() == state


def test_different_label_for_a_labelled_row_raises(work, tmp_path):
    out, _ = asked(work, tmp_path)
    work("tell", filled(out, {"LH0": 30.0}))
    code, text = work("tell", filled(out, {"LH0": 31.0}))
    assert code == 2
    assert "equal to the stored label, got 31 for 'LH0', which has 30" in text


@pytest.mark.parametrize("value", [70.0, 1.7e12, 1234567890123456789], ids=["typo", "timestamp", "id"])
@pytest.mark.parametrize("rest", [True, False], ids=["while labels are outstanding", "when all are there"])
def test_replaced_label_equals_the_correct_label_from_the_start(work, tmp_path, rest, value):
    out, _ = asked(work, tmp_path)
    learner = Workbook.load(tmp_path / "s.qufur").learner
    right = {name: DELAY[int(name[2:])] for name in learner.outstanding[: 20 if rest else None]}
    wrong = right | dict.fromkeys(list(right)[3:6], value)  # out of range
    work("tell", filled(out, wrong), "--accept-outliers")
    code, text = work("tell", filled(out, right), "--replace")
    assert code == 0
    assert "3 labels were replaced." in text
    workbook = Workbook.load(tmp_path / "s.qufur")
    learner.tell_many(list(right), np.array(list(right.values())))
    X = np.random.default_rng(0).normal(size=(20, 4))
    np.testing.assert_allclose(workbook.learner.predict(X), learner.predict(X), rtol=1e-9)
    found, expected = workbook.learner.report(), learner.report()
    assert found.interval == pytest.approx(expected.interval)
    assert found.loss == pytest.approx(expected.loss)
    assert found.labelled_loss == pytest.approx(expected.labelled_loss)
    assert (found.beyond, found.fit.noise) == (0, pytest.approx(expected.fit.noise))
    tested = (learner.state.labelled.tested().array() for learner in (workbook.learner, learner))
    np.testing.assert_allclose(*tested, rtol=1e-7, atol=1e-9)
    assert "0 labels learned" in work("tell", filled(out, right))[1]


@pytest.mark.parametrize("first", [{}, {"LH0": 30.0}], ids=["new", "replaced"])
def test_label_far_outside_the_range_needs_accept_outliers(work, tmp_path, first):
    out, _ = asked(work, tmp_path)
    work("tell", filled(out, first))
    state, odd = (tmp_path / "s.qufur").read_bytes(), filled(out, {"LH0": 661.0})
    code, text = work("tell", odd, "--replace")
    assert code == 2
    assert text == (
        "qufur: label of labels.csv must be at most ten times the range [0, 60] away from it, "
        "got 661 for 'LH0'. --accept-outliers accepts it.\n"
    )
    assert (tmp_path / "s.qufur").read_bytes() == state
    code, text = work("tell", odd, "--replace", "--accept-outliers")
    assert code == 0
    assert "Warning" not in text
    assert Workbook.load(tmp_path / "s.qufur").labels["LH0"].label == 661.0


def test_invalid_table_changes_nothing(work, tmp_path):
    out, _ = asked(work, tmp_path)
    state, to_label = (tmp_path / "s.qufur").read_bytes(), out.read_bytes()
    june = tmp_path / "june.csv"
    june.write_text("flight,wind,sky\nLH300,1,clear\nLH301,strong,clear\n")
    code, text = work("ask", june, "-o", out, "--force")
    assert code == 2
    assert "column 'wind' of june.csv must be" in text
    assert "'strong' in row 2" in text
    assert ((tmp_path / "s.qufur").read_bytes(), out.read_bytes()) == (state, to_label)
    assert not list(tmp_path.glob(".*"))


def test_later_tables_continue_the_budget(work, tmp_path):
    out, _ = asked(work, tmp_path, "--horizon", 400)
    spent = Workbook.load(tmp_path / "s.qufur").learner.spent
    assert spent < 40
    work("tell", filled(out))
    code, text = work("ask", write(tmp_path / "june.csv", range(300, 400), with_delay=True), "-o", out)
    assert code == 0
    assert "40 labels bought in total, 0 left" in text


def test_repeated_table_raises(work, tmp_path):
    out, _ = asked(work, tmp_path)
    state = (tmp_path / "s.qufur").read_bytes()
    code, text = work("ask", tmp_path / "may.csv", "-o", out)
    assert code == 2
    assert "`qufur predict` predicts on them again" in text
    assert (tmp_path / "s.qufur").read_bytes() == state


def test_row_repeated_in_another_table_raises(work, tmp_path):
    """Also a row that was not queried: only its id is stored."""
    out, _ = asked(work, tmp_path)
    with out.open(newline="") as file:
        queried = {row["flight"] for row in csv.DictReader(file)}
    for t in (next(t for t in range(300) if f"LH{t}" not in queried), int(min(queried)[2:])):
        state = (tmp_path / "s.qufur").read_bytes()
        june = write(tmp_path / "june.csv", [300, t, 301])
        code, text = work("ask", june, "-o", tmp_path / "more.csv")
        assert code == 2
        assert f"must be of a row that is new, got 'LH{t}' in row 2, which was asked about before" in text
        assert (tmp_path / "s.qufur").read_bytes() == state
    assert work("ask", write(tmp_path / "june.csv", [300, 301]), "-o", tmp_path / "more.csv")[0] == 0


def test_row_repeated_far_down_raises(work, tmp_path, monkeypatch):
    monkeypatch.setattr("qufur.tables.batch.ROWS", 50)
    may = write(tmp_path / "may.csv", [*range(300), 7])
    code, text = work("ask", may, "-o", tmp_path / "to_label.csv", *START)
    assert code == 2
    assert "got 'LH7' in row 301, which was asked about before" in text


def test_crash_before_the_state_is_saved_can_be_repeated(work, tmp_path, monkeypatch):
    out, may = tmp_path / "to_label.csv", write(tmp_path / "may.csv", range(300))
    with monkeypatch.context() as broken:
        broken.setattr(Workbook, "save", lambda self, path: (_ for _ in ()).throw(OSError("disk full")))
        assert work("ask", may, "-o", out, *START)[0] == 2
    first = out.read_bytes()
    assert not (tmp_path / "s.qufur").exists()
    assert work("ask", may, "-o", out, *START)[0] == 0
    assert out.read_bytes() == first


def test_rows_without_ids_are_numbered_through_all_tables(work, tmp_path):
    out, options = tmp_path / "to_label.csv", [*LINEAR, "--budget", "100%", "--label-range", 0, 1]
    for part, name in enumerate(("a.csv", "b.csv")):
        (tmp_path / name).write_text(f"wind\n{part}\n5\n")
        assert work("ask", tmp_path / name, "-o", out, *options)[0] == 0
        options = ["--force"]
    assert out.read_text().splitlines() == ["row,wind,prediction,label", "3,1,0.5,", "4,5,0.5,"]
    (tmp_path / "labels.csv").write_text("row,label\n4,0.25\n1,1\n")
    assert "2 labels learned" in work("tell", tmp_path / "labels.csv")[1]
    told = Workbook.load(tmp_path / "s.qufur").labels
    assert {name: record.label for name, record in told.items()} == {4: 0.25, 1: 1.0}


def test_ask_tell_and_status_print_json(work, tmp_path):
    out = tmp_path / "to_label.csv"
    _, text = work("ask", write(tmp_path / "may.csv", range(300)), "-o", out, *START, "--json")
    assert json.loads(text) == {"rows": 300, "wanted": 40, "left": 0, "outstanding": 40, "notes": []}
    _, text = work("tell", filled(out), "--json")
    assert json.loads(text) == {
        "new": 40,
        "known": 0,
        "replaced": 0,
        "blank": 0,
        "outstanding": 0,
        "notes": [],
    }
    _, text = work("status", "--json")
    assert json.loads(text)["examples"] == 300
    _, text = work("predict", tmp_path / "may.csv", "-o", tmp_path / "predicted.csv", "--json")
    assert json.loads(text) == {"rows": 300, "notes": []}


def test_constant_columns_and_new_categories_are_noted(work, tmp_path):
    first, second = tmp_path / "1.csv", tmp_path / "2.csv"
    start = ["-o", tmp_path / "first.csv", *LINEAR, "--budget", 2, "--label-range", 0, 1]
    start += ["--categorical", "month"]
    first.write_text("year,wind,month\n2011,1,1\n2011,2,2\n2011,4,1\n")
    _, text = work("ask", first, *start)
    assert "Constant in all rows, so without effect until the value varies: 'year'." in text
    assert "New categories in column" not in text
    second.write_text("year,wind,month\n2011,1,1\n2012,2,10\n" + "2012,2,9\n" * 5000 + "2012,4,3\n")
    none = "New categories in column 'month', ignored until `qufur ask` adds them:"
    counted = "New categories in column 'month', added as inputs:"
    for command, note in {"predict": none, "ask": counted}.items():
        _, text = work(command, second, "-o", tmp_path / f"{command}.csv")
        assert f"{note} 3, 9, 10." in text.splitlines()
        assert ("Column 'year' is no longer constant and now affects predictions." in text) == (
            command == "ask"
        )
        assert "Constant in all rows" not in text
    second.write_text("year,wind,month\n2013,1,7\n")
    for command, note in {"predict": none, "ask": counted}.items():
        out = ["-o", tmp_path / f"{command}.csv", "--force"]
        assert json.loads(work(command, second, *out, "--json")[1])["notes"] == [f"{note} 7."]


@pytest.mark.parametrize("option", [[], ["--json"]])
def test_progress_bars_are_shown_on_terminals_only(work, tmp_path, monkeypatch, capsys, option):
    monkeypatch.setattr("qufur._internal.progress.PATIENCE", 0.0)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    may, out = write(tmp_path / "may.csv", range(300)), tmp_path / "to_label.csv"
    texts = [
        work("ask", may, "-o", out, *START, *option)[1],
        work("predict", may, "-o", tmp_path / "predicted.csv", *option)[1],
    ]
    for text, labels in zip(texts, (["Reading columns", "Asking"], ["Predicting"]), strict=True):
        assert all((label in text) == (not option) for label in labels)
        assert not option or json.loads(text)["rows"] == 300


RULES = [
    (["--budget", 40], Paced(40, 300)),
    (["--budget", 40, "--horizon", 1000], Paced(40, 1000)),
    (["--budget", "5%"], Paced(0.05)),
    (["--budget", "0.05", "--horizon", 1000], Paced(50, 1000)),
    (["--alpha", 0.5], QuFUR(0.5)),
    (["--alpha", 0.5, "--budget", 40], QuFUR(0.5, budget=40)),
    (["--alpha", 0.5, "--budget", "4%", "--horizon", 1000], QuFUR(0.5, budget=40)),
    (["--fixed-budget", 60], FixedBudget(60, 300)),
    (["--fixed-budget", "20%"], FixedBudget(60, 300)),
    (["--fixed-budget", 60, "--horizon", 1000], FixedBudget(60, 1000)),
    (["--at-random", "--budget", 40, "--horizon", 1000], Uniform(0.04, budget=40)),
    (["--at-random", "--budget", "4%", "--horizon", 1000], Uniform(0.04, budget=40)),
    (["--at-random", "--budget", "5%"], Uniform(0.05)),
]


@pytest.mark.parametrize(("options", "rule"), RULES, ids=str)
def test_options_select_the_rule(work, tmp_path, options, rule):
    out, may = tmp_path / "to_label.csv", write(tmp_path / "may.csv", range(300))
    code, text = work("ask", may, "-o", out, *LINEAR, "--label-range", 0, 60, "--id", "flight", *options)
    assert code == 0
    learner = Workbook.load(tmp_path / "s.qufur").learner
    assert learner.rule == rule
    left = "no budget" if rule in (QuFUR(0.5), Uniform(0.05)) else f"{learner.left} left"
    assert f"{learner.spent} labels bought in total, {left}, {learner.spent} outstanding." in text
    assert f"{learner.spent} of 300 examples, {learner.spent} outstanding; {left}\n" in work("status")[1]
    assert json.loads(work("status", "--json")[1])["left"] == learner.left


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--label-range", 0, 60], "--budget of qufur ask must be given for the first table"),
        (["--alpha", 2, "--horizon", 9], "--horizon of qufur ask must be omitted with --alpha, got 9."),
        (
            ["--alpha", 2, "--budget", "5%", "--label-range", 0, 60],
            "the number of rows is unknown, got 0.05. --horizon sets the number of rows.",
        ),
        (["--alpha", 0], "alpha of qufur ask must be a finite number above 0, got 0.0."),
        (["--fixed-budget", 50, "--budget", 5], "--budget of qufur ask must be omitted with --fixed-budget"),
        (["--fixed-budget", 50, "--alpha", 5], "--alpha of qufur ask must be omitted with --fixed-budget"),
        (
            ["--fixed-budget", 5, "--label-range", 0, 60],
            "budget of FixedBudget must be at least 16 for horizon",
        ),
        (
            ["--budget", 5],
            "--label-range of qufur ask must be given with --model ridge, got none. Give the lowest",
        ),
        (["--at-random"], "--budget of qufur ask must be given for the first table"),
        (
            ["--at-random", "--fixed-budget", 50],
            "--fixed-budget of qufur ask must be omitted with --at-random",
        ),
        (["--at-random", "--alpha", 2], "--alpha of qufur ask must be omitted with --at-random, got 2.0."),
        (["--budget", 5, "--label-range", 9, 6], "--label-range of qufur ask must be two finite numbers"),
        (["--budget", 5, "--label-range", 0, 60, "--id", "fligth"], "Did you mean 'flight'?"),
    ],
)
def test_invalid_start_raises(work, tmp_path, options, message):
    may, out = write(tmp_path / "may.csv", range(30)), tmp_path / "out.csv"
    code, text = work("ask", may, "-o", out, *LINEAR, *options)
    assert code == 2
    assert message in text
    assert {path.name for path in tmp_path.iterdir()} <= {"may.csv", "s.qufur.lock"}


@pytest.mark.parametrize(
    ("option", "message"),
    [
        (
            ["--budget", 50],
            "--budget was set to '40' by the first table and cannot be changed to '50'. `qufur",
        ),
        (
            ["--target", "cost"],
            "--target was set to 'delay' by the first table and cannot be changed to 'cost'.",
        ),
        (
            ["--label-range", 0, 9],
            "set to '0.0 60.0' by the first table and cannot be changed to '0.0 9.0'",
        ),
        (
            ["--model", "experts"],
            "--model was set to 'ridge' by the first table and cannot be changed to 'exp",
        ),
        (
            ["--seed", 3],
            "--seed was not set by the first table and cannot be changed to '3'. Use another --state",
        ),
        (["--at-random"], "--at-random was not set by the first table and cannot be changed to 'True'."),
    ],
)
def test_changed_start_option_raises_for_an_existing_state_file(work, tmp_path, option, message):
    out, _ = asked(work, tmp_path)
    before = (tmp_path / "s.qufur").read_bytes()
    june = write(tmp_path / "june.csv", range(300, 310))
    code, text = work("ask", june, "-o", out, "--force", *START[:4], *option)
    assert (code, len(text.splitlines())) == (2, 1)
    assert message in text
    assert (tmp_path / "s.qufur").read_bytes() == before


def test_equal_start_options_are_accepted_again(work, tmp_path):
    skip = ["--skip", "sky", "--seed", 0]
    out, _ = asked(work, tmp_path, *skip)
    first = Workbook.load(tmp_path / "s.qufur")
    assert work("budget", "--add", 5)[0] == 0
    june = write(tmp_path / "june.csv", range(300, 310))
    code, text = work("ask", june, "-o", out, "--force", *START, *skip)
    assert code == 0, text
    again = Workbook.load(tmp_path / "s.qufur")
    assert (again.rows, again.learner.rule.limit) == (310, 45)
    assert again.start_options == first.start_options
    code, text = work(
        "learn", write(tmp_path / "july.csv", range(390, 400), True), *LINEAR, *START[-4:], *skip
    )
    assert code == 0, text


def test_facts_of_a_state_file_without_recorded_options_are_accepted_again(work, tmp_path):
    out, _ = asked(work, tmp_path)
    workbook = Workbook.load(tmp_path / "s.qufur")
    workbook.start_options = {}  # as in files of version 0.1.0
    workbook.save(tmp_path / "s.qufur")
    june = ["ask", write(tmp_path / "june.csv", range(300, 310)), "-o", out, "--force", *LINEAR, *START[-4:]]
    code, text = work(*june, "--seed", 0)
    assert (code, "--seed is set by the first table and cannot be changed to '0'." in text) == (2, True), text
    code, text = work(*june)
    assert code == 0, text


def test_state_file_is_locked_for_one_process(work, tmp_path):
    out, _ = asked(work, tmp_path)
    with FileLock(tmp_path / "s.qufur.lock"):
        code, text = work("tell", filled(out))
    assert code == 2
    assert "which another process uses. Wait until it has finished." in text


@pytest.mark.skipif(os.name == "nt", reason="links need rights")
@pytest.mark.parametrize("new", [True, False])
def test_symbolic_link_has_the_same_lock(work, tmp_path, new):
    there = tmp_path / "there"
    there.mkdir()
    (tmp_path / "s.qufur").symlink_to(there / "real.qufur")
    if not new:
        asked(work, tmp_path)
        assert (there / "real.qufur").exists()
    with FileLock(there / "real.qufur.lock"):
        code, text = work("ask", write(tmp_path / "may.csv", range(30)), "-o", tmp_path / "t.csv", *START)
    assert code == 2
    assert "which another process uses. Wait until it has finished." in text


def test_other_files_raise_as_state_file(work, tmp_path):
    Learner(Ridge(2), Paced(2, 5)).save(tmp_path / "s.qufur")
    code, text = work("status")
    assert code == 2
    assert "must be a file of `qufur ask`" in text
    assert "of another kind or version (KeyError: 'workbook')" in text
    (tmp_path / "s.qufur").unlink()
    assert "`qufur ask` and `qufur learn` create one." in work("status")[1]


def test_files_of_earlier_versions_continue(work, tmp_path):
    """The file was written before text columns existed and before the ids of all rows were stored."""
    file = Path(__file__).parents[1] / "storage" / "workbooks" / "0-before-texts.qufur.gz"
    (tmp_path / "s.qufur").write_bytes(gzip.decompress(file.read_bytes()))
    assert "17 of 40 examples, 9 outstanding; 3 left" in work("status")[1]
    june, head = tmp_path / "june.csv", "flight,wind,sky,note"
    june.write_text(f'{head}\nLH40,0.5,clear,"[1, 2]"\nLH41,-1,fog,"[0, 3]"\n')
    assert work("ask", june, "-o", tmp_path / "to_label.csv")[0] == 0
    (tmp_path / "labels.csv").write_text("flight,delay\nLH36,1.5\n")
    assert "1 label learned" in work("tell", tmp_path / "labels.csv")[1]
    for name in ("LH0", "LH21"):  # one has a label, one is pending
        june.write_text(f'{head}\n{name},0.5,clear,"[1, 2]"\n')
        code, text = work("ask", june, "-o", tmp_path / "more.csv")
        assert code == 2
        assert name in text


def test_long_ids_of_earlier_versions_can_be_labelled(tmp_path):
    """Ids were text if read from CSV, and ints of any size otherwise."""
    learner = Learner(Ridge(1), Uniform(1.0))
    learner.ask_many([[1.0], [2.0], [3.0]], ids=["1234567890123456789", "007", 7])
    workbook = Workbook(learner, Encoding.of([Batch({"wind": [1, 3]})]), "flight", "delay")
    workbook.tell([1234567890123456789, "007", 7], np.array([0.1, 0.2, 0.3]), "labels.csv")
    assert list(workbook.labels) == ["1234567890123456789", "007", 7]
