"""Calls of the command line in one folder, one after the other, and their exit codes."""

import contextlib
import io
import os
import shutil
import sqlite3
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

from qufur.__main__ import main

ROWS = "flight,wind,rain\n" + "".join(f"LH{t},{t % 7},{t % 5}\n" for t in range(30))
LATER = "flight,wind,rain\n" + "".join(f"LH{t},{t % 6},{t % 4}\n" for t in range(30, 50))
FILES = {
    "rows.csv": ROWS,
    "later.csv": LATER,
    "empty.csv": "",
    "text.csv": "flight,delay\nLH0,late\n",
    "replay.csv": "wind,rain,delay\n" + "".join(f"{t % 7},{t % 5},{t % 7 - t % 5}\n" for t in range(40)),
    "labels.csv": "flight,delay\nLH0,3\nLH1,4.5\n",
    "other.csv": "flight,delay\nLH0,7\n",
    "unknown.csv": "flight,delay\nnobody,7\n",
    "free.csv": "flight,wind,rain,delay\nAF1,2,3,4\n",
}
START = "--id flight --target delay --label-range -10 10 --model ridge --budget 12"
CALLS = [
    "--version",
    "--help",
    "",
    "ask --help",
    "unknown-command",
    "status",
    "status --state s.qufur",
    "status --state s.qufur --unknown-option",
    f"ask missing.csv --state s.qufur -o want.csv {START}",
    f"ask empty.csv --state s.qufur -o want.csv {START}",
    "ask rows.csv --state s.qufur -o want.csv --id flight --target delay --model ridge --budget 0",
    "ask rows.csv --state s.qufur -o want.csv --id flight --target delay --model ridge --budget many",
    "ask rows.csv --state s.qufur -o want.csv --id flight --target delay --model forest --budget 5",
    "ask rows.csv --state s.qufur -o want.csv --id plane --target delay --budget 5",
    "ask rows.csv --state s.qufur -o want.csv --id flight --budget 5 --skip cloud",
    f"ask rows.csv --state s.qufur {START}",
    f"ask rows.csv --state s.qufur -o want.csv {START} --seed -1",
    f"ask rows.csv --state s.qufur -o want.csv {START}",
    "ask rows.csv --state s.qufur -o more.csv",
    "status --state s.qufur",
    "status --state s.qufur --json",
    "status --state rows.csv",
    "tell text.csv --state s.qufur",
    "tell unknown.csv --state s.qufur",
    "tell labels.csv --state s.qufur",
    "tell labels.csv --state s.qufur --json",
    "tell other.csv --state s.qufur",
    "tell other.csv --state s.qufur --replace",
    "outstanding --state s.qufur -o open.csv",
    "outstanding --state s.qufur -o open.jsonl --format unknown-tool",
    "retract LH2 --state s.qufur",
    "retract LH2 --state s.qufur",
    "retract --state s.qufur",
    "forget-label LH1 --state s.qufur",
    "forget-label LH9999 --state s.qufur",
    "learn free.csv --state s.qufur",
    "budget --state s.qufur --add 5",
    "budget --state s.qufur --add 0",
    "predict later.csv --state s.qufur -o predicted.csv",
    "predict later.csv --state s.qufur -o predicted.csv --interval 2",
    "predict labels.csv --state s.qufur -o predicted.csv",
    "ask later.csv --state s.qufur -o later_want.csv",
    "undo --state s.qufur",
    "undo --state s.qufur --json",
    "undo --state gone.qufur",
    "plan rows.csv --budget 5 --model ridge --seeds 1 --skip flight --out plan",
    "plan rows.csv --budget 31 --model ridge --seeds 1 --skip flight --out plan",
    "run replay.csv --target delay --budget 5 --seeds 0",
    "run replay.csv --target cost --budget 5",
    "choose rows.csv --budget 0 -o chosen.csv",
    "reproduce fig9",
    "data unknown-command",
    "export flights flights.qufur",
    "import s.qufur --name flights",
    "import s.qufur --name flights",
    "import rows.csv",
    "verify sqlite:///labels.db",
    "verify sqlite:///gone.db",
    "verify nowhere",
    "export flights flights.qufur",
    "export trains trains.qufur",
    "backup sqlite:///labels.db copy.db",
    "backup sqlite:///labels.db copy.db",
    "key add ada --scope unknown",
    "key list",
    "key revoke unknown",
    "verify sqlite:///damaged.db",
    "erase flights LH3",
    "delete-stream flights",
    "delete-stream flights",
]


class Ended(NamedTuple):
    """Exit code and output of a call."""

    code: int
    out: str
    err: str


def results():
    """Return each call with its result, in order; the number in front tells repeated calls apart."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        for name, text in FILES.items():
            (Path(folder) / name).write_text(text)
        os.chdir(folder)
        try:
            return {f"{place:02} {line}".strip(): _result(line) for place, line in enumerate(CALLS)}
        finally:
            os.chdir(before)


def _result(line):
    if "damaged.db" in line:
        _write_damaged_store()
    return call(line.split())


def exit_codes(done=None):
    """Return the exit code of each call."""
    return {call: result.code for call, result in (done or results()).items()}


def call(arguments):
    """Run one command in this process."""
    out, err = io.StringIO(), io.StringIO()
    try:
        with (
            patch.object(sys, "argv", ["qufur", *arguments]),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
        ):
            main()
    except SystemExit as stop:
        return Ended(stop.code, out.getvalue(), err.getvalue())
    raise AssertionError("main returned without an exit code")


def _write_damaged_store():
    """Copy the backup of an earlier call and change an event in it."""
    shutil.copy("copy.db", "damaged.db")
    with contextlib.closing(sqlite3.connect("damaged.db")) as connection, connection:
        connection.execute("UPDATE events SET actor = 'eve'")
