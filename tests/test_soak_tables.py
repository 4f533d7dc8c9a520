"""Tables of any content through `qufur ask` and `tell`: an answer or one line, and never half a change."""

import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from qufur.workbook import Workbook

from .letters import let_letters_be_counted
from .soak import times
from .test_cli import qufur

CELLS = st.one_of(
    st.sampled_from(
        ["", "1", "-2.5", "1e308", "-1e308", "1e999", "nan", "inf", "0x10", "1_000", "LH7", "007"]
    ),
    st.sampled_from(["true", "[1, 2]", "[1]", '"', ",", "\n", "é", "\x00", " 3 ", "2021-01-01", "=1+1"]),
    st.floats(-10, 10).map(str),
    st.text(max_size=4),
)
BUDGETS = [["--budget", budget] for budget in ("1", "3", "50%", "100%")]
BUDGETS += [["--alpha", 2.0], ["--alpha", 2.0, "--budget", 1], ["--fixed-budget", 9]]
NAMES = st.sampled_from(["id", "wind", "sky", "label", "row", "prediction", "X", "", "é"])


def as_csv(rows, names):
    return "\n".join(",".join(map(str, row)) for row in [names, *rows]).encode("utf-8", "replace")


def as_json_lines(rows, names):
    return "\n".join(json.dumps(dict(zip(names, row, strict=True))) for row in rows).encode()


@st.composite
def tables(draw):
    """Return the ending and the bytes of a file: a table, or what is left of one, or anything."""
    names = draw(st.lists(NAMES, min_size=1, max_size=4))
    rows = draw(st.lists(st.lists(CELLS, min_size=len(names), max_size=len(names)), max_size=6))
    ending, write = draw(st.sampled_from([(".csv", as_csv), (".jsonl", as_json_lines)]))
    content = write(rows, names)
    damage = draw(st.sampled_from(["none", "none", "none", "cut", "bytes", "ending"]))
    if damage == "cut":
        content = content[: draw(st.integers(0, len(content)))]
    if damage == "bytes":
        content += draw(st.binary(max_size=8))
    if damage == "ending":
        ending = draw(st.sampled_from([".parquet", ".npz", ".csv.gz", ".txt"]))
    return ending, content


def run(monkeypatch, capsys, *arguments):
    """Return the exit code; an error is one line."""
    code = qufur(monkeypatch, *arguments)
    text = capsys.readouterr()
    assert code in (0, 2)
    assert code == 0 or (len(text.err.splitlines()) == 1 and text.err.startswith("qufur: ")), text.err
    return code


@settings(
    max_examples=times(10_000),
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(st.data(), tables(), tables(), tables())
def test_any_table(monkeypatch, capsys, data, first, second, labels):
    let_letters_be_counted(monkeypatch)
    options = [*data.draw(st.sampled_from(BUDGETS)), "--label-range", -3, 3]
    if data.draw(st.booleans()):
        options += ["--text", data.draw(NAMES), "--text-model", "letters-1a"]
    for column in ("--id", "--target", "--embedding", "--categorical"):
        if data.draw(st.booleans()):
            options += [column, data.draw(NAMES)]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        state, out = folder / "s.qufur", folder / "out.csv"
        files = [folder / f"{place}{ending}" for place, (ending, _) in enumerate((first, second, labels))]
        for file, (_, content) in zip(files, (first, second, labels), strict=True):
            file.write_bytes(content)
        code = run(monkeypatch, capsys, "ask", files[0], "--state", state, "-o", out, *options)
        assert (code == 0) == state.exists() == out.exists()
        if code == 2:
            return
        for command in (["ask", files[1], "-o", out], ["tell", files[2]], ["tell", out]):
            before = state.read_bytes()
            if run(monkeypatch, capsys, *command, "--state", state):
                assert state.read_bytes() == before
            Workbook.load(state)


def test_some_of_these_tables_are_sound(monkeypatch, capsys, tmp_path):
    """Otherwise the test above would show little."""
    path = tmp_path / "a.csv"
    path.write_bytes(as_csv([["1", "LH7"], ["-2.5", "é"]], ["wind", "sky"]))
    options = ["--budget", "3", "--label-range", -3, 3]
    command = ["ask", path, "--state", tmp_path / "s", "-o", tmp_path / "o", *options]
    assert run(monkeypatch, capsys, *command) == 0


@pytest.mark.parametrize("content", [b"", b"\n", b"a\n", b"a,a\n1,2\n", b"a\n\xff\n"])
def test_tables_without_sense(monkeypatch, capsys, tmp_path, content):
    path = tmp_path / "a.csv"
    path.write_bytes(content)
    options = ["--budget", "3", "--label-range", -3, 3]
    command = ["ask", path, "--state", tmp_path / "s", "-o", tmp_path / "o", *options]
    assert run(monkeypatch, capsys, *command) == 2
