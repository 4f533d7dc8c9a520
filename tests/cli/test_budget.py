"""Tests of `qufur budget`, and of the limit that `qufur ask` prints for a share."""

import json

import pytest
from tests.cli.test_state_file import LINEAR, START, asked, filled, write

from qufur import Paced, Steady
from qufur.workbook import Workbook

NAMED = ["--id", "flight", "--target", "delay"]


def test_budget_is_shown_and_added_to(work, tmp_path):
    out, _ = asked(work, tmp_path)
    state = (tmp_path / "s.qufur").read_bytes()
    assert work("budget") == (0, "40 of 40 labels bought, 0 left for 0 future rows.\n")
    assert (tmp_path / "s.qufur").read_bytes() == state
    assert work("budget", "--add", 12) == (0, "40 of 52 labels bought, 12 left for 90 future rows.\n")
    assert Workbook.load(tmp_path / "s.qufur").learner.rule == Paced(52, 390)
    assert work("budget", "--add", 1, "--horizon", 100)[0] == 0
    shown = {"budget": 53, "bought": 40, "left": 13, "rows_to_come": 100, "promise": None}
    assert json.loads(work("budget", "--json")[1]) == shown
    work("tell", filled(out))
    _, text = work("ask", write(tmp_path / "june.csv", range(300, 400)), "-o", out)
    assert "53 labels bought in total, 0 left, 13 outstanding." in text


@pytest.mark.parametrize(
    ("start", "options", "message"),
    [
        (
            ["--budget", "5%"],
            ["--add", 5],
            "--add of qufur budget must be omitted unless the budget is a number",
        ),
        (["--alpha", 2], ["--add", 5], "--add of qufur budget must be omitted unless the budget is a number"),
        (
            ["--alpha", 2, "--budget", 30],
            ["--add", 5, "--horizon", 9],
            "omitted with the rule QuFUR, which has no horizon",
        ),
        (["--budget", 40], ["--horizon", 5], "--horizon of qufur budget must be omitted without --add"),
        (["--budget", 40], ["--add", 0], "Invalid value for '--add'"),
        (["--budget", 40], ["--add", "5%"], "Invalid value for '--add'"),
    ],
)
def test_invalid_additions_change_nothing(work, tmp_path, start, options, message):
    may, out = write(tmp_path / "may.csv", range(60)), tmp_path / "to_label.csv"
    assert work("ask", may, "-o", out, *LINEAR, "--label-range", 0, 60, *NAMED, *start)[0] == 0
    state = (tmp_path / "s.qufur").read_bytes()
    code, text = work("budget", *options)
    assert code == 2
    assert message in text
    assert len(text.splitlines()) == 1
    assert (tmp_path / "s.qufur").read_bytes() == state


@pytest.mark.parametrize(
    ("options", "rule", "said"),
    [
        (["--budget", "5%"], Steady(0.05), "at most 5% of the rows seen plus 10 labels"),
        (["--budget", "5%", "--burst", 3], Steady(0.05, burst=3), "plus 3 labels"),
        (["--budget", "5%", *LINEAR, "--label-range", 0, 60], Paced(0.05), "plus 82 labels"),
    ],
)
def test_ask_prints_the_maximum_labels_of_a_share(work, tmp_path, options, rule, said):
    tables = (("may.csv", range(60), [*NAMED, *options]), ("june.csv", range(60, 100), ["--force"]))
    for month, rows, how in tables:
        code, text = work("ask", write(tmp_path / month, rows), "-o", tmp_path / "to_label.csv", *how)
        assert code == 0, text
        assert f"{said} have been queried.\n" in text
    learner = Workbook.load(tmp_path / "s.qufur").learner
    assert learner.rule == rule
    assert learner.spent <= rule.share * 100 + float(said.split(" labels")[0].split()[-1])
    assert said in work("budget")[1]


@pytest.mark.parametrize(
    "options",
    [
        ["--budget", 40],
        ["--budget", "5%", "--horizon", 1000],
        ["--budget", "5%", "--at-random"],
        ["--alpha", 2],
    ],
)
def test_burst_raises_without_a_share(work, tmp_path, options):
    start = [*START[:2], *START[4:], *options, "--burst", 5]
    code, text = work("ask", write(tmp_path / "may.csv", range(30)), "-o", tmp_path / "out.csv", *start)
    assert code == 2
    assert "--burst of qufur ask must be omitted with" in text
    assert not (tmp_path / "s.qufur").exists()
