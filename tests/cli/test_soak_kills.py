"""A command killed at any moment leaves the state before it or the one after, and `undo` goes on from it."""

import contextlib
import csv
import io
import os
import random
import signal
import sys
import traceback
import warnings
from collections import Counter

import pytest
from tests.cli.test_loop import filled, write
from tests.soak import times

from qufur.cli import execute
from qufur.storage import versions
from qufur.storage.container import digest_in
from qufur.workbook import Workbook

START = ["--model", "ridge", "--budget", 10, "--label-range", 0, 60, "--id", "flight", "--target", "delay"]
EVENTS = {"open", "os.rename", "os.link", "os.remove", "os.mkdir", "os.chmod", "os.listdir"}
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked, to be there at once")


def test_commands_killed_at_any_moment(work, tmp_path):
    out, state, rng = tmp_path / "first.csv", tmp_path / "s.qufur", random.Random(3)
    assert work("ask", write(tmp_path / "may.csv", range(20)), "-o", out, *START)[0] == 0
    assert work("tell", filled(out))[0] == 0
    killed, new = Counter(), Counter()
    for turn in range(times(300)):
        before = digest_in(state)
        lines = killed_at(tmp_path, f"{turn}-", rng.randint(1, 140))
        before = next((words[1] for words in reversed(lines) if words[0] == "end"), before)
        name = lines[-1][1] if lines[-1][0] == "begin" else "none"
        killed[name] += 1
        new[name] += digest_in(state) != before
        check(work, state, before, name)
    print(f"killed: {dict(killed)}, of which the new state was there: {dict(new)}")


def check(work, state, before, name):
    """See that a state is the one before a command or the one after, and can be taken back."""
    book, now = Workbook.load(state), digest_in(state)
    if now != before:
        assert name == "undo" or (name != "none" and book.history.before[0] == before)
    bought = [record for record in book.told.values() if record.prediction == record.prediction]
    assert book.learner.ledger.answered == len(bought)
    assert work("undo")[0] == 0
    assert digest_in(state) == book.history.before[0]
    assert len(list(versions.folder_of(state).iterdir())) <= versions.KEPT + 2


def killed_at(folder, prefix, count):
    """Let a process kill itself before it uses the folder for the n-th time; return its lines, in words."""
    read, write_end = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of threads, which do nothing here
        process = os.fork()
    if not process:
        try:
            os.close(read)
            os.dup2(write_end, 1)
            kill_before(folder, count)
            go_on(folder, prefix)
        except BaseException:
            os.write(1, f"error {traceback.format_exc()!r}\n".encode())
        os._exit(0)
    os.close(write_end)
    with os.fdopen(read) as printed:
        lines = [line.split(maxsplit=1) for line in printed.read().splitlines()]
    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == -signal.SIGKILL, lines
    return lines


def kill_before(folder, count):
    """Kill this process before it opens, renames, links or removes something in the folder so many times."""

    def look(event, arguments):
        nonlocal count
        if event in EVENTS and str(folder) in str(arguments[0]):
            count -= 1
            if not count:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(look)


def go_on(folder, prefix):
    """Call every command that changes the state file, over tables of rows that are new."""
    state = folder / "s.qufur"

    def call(name, *arguments):
        os.write(1, f"begin {name}\n".encode())
        with contextlib.redirect_stdout(io.StringIO()):
            execute([name, *map(str, arguments), "--state", str(state), "--json"])
        os.write(1, f"end {digest_in(state)}\n".encode())

    for place in range(1000):
        called = f"{prefix}{place}"
        call("budget", "--add", 10)
        call("ask", table(folder, called, labelled=False), "-o", folder / "out.csv", "--force")
        waiting = Workbook.load(state).learner.outstanding
        if len(waiting) > 1:
            path = folder / "labels.csv"
            path.write_text("flight,delay\n" + "".join(f"{id},30\n" for id in waiting[1:]))
            call("tell", path)
            call("retract", waiting[0])
        call("learn", table(folder, f"{called}-free", labelled=True))
        call("undo")
        call("forget-label", next(iter(Workbook.load(state).told)))


def table(folder, called, *, labelled):
    path = folder / f"{called}.csv"
    names = ["flight", "wind", "sky", *["delay"] * labelled]
    with path.open("w", newline="") as file:
        rows = ([f"{called}-{t}", t / 7, "storm", *[20 + t] * labelled] for t in range(20))
        csv.writer(file).writerows([names, *rows])
    return path
