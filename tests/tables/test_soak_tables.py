"""Arbitrary ids, column names and notes: `qufur tell` reads the files that `qufur ask` writes."""

import csv
import json
import tempfile
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st
from tests.cli.test_cli import qufur
from tests.soak import SOAK, times

from qufur.workbook import Workbook


def as_json_lines(rows, names):
    return "\n".join(json.dumps(dict(zip(names, row, strict=True))) for row in rows).encode()


def run(monkeypatch, capsys, *arguments):
    """Run a command and return its exit code; an error must be one line."""
    code = qufur(monkeypatch, *arguments)
    text = capsys.readouterr()
    assert code in (0, 2)
    assert code == 0 or (len(text.err.splitlines()) == 1 and text.err.startswith("qufur: ")), text.err
    return code


WORDS = st.one_of(st.text(max_size=6), st.text("'=+-@\t\r\n\",; 017ax.é\ufeff", max_size=5))
IDS = st.one_of(
    st.integers(),
    st.integers(-(2**65), 2**65),
    st.integers(-(2**65), 2**65).map(str),
    st.sampled_from(
        ["007", "7", "-7", "+7", "1e5", "1.0", "-0", 1e5, 1.0, 1e22, True, "=1+1", "'=1+1", "'a"]
    ),
    WORDS,
)
NOTES = st.one_of(
    WORDS,
    st.just("word " * 30_000),
    st.sampled_from(["=cmd|' /C calc'!A0", "\ud800", "\0", ["a"], {"a": 1}, None, -1.5, True]),
)
TITLES = st.one_of(
    st.sampled_from(
        ["id", " id", "row", "row_", "prediction", "prediction_", "label", "=1", "'=1", "\ufeff="]
    ),
    WORDS,
)


def as_text(cell):
    """Return the text of an id in a CSV file."""
    return (
        str(cell).lower() if isinstance(cell, bool) else str(int(cell) if isinstance(cell, float) else cell)
    )


def write_rows(path, rows, names):
    """Write a table in the format of its suffix; a Parquet column has a single type."""
    if path.suffix == ".jsonl":
        path.write_bytes(as_json_lines(rows, names))
        return
    if path.suffix == ".parquet":
        columns = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
        pl.DataFrame(columns).write_parquet(path)
        return
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([names, *rows])


@st.composite
def valid_tables(draw):
    """Draw a valid table: suffix, rows, column names, whether ids are used, id column and target."""
    ending = draw(st.sampled_from([".jsonl", ".csv", ".parquet"]))
    id, note, target = (draw(TITLES) if ending == ".jsonl" else draw(TITLES).strip() for _ in range(3))
    seen = [name.replace("\ufeff", "").strip() for name in (id, target, "x")]
    assume(len({id, note, "x"}) == 3 and id and target and len(set(seen)) == 3)
    names = draw(st.lists(IDS, min_size=1, max_size=4, unique_by=lambda cell: as_text(cell).strip()))
    assume({"", "nan", "NaN", "NaT"}.isdisjoint(as_text(name).strip() for name in names))
    assume("\0" not in "".join(map(as_text, names)))
    notes = draw(st.lists(NOTES, min_size=len(names), max_size=len(names)))
    if ending != ".jsonl":
        notes = [str(cell).encode("utf-8", "replace").decode() for cell in notes]
        whole = ending == ".parquet" and all(type(name) is int and abs(name) < 2**63 for name in names)
        names = names if whole else [as_text(name) for name in names]
    rows = [[index, name, note] for index, (name, note) in enumerate(zip(names, notes, strict=True))]
    return ending, rows, ["x", id, note], draw(st.booleans()), id, target


@settings(
    max_examples=times(10_000) if SOAK else 40,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(valid_tables())
@example((".jsonl", [[0, 0, ";;,"], [1, 1, ";,;"]], ["x", "id", "row_"], False, "id", ";,;"))
def test_tell_reads_the_output_of_ask_for_arbitrary_ids_and_names(monkeypatch, capsys, table):
    ending, rows, names, with_ids, id, target = table
    note = names[2]
    with tempfile.TemporaryDirectory() as name:
        state, out = Path(name, "s.qufur"), Path(name, "to_label.csv")
        data = Path(name, f"table{ending}")
        write_rows(data, rows, names)
        options = [f"--target={target}", "--budget", "100%", "--label-range", 0, 3]
        options += [] if note == target else [f"--skip={note}"]
        options += [f"--id={id}" if with_ids else f"--skip={id}"]
        assert run(monkeypatch, capsys, "ask", data, "--state", state, "-o", out, *options) == 0
        with out.open(newline="", encoding="utf-8") as file:
            csv.field_size_limit(10**6)
            head, *queried = csv.reader(file)
        assert len(queried) == len(rows)
        for cell in (cell for line in [head, *queried] for cell in line[:-1]):
            assert cell[:1] not in [*"=+-@\t\r"] or isinstance(float(cell), float)
        filled = [[*line[:-1], line[head.index("x")]] for line in queried]
        with out.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([head, *reversed(filled)])
        assert run(monkeypatch, capsys, "tell", out, "--state", state) == 0
        labels = Workbook.load(state).labels
    assert {str(name): record.label for name, record in labels.items()} == {
        as_text(cell).strip() if with_ids else str(index + 1): index for index, cell, _ in rows
    }


@pytest.mark.parametrize("content", [b"", b"\n", b"a\n", b"a,a\n1,2\n", b"a\n\xff\n"])
def test_ask_rejects_malformed_csv(monkeypatch, capsys, tmp_path, content):
    path = tmp_path / "a.csv"
    path.write_bytes(content)
    options = ["--budget", "3", "--label-range", -3, 3]
    command = ["ask", path, "--state", tmp_path / "s", "-o", tmp_path / "o", *options]
    assert run(monkeypatch, capsys, *command) == 2
