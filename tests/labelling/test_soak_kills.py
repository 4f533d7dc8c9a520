"""`qufur label --jobs 4` killed at any moment: no label is lost, and only running calls are repeated."""

import os
import random
import signal
import time
import warnings
from collections import Counter
from decimal import Decimal

import pytest
from tests.cli.test_state_file import write
from tests.labelling.test_label import START, labels_are_correct, load_workbook, program
from tests.soak import times

from qufur.cli import execute
from qufur.labelling.journal import Journal, journal_of

JOBS, COST, BUDGET = 4, Decimal("0.01"), 40
KILLS = max(5, times(200))
LUCK = ["slow=0.1", "fail=0.05", "silent=0.03", "wrong=0.03", "skip=0.05"]
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="forks processes, for fast starts")


def test_label_killed_at_any_moment_loses_nothing(tmp_path):
    rng, kills, again, runs, out_of_money = random.Random(11), 0, Counter(), 0, 0
    while kills < KILLS:
        folder = tmp_path / str(runs)
        folder.mkdir()
        money = Decimal("1.00") if runs % 2 else Decimal("0.50")
        kills += run_with_kills(folder, rng, money, KILLS - kills, again)
        runs, out_of_money = runs + 1, out_of_money + bool(load_workbook(folder).partial_tables)
    assert sum(again.values()) - again[0] >= KILLS // 4, "the kills missed the calls"
    print(f"{kills} kills in {runs} runs, {out_of_money} of them out of money")
    print(f"calls repeated per kill: {dict(sorted(again.items()))}")


def run_with_kills(folder, rng, money, max_kills, again):
    """Kill and restart the run until it finishes; return the number of kills."""
    write(folder / "may.csv", range(400))
    kills, total_repeats, finished = 0, 0, False
    while not finished:
        seconds = rng.expovariate(3) if kills < max_kills else None
        before = logged_calls(folder)
        finished = run_and_kill(folder, money, seconds, immediately=rng.random() < 0.1)
        check_invariants(folder, money)
        if kills:
            repeats = repeated(before, logged_calls(folder))
            again[repeats] += 1
            total_repeats += repeats
            # A running call may be repeated only after several kills.
            assert total_repeats <= kills * JOBS
        kills += not finished
    workbook = load_workbook(folder)
    is_out_of_money = Journal(journal_of(folder / "s.qufur")).spent > money - COST
    assert is_out_of_money or not (workbook.learner.outstanding or workbook.partial_tables)
    assert labels_are_correct(workbook)
    return kills


def run_and_kill(folder, money, seconds, *, immediately):
    """Label in a process and kill it some time after its start or first call; return whether it finished."""
    before = log_size(folder)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # about threads, which are idle
        process = os.fork()
    if not process:
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1)
        os._exit(run_label(folder, money))
    if seconds is not None:
        while not immediately and log_size(folder) == before and not has_ended(process):
            time.sleep(0.002)
        time.sleep(seconds)
        os.kill(process, signal.SIGKILL)
    code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    assert code in (0, -signal.SIGKILL), (folder / "error").read_text()
    return code == 0


def has_ended(process):
    return os.waitid(os.P_PID, process, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def log_size(folder):
    log = folder / "log"
    return log.stat().st_size if log.exists() else 0


def run_label(folder, money):
    options = [
        *START,
        "--budget",
        BUDGET,
        "--with",
        program(folder / "log", *LUCK),
        "--state",
        folder / "s.qufur",
    ]
    options += ["--jobs", JOBS, "--retries", 3, "--cost", COST, "--money", money, "--timeout", 20]
    try:
        return execute(["label", *map(str, [folder / "may.csv", *options])])
    except BaseException as error:
        (folder / "error").write_text(repr(error))
        return 1


def check_invariants(folder, money):
    """Check that no label is lost and no money overspent."""
    assert len(logged_calls(folder)) * COST <= money
    keys = {(key, row) for key, row, _ in logged_calls(folder)}
    assert len(keys) == len({row for _, row in keys}), "a row was called with two keys"
    if not (folder / "s.qufur").exists():
        assert not keys
        return
    workbook, journal = load_workbook(folder), Journal(journal_of(folder / "s.qufur"))
    assert workbook.learner.spent <= BUDGET
    assert len(logged_calls(folder)) <= journal.calls
    for row, opinion in journal.opinions.items():
        assert row in workbook.labels or row in workbook.learner.outstanding or opinion[1] == "skip"


def repeated(before, after):
    """Return the number of repeated calls that had not failed: those running at a kill."""
    last = {key: action for key, _, action in before}
    answered = {key for key, action in last.items() if action not in ("fail", "silent", "wrong")}
    new = {key for key, *_ in after[len(before) :]}
    return len(answered & new)


def logged_calls(folder):
    """Return key, row and action of every complete line in the judge's log."""
    log = folder / "log"
    lines = log.read_text().splitlines(keepends=True) if log.exists() else []
    return [line.split()[:3] for line in lines if line.endswith("\n")]
