"""Tests of `qufur learn` as the first command; the first `qufur ask` then sets the budget."""

import csv
import json

import numpy as np
import pytest
from tests.cli.test_state_file import DELAY, LINEAR, SKY, WIND, filled, write

from qufur import Learner, Paced, QuFUR, Ridge, Steady
from qufur.workbook import Workbook

NAMED = ["--id", "flight", "--target", "delay"]
RIDGE = [*LINEAR, "--label-range", 0, 60, *NAMED]


def loaded(tmp_path):
    return Workbook.load(tmp_path / "s.qufur")


def begun(work, tmp_path, *options):
    april = write(tmp_path / "april.csv", range(100 if LINEAR[0] in options else 30), with_delay=True)
    code, text = work("learn", april, *options)
    assert code == 0, text
    return text


def test_learn_on_a_first_table_equals_the_library(work, tmp_path):
    text = begun(work, tmp_path, *RIDGE, "--seed", 3)
    assert text.splitlines() == [
        "100 labels learned, 0 already known, 0 rows without a label.",
        "0 labels are outstanding.",
        "To buy labels, pass a table of unlabelled rows to `qufur ask`, with --budget.",
    ]
    out = tmp_path / "to_label.csv"
    assert work("ask", write(tmp_path / "may.csv", range(100, 400)), "-o", out, "--budget", 40)[0] == 0
    wind = (WIND - WIND[:100].mean()) / WIND[:100].std()
    X = np.column_stack([wind, *(k == SKY for k in range(3))])
    learner = Learner(Ridge(4, intercept=True, label_range=(0, 60)), Paced(40, 300), seed=3)
    learner.learn(X[:100], DELAY[:100])
    wanted = 100 + np.flatnonzero(learner.ask_many(X[100:]).query)
    with out.open(newline="") as file:
        assert [row["flight"] for row in csv.DictReader(file)] == [f"LH{t}" for t in wanted]
    assert "40 labels learned" in work("tell", filled(out))[1]
    learner.tell_many((wanted - 100).tolist(), DELAY[wanted])
    workbook = loaded(tmp_path)
    np.testing.assert_allclose(workbook.learner.predict(X), learner.predict(X), rtol=1e-9)
    assert (workbook.rows, workbook.learner.rule) == (400, Paced(40, 300))


@pytest.mark.parametrize(
    ("start", "spend", "rule"),
    [
        (NAMED, ["--budget", "5%"], Steady(0.05)),
        (RIDGE, ["--budget", 20, "--horizon", 900], Paced(20, 900)),
        (RIDGE, ["--alpha", 2, "--budget", 9], QuFUR(2.0, budget=9)),
    ],
)
def test_first_ask_after_learn_sets_the_budget(work, tmp_path, start, spend, rule):
    begun(work, tmp_path, *start)
    state, out = (tmp_path / "s.qufur").read_bytes(), ["-o", tmp_path / "out.csv"]
    may = write(tmp_path / "may.csv", range(100, 140))
    for options, message in [
        ([], "--budget of qufur ask must be given for the first table, got none"),
        (
            [*spend, "--target", "cost"],
            "--target was set to 'delay' by the first table and cannot be changed to 'cost'.",
        ),
        ([*spend, "--seed", 1], "--seed was not set by the first table"),
    ]:
        code, text = work("ask", may, *out, *options)
        assert (code, len(text.splitlines()), message in text) == (2, 1, True), text
    assert "sets --budget" in work("budget", "--add", 5)[1]
    assert (tmp_path / "s.qufur").read_bytes() == state
    assert work("budget")[1] == "0 labels bought, no budget.\n"
    assert work("ask", may, *out, *spend)[0] == 0
    workbook = loaded(tmp_path)
    assert (workbook.learner.rule, workbook.has_rule) == (rule, True)
    june = write(tmp_path / "june.csv", range(200, 220))
    more = ["-o", tmp_path / "more.csv"]
    code, text = work("ask", june, *more, *spend, "--budget", 21)
    assert (code, "by the first table and cannot be changed to '21'" in text) == (2, True), text
    assert work("ask", june, *more, *spend, *start)[0] == 0


def test_ridge_options_raise_with_experts(work, tmp_path):
    begun(work, tmp_path, *NAMED)
    code, text = work("ask", write(tmp_path / "m.csv", range(100, 110)), "-o", tmp_path / "o", "--alpha", 2)
    assert (code, "omitted with --model experts" in text) == (2, True), text


def orders(path, rows, *, late):
    """Write orders with words, dates and amounts; the country determines whether one is late."""
    names = ["order", "day", "price", "country", *["late"] * late]
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([names, *(_order(j)[: len(names)] for j in rows)])
    return path


def _order(j):
    country = ("DE", "FR", "IT")[j % 3]
    return [
        f"A{j}",
        f"2024-03-{1 + j % 28:02}",
        f"€ {5 + j % 11}.50",
        country,
        "yes" if country == "IT" else "no",
    ]


def test_learn_infers_classes_dates_and_amounts(work, tmp_path):
    past = orders(tmp_path / "past.csv", range(60), late=True)
    code, text = work("learn", past, "--id", "order", "--target", "late", "--json")
    assert code == 0, text
    notes = json.loads(text)["notes"]
    assert notes[0] == "Labels in column 'late' are text, so they are classes: 'no', 'yes'."
    assert "Column 'day' is read as yyyy-mm-dd" in notes[1]
    assert "Column 'price' is read as numbers: '€ 5.50' is 5.5." in notes[2]
    week, out = orders(tmp_path / "week.csv", range(60, 90), late=False), tmp_path / "out.csv"
    assert work("ask", week, "-o", out, "--budget", 8)[0] == 0
    with out.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 8
    assert all(row["prediction"] == _order(int(row["order"][1:]))[-1] for row in rows)
    predicted = tmp_path / "predicted.csv"
    assert work("predict", week, "-o", predicted)[0] == 0
    with predicted.open(newline="") as file:
        assert next(csv.reader(file))[:3] == ["order", "prediction", "probability of no"]


def test_learn_accepts_a_new_class_later(work, tmp_path):
    work("learn", orders(tmp_path / "past.csv", range(30), late=True), "--id", "order", "--target", "late")
    more = tmp_path / "more.csv"
    more.write_text("order,day,price,country,late\nB1,2024-03-05,€ 4,DE,lost\nB2,2024-03-06,€ 4,FR,no\n")
    code, text = work("learn", more)
    assert (code, "or name it with --classes" in text) == (2, True), text
    assert work("learn", more, "--classes", "no,yes,lost")[0] == 0
    assert loaded(tmp_path).classes == ("no", "yes", "lost")


def test_arrays_supply_the_label_column(work, tmp_path):
    np.savez(tmp_path / "a.npz", X=np.column_stack([WIND, SKY])[:50], y=DELAY[:50])
    assert work("learn", tmp_path / "a.npz")[0] == 0
    assert (loaded(tmp_path).target, loaded(tmp_path).encoding.dim) == ("y", 2)


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("wind,delay\n1,2\n", ["--target", "dlay"], "got no such column. Did you mean 'delay'?"),
        ("wind,label\n1,\n2,\n", [], "column 'label' of t.csv must be"),
        ("wind,label\n1,4\n", LINEAR, "--label-range of qufur learn must be given with --model ridge"),
        ("wind,label\n1,4\n", ["--id", "label"], "--target of qufur learn must be another column than --id"),
        ("wind,label\n1,4\n", ["--add-column", "wind"], "--add-column of qufur learn must be omitted"),
        ("wind,label\n1,4\n", ["--budget", 5], "No such option: --budget"),
    ],
)
def test_invalid_start_raises(work, tmp_path, text, options, message):
    (tmp_path / "t.csv").write_text(text)
    code, said = work("learn", tmp_path / "t.csv", *options)
    assert (code, len(said.splitlines()), message in said) == (2, 1, True), said
    assert not (tmp_path / "s.qufur").exists()


def test_start_options_raise_later(work, tmp_path):
    begun(work, tmp_path, *RIDGE)
    june = write(tmp_path / "june.csv", range(200, 300), with_delay=True)
    for option in (["--target", "wind"], ["--skip", "sky"], ["--model", "kernel"]):
        code, text = work("learn", june, *option)
        assert (code, "by the first table and cannot be changed to" in text) == (2, True), text
    assert work("learn", june, *RIDGE)[1].startswith("100 labels learned")


def test_leaking_column_is_noted(work, tmp_path):
    lines = "".join(f"{t},{3 * delay + 1},{delay}\n" for t, delay in enumerate(DELAY[:30]))
    (tmp_path / "t.csv").write_text(f"row,meter,delay\n{lines}")
    text = work("learn", tmp_path / "t.csv", *RIDGE[:-4], "--id", "row", "--target", "delay")[1]
    assert "Column 'meter' determines the label almost exactly in all 30 labelled rows." in text
