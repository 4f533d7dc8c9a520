"""Tests of output files: formats, and files that are never overwritten."""

import csv
import json
import os
import re
import subprocess
import sys

import numpy as np
import pytest
from tests.cli.test_cli import qufur
from tests.cli.test_state_file import START, asked, filled, write
from tests.tables.test_tables import save

from qufur.tables import ids, labels, read
from qufur.tables.cells import listed
from qufur.tables.writers import table
from qufur.workbook import Workbook

LINKS = {
    "itself": lambda path, tmp_path: path,
    "a symbolic link": lambda path, tmp_path: linked(tmp_path / "link.csv", path, os.symlink),
    "a hard link": lambda path, tmp_path: linked(tmp_path / "link.csv", path, os.link),
    "another spelling": lambda path, tmp_path: path.parent / "." / ".." / path.parent.name / path.name,
}
pytestmark = pytest.mark.skipif(os.name == "nt", reason="links need rights")


def linked(link, path, how):
    how(path, link)
    return link


def everything(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@pytest.mark.parametrize("name", LINKS)
@pytest.mark.parametrize("file", ["s.qufur", "june.csv", "s.qufur.lock"])
@pytest.mark.parametrize("command", ["ask", "predict"])
def test_out_never_overwrites_a_used_file(work, tmp_path, command, file, name):
    asked(work, tmp_path)
    june = write(tmp_path / "june.csv", range(300, 320))
    out = LINKS[name](tmp_path / file, tmp_path)
    before = everything(tmp_path)
    code, text = work(command, june, "-o", out)
    assert (code, len(text.splitlines())) == (2, 1)
    assert "--out of qufur must be another file than" in text
    assert everything(tmp_path) == before


def test_out_never_overwrites_a_new_state_file(work, tmp_path):
    (tmp_path / "link.csv").symlink_to("s.qufur")
    for out in ("s.qufur", "link.csv"):
        may = write(tmp_path / "may.csv", range(30))
        code, text = work("ask", may, "-o", tmp_path / out, "--budget", 5, "--label-range", 0, 9)
        assert (code, "another file than the state file" in text) == (2, True)
        assert not (tmp_path / "s.qufur").exists()


@pytest.mark.parametrize("command", ["ask", "predict"])
def test_out_rejects_pipes_folders_and_unknown_formats(work, tmp_path, command):
    asked(work, tmp_path)
    june, before = write(tmp_path / "june.csv", range(300, 320)), everything(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    for out in (tmp_path / "pipe", tmp_path, tmp_path / "no" / "t.csv", tmp_path / "t.npz"):
        code, text = work(command, june, "-o", out)
        assert (code, len(text.splitlines())) == (2, 1)
        assert "--out of qufur must be a" in text
    assert (tmp_path / "pipe").is_fifo()
    assert everything(tmp_path) == before | {"june.csv": june.read_bytes()}


def test_state_file_rejects_pipes(work, tmp_path):
    os.mkfifo(tmp_path / "s.qufur")
    may, out = write(tmp_path / "may.csv", range(30)), ["-o", tmp_path / "t.csv"]
    for command in (["ask", may, *out], ["predict", may, *out], ["tell", may], ["status"]):
        code, text = work(*command)
        assert (code, re.search(r"--state of qufur( \w+)? must be a", text) is None) == (2, False), text


@pytest.mark.parametrize("command", ["ask", "predict"])
def test_out_with_pending_rows_is_not_overwritten(work, tmp_path, command):
    """Rows may be blank, filled in, corrected after `tell`, or changed by a spreadsheet."""
    out, _ = asked(work, tmp_path, "--horizon", 600)
    june = write(tmp_path / "june.csv", range(300, 320))
    names = Workbook.load(tmp_path / "s.qufur").learner.outstanding
    work("tell", filled(out, dict.fromkeys(names[1:], 30)))
    lines = {
        "blank": f"flight,delay\n{names[0]},\n",
        "filled in": f"flight,delay\n{names[0]},31\n",
        "not for tell": f"flight,note,delay\n{names[1]},é,30\n{names[0]},so,?\n",
        "in Latin": f"flight,note,delay\n{names[1]},é,30\n{names[0]},é,31\n",
        "uneven": f"flight,delay\n{names[1]}\n{names[0]},31\n",
        "corrected": f"flight,delay\n{names[1]},33\n",
    }
    for case, content in lines.items():
        out.write_text(content, encoding="latin-1" if case == "in Latin" else "utf-8")
        before = everything(tmp_path)
        code, text = work(command, june, "-o", out)
        assert (code, len(text.splitlines())) == (2, 1), case
        assert "1 row is pending or changed, such as 'LH" in text
        assert "`qufur tell`" in text
        assert "--force" in text
        assert everything(tmp_path) == before
    assert work(command, june, "-o", out, "--force")[0] == 0


@pytest.mark.parametrize(
    "content", ["", "flight,prediction\nLH0,3\n", "flight,delay\n", "flight,delay\nKL9,3\n", '"\x00', "told"]
)
def test_other_files_are_overwritten(work, tmp_path, content):
    out, _ = asked(work, tmp_path)
    if content == "told":
        work("tell", filled(out))
    else:
        out.write_text(content)
    june = write(tmp_path / "june.csv", range(300, 320))
    assert work("ask", june, "-o", out)[0] == 0
    assert work("predict", june, "-o", tmp_path / "new.csv")[0] == 0
    assert work("predict", june, "-o", tmp_path / "new.csv")[0] == 0


@pytest.mark.parametrize("command", [["run", "--target", "wind", "--skip", "flight"], ["plan"]], ids=str)
@pytest.mark.parametrize("name", LINKS)
def test_out_folder_never_overwrites_the_table(monkeypatch, capsys, tmp_path, command, name):
    folder = tmp_path / "out"
    folder.mkdir()
    table = write(folder / {"run": "run.csv", "plan": "plan-parts.csv"}[command[0]], range(30))
    data = LINKS[name](table, tmp_path)
    before = table.read_bytes()
    code = qufur(monkeypatch, *command, data, "--budget", 5, "--out", folder)
    assert (code, table.read_bytes()) == (2, before)
    assert "--out of qufur must be another file than the table" in capsys.readouterr().err
    assert qufur(monkeypatch, *command, data, "--budget", 5, "--out", table) == 2
    assert "--out of qufur must be a folder, or a new one" in capsys.readouterr().err


def test_out_folder_is_checked_before_any_work(monkeypatch, capsys, tmp_path):
    (tmp_path / "file").touch()
    assert qufur(monkeypatch, "reproduce", "fig1", "--out", tmp_path / "file") == 2
    (tmp_path / "claims.csv").mkdir()
    assert qufur(monkeypatch, "reproduce", "fig1", "--out", tmp_path) == 2
    assert capsys.readouterr().err.count("--out of qufur must be a") == 2


ENDINGS = ["csv", "tsv", "csv.gz", "csv.zst", "jsonl", "ndjson.gz", "parquet", "xlsx"]
ODD = ["007", "12", "=1+1", "'a", "1e5", "a\tb"]


@pytest.mark.parametrize("ending", ENDINGS)
def test_out_has_the_format_of_its_extension(work, tmp_path, ending):
    for package in {"csv.zst": ["zstandard"], "xlsx": ["fastexcel", "xlsxwriter"]}.get(ending, []):
        pytest.importorskip(package)
    data, out = tmp_path / "may.jsonl", tmp_path / f"to_label.{ending}"
    rows = [{"flight": name, "wind": j, "note": "=2"} for j, name in enumerate(ODD)]
    data.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    code, text = work("ask", data, "-o", out, *START[:2], "--budget", 6, *START[4:], "--skip", "note")
    assert code == 0, text
    before = out.read_bytes()
    assert list(next(read(out)).columns) == ["flight", "wind", "note", "prediction", "delay"]
    june = write(tmp_path / "june.csv", range(300, 320))
    code, text = work("predict", june, "-o", out)
    assert (code, "6 rows are pending or changed, such as '007'" in text, out.read_bytes()) == (
        2,
        True,
        before,
    )
    frame = {"flight": listed(next(read(out)).columns["flight"]), "delay": list(range(6))}
    (tmp_path / "labels").mkdir()
    code, text = work("tell", save(tmp_path / "labels", frame, ending))
    assert code == 0, text
    told = Workbook.load(tmp_path / "s.qufur").labels
    assert [(str(name), record.label) for name, record in told.items()] == list(
        zip(ODD, range(6), strict=True)
    )
    code, text = work("predict", data, "-o", tmp_path / f"predicted.{ending}")
    predicted = next(read(tmp_path / f"predicted.{ending}"))
    assert (code, list(predicted.columns)) == (0, ["flight", "prediction", "uncertainty"])
    assert np.isfinite(labels(predicted, "prediction")[1]).all()
    written = (tmp_path / f"predicted.{ending}").read_bytes()
    assert work("predict", data, "-o", tmp_path / f"predicted.{ending}")[0] == 0
    assert (tmp_path / f"predicted.{ending}").read_bytes() == written


def test_missing_writer_extra_raises_before_any_work(work, tmp_path, monkeypatch):
    asked(work, tmp_path)
    june = write(tmp_path / "june.csv", range(300, 320))
    for package, ending in (("zstandard", "csv.zst"), ("xlsxwriter", "xlsx"), ("polars", "parquet")):
        with monkeypatch.context() as patch:
            patch.setitem(sys.modules, package, None)
            code, text = work("predict", june, "-o", tmp_path / f"out.{ending}")
        assert (code, f"needs {package}" in text) == (2, True)


def test_out_saved_by_excel_is_still_checked(work, tmp_path):
    out, _ = asked(work, tmp_path)
    out.write_bytes(out.read_bytes().replace(b",", b";"))
    code, text = work("predict", tmp_path / "may.csv", "-o", out)
    assert (code, "40 rows are pending or changed" in text) == (2, True)


def test_ids_read_as_floats_name_the_same_rows(work, tmp_path):
    data = tmp_path / "t.csv"
    data.write_text("flight,wind\n11,1\n12,2\n013,4\n")
    assert work("ask", data, "-o", tmp_path / "o.csv", *START[:2], "--budget", 3, *START[4:])[0] == 0
    told = tmp_path / "told.csv"
    told.write_text("flight,delay\n12.0,7\n11,8\n013,9\n")
    assert work("tell", told)[0] == 0
    assert list(Workbook.load(tmp_path / "s.qufur").labels) == [12, 11, "013"]


def test_labels_of_other_rows_are_not_learned_for_rows_with_equal_numbers(work, tmp_path):
    """The ids 12 and 12.0 name two rows of the table; a label of one is never learned for the other."""
    table, told = tmp_path / "may.csv", tmp_path / "told.csv"
    names = [name for number in range(10, 30) for name in (f"{number}", f"{number}.0")]
    table.write_text("flight,wind\n" + "".join(f"{name},{len(name) * 7 % 5}\n" for name in names))
    start = ["--budget", 10, "--id", "flight", "--target", "delay"]
    assert work("ask", table, "-o", tmp_path / "out.csv", *start)[0] == 0
    wanted = {str(id) for id in Workbook.load(tmp_path / "s.qufur").learner.outstanding}
    other = next(f"{name}.0" for name in sorted(wanted) if "." not in name and f"{name}.0" not in wanted)
    told.write_text(f"flight,delay\n{other},7\n")
    code, text = work("tell", told)
    assert (code, f"must be outstanding, got '{other}'" in text) == (2, True), text
    told.write_text(f"flight,delay\n{other[:-2]},7\n")
    assert work("tell", told)[0] == 0
    assert set(Workbook.load(tmp_path / "s.qufur").labels) == {int(other[:-2])}


def test_glob_pattern_is_one_table(work, tmp_path):
    weeks = tmp_path / "weeks"
    weeks.mkdir()
    for week in (2, 10):
        write(weeks / f"w{week}.csv", range(week * 10, week * 10 + 20))
    code, text = work("ask", weeks / "*.csv", "-o", weeks / "w10.csv", *START)
    assert (code, f"another file than the table {weeks / 'w10.csv'}" in text) == (2, True)
    code, text = work("ask", weeks / "*.csv", "-o", tmp_path / "out.csv", *START)
    assert (code, " of 40 rows to label: " in text.splitlines()[0]) == (0, True)
    code, text = work("ask", weeks / "w10.csv", "-o", tmp_path / "more.csv")
    assert (code, "table of w10.csv must be one that was not asked about before" in text) == (2, True)
    assert work("predict", weeks / "*.csv", "-o", tmp_path / "predicted.csv")[0] == 0
    with (tmp_path / "predicted.csv").open(newline="") as file:
        names = [row["flight"] for row in csv.DictReader(file)]
    assert names == [f"LH{t}" for week in (2, 10) for t in range(week * 10, week * 10 + 20)]


def test_table_is_read_from_stdin(tmp_path):
    table = write(tmp_path / "may.csv", range(30)).read_bytes().replace(b",", b"\t")
    command = [sys.executable, "-m", "qufur", "ask", "-", "--state", "s.qufur", "-o", "out.jsonl", *START]
    done = subprocess.run(
        list(map(str, command)), input=table, capture_output=True, cwd=tmp_path, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"30 of 30 rows to label" in done.stdout
    assert b"standard-input.csv: tabs between fields" in done.stdout


def test_repeated_id_is_named_with_its_rows(work, tmp_path):
    data = write(tmp_path / "may.csv", [1, 2, 3, 2])
    code, text = work("ask", data, "-o", tmp_path / "out.csv", *START)
    assert (code, "id of may.csv must be unique, got 'LH2' in rows 2 and 4." in text) == (2, True)


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_numeric_ids_are_written_unchanged(tmp_path, ending):
    path = tmp_path / f"t.{ending}"
    with table(path, ["id", "wind"]) as write_rows:
        write_rows([["1.50", "1.50"], ["2e5", None]])
    batch = next(read(path))
    assert ids(batch, "id") == ["1.50", "2e5"]
    assert labels(batch, "wind", skip_blank=True)[1].tolist() == [1.5]
    if ending == "parquet":
        assert batch.columns["wind"].dtype == float
