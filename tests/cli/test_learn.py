"""Tests of `qufur learn`: existing labels are free and are learned like bought ones."""

import json

import numpy as np
import pytest
from tests.cli.test_state_file import DELAY, LINEAR, START, asked, filled, write

from qufur import Learner, Paced
from qufur.snapshot import encode
from qufur.workbook import Workbook

EXPERTS = ["--budget", 20, "--id", "flight", "--target", "delay"]


def loaded(tmp_path):
    return Workbook.load(tmp_path / "s.qufur")


def test_free_labels_are_those_of_the_learner(work, tmp_path):
    asked(work, tmp_path)
    learner = loaded(tmp_path).learner
    code, text = work("learn", write(tmp_path / "april.csv", range(300, 350), with_delay=True))
    assert (code, text) == (
        0,
        "50 labels learned, 0 already known, 0 rows without a label.\n40 labels are outstanding.\n",
    )
    workbook = loaded(tmp_path)
    X = np.array([record.row[:-1] for record in workbook.labels.values()])  # without the intercept
    learner.learn(X, DELAY[300:350])
    found, expected = encode(workbook.learner), encode(learner)
    assert found[0] == expected[0]
    for name, array in expected[1].items():
        np.testing.assert_array_equal(found[1][name], array)
    assert (workbook.rows, workbook.learner.spent) == (350, 40)
    assert work("predict", tmp_path / "april.csv", "-o", tmp_path / "predicted.csv")[0] == 0


def test_learned_rows_cannot_be_asked_again(work, tmp_path):
    out, _ = asked(work, tmp_path)
    april = write(tmp_path / "april.csv", range(300, 350), with_delay=True)
    work("learn", april)
    state = (tmp_path / "s.qufur").read_bytes()
    for command in (["learn", april], ["ask", april, "-o", tmp_path / "o.csv"]):
        code, text = work(*command)
        assert (code, len(text.splitlines())) == (2, 1)
        assert "must be one that was not asked about before, got the same again" in text
    more = write(tmp_path / "more.csv", range(340, 360))
    assert (
        "got 'LH340' in row 1, which was asked about before" in work("ask", more, "-o", tmp_path / "o.csv")[1]
    )
    assert (tmp_path / "s.qufur").read_bytes() == state
    longer = write(tmp_path / "longer.csv", range(290, 360), with_delay=True)
    with out.open() as file:
        wanted = sum(f"\nLH{t}," in text for text in ["\n" + file.read()] for t in range(290, 300))
    found = json.loads(work("learn", longer, "--json")[1])
    assert found == {
        "free": 20 - wanted,
        "outstanding": wanted,
        "known": 50,
        "blank": 0,
        "outstanding_left": 40 - wanted,
        "notes": [],
    }
    assert loaded(tmp_path).rows == 360, "rows that were asked about count once"


def test_learn_answers_pending_rows(work, tmp_path):
    out, _ = asked(work, tmp_path)
    other = tmp_path / "other"
    other.mkdir()
    (other / "s.qufur").write_bytes((tmp_path / "s.qufur").read_bytes())
    names = loaded(tmp_path).learner.outstanding
    rows = [int(name[2:]) for name in names]
    code, text = work("learn", write(tmp_path / "full.csv", rows, with_delay=True))
    assert code == 0
    assert "40 of them were pending; the others are free.\n0 labels are outstanding." in text
    workbook = loaded(other)
    workbook.tell(names, DELAY[rows], "labels.csv")
    X = np.random.default_rng(0).normal(size=(5, 4))
    np.testing.assert_array_equal(loaded(tmp_path).learner.predict(X), workbook.learner.predict(X))
    assert loaded(tmp_path).learner.ledger.answered == 40
    assert "0 labels learned, 40 already known" in work("tell", filled(out))[1]


@pytest.mark.parametrize("start", [START, EXPERTS], ids=["ridge", "experts"])
def test_free_label_can_be_replaced(work, tmp_path, start):
    out = tmp_path / "to_label.csv"
    work("ask", write(tmp_path / "may.csv", range(100)), "-o", out, *start)
    april = write(tmp_path / "april.csv", range(300, 330), with_delay=True)
    right = april.read_text()
    april.write_text(right.replace(f",{DELAY[310]}\n", ",55\n").replace(f",{DELAY[310]}\r\n", ",55\r\n"))
    work("learn", april)
    work("tell", filled(out))
    before = loaded(tmp_path)
    assert before.labels["LH310"].label == 55
    (tmp_path / "fix.csv").write_text(f"flight,delay\nLH310,{DELAY[310]}\n")
    assert "1 label was replaced" in work("tell", tmp_path / "fix.csv", "--replace")[1]
    workbook = loaded(tmp_path)
    labels = [record.label for record in workbook.labels.values()]
    assert labels == [DELAY[int(name[2:])] for name in workbook.labels]
    assert workbook.learner.ledger.loss_seen == pytest.approx(before.learner.ledger.loss_seen)
    if start is START:
        fresh = Learner(workbook.learner.model, Paced(1, 5))
        fresh.learn([record.row[:-1] for record in workbook.labels.values()], labels)
        X = np.random.default_rng(0).normal(size=(5, 4))
        np.testing.assert_allclose(workbook.learner.predict(X), fresh.predict(X), rtol=1e-9)


def test_rows_without_ids_continue_the_numbering(work, tmp_path):
    out, options = tmp_path / "to_label.csv", [*LINEAR, "--budget", "100%", "--label-range", 0, 1]
    (tmp_path / "a.csv").write_text("wind\n1\n5\n")
    (tmp_path / "b.csv").write_text("wind,label\n2,0.5\n3,\n4,0.25\n")
    (tmp_path / "c.csv").write_text("wind\n7\n")
    work("ask", tmp_path / "a.csv", "-o", out, *options)
    assert "2 labels learned, 0 already known, 1 row without a label." in work("learn", tmp_path / "b.csv")[1]
    work("ask", tmp_path / "c.csv", "-o", out, "--force")
    assert out.read_text().splitlines()[1].startswith("5,7,")
    assert {name: record.label for name, record in loaded(tmp_path).labels.items()} == {3: 0.5, 4: 0.25}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("flight,wind,sky,delay\nA,1,clear,30\nA,2,clear,31\n", "must be unique, got 'A' more than once"),
        ("flight,wind,sky,delay\nA,1,clear,late\n", "must be finite numbers, got 'late' in row 1"),
        ("flight,wind,sky,delay\nA,1,clear,30\nB,x,clear,30\n", "column 'wind' of t.csv must be"),
        ("flight,wind,delay\nA,1,30\n", "column 'sky' of t.csv must be one of"),
        ("flight,wind,sky\nA,1,clear\n", "column 'delay' of t.csv must be one of"),
        ("flight,wind,sky,delay\nA,1,clear,1e6\n", "--accept-outliers accepts it"),
        ("flight,wind,sky,delay\nLH0,1,clear,31\n", "which has 30. `qufur tell --replace` replaces it"),
    ],
)
def test_invalid_row_changes_nothing(work, tmp_path, text, message):
    out, _ = asked(work, tmp_path)
    work("tell", filled(out, {"LH0": 30.0}))
    state = (tmp_path / "s.qufur").read_bytes()
    (tmp_path / "t.csv").write_text(text)
    code, said = work("learn", tmp_path / "t.csv")
    assert (code, len(said.splitlines())) == (2, 1)
    assert message in said
    assert (tmp_path / "s.qufur").read_bytes() == state


def test_table_without_a_new_label_changes_nothing(work, tmp_path):
    out, _ = asked(work, tmp_path)
    work("tell", filled(out, {"LH0": 30.0}))
    state = (tmp_path / "s.qufur").read_bytes()
    (tmp_path / "t.csv").write_text("flight,wind,sky,delay\nLH0,1,clear,30\nX,1,clear,\n")
    _, text = work("learn", tmp_path / "t.csv")
    assert text.startswith("0 labels learned, 1 already known, 1 row without a label.")
    assert (tmp_path / "s.qufur").read_bytes() == state


def test_experts_learn_free_labels(work, tmp_path):
    out = tmp_path / "to_label.csv"
    work("ask", write(tmp_path / "may.csv", range(60)), "-o", out, *EXPERTS)
    assert work("learn", write(tmp_path / "april.csv", range(100, 200), with_delay=True))[0] == 0
    workbook = loaded(tmp_path)
    assert len(workbook.learner.state.labelled) == len(workbook.labels) == 100
    predicted = tmp_path / "predicted.csv"
    work("predict", write(tmp_path / "june.csv", range(300, 400)), "-o", predicted)
    found = np.genfromtxt(predicted, delimiter=",", skip_header=1, usecols=1)
    assert np.sqrt(np.mean((found - DELAY[300:400]) ** 2)) < 2.5
