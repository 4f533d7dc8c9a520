"""Tests of `qufur outstanding`: pending rows as `qufur ask` wrote them."""

import csv
import gzip
import json
import time
from pathlib import Path

import numpy as np
import pytest
from tests.cli.test_state_file import LINEAR, asked, filled

from qufur.pending import Pending, restore_pending, save_pending
from qufur.workbook import Workbook
from qufur.workbook.pending_rows import PendingRows

WORKBOOKS = Path(__file__).parents[1] / "storage" / "workbooks"


def rows(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_pending_rows_are_written_again(work, tmp_path):
    out, _ = asked(work, tmp_path)
    again, first = tmp_path / "again.csv", out.read_bytes()
    code, text = work("outstanding", "-o", again)
    assert code == 0
    assert text == f"40 labels are outstanding: written to {again}.\n"
    assert again.read_bytes() == first
    wanted = rows(out)
    work("tell", filled(out, {row["flight"]: 30.0 for row in wanted[:25]}))
    found = json.loads(work("outstanding", "-o", again, "--json")[1])
    assert found["rows"] == 15
    assert 0 <= time.time() - found["oldest"] < 600
    assert rows(again) == wanted[25:]


def test_pending_rows_of_all_tables_and_formats_are_written_together(work, tmp_path):
    start = [*LINEAR, "--budget", "100%", "--label-range", 0, 1, "--id", "id", "--target", "y"]
    (tmp_path / "a.jsonl").write_text(
        '{"id": 7, "wind": 1.5, "note": "=1+1", "who": "\\ud800"}\n'
        '{"id": "b,\\n", "wind": -2, "note": null, "who": "x"}\n'
    )
    (tmp_path / "b.csv").write_text("id,gate,wind,note,who\n9,A1,3,,y\n")
    first = tmp_path / "first.csv"
    assert work("ask", tmp_path / "a.jsonl", "-o", first, *start, "--skip", "note", "--skip", "who")[0] == 0
    assert work("ask", tmp_path / "b.csv", "-o", tmp_path / "second.csv")[0] == 0
    again = tmp_path / "again.csv"
    assert work("outstanding", "-o", again)[0] == 0
    assert list(rows(again)[0]) == ["id", "gate", "wind", "note", "who", "prediction", "y"]
    parts = rows(first) + rows(tmp_path / "second.csv")
    assert rows(again) == [{"gate": "", **row} for row in parts]
    again.write_text(again.read_text().replace("0.5,\r\n", "0.5,1\r\n").replace("0.5,\n", "0.5,1\n"))
    assert "3 labels learned" in work("tell", again)[1]
    assert work("outstanding", "-o", again)[1].startswith("0 labels are outstanding: written to")
    assert again.read_text().split() == ["id,prediction,y"]


def test_rows_of_earlier_versions_lack_their_columns(work, tmp_path):
    file = WORKBOOKS / "1-csv-paced.qufur.gz"
    (tmp_path / "s.qufur").write_bytes(gzip.decompress(file.read_bytes()))
    learner = Workbook.load(tmp_path / "s.qufur").learner
    code, text = work("outstanding", "-o", tmp_path / "again.csv")
    assert code == 0
    assert f"{len(learner.outstanding)} were asked for by an older version" in text
    found = rows(tmp_path / "again.csv")
    assert list(found[0]) == ["flight", "prediction", "delay"]
    assert [row["flight"] for row in found] == list(learner.outstanding)
    queries = learner.pending.values()
    assert [float(row["prediction"]) for row in found] == pytest.approx(
        [q.prediction for q in queries], rel=1e-5
    )


def test_labels_not_given_to_tell_are_not_overwritten(work, tmp_path):
    out, _ = asked(work, tmp_path)
    assert work("outstanding", "-o", out)[0] == 0  # blank rows may be replaced
    done = filled(out, {"LH0": 30.0})
    before = done.read_bytes()
    code, text = work("outstanding", "-o", done)
    assert (code, len(text.splitlines())) == (2, 1)
    assert "where the label of 'LH0' is new or changed. Pass it to `qufur tell`" in text
    assert done.read_bytes() == before
    assert work("outstanding", "-o", done, "--force")[0] == 0
    code, text = work("outstanding", "-o", tmp_path / "s.qufur")
    assert (code, "another file than the state file" in text) == (2, True)


def test_labelled_rows_are_not_stored_as_pending(work, tmp_path):
    out, _ = asked(work, tmp_path)
    work("tell", filled(out))
    workbook = Workbook.load(tmp_path / "s.qufur")
    assert workbook.learner.pending == {}
    assert b"LH1," not in (tmp_path / "s.qufur").read_bytes()


def test_cells_are_kept_as_they_were_written():
    cells = [1, np.int64(2), 2.5, np.float64(0.1), True, None, 'é\n\u2028"', "\ud800", [1, 2]]
    header = [str(place) for place in range(len(cells))]
    pending = {id: Pending(id) for id in (1, "none", "x")}
    rows = PendingRows([], pending)
    rows.add(header, [cells, ["x", *cells[1:]]])
    again = restore_pending(list(pending), [0, 0, 0], save_pending(pending.values(), copies=1))
    assert list(PendingRows([header], again).cells(1).values()) == [*cells[:-1], "[1, 2]"]
    assert PendingRows([header], again).cells("none") is None
    assert again["x"].asked_at == pending[1].asked_at is not None
