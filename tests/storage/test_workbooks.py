"""State files of `qufur ask` from older versions load and give the recorded results.

`python tests/storage/test_workbooks.py` saves the files of this version and leaves older ones unchanged.
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
from qufur.workbook import Workbook
from qufur.workbook.workbook import VERSION

FOLDER = Path(__file__).parent / "workbooks"
ANSWERS = FOLDER / "answers.json"
FIRST, LATER = range(40), range(40, 60)
NAMED = ["--id", "flight"]
LONGER = ["--horizon", "60"]
CASES = {
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
    "per-day": (".csv", [*NAMED, "--per", "day", "5"]),
    "numbered-all-outstanding": (".npz", ["--budget", "12", *LONGER]),
}
RNG = np.random.default_rng(7)
WIND, GATE, SKY = RNG.normal(size=60).round(3), RNG.integers(1, 4, 60), RNG.integers(0, 3, 60)
RADAR = RNG.normal(size=(60, 2)).round(3)
DELAY = (30 + 5 * WIND + 8 * SKY + GATE).round(3)


def flight_rows(name, rows):
    """Return rows as dicts; with imputation some cells are missing."""
    sky = ("clear", "fog", "storm")
    flights = [
        {"flight": f"LH{t}", "wind": WIND[t], "gate": int(GATE[t]), "sky": sky[SKY[t]]}
        | ({"radar": RADAR[t].tolist()} if "embedding" in name else {})
        | ({"day": f"2024-01-{1 + t // 12:02}"} if "per-day" in name else {})
        for t in rows
    ]
    if "impute" in name:
        for t in range(0, len(flights), 7):
            flights[t]["wind"], flights[-1 - t]["sky"] = None, None
    return flights


def write(folder, name, rows):
    """Write a table in the format of the case and return its path."""
    ending, flights = CASES[name][0], flight_rows(name, rows)
    path = folder / f"{rows.start}{ending}"
    if ending == ".npz":
        np.savez(path, wind=WIND[rows], gate=GATE[rows])
    elif ending == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in flights))
    else:
        lines = [
            list(flights[0]),
            *(["" if cell is None else cell for cell in row.values()] for row in flights),
        ]
        text = "".join(",".join(map(str, line)) + "\n" for line in lines)
        path.write_bytes(gzip.compress(text.encode()) if ending == ".csv.gz" else text.encode())
    return path


def qufur(folder, *arguments):
    result = CliRunner().invoke(app, [*map(str, arguments), "--state", str(folder / "s.qufur")])
    assert result.exit_code == 0, (arguments, result.output, result.exception)


def tell(folder, name, ids, *options, shift=0.0):
    """Run `qufur tell` with the delays of flights, or of rows by their numbers."""
    column = "flight" if "--id" in CASES[name][1] else "row"
    rows = {id: int(str(id).removeprefix("LH")) - (column == "row") for id in ids}
    path = folder / "labels.csv"
    path.write_text(f"{column},delay\n" + "".join(f"{id},{DELAY[t] + shift}\n" for id, t in rows.items()))
    qufur(folder, "tell", path, *options)


def make(folder, name):
    """Write a state file with most labels received and some outstanding."""
    first = ["-o", folder / "wanted.csv", "--target", "delay", "--label-range", 0, 60, "--model", "ridge"]
    first += CASES[name][1]
    qufur(folder, "ask", write(folder, name, FIRST), *first)
    outstanding = Workbook.load(folder / "s.qufur").learner.outstanding
    if "outstanding" not in name:
        tell(folder, name, outstanding[:-3])
    if name == "replaced":
        tell(folder, name, outstanding[:2], "--replace", shift=-3.0)


def continued(folder, name):
    """Return the next queries and predictions, after outstanding and new labels."""
    outstanding = list(Workbook.load(folder / "s.qufur").learner.outstanding)
    tell(folder, name, outstanding[1:])
    later, out = write(folder, name, LATER), folder / "wanted.csv"
    qufur(folder, "ask", later, "-o", out, "--force")
    with out.open(newline="") as file:
        wanted = list(csv.reader(file))[1:]
    workbook = Workbook.load(folder / "s.qufur")
    tell(folder, name, [id for id in workbook.learner.outstanding if id not in outstanding])
    if "replaced" in name:
        tell(folder, name, list(workbook.labels)[:3], "--replace", shift=1.0)
    qufur(folder, "predict", later, "-o", out, "--force")
    with out.open(newline="") as file:
        predicted = list(csv.reader(file))[1:]
    workbook = Workbook.load(folder / "s.qufur")
    weights = workbook.learner.predict(np.eye(len(workbook.encoding.names))).tolist()
    counts = {"spent": workbook.learner.spent, "left": workbook.learner.left, "told": list(workbook.labels)}
    return {
        "outstanding": outstanding,
        "wanted": wanted,
        "predicted": predicted,
        "weights": weights,
        **counts,
    }


@pytest.mark.parametrize("file", sorted(FOLDER.glob("[1-9]*.gz")), ids=lambda file: file.name)
def test_workbooks_of_older_versions_load_and_continue_as_recorded(tmp_path, file):
    (tmp_path / "s.qufur").write_bytes(gzip.decompress(file.read_bytes()))
    name = file.name.removesuffix(".qufur.gz")
    results, recorded = continued(tmp_path, name.partition("-")[2]), json.loads(ANSWERS.read_text())[name]
    weights = results.pop("weights"), recorded.pop("weights")
    assert results == recorded
    np.testing.assert_allclose(*weights, rtol=1e-9, atol=1e-9)  # rounding differs between processors


def test_stored_workbooks_cover_every_case_and_are_small():
    sizes = {path.name: path.stat().st_size for path in FOLDER.glob("*.gz")}
    assert {f"{VERSION}-{name}.qufur.gz" for name in CASES} <= set(sizes)
    assert max(sizes.values()) < 10_000


def save():
    """Save the workbooks of this version and their next results."""
    recorded = json.loads(ANSWERS.read_text()) if ANSWERS.exists() else {}
    for name in CASES:
        with tempfile.TemporaryDirectory() as temporary:
            folder, saved = Path(temporary), f"{VERSION}-{name}"
            make(folder, name)
            content = (folder / "s.qufur").read_bytes()
            (FOLDER / f"{saved}.qufur.gz").write_bytes(gzip.compress(content, mtime=0))
            recorded[saved] = continued(folder, name)
    lines = (f"  {json.dumps(name)}: {json.dumps(answers)}" for name, answers in sorted(recorded.items()))
    ANSWERS.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    save()
