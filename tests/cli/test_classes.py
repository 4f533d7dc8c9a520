"""Tests of class labels on the command line: naming, inference, learning, prediction and error rate."""

import csv
import json

import numpy as np
import pytest
from tests.cli.test_cli import qufur

from qufur import Experts, Learner, Steady
from qufur.snapshot import encode
from qufur.workbook import Workbook

pytestmark = pytest.mark.usefixtures("few_trees")
RNG = np.random.default_rng(3)
WIND = RNG.normal(size=90).round(3)
LATE = np.where(WIND > 0.2, "yes", "no").astype(object)
LATE[::15] = "cancelled"
START = ["--id", "flight", "--target", "late", "--budget", 24, "--horizon", 90]
NAMES = ["--classes", "yes,no,cancelled"]


def write(path, rows, labels=None):
    """Write flights, with a label column if labels are given."""
    lines = [[f"LH{t}", WIND[t], *([labels[t]] if labels is not None else [])] for t in rows]
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([["flight", "wind", *(["late"] if labels is not None else [])], *lines])
    return path


def filled(path, labels=LATE):
    """Fill in the classes, as an annotator would."""
    rows = table(path)
    done = path.with_name("labels.csv")
    with done.open("w", newline="") as file:
        lines = ([row["flight"], labels[int(row["flight"][2:])]] for row in rows)
        csv.writer(file).writerows([["flight", "late"], *lines])
    return done


def table(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def asked(work, tmp_path, *options, rows=range(60), labels=None):
    out = tmp_path / "out.csv"
    code, text = work("ask", write(tmp_path / "may.csv", rows, labels), "-o", out, *START, *options)
    assert code == 0, text
    return out, text


def learner_of(tmp_path):
    return Workbook.load(tmp_path / "s.qufur").learner


def test_loop_is_a_learner_of_classes(work, tmp_path):
    out, _ = asked(work, tmp_path, *NAMES)
    learner = Learner(Experts(1, classes=["yes", "no", "cancelled"]), Steady(24, 90))
    answers = learner.ask_many(WIND[:60, None], ids=[f"LH{t}" for t in range(60)])
    assert [row["flight"] for row in table(out)] == list(learner.outstanding)
    assert {row["prediction"] for row in table(out)} == {"yes"}
    assert work("tell", filled(out))[0] == 0
    learner.tell_many(list(learner.outstanding), LATE[:60][answers.query])
    june, predicted = write(tmp_path / "june.csv", range(60, 90)), tmp_path / "predicted.csv"
    assert work("predict", june, "-o", predicted)[0] == 0
    found = table(predicted)
    columns = [f"probability of {name}" for name in ("yes", "no", "cancelled")]
    assert list(found[0]) == ["flight", "prediction", *columns, "uncertainty"]
    X = WIND[60:, None]
    assert [row["prediction"] for row in found] == learner.predict(X).tolist()
    shares = np.array([[float(row[name]) for name in columns] for row in found])
    np.testing.assert_allclose(shares, learner.predict_proba(X), atol=1e-4)
    assert work("ask", june, "-o", out)[0] == 0
    learner.ask_many(X, ids=[f"LH{t}" for t in range(60, 90)])
    assert [row["flight"] for row in table(out)] == list(learner.outstanding)
    assert {row["prediction"] for row in table(out)} >= {"yes", "no"}
    work("tell", filled(out))
    text = work("status")[1]
    assert "error rate    0." in text
    errors = json.loads(work("status", "--json")[1])["standing"]["class_errors"]
    judged = [
        LATE[int(name[2:])] for name in Workbook.load(tmp_path / "s.qufur").labels if int(name[2:]) >= 60
    ]
    found = {name: labels for name, labels, *_ in errors}
    assert found == {name: judged.count(name) for name in found}


def test_classes_are_inferred_from_the_first_table(work, tmp_path):
    labels = LATE.copy()
    labels[3] = ""
    _, text = asked(work, tmp_path, labels=labels)
    assert "Labels in column 'late' are text, so they are classes: 'cancelled', 'no', 'yes'.\n" in text
    assert learner_of(tmp_path).model == Experts(1, classes=["cancelled", "no", "yes"])


def test_numbers_may_be_classes(work, tmp_path):
    """They are written as 1, 1.0 or true, in any format."""
    out, _ = asked(work, tmp_path, "--classes", "0, 1", labels=["1.0", "0"] * 45)
    assert work("tell", filled(out, ["1", "0.0"] * 45))[0] == 0
    told = Workbook.load(tmp_path / "s.qufur").labels
    assert {name: record.label for name, record in told.items()} == {n: 1 - int(n[2:]) % 2 for n in told}


@pytest.mark.parametrize("options", [[], ["--label-range", 0, 90]], ids=str)
def test_text_among_numeric_labels_is_noted(work, tmp_path, options):
    labels = ["n/a" if t == 4 or options else f"{t}" for t in range(90)]
    _, text = asked(work, tmp_path, *options, labels=labels)
    row = 1 if options else 5
    assert f"Labels in column 'late' are read as numbers, although 'n/a' in row {row} is not a number" in text
    assert not learner_of(tmp_path).model.label_codec.classifies


@pytest.mark.parametrize(
    ("options", "labels", "message"),
    [
        (["--classes", "yes"], None, "--classes of qufur ask must be two or more different names"),
        (["--classes", "yes,,no"], None, "--classes of qufur ask must be two or more different names"),
        (["--classes", "yes,no,yes"], None, "--classes of qufur ask must be two or more different names"),
        (
            ["--classes", "nan,x"],
            None,
            "got 'nan', which is read as an empty cell. Give the class another name",
        ),
        (
            ["--classes", "x,NaT"],
            None,
            "got 'NaT', which is read as an empty cell. Give the class another name",
        ),
        (["--classes", "x,'=y"], None, "got \"'=y\", which is read as '=y'. Give the class another name"),
        (["--classes", "1,1.0"], None, "--classes of qufur ask must be two or more different names"),
        ([*NAMES, "--model", "ridge", "--label-range", 0, 1], None, "--model of qufur ask must be experts"),
        (
            [*NAMES, "--label-range", 0, 1],
            None,
            "--label-range of qufur ask must be given for numeric labels only",
        ),
        (["--classes", "yes,no"], LATE, "must be one of 'yes', 'no', got 'cancelled' in row 1."),
        ([], ["no"] * 90, "from 2 to 50 classes, got 'no' throughout. Name all classes with --classes"),
        ([], [f"v{t}" for t in range(90)], "from 2 to 50 classes, got more, such as 'v0' in row 1."),
    ],
    ids=str,
)
def test_invalid_start_raises(work, tmp_path, options, labels, message):
    may, out = write(tmp_path / "may.csv", range(60), labels), tmp_path / "out.csv"
    code, text = work("ask", may, "-o", out, *START, *options)
    assert (code, len(text.splitlines())) == (2, 1)
    assert message in text
    assert {path.name for path in tmp_path.iterdir()} <= {"may.csv", "s.qufur.lock"}


def test_every_accepted_class_can_be_learned(work, tmp_path):
    names = ["NA", "None", "null", "true", "-", "+", "=cmd", "@x"]
    out, _ = asked(work, tmp_path, "--classes", ",".join(names))
    code, text = work("tell", filled(out, names * 12))
    assert code == 0, text
    told = Workbook.load(tmp_path / "s.qufur").labels
    assert {name: record.label for name, record in told.items()} == {n: int(n[2:]) % len(names) for n in told}


def test_unknown_class_raises_and_nothing_is_learned(work, tmp_path):
    out, _ = asked(work, tmp_path, "--classes", "yes,no")
    before = (tmp_path / "s.qufur").read_bytes()
    code, text = work("tell", filled(out))
    assert (code, len(text.splitlines())) == (2, 1)
    assert "must be one of 'yes', 'no', got 'cancelled' in row" in text
    assert text.endswith("Correct it, leave it blank, or name it with --classes.\n")
    code, text = work("tell", filled(out), "--classes", "yes,cancelled")
    assert (code, "must be the existing classes, 'yes', 'no', and any new ones" in text) == (2, True)
    assert (tmp_path / "s.qufur").read_bytes() == before


def test_new_class_keeps_the_learned_labels(work, tmp_path):
    out, _ = asked(work, tmp_path, "--classes", "yes,no")
    labels = filled(out)
    lines = labels.read_text().splitlines()
    some = tmp_path / "some.csv"
    some.write_text("\n".join([line for line in lines if "cancelled" not in line]))
    assert work("tell", some)[0] == 0
    before = Workbook.load(tmp_path / "s.qufur")
    code, text = work("tell", labels, *NAMES)
    assert (code, "0 labels are outstanding." in text) == (0, True)
    after = Workbook.load(tmp_path / "s.qufur")
    assert after.classes == ("yes", "no", "cancelled")
    assert {name: after.labels[name].label for name in before.labels} == {
        name: record.label for name, record in before.labels.items()
    }
    assert (after.learner.spent, after.rows) == (before.learner.spent, before.rows)
    assert np.ptp(after.learner.predict_proba(WIND[:, None])[:, 0]) > 0.5
    assert "not known yet: no label was queried after the first label arrived" in work("status")[1]


def test_late_class_names_keep_purchases(work, tmp_path):
    out, _ = asked(work, tmp_path)
    before, labels = (tmp_path / "s.qufur").read_bytes(), filled(out)
    code, text = work("tell", labels)
    assert (code, len(text.splitlines())) == (2, 1)
    assert "name all of them, such as `qufur tell … --classes cancelled,no,yes`. Nothing was changed." in text
    assert (tmp_path / "s.qufur").read_bytes() == before
    assert work("tell", labels, *NAMES)[0] == 0
    workbook = Workbook.load(tmp_path / "s.qufur")
    assert (workbook.classes, workbook.learner.outstanding) == (("yes", "no", "cancelled"), ())
    assert len(workbook.labels) == workbook.learner.spent == len(table(out))
    learner = Learner(workbook.learner.model, Steady(24, 90))
    learner.learn(
        [record.row for record in workbook.labels.values()], [LATE[int(name[2:])] for name in workbook.labels]
    )
    found = workbook.learner.predict(WIND[:, None])
    assert (found == learner.predict(WIND[:, None])).mean() > 0.9
    assert "error rate    unknown" in work("status")[1]
    assert work("ask", write(tmp_path / "june.csv", range(60, 90)), "-o", out)[0] == 0
    assert work("tell", filled(out))[0] == 0
    assert "error rate    0" in work("status")[1]


def test_numeric_labels_cannot_become_classes(work, tmp_path):
    out, _ = asked(work, tmp_path)
    work("tell", filled(out, range(90)))
    code, text = work("tell", filled(out), *NAMES)
    assert (code, "--classes of qufur tell must be left out where labels are numbers" in text) == (2, True)


def test_different_class_raises_unless_replaced(work, tmp_path):
    out, _ = asked(work, tmp_path, *NAMES)
    wrong = LATE.copy()
    first = int(table(out)[0]["flight"][2:])
    wrong[first] = "yes" if wrong[first] != "yes" else "no"
    work("tell", filled(out, wrong))
    code, text = work("tell", filled(out))
    received = f"got {LATE[first]!r} for 'LH{first}', which has {wrong[first]!r}."
    assert (code, received in text) == (2, True)
    assert work("tell", filled(out), "--replace")[0] == 0
    learner = learner_of(tmp_path)
    learned = learner.state.labelled.first().y.astype(int)
    assert [learner.model.classes[number] for number in learned] == [
        LATE[int(row["flight"][2:])] for row in table(out)
    ]
    assert len(encode(learner)[1]["ledger.errors"]) == 0


def test_out_replaces_rows_with_learned_labels(work, tmp_path):
    out, _ = asked(work, tmp_path, *NAMES)
    work("tell", filled(out))
    filled(out).replace(out)
    assert work("ask", write(tmp_path / "june.csv", range(60, 90)), "-o", out)[0] == 0


def test_run_reports_the_error_rate_for_classes(monkeypatch, capsys, tmp_path):
    may, out = write(tmp_path / "may.csv", range(30), LATE), tmp_path / "out"
    arguments = ["--target", "late", "--skip", "flight", "--budget", 8, "--seeds", 1, "--out", out, "--json"]
    assert qufur(monkeypatch, "run", may, *arguments) == 0
    result = json.loads(capsys.readouterr().out)
    error = {row["rule"]: row["error rate"] for row in result["runs"]}
    assert error["no labels"] == np.mean(LATE[1:30] != LATE[0])  # without the first row, which is not scored
    assert result["constant"] == 1 - np.unique(LATE[1:30], return_counts=True)[1].max() / 29
    assert error["every label"] < 0.6
    assert {"QuFUR", "Threshold"} <= set(result["left_out"])


@pytest.mark.parametrize("options", [["--target", "late"], ["--classes", "a,b"]], ids=str)
def test_plan_raises_for_classes(monkeypatch, capsys, tmp_path, options):
    may, out = write(tmp_path / "may.csv", range(60), LATE), tmp_path / "out"
    assert qufur(monkeypatch, "plan", may, "--skip", "flight", "--budget", 9, "--out", out, *options) == 2
    text = capsys.readouterr().err
    assert text.startswith("qufur: labels of qufur plan must be numbers, got the classes '")
    assert not out.exists()


def test_interval_raises_for_classes(work, tmp_path):
    asked(work, tmp_path, *NAMES)
    code, text = work("predict", tmp_path / "may.csv", "-o", tmp_path / "p.csv", "--interval", 0.9)
    assert (code, "--interval of qufur predict must be omitted for classes" in text) == (2, True)
    assert not (tmp_path / "p.csv").exists()


def test_lists_raise_as_classes(work, tmp_path):
    data = tmp_path / "may.jsonl"
    data.write_text("".join(f'{{"wind": {t}, "label": [{t}, 2.5]}}\n' for t in range(9)))
    code, text = work("ask", data, "-o", tmp_path / "out.csv", "--budget", 5, "--classes", "0,1")
    assert (code, "must be one of '0', '1', got [0, 2.5] in row 1." in text) == (2, True)
