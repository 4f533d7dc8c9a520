"""Every command accepts every table and encodes it alike, or raises the same error."""

import json
import math
from importlib import import_module

import numpy as np
import pytest
from sklearn.dummy import DummyRegressor
from tests.cli.test_cli import qufur
from tests.letters import let_letters_be_counted
from tests.soak import spread
from tests.tables.test_tables import contents, packed, save, save_parts

from qufur import Refit
from qufur._internal.counts import counted
from qufur.tables import read
from qufur.workbook import Workbook

RNG = np.random.default_rng(3)
N = 24
WIND, RAIN, DELAY = (RNG.normal(size=N).round(3).tolist() for _ in range(3))
SKY = RNG.choice(["fog", "clear"], N).tolist()
FORMATS = ["csv", "csv.gz", "jsonl", "parquet", "npy", "npz"]
LIKE_CSV = ["german.csv", "tsv", "csv.zst", "xlsx", "parts"]
FORMATS += LIKE_CSV
KINDS = {  # columns beside the labels, options, inputs
    "numbers": ({"x0": WIND, "x1": RAIN}, [], 2),
    "missing numbers": ({"x0": [None, *WIND[1:]], "x1": RAIN}, ["--impute"], 3),
    "codes": ({"x0": RNG.permutation([1, 2, 3] * (N // 3)).tolist()}, ["--categorical", "x0"], 3),
    "categories": ({"wind": WIND, "sky": SKY}, [], 3),
    "missing categories": ({"wind": WIND, "sky": [None, *SKY[1:]]}, ["--impute"], 4),
    "truths": ({"wind": WIND, "late": [sky == "fog" for sky in SKY]}, [], 3),
    "text": (
        {"wind": WIND, "note": [f"{sky} {wind}" for sky, wind in zip(SKY, WIND, strict=True)]},
        ["--text", "note", "--text-model", "letters-gf"],
        3,
    ),
    "embeddings": ({"wind": WIND, "X": RNG.normal(size=(N, 2)).tolist()}, ["--embedding", "X"], 3),
    "words": (
        {"price": [f"€ {j}.5" for j in range(N)], "day": [f"2024-01-{j + 1:02}" for j in range(N)]},
        [],
        4,
    ),
    "skipped": ({"wind": WIND, "day": [f"day {j}" for j in range(N)]}, ["--skip", "day"], 1),
}
WRITTEN = {"npy": "csv", "npz": "ndjson.zst", "parts": "jsonl.gz", "german.csv": "tsv.gz"}
GERMAN = "table.german.csv: ';' between fields, and 1,5 is a number; --sep and --decimal override this."
NOTES = {
    "words": [
        "Column 'price' is read as numbers: '€ 0.5' is 0.5.",
        "Column 'day' is read as yyyy-mm-dd, such as '2024-01-01': weekday, month, trend. "
        "--categorical keeps its text.",
    ]
}
NUMBERS = {"numbers", "missing numbers", "codes"}
SOME = {"npy": NUMBERS} | {ending: {"categories", "missing numbers"} for ending in LIKE_CSV}
CASES = {
    (row, column): (ending, kind)
    for row, ending in enumerate(FORMATS)
    for column, kind in enumerate(sorted(SOME.get(ending, KINDS)))
}


def saved(folder, table, ending, target="delay"):
    """Write a table with a column of labels; return its path and the name of that column."""
    folder.mkdir(exist_ok=True)
    if ending == "parts":
        return save_parts(folder, table | {target: DELAY}, "parquet"), target
    if ending != "npy":
        return save(folder, table | {target: DELAY}, ending), target
    columns = [[math.nan if cell is None else cell for cell in column] for column in (*table.values(), DELAY)]
    np.save(folder / "table.npy", np.array(columns).T)
    return folder / "table.npy", f"x{len(table)}"


@pytest.fixture
def command(monkeypatch, capsys, tmp_path):
    """Return a function that runs a command and returns its exit code with its JSON or error."""
    let_letters_be_counted(monkeypatch)
    # Figures are slow, and other tests draw them.
    monkeypatch.setattr(import_module("qufur.cli.plan"), "_write", lambda *_: [])
    monkeypatch.setattr("qufur.cli._compare.Comparison.write", lambda *_: [])
    monkeypatch.setattr("qufur.cli._compare.budget_grid", lambda *_: ({}, {}))
    monkeypatch.setattr("qufur.cli._compare.Decision.of", lambda *_: None)
    # Boosting is slow too, and other tests run it.
    monkeypatch.setattr("qufur.cli.run.boosting", lambda dim, _: Refit(DummyRegressor(), dim=dim))
    outputs = {"run": ["--out", tmp_path / "out"], "plan": ["--out", tmp_path / "out", "--seeds", 1]}
    monkeypatch.setattr("qufur.models.ensemble.experts.TREES", 3)

    def run(name, *arguments):
        extra = outputs.get(name, ["--state", tmp_path / "s.qufur"])
        code = qufur(
            monkeypatch, name, *arguments, *extra, "--json", *(["--seeds", 1] if name == "run" else [])
        )
        text = capsys.readouterr()
        assert (code == 0) == (not text.err), text.err
        return code, text.err if code else json.loads(text.out)

    return run


def start(out):
    return ["--budget", 5, "--label-range", -3, 3, "-o", out]


@pytest.mark.parametrize(("ending", "kind"), spread(CASES, 3))
def test_commands_accept_all_formats_and_column_types(command, tmp_path, ending, kind):
    columns, options, dim = KINDS[kind]
    data, target = saved(tmp_path / "data", columns, ending)
    labelled = ["--target", target, *options]
    stream = f"{data.name}: {N} examples, {counted(dim, 'feature')}"
    code, ran = command("run", data, *labelled)
    assert (code, ran["stream"]) == (0, stream)
    code, planned = command("plan", data, *labelled, "--budget", 5)
    assert (code, planned["stream"]) == (0, stream)
    out = tmp_path / f"out.{WRITTEN.get(ending, ending)}"
    code, asked = command("ask", data, *labelled, *start(out))
    assert (code, asked["rows"]) == (0, N)
    workbook = Workbook.load(tmp_path / "s.qufur")
    assert workbook.encoding.dim == dim
    written = contents(read(out))
    assert written["row"] == list(workbook.learner.outstanding)
    assert written[target] == [None] * asked["wanted"]
    labels = {"row": written["row"], target: DELAY[: asked["wanted"]]}
    if ending != "npy":  # columns of a matrix have no names
        (tmp_path / "labels").mkdir()
        save_labels = save_parts if ending == "parts" else save
        code, learned = command(
            "tell", save_labels(tmp_path / "labels", labels, ending.replace("parts", "parquet"))
        )
        assert (code, learned["new"]) == (0, asked["wanted"])
    code, predicted = command("predict", data, "-o", out, "--force")
    assert (code, predicted["rows"]) == (0, N)
    written = contents(read(out))
    assert written["row"] == list(range(1, N + 1))
    assert np.isfinite(written["prediction"]).all()
    assert predicted["notes"] == []  # the workbook has the dialect of the first table
    dialect_notes = [GERMAN] if ending == "german.csv" else []
    for first in (ran, planned, asked):
        assert first["notes"] == [*dialect_notes, *NOTES.get(kind, [])]


BAD = {  # columns, options, the beginning of the error
    "blank": ({"x0": WIND, "x1": [*RAIN[:6], None, *RAIN[7:]]}, [], "column 'x1' of {file} must be without"),
    "too large": ({"x0": [*WIND[1:], 1e60]}, [], "column 'x0' of {file} must be numbers below 1e+50 in size"),
    "infinite": ({"x0": [*WIND[1:], math.inf]}, ["--impute"], "column 'x0' of {file} must be finite numbers"),
    "only blanks": ({"x0": [None] * N, "x1": RAIN}, ["--impute"], "column 'x0' of {file} must be of some"),
    "unknown": ({"x0": WIND}, ["--skip", "x9"], "column 'x9' of {file} must be one of 'x0', "),
    "two types": ({"x0": WIND}, ["--skip", "x0", "--categorical", "x0"], "column 'x0' of Encoding must be"),
    "nothing left": ({"x0": WIND}, ["--skip", "x0"], "columns of Encoding must be at least one that is not"),
    "stray": (
        {"day": [*map(str, range(N - 1)), "no"]},
        [],
        "column 'day' of {file} must be numbers throughout, got 'no' in row 24.",
    ),
    "no lists": ({"sky": SKY}, ["--embedding", "sky"], "column 'sky' of {file} must be lists of finite"),
}
# In text files inf is a category; a key that no JSON object has is not a column.
IN = {"infinite": ["parquet", "npy", "npz"]}
IN |= {"only blanks": [ending for ending in FORMATS if ending != "jsonl"]}
IN |= {bad: [ending for ending in FORMATS if ending != "npy"] for bad in ("stray", "no lists")}
REFUSED = [(ending, bad) for bad in BAD for ending in IN.get(bad, FORMATS) if ending not in LIKE_CSV]


def common_error(command, tmp_path, data, target, options):
    """Run all commands and return the error that they have in common."""
    errors = {
        command("run", data, "--target", target, *options),
        command("plan", data, "--target", target, *options, "--budget", 5),
        command("ask", data, "--target", target, *options, *start(tmp_path / "out.csv")),
    }
    assert not (tmp_path / "s.qufur").exists()
    ((code, error),) = errors
    assert (code, error.count("\n")) == (2, 1)
    return error


@pytest.mark.parametrize(("ending", "bad"), REFUSED)
def test_commands_raise_the_same_error_for_invalid_columns(command, monkeypatch, tmp_path, ending, bad):
    monkeypatch.setattr("qufur.tables.inference.MOST_CATEGORIES", N - 1)
    columns, options, message = BAD[bad]
    data, target = saved(tmp_path / "data", columns, ending)
    error = common_error(command, tmp_path, data, target, options)
    assert error.startswith(f"qufur: {message.format(file=data.name)}")


@pytest.mark.parametrize("ending", sorted({*FORMATS} - {"parts"}))
@pytest.mark.parametrize(("content", "message"), [(b"", "at least one row"), (b"\xff\xfe,\n{", "")])
def test_commands_raise_the_same_error_for_damaged_files(command, tmp_path, ending, content, message):
    data = tmp_path / f"table.{ending}"
    data.write_bytes(packed(content, ending) if content else content)
    assert message in common_error(command, tmp_path, data, "delay", [])
    missing = tmp_path / f"missing.{ending}"
    assert "must be an existing file" in common_error(command, tmp_path, missing, "delay", [])


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet", "npz"])
def test_ask_and_predict_raise_the_same_error_for_an_invalid_later_table(command, tmp_path, ending):
    data, _ = saved(tmp_path / "data", {"wind": WIND, "sky": SKY}, ending)
    assert command("ask", data, "--target", "delay", *start(tmp_path / "out.csv"))[0] == 0
    later, _ = saved(tmp_path / "later", {"wind": [None, *WIND[1:]], "sky": SKY}, ending)
    errors = {command(name, later, "-o", tmp_path / "more.csv", "--force") for name in ("ask", "predict")}
    ((code, error),) = errors
    assert (code, error.count("\n")) == (2, 1)
    assert f"column 'wind' of table.{ending} must be finite numbers, got an empty cell in row 1." in error


def test_run_results_are_equal_in_all_formats(command, tmp_path):
    """The results of a run do not depend on the format of its table."""
    columns, options, _ = KINDS["categories"]
    results = []
    for ending in ("csv", "german.csv", "jsonl", "parquet", "npz", "parts"):
        data, target = saved(tmp_path / ending, columns, ending)
        results.append(command("run", data, "--target", target, *options)[1]["runs"])
    assert all(runs == results[0] for runs in results)
    assert results[0]
