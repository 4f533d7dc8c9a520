"""Soak test of random tables: every command succeeds or prints one line, and changes no other file."""

import contextlib
import io
import shutil
from collections import Counter

import numpy as np
import pytest
from tests.cli.test_cli import qufur
from tests.cli.test_state_file import filled, write
from tests.letters import let_letters_be_counted
from tests.pictures import without_pictures
from tests.soak import times
from tests.tables.test_soak_formats import damaged
from tests.tables.test_tables import FORMATS, save

from qufur.storage.versions import folder_of
from qufur.workbook import Workbook

PARTS, TABLES = 10, 5
"""How the work is cut, and how many tables a turn draws."""
SOUND = ["flight", "wind", "sky", "delay"]
NAMES = [*SOUND, "id", "label", "row", "prediction", "X", "", "é", "delya", "day"]
CELLS = ["", "1", "-2.5", "1e308", "-1e308", "1e999", "nan", "inf", "0x10", "1_000", "LH7", "007", "true"]
CELLS += ["[1, 2]", "[1]", '"', ",", "\n", "é", "\x00", " 3 ", "2021-01-01", "=1+1", "5%", "€ 3.20", "1,5"]
START = ["--label-range", 0, 60, "--id", "flight", "--target", "delay"]
BUDGETS = [["--budget", 1], ["--budget", 3], ["--budget", "50%"], ["--budget", "100%"], ["--budget", "0.2"]]
RULES = [*BUDGETS, ["--alpha", 2.0], ["--fixed-budget", 9], ["--alpha", 2.0, "--budget", 1]]
WRITES = {"ask", "predict", "outstanding"}
CHANGES = {"ask", "tell", "learn", "retract", "forget-label", "undo", "budget"}


class Desk:
    """Folder with a state file, tables that must not change, and counts of the exit codes."""

    def __init__(self, folder, monkeypatch):
        self.folder, self.state, self.out = folder, folder / "s.qufur", folder / "out.csv"
        self.answers = Counter()
        self._monkeypatch = monkeypatch

    def call(self, name, *arguments):
        """Run a command, check that it changed only files that it may change, and return its exit code."""
        before, state = self.files(), [] if name in ("run", "plan") else ["--state", self.state]
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = qufur(self._monkeypatch, name, *state, *arguments)
        said, after = err.getvalue(), self.files()
        self.answers[name, code] += 1
        assert code in (0, 2), (name, arguments)
        assert code == 0 or (said.startswith("qufur: ") and said.count("\n") == 1), (name, arguments, said)
        changed = {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}
        touched = {path for path in changed if code or not self.may_touch(name, path)}
        assert not touched, (name, arguments, touched)
        return code

    def may_touch(self, name, path):
        """Return whether a command may change a file: the state file, its versions, or its output."""
        own = path == self.state or path.parent == folder_of(self.state)
        return (name in CHANGES and own) or (name in WRITES and path == self.out) or path.parent.name == name

    def files(self):
        """Return the contents of all files except locks, which are empty."""
        paths = [path for path in self.folder.rglob("*") if path.is_file() and path.suffix != ".lock"]
        return {path: path.read_bytes() for path in paths}


@pytest.fixture
def starts(work, tmp_path, few_trees):
    """Return a folder with the state of a ridge regression and one of experts, with labels and without."""
    for model in ("ridge", "experts"):
        folder = tmp_path / model
        folder.mkdir()
        out = folder / "first.csv"
        table, state = write(folder / "may.csv", range(24)), tmp_path / "s.qufur"
        assert work("ask", table, "-o", out, "--model", model, "--budget", 12, *START)[0] == 0
        assert work("tell", filled(out))[0] == 0
        assert work("budget", "--add", 6)[0] == 0
        assert work("ask", write(folder / "june.csv", range(24, 40)), "-o", out, "--force")[0] == 0
        state.rename(folder / state.name)
        folder_of(state).rename(folder_of(folder / state.name))
    return tmp_path


def drawn_table(rng, called, known):
    """Return the columns of a table: mostly those of the first one, with some cells of any type."""
    pick = rng.choice
    sound = rng.random() < 0.75
    names = SOUND[: 4 - rng.integers(3) // 2] if sound else pick(NAMES, rng.integers(1, 5)).tolist()
    wild, rows = pick([0.0, 0.0, 0.05, 0.5]), rng.integers(rng.random() > 0.05, 9)
    ids = [*known[: rng.integers(3)], *(f"{called}-{row}" for row in range(rows))]
    table = {}
    for name in names:
        numbers = rng.normal(size=rows).round(3).tolist()
        own = {"flight": ids, "sky": ["storm", "clear"] * rows}
        usual = own.get(name, [30 + number for number in numbers] if name == "delay" else numbers)
        table[name] = [any_cell(rng) if rng.random() < wild else cell for cell in usual[:rows]]
    return table


def any_cell(rng):
    letters = map(chr, rng.choice([*range(1, 0x250), 0x2028, 0xFEFF, 0x1F600], rng.integers(1, 5)))
    return str(rng.choice(CELLS)) if rng.random() < 0.7 else "".join(letters)


def drawn_file(folder, rng, called, known=()):
    """Write a table in any format; some are damaged or have a wrong extension."""
    table, ending = drawn_table(rng, called, known), str(rng.choice(FORMATS))
    mixed = any(len({type(cell) for cell in column}) > 1 for column in table.values())
    if mixed and ending in ("parquet", "xlsx", "npz"):
        table = {name: [str(cell).replace("\0", "") for cell in column] for name, column in table.items()}
    path = save(folder, table, ending).rename(folder / f"{called}.{ending}")
    if rng.random() < 0.15:
        path.write_bytes(damaged(path.read_bytes(), rng))
    if rng.random() < 0.03:
        path = path.rename(folder / f"{called}.{rng.choice(FORMATS)}")
    return path


def options_of(rng):
    """Return options of a first command, some of them invalid."""
    options = []
    for name in ("--id", "--target", "--embedding", "--categorical", "--skip", "--text"):
        if rng.random() < 0.05:
            options += [f"{name}={rng.choice(NAMES)}"]
    options += ["--text-model", "letters-1a"] if rng.random() < 0.05 else []
    options += ["--id", "flight"] if rng.random() < 0.5 else []
    options += ["--target", "delay"] if rng.random() < 0.7 else []
    options += ["--label-range", 0, 60] if rng.random() < 0.9 else []
    return options + (["--impute"] if rng.random() < 0.3 else [])


def some_ids(desk, rng, known):
    """Return ids, most of them existing, after `--`, so that none is read as an option."""
    names = [*map(str, known), "LH1", "nobody", ""] if rng.random() < 0.8 else CELLS
    return ["--", *rng.choice(names, rng.integers(1, 3)).tolist()]


def every_command(desk, rng, called):
    """Call every command in random order on new random tables."""
    force = ["--force"] if rng.random() < 0.5 else []
    replace = ["--replace"] if rng.random() < 0.5 else []
    add = [] if rng.random() < 0.3 else ["--add", rng.integers(0, 4)]

    workbook = Workbook.load(desk.state)

    def table(known=()):
        return drawn_file(desk.folder, rng, f"{called}-{len(desk.files())}", known)

    calls = [
        lambda: desk.call("ask", table(), "-o", desk.out, *force),
        lambda: desk.call("tell", table(workbook.learner.outstanding), *replace),
        lambda: desk.call("tell", desk.out),
        lambda: desk.call("learn", table(workbook.learner.outstanding), "--impute"),
        lambda: desk.call("predict", table(), "-o", desk.out, *force),
        lambda: desk.call("outstanding", "-o", desk.out, *force),
        lambda: desk.call("status"),
        lambda: desk.call("budget", *add),
        lambda: desk.call("retract", *some_ids(desk, rng, workbook.learner.outstanding)),
        lambda: desk.call("forget-label", *some_ids(desk, rng, workbook.labels)),
        lambda: desk.call("undo"),
    ]
    for place in rng.permutation(len(calls)):
        calls[place]()


@pytest.mark.parametrize("part", range(PARTS))
def test_every_command_accepts_random_tables(starts, monkeypatch, part):
    let_letters_be_counted(monkeypatch)
    monkeypatch.setattr("qufur.figures.style.save", without_pictures)
    answers = Counter()
    for turn in range(times(10_000 // (PARTS * TABLES))):
        rng = np.random.default_rng([part, turn])
        model = "experts" if rng.random() < 0.1 else "ridge"
        desk = Desk(starts / f"{turn}", monkeypatch)
        shutil.copytree(starts / model, desk.folder)
        first = drawn_file(desk.folder, rng, "first")
        kept = desk.state.rename(starts / "kept.qufur")
        start, rule = ["--model", model, *options_of(rng)], RULES[rng.integers(len(RULES))]
        if rng.random() < 0.3 and desk.call("learn", first, *start, "--accept-outliers") == 0:
            desk.call("ask", drawn_file(desk.folder, rng, "second"), "-o", desk.out, *rule)
        else:
            desk.call("ask", first, "-o", desk.out, *start, *rule)
        if not desk.state.exists():
            kept.rename(desk.state)
        every_command(desk, rng, f"{part}-{turn}")
        target = ["--target", "delay"] if rng.random() < 0.95 else []
        common = ["--model", model, *BUDGETS[rng.integers(5)], "--seeds", 1, *target, "--json"]
        desk.call("run", first, *common, "--out", desk.folder / "run")
        desk.call("plan", first, *common, "--out", desk.folder / "plan")
        Workbook.load(desk.state)
        answers += desk.answers
        shutil.rmtree(desk.folder)
    print(*(f"{name} {code}: {count}" for (name, code), count in sorted(answers.items())), sep=", ")
