"""Tests of `--per week 50`: no week has more labels, however its rows are split into files."""

import csv
import json
from collections import Counter
from datetime import datetime, timedelta

import numpy as np
import pytest

from qufur.rules.per_period import PerPeriod
from qufur.workbook import Workbook

MONDAY = datetime(2024, 1, 1)
RIDGE = ["--model", "ridge", "--label-range", -5, 5, "--target", "delay", "--id", "id"]


def write(path, first, days, rows=24, cells=None):
    """Write a table with `rows` rows a day from day `first`; `cells` may change the written times."""
    times = [MONDAY + timedelta(days=first + row / rows) for row in range(days * rows)]
    written = [time.strftime("%Y-%m-%d %H:%M") for time in times]
    rng = np.random.default_rng([first + 9, rows])
    lines = [
        [f"r{first}-{t}", cell, f"{rng.normal():.3f}"]
        for t, cell in enumerate(cells(written) if cells else written)
    ]
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([["id", "when", "wind"], *lines])
    return path


def weeks(path):
    """Return the number of rows of a file per week, by its Monday."""
    with path.open(newline="") as file:
        times = [datetime.fromisoformat(row["when"]) for row in csv.DictReader(file)]
    return Counter((time - timedelta(days=time.weekday())).date().isoformat() for time in times)


def asked(work, folder, tables, *options):
    """Run `qufur ask` on tables; return the rows to label per week and the output of the last call."""
    found, text = Counter(), ""
    for place, table in enumerate(tables):
        out = folder / f"out{place}.csv"
        code, text = work("ask", table, "-o", out, *(options if place == 0 else []))
        assert code == 0, text
        found += weeks(out)
    return found, text


CUTS = {
    "a week each": [(7 * week, 7) for week in range(5)],
    "weeks of different length": [(0, 7), (7, 3), (14, 7), (21, 1), (28, 7)],
    "all at once": [(0, 35)],
    "from Wednesday on, ten days each": [(2 + 10 * part, 10) for part in range(3)],
    "a day each": [(day, 1) for day in range(21)],
}


@pytest.mark.parametrize("cut", CUTS)
def test_no_week_exceeds_its_labels(work, tmp_path, cut):
    tables = [write(tmp_path / f"{first}.csv", first, days) for first, days in CUTS[cut]]
    found, text = asked(work, tmp_path, tables, *RIDGE, "--per", "week", 12)
    rows = sum(map(weeks, tables), Counter())
    if cut.startswith("from"):  # a week may continue in the next file, also the last week
        assert list(found.values())[:-1] == [12] * 4
        assert 4 <= found[max(found)] < 12
    else:
        assert found == dict.fromkeys(rows, 12)
    now = max(rows)
    left = 12 - found[now]
    said = f"At most 12 labels per week; week of {now}: {found[now]} of 12 bought, {left} left."
    assert said in text
    assert said in work("status")[1]
    assert said in work("budget")[1]
    assert json.loads(work("status", "--json")[1])["period"] == {
        "unit": "week",
        "begins": now,
        "bought": found[now],
        "allowed": 12,
        "left": left,
    }


@pytest.mark.parametrize(("unit", "periods"), [("hour", 48), ("day", 35), ("month", 2)])
def test_periods_may_be_hours_days_or_months(work, tmp_path, unit, periods):
    days, rows = (2, 24 * 4) if unit == "hour" else (35, 24)
    table = write(tmp_path / "t.csv", 0, days, rows)
    code, text = work("ask", table, "-o", tmp_path / "out.csv", *RIDGE, "--per", unit, 3, "--time", "when")
    assert code == 0, text
    assert text.startswith(f"{3 * periods} of ")


def test_rate_is_constant_and_horizon_gives_the_rows_of_a_partial_first_week(work, tmp_path):
    tables = [write(tmp_path / f"{day}.csv", day, 1) for day in range(14)]
    options = [*RIDGE, "--per", "week", 28, "--horizon", 7 * 24]
    wanted = []
    for place, table in enumerate(tables):
        _, text = work("ask", table, "-o", tmp_path / f"{place}.out.csv", *(options if place == 0 else []))
        wanted.append(int(text.split(" of ")[0]))
    assert sum(wanted[:7]) == sum(wanted[7:]) == 28
    assert max(wanted[1:]) <= 10
    assert sum(labels > 0 for labels in wanted[7:]) >= 6


def test_batches_change_nothing(work, tmp_path, monkeypatch):
    table, found = write(tmp_path / "t.csv", 2, 20), []
    for rows in (4096, 50, 7):
        monkeypatch.setattr("qufur.tables.batch.ROWS", rows)
        out = tmp_path / "out.csv"
        assert work("ask", table, "-o", out, "--force", *RIDGE, "--per", "week", 12)[0] == 0
        found.append(out.read_bytes())
        (tmp_path / "s.qufur").unlink()
    assert found == found[:1] * 3


def test_late_and_untimed_rows_count_towards_the_current_week(work, tmp_path):
    def odd(times):
        blank = ["", *times[1:30], *[""] * 60, *times[90:]]
        blank[8 * 24 : 8 * 24 + 90] = times[:90]  # a week late
        return blank

    table, out = write(tmp_path / "t.csv", 0, 14, cells=odd), tmp_path / "out.csv"
    code, text = work("ask", table, "-o", out, *RIDGE, "--per", "week", 12, "--skip", "when")
    assert code == 0
    odd = "Rows of an earlier week: 90; rows without a time: 61. They count towards the current week.\n"
    assert odd in text
    with out.open(newline="") as file:
        rows = [int(row["id"].split("-")[1]) for row in csv.DictReader(file)]
    assert sum(row < 7 * 24 for row in rows) == sum(row >= 7 * 24 for row in rows) == 12


def test_date_column_is_inferred_and_noted_or_given(work, tmp_path):
    table = write(tmp_path / "t.csv", 0, 7)
    start = ["ask", table, "-o", tmp_path / "out.csv", *RIDGE, "--per", "week", 5]
    assert "Column 'when' gives the week of a row; --time names another column.\n" in work(*start)[1]
    (tmp_path / "s.qufur").unlink()
    assert "--time names" not in work(*start, "--time", "when", "--force")[1]
    workbook = Workbook.load(tmp_path / "s.qufur")
    assert (workbook.periods.column, workbook.learner.rule) == ("when", PerPeriod(5, 7 * 24))


def test_budget_add_is_for_this_week_and_a_new_rate_for_the_next(work, tmp_path):
    tables = [write(tmp_path / f"{first}.csv", first, days) for first, days in ((0, 4), (4, 3), (7, 7))]
    out = tmp_path / "out.csv"
    work("ask", tables[0], "-o", out, *RIDGE, "--per", "week", 12)
    assert "week of 2024-01-01: 12 of 12 bought, 0 left." in work("budget")[1]
    assert "week of 2024-01-01: 12 of 15 bought, 3 left." in work("budget", "--add", 3)[1]
    assert "At most 9 labels per week; week of 2024-01-01" in work("budget", "--per", "week", 9)[1]
    assert "3 of 72 rows to label" in work("ask", tables[1], "-o", out, "--force")[1]
    _, text = work("ask", tables[2], "-o", out, "--force")
    assert "9 of 168 rows to label" in text
    assert "week of 2024-01-08: 9 of 9 bought, 0 left." in text
    assert "Undid `ask" in work("undo")[1]
    assert "week of 2024-01-01: 15 of 15 bought, 0 left." in work("budget")[1]


def test_refunds_are_for_the_current_week_only(work, tmp_path):
    tables = [write(tmp_path / f"{first}.csv", first, days) for first, days in ((0, 9), (9, 5), (14, 7))]
    out = tmp_path / "out.csv"
    work("ask", tables[0], "-o", out, *RIDGE, "--per", "week", 12)
    ids = Workbook.load(tmp_path / "s.qufur").learner.outstanding
    assert len(ids) == 24
    assert (
        "2 labels retracted; 0 of them can be bought again this week: 0 left" in work("retract", *ids[:2])[1]
    )
    assert (
        "3 labels retracted; 3 of them can be bought again this week: 3 left" in work("retract", *ids[-3:])[1]
    )
    assert "19 labels are outstanding" in work("outstanding", "-o", out)[1]
    with out.open(newline="") as file:
        head, *rows = csv.reader(file)
    with out.open("w", newline="") as file:
        csv.writer(file).writerows([head, *([*row[:-1], row[2]] for row in rows)])
    assert "19 labels learned" in work("tell", out)[1]
    assert "3 of 120 rows to label" in work("ask", tables[1], "-o", out)[1]
    assert "12 of 168 rows to label" in work("ask", tables[2], "-o", out, "--force")[1]


def test_free_labels_count_for_no_period(work, tmp_path):
    work("ask", write(tmp_path / "a.csv", 0, 7), "-o", tmp_path / "out.csv", *RIDGE, "--per", "week", 5)
    before = Workbook.load(tmp_path / "s.qufur").learner.spending.save()
    labelled = tmp_path / "b.csv"
    labelled.write_text("id,when,wind,delay\nx1,2024-05-01 00:00,1.0,2.0\n")
    assert "1 label learned" in work("learn", labelled)[1]
    assert Workbook.load(tmp_path / "s.qufur").learner.spending.save() == before


def test_per_week_works_after_learn(work, tmp_path):
    known = write(tmp_path / "known.csv", -7, 7)
    lines = known.read_text().splitlines()
    known.write_text("\n".join([lines[0] + ",delay", *(line + ",1.5" for line in lines[1:])]) + "\n")
    assert work("learn", known, *RIDGE)[0] == 0
    tables = [write(tmp_path / f"{week}.csv", 7 * week, 7) for week in range(3)]
    found, text = asked(work, tmp_path, tables, "--per", "week", 6)
    assert set(found.values()) == {6}
    assert "week of 2024-01-15: 6 of 6 bought, 0 left" in text


def test_loaded_state_file_continues_bit_for_bit(work, tmp_path):
    work("ask", write(tmp_path / "a.csv", 0, 10), "-o", tmp_path / "out.csv", *RIDGE, "--per", "week", 12)
    workbook = Workbook.load(tmp_path / "s.qufur")
    workbook.save(tmp_path / "again.qufur")
    assert (tmp_path / "again.qufur").read_bytes() == (tmp_path / "s.qufur").read_bytes()
    assert (workbook.period, workbook.periods.unit) == ("2024-01-08", "week")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--per", "week", "5%"], "got '5%'. `--budget 5%` buys a share of the rows."),
        (["--per", "week", "0.05"], "`--budget 0.05` buys a share of the rows."),
        (["--per", "week", 0], "--per of qufur ask must be an integer of at least 1, got 0."),
        (
            ["--per", "week", -1],
            "--per of qufur ask must be a whole number of labels of at least 1, got '-1'",
        ),
        (["--per", "week", "many"], "--per of qufur ask must be a whole number of labels"),
        (["--per", "year", 5], "--per of qufur ask must be hour, day, week or month, and a number of labels"),
        (["--per", "week", 5, "--budget", 9], "--budget of qufur ask must be omitted with --per, got 9."),
        (["--per", "week", 5, "--burst", 9], "--burst of qufur ask must be omitted with --per"),
        (["--per", "week", 5, "--alpha", 1], "--alpha of qufur ask must be omitted with --per"),
        (["--per", "week", 5, "--at-random"], "--at-random of qufur ask must be omitted with --per"),
        (["--per", "week", 5, "--time", "wind"], "column 'wind' of t.csv must be dates, all written in the"),
        (["--per", "week", 5, "--time", "whem"], "Did you mean 'when'?"),
        (
            ["--budget", 5, "--time", "when"],
            "--time of qufur ask must be omitted without --per, got 'when'.",
        ),
        ([], "--budget of qufur ask must be given for the first table, got none. Alternatives are --per"),
    ],
)
def test_invalid_periods_raise_in_one_line(work, tmp_path, options, message):
    table = write(tmp_path / "t.csv", 0, 7)
    code, text = work("ask", table, "-o", tmp_path / "out.csv", *RIDGE, *options)
    assert code == 2
    assert message in text
    assert len(text.splitlines()) == 1
    assert sorted(path.name for path in tmp_path.glob("*.[cq]*")) in (["t.csv"], ["s.qufur.lock", "t.csv"])


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (
            ["budget", "--per", "day", 5],
            "--per of qufur budget must be week, as with the first table, got 'day'.",
        ),
        (["budget", "--per", "week", "5%"], "--per of qufur budget must be a whole number of labels"),
        (["budget", "--per", "week", 5, "--add", 5], "--per of qufur budget must be omitted with --add"),
        (
            ["ask", "next.csv", "--per", "week", 6],
            "--per was set to 'week 5' by the first table and cannot be changed to 'week 6'. `qufur",
        ),
        (
            ["ask", "odd.csv"],
            "column 'when' of odd.csv must be dates such as '2024-01-01 00:00', got 'soon' in",
        ),
        (
            ["ask", "none.csv", "--impute"],
            "column 'when' of none.csv must be one of 'id', 'wind', got no such",
        ),
    ],
)
def test_invalid_later_periods_change_nothing(work, tmp_path, monkeypatch, command, message):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "next.csv", 7, 7)
    write(tmp_path / "odd.csv", 7, 7, cells=lambda times: [*times[:5], "soon", *times[6:]])
    (tmp_path / "none.csv").write_text("id,wind\nx,1\n")
    assert work("ask", write(tmp_path / "t.csv", 0, 7), "-o", "out.csv", *RIDGE, "--per", "week", 5)[0] == 0
    state = (tmp_path / "s.qufur").read_bytes()
    out = ["-o", "later.csv"] if command[0] == "ask" else []
    code, text = work(*command, *out)
    assert code == 2
    assert message in text
    assert len(text.splitlines()) == 1
    assert (tmp_path / "s.qufur").read_bytes() == state
    assert not (tmp_path / "later.csv").exists()


def test_budget_per_raises_without_periods(work, tmp_path):
    work("ask", write(tmp_path / "t.csv", 0, 7), "-o", tmp_path / "out.csv", *RIDGE, "--budget", 5)
    code, text = work("budget", "--per", "week", 5)
    assert code == 2
    assert "--per of qufur budget must be omitted for a budget that is not per period" in text
    assert "period" not in json.loads(work("status", "--json")[1])
