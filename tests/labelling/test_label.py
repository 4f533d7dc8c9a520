"""`qufur label`: a program labels what is worth it, and whatever it does, nothing is lost."""

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
from tests.cli.test_loop import LINEAR, WIND, write

from qufur.cli.label_progress import standing
from qufur.labelling.journal import Journal, journal_of
from qufur.workbook import Workbook

START = [*LINEAR, "--budget", 12, "--label-range", 0, 60, "--id", "flight", "--target", "delay"]
MONEY = [*START[:2], *START[4:], "--cost", "0.1"]
JUDGE = Path(__file__).with_name("judge.py")


def program(log, *options):
    return shlex.join([sys.executable, "-IS", str(JUDGE), str(log), *options])


@pytest.fixture
def label(work, tmp_path):
    """Return a function that labels flights with a judge, and returns the exit code and the output."""

    def command(*options, judge=(), rows=range(100)):
        may = tmp_path / "may.csv"
        if not may.exists():
            write(may, rows)
        return work("label", may, *START, "--with", program(tmp_path / "log", *judge), *options)

    return command


def calls(tmp_path):
    """Return key, row and what was done for every call that the judge noted."""
    log = tmp_path / "log"
    return [line.split()[:3] for line in log.read_text().splitlines()] if log.exists() else []


def opened(tmp_path):
    return Workbook.load(tmp_path / "s.qufur")


def right(book):
    """Whether every label is what the judge says of its row."""
    return all(record.label == 30 + 5 * WIND[int(id[2:])] for id, record in book.told.items())


def test_rows_are_labelled(label, tmp_path):
    code, text = label("--jobs", 4, "--cost", "0.02", "--money", 1)
    assert code == 0, text
    lines = text.splitlines()
    assert lines[0] == "100 rows, 12 labels bought, 0 skipped, 0 failed."
    assert lines[1] == "12 labels in all, 0 left, 0 outstanding; 12 calls, 0.24 spent of 1."
    book = opened(tmp_path)
    assert len(book.told) == len({key for key, *_ in calls(tmp_path)}) == 12
    assert right(book)
    assert not book.unfinished


def test_the_same_again_does_nothing(label, tmp_path):
    label()
    before = (tmp_path / "s.qufur").read_bytes()
    code, text = label()
    assert (code, text.splitlines()[0]) == (0, "0 rows, 0 labels bought, 0 skipped, 0 failed.")
    assert (tmp_path / "s.qufur").read_bytes() == before
    assert len(calls(tmp_path)) == 12


def test_one_job_is_the_loop_row_by_row(label, tmp_path):
    """Every label is known before the next row is asked about that is wanted."""
    assert label(rows=range(30))[0] == 0
    order = [int(row[2:]) for _, row, _ in calls(tmp_path)]
    assert order == sorted(order)


def test_a_second_table_and_rows_that_wait(label, work, tmp_path):
    out = tmp_path / "out.csv"
    assert work("ask", write(tmp_path / "april.csv", range(200, 230)), "-o", out, *START)[0] == 0
    waiting = opened(tmp_path).learner.outstanding
    judge = ["--with", program(tmp_path / "log")]
    assert work("budget", "--add", 5, "--horizon", 20)[0] == 0
    code, text = work("label", write(tmp_path / "may.csv", range(20)), *judge, "--id", "flight")
    assert code == 0, text
    assert len(opened(tmp_path).told) == len(waiting) + 5
    assert [row for _, row, _ in calls(tmp_path)][: len(waiting)] == list(waiting)


def test_skipped_rows_are_given_up(label, tmp_path):
    code, text = label("--json", judge=["LH0=skip", "LH2=skip"])
    done = json.loads(text)
    assert (code, done["skipped"], done["failed"], done["outstanding"]) == (0, 2, 0, 0)
    book = opened(tmp_path)
    assert not {"LH0", "LH2"} & set(book.told)
    assert book.learner.spent == done["labels"] == len(book.told) <= 12


@pytest.mark.parametrize(
    ("what", "why"),
    [
        ("fail", "exit code 1: no answer today"),
        ("silent", "it printed nothing"),
        ("wrong", "it printed 'as an AI I cannot say', which is no number"),
        ("hang", "no answer within 0.5 s"),
        ("flood", "it printed more than 64 kB and was stopped: that is no label"),
    ],
)
def test_a_row_without_a_label_waits_for_the_next_time(label, tmp_path, what, why):
    seconds = 0.5 if what == "hang" else 30
    code, text = label("--retries", 1, "--timeout", seconds, "--jobs", 2, judge=[f"LH0={what}"])
    assert code == 0
    assert text.splitlines()[-1].startswith(f"No label for 1 row, such as 'LH0': {why}")
    assert opened(tmp_path).learner.outstanding == ("LH0",)
    keys = [key for key, row, _ in calls(tmp_path) if row == "LH0"]
    assert len(keys) == 2
    code, text = label()
    assert text.splitlines()[0] == "0 rows, 1 label bought, 0 skipped, 0 failed."
    assert Counter(row for _, row, _ in calls(tmp_path))["LH0"] == 3
    assert len({key for key, row, _ in calls(tmp_path) if row == "LH0"}) == 1
    assert right(opened(tmp_path))


def test_a_program_out_of_order_is_not_called_for_ever(label, tmp_path):
    code, text = label("--retries", 0, "--cost", 1, judge=["fail=1"])
    assert code == 2
    assert text.count("\n") == 1
    assert "none of the last 5 labelled, the last because: exit code 1: no answer today" in text
    assert len(calls(tmp_path)) == 5
    code, text = label()
    assert code == 0
    assert len(opened(tmp_path).told) == 12


def test_money_is_never_exceeded(label, tmp_path):
    code, text = label("--cost", "0.1", "--money", "0.75", "--jobs", 4, "--retries", 3, judge=["fail=0.3"])
    assert code == 0
    assert "0.7 of 0.75 is spent, too little is left for a call. The same command with more --money" in text
    assert len(calls(tmp_path)) == 7
    assert label("--cost", "0.1", "--money", "0.75")[0] == 0
    assert len(calls(tmp_path)) == 7
    assert label("--cost", "0.1", "--money", "20")[0] == 0
    book = opened(tmp_path)
    assert (len(book.told), book.rows) == (12, 100)
    assert right(book)


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
def test_what_cannot_be_is_said_before_anything_is_done(label, tmp_path, options, message):
    code, text = label(*options)
    assert (code, text.count("\n")) == (2, 1)
    assert message in text
    assert not (tmp_path / "s.qufur").exists()
    assert not calls(tmp_path)


def test_classes(work, tmp_path):
    start = ["--budget", 3, "--id", "flight", "--target", "state", "--classes", "late,on time"]
    may = write(tmp_path / "may.csv", range(20))
    code, text = work("label", may, *start, "--with", "echo perhaps", "--retries", 0)
    assert code == 0
    assert "it printed 'perhaps', which is none of 'late', 'on time'. The same" in text
    assert work("label", may, "--with", "echo on time")[0] == 0
    assert {record.label for record in opened(tmp_path).told.values()} == {1.0}


def test_a_class_called_skip_is_refused(work, tmp_path):
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
    assert "got 'Skip', by which a program gives a row up. Give the class another name." in text
    assert {path.name for path in tmp_path.iterdir()} <= {"may.csv", "s.qufur.lock"}


def test_text_is_no_number(work, tmp_path):
    may = write(tmp_path / "may.csv", range(20))
    text = work("label", may, "--budget", 2, "--with", "echo late", "--retries", 0)[1]
    assert "it printed 'late', which is no number; --classes names classes. The same" in text


def test_how_it_stands_is_one_line(label, tmp_path):
    label("--cost", "0.5", rows=range(30))
    book, journal = opened(tmp_path), Journal(journal_of(tmp_path / "s.qufur"))
    assert standing(book, journal, 30).startswith("30 rows, 12 labels, 0 left, 12 calls, 6.0 spent, loss ")


def test_a_terminal_shows_it(label, monkeypatch, tmp_path):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setattr("qufur.cli.label_progress.EVERY", 0.0)
    assert "0 left, 12 calls, 6.0 spent, loss" in " ".join(label("--cost", "0.5", rows=range(30))[1].split())


def test_what_the_work_began_with_stays(label, tmp_path):
    label(rows=range(30))
    code, text = label("--budget", 50)
    assert code == 2
    assert "--budget of qufur label must be '12' as at first, got '50'. `qufur budget --add` gives" in text
    code, text = label("--seed", 3)
    assert "--seed of qufur label must be left out for work that has begun, got 3." in text
    (tmp_path / "s.qufur").unlink()
    assert "though calls are on record in" in label()[1]


def test_labels_that_were_paid_for_are_not_bought_again_after_undo(label, work, tmp_path):
    out = tmp_path / "out.csv"
    work("ask", write(tmp_path / "april.csv", range(300, 310)), "-o", out, *START)
    judge = ["--with", program(tmp_path / "log")]
    may = write(tmp_path / "may.csv", range(200))
    work("label", may, *judge)
    count, told = len(calls(tmp_path)), dict.fromkeys(opened(tmp_path).told)
    assert work("undo")[0] == 0
    assert not opened(tmp_path).told
    assert work("label", may, *judge)[0] == 0
    assert len(calls(tmp_path)) == count
    assert opened(tmp_path).told.keys() == told.keys()


def test_two_opinions_and_a_third_where_they_differ(label, work, tmp_path):
    code, text = label("--votes", 3, rows=range(30))
    assert code == 0
    assert "24 calls, judges agreed on 12 of 12 rows." in text
    assert len({key for key, *_ in calls(tmp_path)}) == 24


def test_judges_are_in_the_status_and_in_json(label, work):
    label("--votes", 3, "--cost", "0.01", rows=range(30))
    assert "labelling     24 calls, 0.24 spent, judges agreed on 12 of 12 rows" in work("status")[1]
    said = json.loads(work("status", "--json")[1])["labelling"]
    assert said == {"calls": 24, "money": 0.24, "judged_twice": 12, "agreed": 12}


def test_money_can_be_the_budget(work, tmp_path):
    start = START[:2] + START[4:]
    judge = ["--with", program(tmp_path / "log"), "--votes", 2, "--cost", "0.05", "--money", "0.62"]
    code, text = work("label", write(tmp_path / "may.csv", range(60)), *start, *judge)
    assert code == 0, text
    assert (len(opened(tmp_path).told), opened(tmp_path).learner.left) == (6, 0)
    assert len(calls(tmp_path)) == 12


def test_a_rate_is_kept(label, tmp_path):
    begin = time.monotonic()
    assert label("--rate-limit", "10/s", "--jobs", 8, rows=range(30))[0] == 0
    assert time.monotonic() - begin >= 1.1


def test_the_record_outlives_half_a_line_and_refuses_others(label, tmp_path):
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


def test_programs_may_write_long_logs(label, tmp_path):
    """Standard error is read to its end, and its last line is the reason of a failure."""
    code, text = label("--retries", 0, judge=["LH0=chatter", "LH1=complaint"])
    assert code == 0, text
    assert "such as 'LH1': exit code 1: no answer today" in text
    assert "LH0" in opened(tmp_path).told


def test_a_program_that_leaves_its_pipes_open_is_not_waited_for(label, tmp_path):
    """A process that the program put into a session of its own keeps the pipes, and the call times out."""
    code, text = label("--retries", 0, "--timeout", 1, judge=["LH0=escape"])
    assert code == 0, text
    assert "such as 'LH0': no answer within 1 s" in text


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_programs_end_with_the_process(tmp_path, number):
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
    assert len(opened(tmp_path).learner.outstanding) > 0
    if number == signal.SIGINT:
        assert (process.returncode, complaint) == (130, "qufur: stopped; the same command goes on.\n")


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
    assert opened(tmp_path).rows == int(last[2:]) + 1
    assert work("label", may, *MONEY, *judge, "--money", "0.3")[0] == 0
    assert opened(tmp_path).rows == int(last[2:]) + 1
    code, text = work("label", may, *MONEY, *judge, "--money", 3)
    assert (code, len(calls(tmp_path))) == (0, 30)
    book = opened(tmp_path)
    assert (len(book.told), book.learner.left, book.learner.rule.limit) == (30, 0, 30)
    assert right(book)


def test_money_is_a_budget_for_a_second_table_too(work, tmp_path):
    judge = ["--with", program(tmp_path / "log")]
    work("label", write(tmp_path / "may.csv", range(30)), *MONEY, *judge, "--money", 3)
    june = write(tmp_path / "june.csv", range(30, 60))
    work("label", june, *judge, "--cost", "0.1", "--money", 3)
    assert opened(tmp_path).rows == 30
    code, text = work("label", june, *judge, "--cost", "0.1", "--money", 4)
    assert (code, len(opened(tmp_path).told)) == (0, 40), text


def test_money_too_little_for_two_opinions_leaves_rows_for_later(work, tmp_path):
    judge = ["--with", program(tmp_path / "log"), "--votes", 2]
    may = write(tmp_path / "may.csv", range(60))
    code, text = work("label", may, *MONEY, *judge, "--money", "0.3")
    assert (code, len(calls(tmp_path))) == (0, 2)
    assert opened(tmp_path).rows == int(calls(tmp_path)[0][1][2:]) + 1
    assert "0.2 of 0.3 is spent, too little is left for a label. The same command with more --money" in text
    assert work("label", may, *MONEY, *judge, "--money", "0.8")[0] == 0
    assert len(opened(tmp_path).told) == 4
