"""Soak test: a command killed at any moment leaves the old or the new state, and `undo` works on it."""

import contextlib
import csv
import io
import multiprocessing
import os
import random
import signal
import sys
import traceback
from collections import Counter
from itertools import product

import pytest
from tests.cli.test_soak_tables import CHANGES
from tests.cli.test_state_file import filled, write
from tests.pictures import without_pictures
from tests.soak import times

from qufur.cli import execute
from qufur.figures import style
from qufur.storage import versions
from qufur.storage.container import digest_in
from qufur.workbook import Workbook

START = ["--model", "ridge", "--budget", 10, "--label-range", 0, 60, "--id", "flight", "--target", "delay"]
REPLAY = ["--model", "ridge", "--budget", 3, "--seeds", 1, "--target", "delay", "--json"]
EVENTS = {"open", "os.rename", "os.link", "os.remove", "os.mkdir", "os.chmod", "os.listdir"}
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
if hasattr(os, "fork"):
    # The fork server has no threads: a fork would lack those of polars and OpenMP, and wait for them forever.
    PROCESSES = multiprocessing.get_context("forkserver")
    PROCESSES.set_forkserver_preload([__name__])


def table(folder, called, *, labelled):
    path = folder / f"{called}.csv"
    names = ["flight", "wind", "sky", *["delay"] * labelled]
    with path.open("w", newline="") as file:
        rows = ([f"{called}-{t}", t / 7, "storm", *[20 + t] * labelled] for t in range(20))
        csv.writer(file).writerows([names, *rows])
    return path


def labels(folder, ids):
    path = folder / "labels.csv"
    path.write_text("flight,delay\n" + "".join(f"{id},30\n" for id in ids))
    return path


def commands(folder, called, workbook):
    """Return every command with arguments that are valid now; tables have new rows."""
    waiting, out = workbook.learner.outstanding, ["-o", folder / "out.csv", "--force"]
    return {
        "ask": lambda: [table(folder, called, labelled=False), *out],
        "tell": lambda: [labels(folder, waiting[1:])],
        "learn": lambda: [table(folder, called, labelled=True)],
        "retract": lambda: [waiting[0]],
        "forget-label": lambda: [next(iter(workbook.labels))],
        "budget": lambda: ["--add", 10],
        "undo": lambda: [],
        "predict": lambda: [folder / "may.csv", *out],
        "outstanding": lambda: out,
        "status": lambda: [],
        "run": lambda: [folder / "june.csv", *REPLAY, "--out", folder / "run"],
        "plan": lambda: [folder / "june.csv", *REPLAY, "--out", folder / "plan"],
    }


def test_commands_killed_at_any_moment(work, tmp_path):
    state, rng = begun(work, tmp_path), random.Random(3)
    killed, new, moments = Counter(), Counter(), {}
    names = list(commands(tmp_path, "", Workbook.load(state)))
    for turn, name in product(range(times(25) + 1), names):
        called = f"{turn}-{name}"
        refill(work, tmp_path, called)
        workbook, before = Workbook.load(state), digest_in(state)
        arguments = commands(tmp_path, called, workbook)[name]()
        moment = rng.randint(1, moments[name]) if turn else 0
        found = killed_at(tmp_path, state, moment, name, arguments)
        moments[name] = found or moments[name]
        killed[name] += found is None
        new[name] += found is None and digest_in(state) != before
        check(work, tmp_path, state, workbook, before, name)
    print(f"killed: {dict(killed)}, of which the new state was there: {dict(new)}")
    assert {name for name in new if new[name]} <= CHANGES
    assert all(killed.values())


def begun(work, folder):
    out = folder / "first.csv"
    assert work("ask", write(folder / "may.csv", range(20)), "-o", out, *START)[0] == 0
    assert work("tell", filled(out))[0] == 0
    write(folder / "june.csv", range(20, 40), with_delay=True)
    return folder / "s.qufur"


def refill(work, folder, called):
    """Buy and learn labels until the state has two labels and two pending rows."""
    workbook = Workbook.load(folder / "s.qufur")
    if len(workbook.labels) < 2:
        assert work("learn", table(folder, f"{called}-free", labelled=True))[0] == 0
    while len(workbook.learner.outstanding) < 2:
        called += "+"
        assert work("budget", "--add", 10)[0] == 0
        rows = table(folder, called, labelled=False)
        assert work("ask", rows, "-o", folder / "out.csv", "--force")[0] == 0
        workbook = Workbook.load(folder / "s.qufur")


def check(work, folder, state, old, before, name):
    """Check that the state is the one before or after a command, and that `undo` works."""
    workbook, now = Workbook.load(state), digest_in(state)
    if now != before:
        assert name in CHANGES
        assert now == old.history.before[0] if name == "undo" else workbook.history.before[0] == before
    bought = [record for record in workbook.labels.values() if record.prediction == record.prediction]
    assert workbook.learner.ledger.answered == len(bought)
    with (folder / "out.csv").open(newline="") as file:
        header, *rows = csv.reader(file)
    assert {len(row) for row in rows} <= {len(header)}
    if name == "ask":  # the file of rows to label is written before the state
        new = {*workbook.learner.outstanding} - {*old.learner.outstanding}
        assert new <= {row[0] for row in rows}
    if workbook.history.before:
        assert work("undo")[0] == 0
        assert digest_in(state) == workbook.history.before[0]
    assert len(list(versions.folder_of(state).iterdir())) <= versions.KEPT + 2


def killed_at(folder, state, count, name, arguments):
    """Run a process that kills itself before it uses the folder for the n-th time; return None.

    If n is 0 or larger than the number of uses, the process finishes, and the number of uses is returned.
    """
    own = [] if name in ("run", "plan") else ["--state", state]
    receiver, sender = PROCESSES.Pipe(duplex=False)
    call = folder, count, [name, *map(str, [*own, *arguments])], sender
    process = PROCESSES.Process(target=go, args=call)
    process.start()
    sender.close()
    process.join()
    if process.exitcode == -signal.SIGKILL:
        return None
    said = receiver.recv()
    assert isinstance(said, int), said
    return said


def go(folder, count, arguments, sender):
    """Run a command and send how often it used the folder."""
    style.save = without_pictures
    used = kill_before(folder, count)
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            execute(arguments)
        sender.send(len(used))
    except BaseException:
        sender.send(traceback.format_exc())


def kill_before(folder, count):
    """Kill this process before the n-th time it opens, renames, links or removes a file in the folder."""
    used = []

    def look(event, arguments):
        if event in EVENTS and str(folder) in str(arguments[0]):
            used.append(event)
            if len(used) == count:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(look)
    return used
