"""`qufur label`: a program labels the selected rows; no label or call is lost, whatever it does."""

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from tests.cli.test_state_file import LINEAR, WIND, write

from qufur.cli._label_run import progress_line
from qufur.labelling.journal import Journal, journal_of
from qufur.workbook import Workbook

START = [*LINEAR, "--budget", 12, "--label-range", 0, 60, "--id", "flight", "--target", "delay"]
MONEY = [*START[:2], *START[4:], "--cost", "0.1"]
JUDGE = Path(__file__).with_name("judge.py")


def program(log, *options):
    return shlex.join([sys.executable, "-IS", str(JUDGE), str(log), *options])


@pytest.fixture
def label(work, tmp_path):
    """Return a function that labels flights with a judge and returns exit code and output."""

    def command(*options, judge=(), rows=range(100)):
        may = tmp_path / "may.csv"
        if not may.exists():
            write(may, rows)
        return work("label", may, *START, "--with", program(tmp_path / "log", *judge), *options)

    return command


def calls(tmp_path):
    """Return key, row and action of every call in the judge's log."""
    log = tmp_path / "log"
    return [line.split()[:3] for line in log.read_text().splitlines()] if log.exists() else []


def load_workbook(tmp_path):
    return Workbook.load(tmp_path / "s.qufur")


def labels_are_correct(workbook):
    """Return whether every label equals the judge's label of its row."""
    return all(record.label == 30 + 5 * WIND[int(id[2:])] for id, record in workbook.labels.items())


def test_label_buys_labels_within_budget_and_money(label, tmp_path):
    code, text = label("--jobs", 4, "--cost", "0.02", "--money", 1)
    assert code == 0, text
    lines = text.splitlines()
    assert lines[0] == "100 rows, 12 labels bought, 0 skipped, 0 failed."
    assert lines[1] == "12 labels bought in total, 0 left, 0 outstanding; 12 calls, 0.24 spent of 1."
    workbook = load_workbook(tmp_path)
    assert len(workbook.labels) == len({key for key, *_ in calls(tmp_path)}) == 12
    assert labels_are_correct(workbook)
    assert not workbook.partial_tables


def test_label_run_twice_changes_nothing(label, tmp_path):
    label()
    before = (tmp_path / "s.qufur").read_bytes()
    code, text = label()
    assert (code, text.splitlines()[0]) == (0, "0 rows, 0 labels bought, 0 skipped, 0 failed.")
    assert (tmp_path / "s.qufur").read_bytes() == before
    assert len(calls(tmp_path)) == 12


def test_single_job_calls_rows_in_order(label, tmp_path):
    """Each label is learned before the next row is decided."""
    assert label(rows=range(30))[0] == 0
    order = [int(row[2:]) for _, row, _ in calls(tmp_path)]
    assert order == sorted(order)


def test_label_continues_with_pending_rows_and_a_second_table(label, work, tmp_path):
    out = tmp_path / "out.csv"
    assert work("ask", write(tmp_path / "april.csv", range(200, 230)), "-o", out, *START)[0] == 0
    pending = load_workbook(tmp_path).learner.outstanding
    judge = ["--with", program(tmp_path / "log")]
    assert work("budget", "--add", 5, "--horizon", 20)[0] == 0
    code, text = work("label", write(tmp_path / "may.csv", range(20)), *judge, "--id", "flight")
    assert code == 0, text
    assert len(load_workbook(tmp_path).labels) == len(pending) + 5
    assert [row for _, row, _ in calls(tmp_path)][: len(pending)] == list(pending)


def test_skipped_rows_are_retracted(label, tmp_path):
    code, text = label("--json", judge=["LH0=skip", "LH2=skip"])
    summary = json.loads(text)
    assert (code, summary["skipped"], summary["failed"], summary["outstanding"]) == (0, 2, 0, 0)
    workbook = load_workbook(tmp_path)
    assert not {"LH0", "LH2"} & set(workbook.labels)
    assert workbook.learner.spent == summary["labels"] == len(workbook.labels) <= 12


@pytest.mark.parametrize(
    ("action", "reason"),
    [
        ("fail", "exit code 1: no answer today"),
        ("silent", "it printed nothing"),
        ("wrong", "it printed 'as an AI I cannot say', which is not a number"),
        ("hang", "no answer within 0.5 s"),
        ("flood", "it printed more than 64 kB and was stopped: that is no label"),
    ],
)
def test_failed_row_stays_pending_until_the_next_run(label, tmp_path, action, reason):
    seconds = 0.5 if action == "hang" else 30
    code, text = label("--retries", 1, "--timeout", seconds, "--jobs", 2, judge=[f"LH0={action}"])
    assert code == 0
    assert text.splitlines()[-1].startswith(f"No label for 1 row, such as 'LH0': {reason}")
    assert load_workbook(tmp_path).learner.outstanding == ("LH0",)
    keys = [key for key, row, _ in calls(tmp_path) if row == "LH0"]
    assert len(keys) == 2
    code, text = label()
    assert text.splitlines()[0] == "0 rows, 1 label bought, 0 skipped, 0 failed."
    assert Counter(row for _, row, _ in calls(tmp_path))["LH0"] == 3
    assert len({key for key, row, _ in calls(tmp_path) if row == "LH0"}) == 1
    assert labels_are_correct(load_workbook(tmp_path))


def test_label_stops_when_the_program_keeps_failing(label, tmp_path):
    code, text = label("--retries", 0, "--cost", 1, judge=["fail=1"])
    assert code == 2
    assert text.count("\n") == 1
    assert "no label from the last 5 rows; last error: exit code 1: no answer today" in text
    assert len(calls(tmp_path)) == 5
    code, text = label()
    assert code == 0
    assert len(load_workbook(tmp_path).labels) == 12


def test_money_is_never_exceeded(label, tmp_path):
    code, text = label("--cost", "0.1", "--money", "0.75", "--jobs", 4, "--retries", 3, judge=["fail=0.3"])
    assert code == 0
    assert "0.7 of 0.75 is spent, too little is left for a call. Run the same command with" in text
    assert len(calls(tmp_path)) == 7
    assert label("--cost", "0.1", "--money", "0.75")[0] == 0
    assert len(calls(tmp_path)) == 7
    assert label("--cost", "0.1", "--money", "20")[0] == 0
    workbook = load_workbook(tmp_path)
    assert (len(workbook.labels), workbook.rows) == (12, 100)
    assert labels_are_correct(workbook)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--with", "no-such-judge --model x"], "There is no 'no-such-judge'"),
        (["--with", str(JUDGE.with_name("test_label.py"))], "is not executable"),
        (["--with", "'"], "--with of qufur label must be a command"),
        (["--with", ""], "--with of qufur label must be a command"),
        (["--budget", 0], "--budget of qufur label must be a whole number of labels of at least 1"),
        (["--money", 3], "--cost of qufur label must be given with --money"),
        (["--cost", 1, "--money", 0], "--money of qufur label must be at least --cost, 1, got 0"),
        (["--cost", "much"], "--cost of qufur label must be an amount of money such as 0.02"),
        (
            ["--cost", "1e-30", "--money", "1e30"],
            "--money of qufur label must be at most 1,000,000,000,000, got",
        ),
        (["--cost", "1e-30", "--money", 1], "at most 1,000,000,000,000 times --cost, 1E-30, got 1"),
        (["--cost", "1e999999", "--money", "1e999999"], "--cost of qufur label must be at most"),
        (["--rate-limit", "fast"], "--rate-limit of qufur label must be such as 10/s, 60/min or 1000/h"),
    ],
)
def test_invalid_options_raise_before_any_call(label, tmp_path, options, message):
    code, text = label(*options)
    assert (code, text.count("\n")) == (2, 1)
    assert message in text
    assert not (tmp_path / "s.qufur").exists()
    assert not calls(tmp_path)


def test_label_accepts_only_known_classes(work, tmp_path):
    start = ["--budget", 3, "--id", "flight", "--target", "state", "--classes", "late,on time"]
    may = write(tmp_path / "may.csv", range(20))
    code, text = work("label", may, *start, "--with", "echo perhaps", "--retries", 0)
    assert code == 0
    assert "it printed 'perhaps', which is none of 'late', 'on time'. Run the same" in text
    assert work("label", may, "--with", "echo on time")[0] == 0
    assert {record.label for record in load_workbook(tmp_path).labels.values()} == {1.0}


def test_class_named_skip_is_rejected(work, tmp_path):
    start = [
        "--budget",
        3,
        "--id",
        "flight",
        "--target",
        "state",
        "--classes",
        "Skip,go",
        "--with",
        "echo go",
    ]
    code, text = work("label", write(tmp_path / "may.csv", range(20)), *start)
    assert (code, text.count("\n")) == (2, 1)
    assert "got 'Skip', which a program prints to skip a row. Rename the class." in text
    assert {path.name for path in tmp_path.iterdir()} <= {"may.csv", "s.qufur.lock"}


def test_text_label_is_rejected_with_a_hint_at_classes(work, tmp_path):
    may = write(tmp_path / "may.csv", range(20))
    text = work("label", may, "--budget", 2, "--with", "echo late", "--retries", 0)[1]
    assert "it printed 'late', which is not a number; --classes sets class names. Run the" in text


def test_progress_is_one_line(label, tmp_path):
    label("--cost", "0.5", rows=range(30))
    workbook, journal = load_workbook(tmp_path), Journal(journal_of(tmp_path / "s.qufur"))
    assert progress_line(workbook, journal, 30).startswith(
        "30 rows, 12 labels, 0 left, 12 calls, 6.0 spent, loss "
    )


def test_progress_is_shown_in_a_terminal(label, monkeypatch, tmp_path):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setattr("qufur.cli._label_run.EVERY", 0.0)
    assert "0 left, 12 calls, 6.0 spent, loss" in " ".join(label("--cost", "0.5", rows=range(30))[1].split())


def test_start_options_are_remembered(label, tmp_path):
    label(rows=range(30))
    code, text = label("--budget", 50)
    assert code == 2
    assert "--budget was set to '12' by the first table and cannot be changed to '50'. `qufur budget" in text
    code, text = label("--seed", 3)
    assert "--seed was not set by the first table and cannot be changed to '3'." in text
    (tmp_path / "s.qufur").unlink()
    assert "although calls are recorded in" in label()[1]


def test_options_of_ask_are_accepted_again_and_changed_ones_raise(label, work, tmp_path):
    assert (
        work("ask", write(tmp_path / "april.csv", range(300, 310)), "-o", tmp_path / "o.csv", *START)[0] == 0
    )
    assert label(rows=range(30))[0] == 0
    code, text = label("--label-range", 0, 70)
    assert (code, "--label-range was set to '0.0 60.0' by the first table and cannot" in text) == (2, True), (
        text
    )


def test_paid_labels_are_not_bought_again_after_undo(label, work, tmp_path):
    out = tmp_path / "out.csv"
    work("ask", write(tmp_path / "april.csv", range(300, 310)), "-o", out, *START)
    judge = ["--with", program(tmp_path / "log")]
    may = write(tmp_path / "may.csv", range(200))
    work("label", may, *judge)
    count, labels = len(calls(tmp_path)), dict.fromkeys(load_workbook(tmp_path).labels)
    assert work("undo")[0] == 0
    assert not load_workbook(tmp_path).labels
    assert work("label", may, *judge)[0] == 0
    assert len(calls(tmp_path)) == count
    assert load_workbook(tmp_path).labels.keys() == labels.keys()


def test_votes_buys_two_opinions_when_they_agree(label, work, tmp_path):
    code, text = label("--votes", 3, rows=range(30))
    assert code == 0
    assert "24 calls, votes agreed on 12 of 12 rows." in text
    assert len({key for key, *_ in calls(tmp_path)}) == 24


def test_status_reports_calls_money_and_agreement(label, work):
    label("--votes", 3, "--cost", "0.01", rows=range(30))
    assert "labelling     24 calls, 0.24 spent, votes agreed on 12 of 12 rows" in work("status")[1]
    report = json.loads(work("status", "--json")[1])["labelling"]
    assert report == {"calls": 24, "money": 0.24, "judged_twice": 12, "agreed": 12}


def test_money_sets_the_budget(work, tmp_path):
    start = START[:2] + START[4:]
    judge = ["--with", program(tmp_path / "log"), "--votes", 2, "--cost", "0.05", "--money", "0.62"]
    code, text = work("label", write(tmp_path / "may.csv", range(60)), *start, *judge)
    assert code == 0, text
    assert (len(load_workbook(tmp_path).labels), load_workbook(tmp_path).learner.left) == (6, 0)
    assert len(calls(tmp_path)) == 12


def test_rate_limit_is_respected(label, tmp_path):
    begin = time.monotonic()
    assert label("--rate-limit", "10/s", "--jobs", 8, rows=range(30))[0] == 0
    assert time.monotonic() - begin >= 1.1


def test_journal_ignores_a_partial_line_and_rejects_unknown_records(label, tmp_path):
    label(rows=range(30))
    path = journal_of(tmp_path / "s.qufur")
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"call": "12')
    journal = Journal(path)
    assert journal.calls == 12
    journal.remember({})
    journal.close()
    assert path.read_bytes() == whole + b'{"start": {}}\n'
    path.write_bytes(whole + b'{"price": 3}\n')
    assert "line 27 of" in label()[1]


def test_long_standard_error_is_read_to_its_end(label, tmp_path):
    """Standard error is read to its end; its last line is the reason of a failure."""
    code, text = label("--retries", 0, judge=["LH0=chatter", "LH1=complaint"])
    assert code == 0, text
    assert "such as 'LH1': exit code 1: no answer today" in text
    assert "LH0" in load_workbook(tmp_path).labels


def test_call_times_out_when_a_child_keeps_the_pipes_open(label, tmp_path):
    """A child process in a separate session keeps the pipes open, so the call times out."""
    code, text = label("--retries", 0, "--timeout", 1, judge=["LH0=escape"])
    assert code == 0, text
    assert "such as 'LH0': no answer within 1 s" in text


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_programs_are_killed_with_the_process(tmp_path, number):
    may = write(tmp_path / "may.csv", range(60))
    arguments = ["label", may, *START, "--with", program(tmp_path / "log", "hang=1")]
    arguments += ["--state", tmp_path / "s.qufur"]
    command = [sys.executable, "-m", "qufur", *map(str, arguments)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        deadline = time.monotonic() + 60
        while not calls(tmp_path) and time.monotonic() < deadline:
            time.sleep(0.05)
        child = int((tmp_path / "log").read_text().split()[3])
        os.kill(child, 0)
        process.send_signal(number)
        complaint = process.communicate()[1]
    while is_alive(child) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not is_alive(child)
    assert len(load_workbook(tmp_path).learner.outstanding) > 0
    if number == signal.SIGINT:
        assert (process.returncode, complaint) == (
            130,
            "qufur: interrupted; run the same command to resume.\n",
        )


def is_alive(process):
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    stat = Path(f"/proc/{process}/stat")
    return not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] != "Z"


def test_more_money_continues_at_the_row_where_it_ran_out(work, tmp_path):
    judge = ["--with", program(tmp_path / "log")]
    may = write(tmp_path / "may.csv", range(60))
    code, text = work("label", may, *MONEY, *judge, "--money", "0.3")
    assert (code, len(calls(tmp_path))) == (0, 3)
    assert "0.3 of 0.3 is spent" in text
    last = calls(tmp_path)[-1][1]
    assert load_workbook(tmp_path).rows == int(last[2:]) + 1
    assert work("label", may, *MONEY, *judge, "--money", "0.3")[0] == 0
    assert load_workbook(tmp_path).rows == int(last[2:]) + 1
    code, text = work("label", may, *MONEY, *judge, "--money", 3)
    assert (code, len(calls(tmp_path))) == (0, 30)
    workbook = load_workbook(tmp_path)
    assert (len(workbook.labels), workbook.learner.left, workbook.learner.rule.limit) == (30, 0, 30)
    assert labels_are_correct(workbook)


def test_money_sets_the_budget_of_a_second_table(work, tmp_path):
    judge = ["--with", program(tmp_path / "log")]
    work("label", write(tmp_path / "may.csv", range(30)), *MONEY, *judge, "--money", 3)
    june = write(tmp_path / "june.csv", range(30, 60))
    work("label", june, *judge, "--cost", "0.1", "--money", 3)
    assert load_workbook(tmp_path).rows == 30
    code, text = work("label", june, *judge, "--cost", "0.1", "--money", 4)
    assert (code, len(load_workbook(tmp_path).labels)) == (0, 40), text


def test_rows_stay_pending_when_money_is_too_little_for_two_opinions(work, tmp_path):
    judge = ["--with", program(tmp_path / "log"), "--votes", 2]
    may = write(tmp_path / "may.csv", range(60))
    code, text = work("label", may, *MONEY, *judge, "--money", "0.3")
    assert (code, len(calls(tmp_path))) == (0, 2)
    assert load_workbook(tmp_path).rows == int(calls(tmp_path)[0][1][2:]) + 1
    assert "0.2 of 0.3 is spent, too little is left for a label. Run the same command with" in text
    assert work("label", may, *MONEY, *judge, "--money", "0.8")[0] == 0
    assert len(load_workbook(tmp_path).labels) == 4
