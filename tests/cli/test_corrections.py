"""Tests of `qufur retract` and `qufur forget-label`: labels that will not arrive, and wrong labels."""

import gzip
import json
import time

import numpy as np
import pytest
from tests.cli.test_outstanding import WORKBOOKS, rows
from tests.cli.test_state_file import DELAY, START, asked, filled, write

from qufur.snapshot import encode
from qufur.workbook import Workbook
from qufur.workbook.corrections import forget_labels

EXPERTS = ["--budget", 20, "--id", "flight", "--target", "delay"]
X = np.random.default_rng(0).normal(size=(6, 4))


def loaded(tmp_path):
    return Workbook.load(tmp_path / "s.qufur")


def test_retracted_labels_are_refunded(work, tmp_path):
    out, _ = asked(work, tmp_path)
    workbook = loaded(tmp_path)
    names = workbook.learner.outstanding[3:6]
    code, text = work("retract", *names)
    assert (code, text) == (0, "3 labels retracted; returned to the budget: 3 left, 37 outstanding.\n")
    workbook.learner.retract_many(names)
    found, expected = encode(loaded(tmp_path).learner), encode(workbook.learner)
    assert found[0] == expected[0]
    work("outstanding", "-o", out)
    assert not {row["flight"] for row in rows(out)} & set(names)
    (tmp_path / "late.csv").write_text(f"flight,delay\n{names[0]},30\n")
    assert "outstanding, got" in work("tell", tmp_path / "late.csv")[1]
    t = int(names[0][2:])
    assert "1 label learned" in work("learn", write(tmp_path / "late.csv", [t], with_delay=True))[1]
    assert (loaded(tmp_path).rows, loaded(tmp_path).learner.left) == (300, 3)
    assert "2 retracted" in work("status")[1]


def test_retract_expire_retracts_old_pending_labels(work, tmp_path, monkeypatch):
    asked(work, tmp_path, "--horizon", 400)
    first = len(loaded(tmp_path).learner.outstanding)
    now = time.time()
    monkeypatch.setattr("time.time", lambda: now + 20 * 86400)
    june = write(tmp_path / "june.csv", range(300, 400))
    work("ask", june, "-o", tmp_path / "june_out.csv")
    state = (tmp_path / "s.qufur").read_bytes()
    assert json.loads(work("retract", "--expire", "3w", "--json")[1])["retracted"] == 0
    assert (tmp_path / "s.qufur").read_bytes() == state
    named = loaded(tmp_path).learner.outstanding[-1]
    monkeypatch.setattr("time.time", lambda: now + 32 * 86400)
    code, text = work("retract", named, "--expire", "30d")
    assert (code, text.split(";")[0]) == (0, f"{first + 1} labels retracted")
    assert "Undid `retract " in work("undo")[1]
    assert (tmp_path / "s.qufur").read_bytes() == state


def test_ask_expire_retracts_old_pending_labels(work, tmp_path, monkeypatch):
    """It chooses the same rows as after a separate `retract --expire`."""
    now, day = time.time(), 86400
    monkeypatch.setattr("time.time", lambda: now)
    out, _ = asked(work, tmp_path, "--horizon", 350)
    labels = {name: DELAY[int(name[2:])] for name in loaded(tmp_path).learner.outstanding[:9]}
    work("tell", filled(out, labels))
    state = (tmp_path / "s.qufur").read_bytes()
    monkeypatch.setattr("time.time", lambda: now + 31 * day)
    june, more = write(tmp_path / "june.csv", range(300, 350)), tmp_path / "more.csv"
    waiting = len(loaded(tmp_path).learner.outstanding)
    out.write_text(filled(out, dict.fromkeys(loaded(tmp_path).learner.outstanding[:1], 5.0)).read_text())
    code, text = work("ask", june, "-o", out, "--expire", "30d")
    assert (code, " is new or changed" in text) == (2, True), "a filled-in label stays"
    assert (tmp_path / "s.qufur").read_bytes() == state
    code, text = work("ask", june, "-o", more, "--expire", "40d")
    assert "Retracted" not in text
    (tmp_path / "s.qufur").write_bytes(state)
    work("retract", "--expire", "30d")
    work("ask", june, "-o", more)
    expected, wanted = loaded(tmp_path).learner.outstanding, more.read_text()
    (tmp_path / "s.qufur").write_bytes(state)
    code, text = work("ask", june, "-o", more, "--expire", "30d", "--force")
    assert code == 0
    assert f"\nRetracted {waiting} labels that did not arrive within 30d.\n" in text
    assert (loaded(tmp_path).learner.outstanding, more.read_text()) == (expected, wanted)
    assert len(expected) > 0
    code, text = work("ask", june, "-o", more, "--expire", "30")
    assert (code, "--expire of qufur ask must be hours, days or weeks" in text) == (2, True)


def test_rows_of_earlier_versions_do_not_expire(work, tmp_path):
    file = WORKBOOKS / "1-csv-paced.qufur.gz"
    (tmp_path / "s.qufur").write_bytes(gzip.decompress(file.read_bytes()))
    assert work("retract", "--expire", "0h")[1].startswith("0 labels retracted")
    assert work("retract", loaded(tmp_path).learner.outstanding[0])[1].startswith("1 label retracted")


@pytest.mark.parametrize("start", [START, EXPERTS], ids=["ridge", "experts"])
@pytest.mark.parametrize("rest", [True, False], ids=["while labels are outstanding", "when all are there"])
def test_forgotten_label_equals_one_that_never_arrived(work, tmp_path, start, rest):
    """M, predictions and the loss estimate are those of a retracted query; the purchase stays charged."""
    out = tmp_path / "to_label.csv"
    work("ask", write(tmp_path / "may.csv", range(100)), "-o", out, *start)
    other = loaded(tmp_path)
    labels = {name: DELAY[int(name[2:])] for name in other.learner.outstanding[: 12 if rest else None]}
    wrong = list(labels)[4:6]
    work("tell", filled(out, labels | dict.fromkeys(wrong, 55.0)))
    spent = loaded(tmp_path).learner.spent
    code, text = work("forget-label", *wrong)
    assert code == 0
    assert f"2 labels forgotten, {len(labels) - 2} remain. The budget is not refunded." in text
    learner = loaded(tmp_path).learner
    kept = {name: label for name, label in labels.items() if name not in wrong}
    other.learner.retract_many(wrong)
    other.tell(list(kept), np.array(list(kept.values())), "labels.csv")
    assert learner.spent == spent == other.learner.spent + 2
    assert learner.outstanding == other.learner.outstanding
    if start is START:  # with experts, the weights of the ensemble stay
        np.testing.assert_allclose(learner.predict(X), other.learner.predict(X), rtol=1e-9)
    np.testing.assert_allclose(learner.uncertainty(X), other.learner.uncertainty(X), rtol=1e-7)
    found, expected = learner.report(), other.learner.report()
    for name in ("interval", "loss", "labelled_loss"):
        assert getattr(found, name) == pytest.approx(getattr(expected, name), nan_ok=True), name
    for name in ("answered", "retracted", "beyond", "examples"):
        assert getattr(learner.ledger, name) == getattr(other.learner.ledger, name), name
    np.testing.assert_allclose(learner.ledger.errors.rows, other.learner.ledger.errors.rows)


@pytest.mark.parametrize("start", [START, EXPERTS], ids=["ridge", "experts"])
def test_bought_and_free_labels_can_be_forgotten(work, tmp_path, start):
    out = tmp_path / "to_label.csv"
    work("ask", write(tmp_path / "may.csv", range(60)), "-o", out, *start)
    fresh = loaded(tmp_path).learner.predict(X)
    work("learn", write(tmp_path / "april.csv", range(100, 130), with_delay=True))
    work("tell", filled(out))
    workbook = loaded(tmp_path)
    told = list(workbook.labels)
    loss = workbook.learner.ledger.loss_seen
    assert work("forget-label", *told[:30])[0] == 0  # the free ones
    assert loaded(tmp_path).learner.ledger.loss_seen == pytest.approx(loss)
    workbook = loaded(tmp_path)
    workbook.learner.predict(X)
    forget_labels(workbook, told[30:])
    assert (workbook.labels, workbook.learner.ledger.answered) == ({}, 0)
    np.testing.assert_allclose(workbook.learner.predict(X), fresh)
    workbook.save(tmp_path / "s.qufur")
    np.testing.assert_allclose(loaded(tmp_path).learner.predict(X), fresh)
    assert work("learn", write(tmp_path / "again.csv", range(50, 120), with_delay=True))[0] == 0
    work("ask", write(tmp_path / "june.csv", range(300, 330)), "-o", out, "--force")


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (["retract"], "ids of qufur retract must be given, or --expire, got none"),
        (["retract", "nobody"], "id of qufur retract must be outstanding, got 'nobody'"),
        (["retract", "LH0"], "id of qufur retract must be outstanding, got 'LH0'"),
        (["retract", "WAITS", "nobody"], "must be outstanding, got 'nobody'"),
        (["retract", "WAITS", "WAITS"], "more than once"),
        (["retract", "--expire", "30"], "--expire of qufur retract must be hours, days or weeks, such as"),
        (["retract", "--expire", "-1d"], "--expire of qufur retract must be hours, days or weeks, such as"),
        (["forget-label", "nobody"], "id of qufur forget-label must be of a row that has a label"),
        (["forget-label", "WAITS"], "`qufur retract` cancels an outstanding query."),
        (["forget-label", "LH0", "LH0"], "must be unique, got 'LH0' more than once"),
        (["forget-label"], "Missing argument"),
    ],
    ids=" ".join,
)
def test_invalid_corrections_change_nothing(work, tmp_path, command, message):
    out, _ = asked(work, tmp_path)
    work("tell", filled(out, {"LH0": 30.0}))
    waits = loaded(tmp_path).learner.outstanding[0]
    state = (tmp_path / "s.qufur").read_bytes()
    code, text = work(*(waits if part == "WAITS" else part for part in command))
    assert (code, len(text.splitlines())) == (2, 1)
    assert message in text
    assert (tmp_path / "s.qufur").read_bytes() == state
