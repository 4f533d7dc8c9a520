"""`qufur label --jobs 4` killed at any moment: no label is lost, and few calls are made again."""

import os
import random
import signal
import time
import warnings
from collections import Counter
from decimal import Decimal

import pytest
from tests.cli.test_loop import write
from tests.labelling.test_label import START, opened, program, right
from tests.soak import times

from qufur.cli import execute
from qufur.labelling.journal import Journal, journal_of

JOBS, COST, BUDGET = 4, Decimal("0.01"), 40
KILLS = max(5, times(200))
LUCK = ["slow=0.1", "fail=0.05", "silent=0.03", "wrong=0.03", "skip=0.05"]
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked, to be there at once")


def test_labelling_killed_at_any_moment(tmp_path):
    rng, kills, again, works, poor = random.Random(11), 0, Counter(), 0, 0
    while kills < KILLS:
        folder = tmp_path / str(works)
        folder.mkdir()
        money = Decimal("1.00") if works % 2 else Decimal("0.50")
        kills += one_work(folder, rng, money, KILLS - kills, again)
        works, poor = works + 1, poor + bool(opened(folder).unfinished)
    assert sum(again.values()) - again[0] >= KILLS // 4, "the kills missed the calls"
    print(f"{kills} kills in {works} works, {poor} of them out of money")
    print(f"calls made again per kill: {dict(sorted(again.items()))}")


def one_work(folder, rng, money, most, again):
    """Kill the work again and again until it is done; return how often."""
    write(folder / "may.csv", range(400))
    kills, made_again, done = 0, 0, False
    while not done:
        seconds = rng.expovariate(3) if kills < most else None
        before = log_of(folder)
        done = ran(folder, money, seconds, at_once=rng.random() < 0.1)
        check(folder, money)
        if kills:
            many = repeated(before, log_of(folder))
            again[many] += 1
            made_again += many
            # What was under way may wait through several kills before it is made again.
            assert made_again <= kills * JOBS
        kills += not done
    book = opened(folder)
    is_poor = Journal(journal_of(folder / "s.qufur")).spent > money - COST
    assert is_poor or not (book.learner.outstanding or book.unfinished)
    assert right(book)
    return kills


def ran(folder, money, seconds, *, at_once):
    """Let a process label, and kill it a while after it begins, or begins to call; return if it was done."""
    before = size(folder)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of threads, which do nothing here
        process = os.fork()
    if not process:
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1)
        os._exit(labelled(folder, money))
    if seconds is not None:
        while not at_once and size(folder) == before and not has_ended(process):
            time.sleep(0.002)
        time.sleep(seconds)
        os.kill(process, signal.SIGKILL)
    code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    assert code in (0, -signal.SIGKILL), (folder / "error").read_text()
    return code == 0


def has_ended(process):
    return os.waitid(os.P_PID, process, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def size(folder):
    log = folder / "log"
    return log.stat().st_size if log.exists() else 0


def labelled(folder, money):
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


def check(folder, money):
    """See that nothing is lost and nothing overspent, whenever the process was killed."""
    assert len(log_of(folder)) * COST <= money
    keys = {(key, row) for key, row, _ in log_of(folder)}
    assert len(keys) == len({row for _, row in keys}), "a row was called for under two keys"
    if not (folder / "s.qufur").exists():
        assert not keys
        return
    book, journal = opened(folder), Journal(journal_of(folder / "s.qufur"))
    assert book.learner.spent <= BUDGET
    assert len(log_of(folder)) <= journal.calls
    for row, said in journal.opinions.items():
        assert row in book.told or row in book.learner.outstanding or said[1] == "skip"


def repeated(before, after):
    """Return how many calls were made again that had not failed: those that were under way at a kill."""
    last = {key: what for key, _, what in before}
    answered = {key for key, what in last.items() if what not in ("fail", "silent", "wrong")}
    made = {key for key, *_ in after[len(before) :]}
    return len(answered & made)


def log_of(folder):
    """Return key, row and what was done for every call that the judge noted."""
    log = folder / "log"
    lines = log.read_text().splitlines(keepends=True) if log.exists() else []
    return [line.split()[:3] for line in lines if line.endswith("\n")]
