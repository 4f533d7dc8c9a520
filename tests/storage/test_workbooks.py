"""State files of `qufur ask` that earlier versions saved still load, and go on as they did then.

`python tests/storage/test_workbooks.py` saves those of the present version; older ones stay as they are.
"""

import csv
import gzip
import json
import tempfile
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from qufur.cli import app
from qufur.workbook import VERSION, Workbook

FOLDER = Path(__file__).parent / "workbooks"
ANSWERS = FOLDER / "answers.json"
FIRST, LATER = range(40), range(40, 60)
NAMED = ["--id", "flight"]
LONGER = ["--horizon", "60"]
KINDS = {
    "csv-paced": (".csv", [*NAMED, "--budget", "14", *LONGER]),
    "gzip-rate": (".csv.gz", [*NAMED, "--budget", "30%"]),
    "json-lines-embedding": (
        ".jsonl",
        [*NAMED, "--budget", "16", *LONGER, "--embedding", "radar", "--seed", "4"],
    ),
    "impute": (".csv", [*NAMED, "--budget", "16", *LONGER, "--impute"]),
    "alpha": (".csv", [*NAMED, "--alpha", "2", "--seed", "1"]),
    "alpha-capped": (".jsonl", [*NAMED, "--alpha", "0.5", "--budget", "25", "--categorical", "gate"]),
    "fixed-budget": (".csv", [*NAMED, "--fixed-budget", "20", *LONGER]),
    "at-random": (".csv.gz", [*NAMED, "--budget", "15", *LONGER, "--at-random", "--seed", "2"]),
    "replaced": (".jsonl", [*NAMED, "--budget", "18", *LONGER, "--skip", "sky"]),
    "per-day": (".csv", [*NAMED, "--per", "day", "5", "--model", "ridge"]),
    "numbered-all-outstanding": (".npz", ["--budget", "12", *LONGER]),
}
RNG = np.random.default_rng(7)
WIND, GATE, SKY = RNG.normal(size=60).round(3), RNG.integers(1, 4, 60), RNG.integers(0, 3, 60)
RADAR = RNG.normal(size=(60, 2)).round(3)
DELAY = (30 + 5 * WIND + 8 * SKY + GATE).round(3)


def flights(name, rows):
    """Return rows as dicts; where cells may be missing, some are."""
    sky = ("clear", "fog", "storm")
    found = [
        {"flight": f"LH{t}", "wind": WIND[t], "gate": int(GATE[t]), "sky": sky[SKY[t]]}
        | ({"radar": RADAR[t].tolist()} if "embedding" in name else {})
        | ({"day": f"2024-01-{1 + t // 12:02}"} if "per-day" in name else {})
        for t in rows
    ]
    for t in range(0, len(found) * ("impute" in name), 7):
        found[t]["wind"], found[-1 - t]["sky"] = None, None
    return found


def write(folder, name, rows):
    """Write a table as a user would, and return its path."""
    ending, found = KINDS[name][0], flights(name, rows)
    path = folder / f"{rows.start}{ending}"
    if ending == ".npz":
        np.savez(path, wind=WIND[rows], gate=GATE[rows])
    elif ending == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in found))
    else:
        lines = [list(found[0]), *(["" if cell is None else cell for cell in row.values()] for row in found)]
        text = "".join(",".join(map(str, line)) + "\n" for line in lines)
        path.write_bytes(gzip.compress(text.encode()) if ending == ".csv.gz" else text.encode())
    return path


def qufur(folder, *arguments):
    done = CliRunner().invoke(app, [*map(str, arguments), "--state", str(folder / "s.qufur")])
    assert done.exit_code == 0, (arguments, done.output, done.exception)


def tell(folder, name, ids, *options, shift=0.0):
    """Tell the delays of flights, or of rows by their numbers."""
    column = "flight" if "--id" in KINDS[name][1] else "row"
    place = {id: int(str(id).removeprefix("LH")) - (column == "row") for id in ids}
    path = folder / "labels.csv"
    path.write_text(f"{column},delay\n" + "".join(f"{id},{DELAY[t] + shift}\n" for id, t in place.items()))
    qufur(folder, "tell", path, *options)


def make(folder, name):
    """Leave a state file in the middle of its work, most labels told and some outstanding."""
    first = ["-o", folder / "wanted.csv", "--target", "delay", "--label-range", 0, 60, *KINDS[name][1]]
    qufur(folder, "ask", write(folder, name, FIRST), *first)
    outstanding = Workbook.load(folder / "s.qufur").learner.outstanding
    if "outstanding" not in name:
        tell(folder, name, outstanding[:-3])
    if name == "replaced":
        tell(folder, name, outstanding[:2], "--replace", shift=-3.0)


def gone_on(folder, name):
    """Return what is asked for and predicted next, with the labels that were outstanding and new ones."""
    outstanding = list(Workbook.load(folder / "s.qufur").learner.outstanding)
    tell(folder, name, outstanding[1:])
    later, out = write(folder, name, LATER), folder / "wanted.csv"
    qufur(folder, "ask", later, "-o", out, "--force")
    with out.open(newline="") as file:
        wanted = list(csv.reader(file))[1:]
    book = Workbook.load(folder / "s.qufur")
    tell(folder, name, [id for id in book.learner.outstanding if id not in outstanding])
    if "replaced" in name:
        tell(folder, name, list(book.told)[:3], "--replace", shift=1.0)
    qufur(folder, "predict", later, "-o", out, "--force")
    with out.open(newline="") as file:
        predicted = list(csv.reader(file))[1:]
    book = Workbook.load(folder / "s.qufur")
    weights = book.learner.predict(np.eye(len(book.encoding.names))).tolist()
    counts = {"spent": book.learner.spent, "left": book.learner.left, "told": list(book.told)}
    return {
        "outstanding": outstanding,
        "wanted": wanted,
        "predicted": predicted,
        "weights": weights,
        **counts,
    }


@pytest.mark.parametrize("file", sorted(FOLDER.glob("[1-9]*.gz")), ids=lambda file: file.name)
def test_saved_workbooks_load_and_go_on(tmp_path, file):
    (tmp_path / "s.qufur").write_bytes(gzip.decompress(file.read_bytes()))
    name = file.name.removesuffix(".qufur.gz")
    found, recorded = gone_on(tmp_path, name.partition("-")[2]), json.loads(ANSWERS.read_text())[name]
    weights = found.pop("weights"), recorded.pop("weights")
    assert found == recorded
    np.testing.assert_allclose(*weights, rtol=1e-9, atol=1e-9)  # as rounding differs between processors


def test_there_is_a_small_workbook_of_every_kind():
    sizes = {path.name: path.stat().st_size for path in FOLDER.glob("*.gz")}
    assert {f"{VERSION}-{name}.qufur.gz" for name in KINDS} <= set(sizes)
    assert max(sizes.values()) < 10_000


def save():
    """Save the workbooks of this version and how they go on."""
    recorded = json.loads(ANSWERS.read_text()) if ANSWERS.exists() else {}
    for name in KINDS:
        with tempfile.TemporaryDirectory() as temporary:
            folder, saved = Path(temporary), f"{VERSION}-{name}"
            make(folder, name)
            content = (folder / "s.qufur").read_bytes()
            (FOLDER / f"{saved}.qufur.gz").write_bytes(gzip.compress(content, mtime=0))
            recorded[saved] = gone_on(folder, name)
    lines = (f"  {json.dumps(name)}: {json.dumps(answers)}" for name, answers in sorted(recorded.items()))
    ANSWERS.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    save()
