"""Tests of `qufur undo`: the last commands one by one, also after a crash."""

import gzip
import json
import os
import time

import numpy as np
import pytest
from tests.cli.test_outstanding import WORKBOOKS
from tests.cli.test_state_file import START, asked, filled, write

from qufur.storage import container, versions
from qufur.workbook import Workbook


def state_of(tmp_path):
    return (tmp_path / "s.qufur").read_bytes()


def kept(tmp_path):
    return sorted((tmp_path / "s.qufur.versions").glob("*"))


def test_undo_reverts_commands_one_by_one(work, tmp_path):
    out, _ = asked(work, tmp_path)
    first = state_of(tmp_path)
    work("budget", "--add", 5)
    second = state_of(tmp_path)
    work("tell", filled(out))
    third = state_of(tmp_path)
    june = write(tmp_path / "june.csv", range(300, 330))
    _, text = work("ask", june, "-o", out)
    wanted = text.split(" of ")[0]
    now = time.strftime("%H:%M")
    code, text = work("undo")
    assert code == 0
    assert f"Undid `ask june.csv` of {now[:3]}" in text
    assert f": {wanted} rows to label.\n0 labels are outstanding.\n" in text
    assert state_of(tmp_path) == third
    assert "Undid `tell labels.csv`" in work("undo")[1]
    assert state_of(tmp_path) == second
    found = json.loads(work("undo", "--json")[1])
    assert found["command"] == "budget --add 5"
    assert found["outstanding"] == 40
    assert state_of(tmp_path) == first
    code, text = work("undo")
    assert (code, len(text.splitlines())) == (2, 1)
    assert "got `ask may.csv`, which created the state file. Remove the state file" in text
    assert state_of(tmp_path) == first
    assert work("ask", june, "-o", tmp_path / "june_out.csv")[0] == 0  # as if the table were new


def test_commands_without_changes_are_not_undone(work, tmp_path):
    out, _ = asked(work, tmp_path)
    work("tell", filled(out))
    state = state_of(tmp_path)
    work("tell", filled(out))
    work("status")
    work("outstanding", "-o", tmp_path / "again.csv")
    work("budget")
    assert state_of(tmp_path) == state
    assert "Undid `tell labels.csv`" in work("undo")[1]
    assert "40 outstanding" in work("status")[1]


def test_five_versions_are_kept(work, tmp_path):
    asked(work, tmp_path)
    for _ in range(8):
        assert work("budget", "--add", 1)[0] == 0
    assert len(kept(tmp_path)) == versions.KEPT
    for _ in range(versions.KEPT):
        assert work("undo")[0] == 0
    assert Workbook.load(tmp_path / "s.qufur").learner.rule.limit == 43
    state = state_of(tmp_path)
    code, text = work("undo")
    assert (code, len(text.splitlines())) == (2, 1)
    assert "the previous version of qufur undo must be stored, got none in" in text
    assert state_of(tmp_path) == state


def test_fewer_large_versions_are_kept(work, tmp_path, monkeypatch):
    monkeypatch.setattr(versions, "MAX_BYTES", 1)
    asked(work, tmp_path)
    for _ in range(3):
        work("budget", "--add", 1)
    assert len(kept(tmp_path)) == 1
    assert work("undo")[0] == 0


@pytest.mark.parametrize("links", [True, False], ids=["hard links", "copies"])
@pytest.mark.skipif(os.name == "nt", reason="links need rights")
def test_versions_are_stored_beside_the_target_of_a_link(work, tmp_path, monkeypatch, links):
    def refuse(*_):
        raise OSError("no hard links here")

    if not links:
        monkeypatch.setattr(os, "link", refuse)
    (tmp_path / "there").mkdir()
    (tmp_path / "s.qufur").symlink_to(tmp_path / "there" / "real.qufur")
    asked(work, tmp_path)
    state = state_of(tmp_path)
    (tmp_path / "s.qufur").chmod(0o600)
    work("budget", "--add", 1)
    (version,) = (tmp_path / "there" / "real.qufur.versions").iterdir()
    assert version.read_bytes() == state
    assert version.stat().st_mode & 0o777 == 0o600
    assert work("undo")[0] == 0
    assert (tmp_path / "s.qufur").is_symlink()
    assert state_of(tmp_path) == state


def test_damaged_version_is_not_restored(work, tmp_path):
    asked(work, tmp_path)
    work("budget", "--add", 1)
    state, (version,) = state_of(tmp_path), kept(tmp_path)
    version.write_bytes(version.read_bytes()[:-1] + b"!")
    code, text = work("undo")
    assert (code, len(text.splitlines())) == (2, 1)
    assert "is damaged" in text
    assert state_of(tmp_path) == state


@pytest.mark.parametrize("where", ["keep", "save", "prune"])
def test_error_at_any_step_leaves_the_old_state_or_the_new_one(work, tmp_path, monkeypatch, where):
    asked(work, tmp_path)
    work("budget", "--add", 1)
    old = state_of(tmp_path)

    def broken(*_):
        raise OSError("disk full")

    with monkeypatch.context() as patch:
        patch.setattr(*{"save": (Workbook, "save")}.get(where, (versions, where)), broken)
        assert work("budget", "--add", 2) == (2, "qufur: disk full\n")
    assert (state_of(tmp_path) == old) == (where != "prune")
    assert work("undo")[0] == 0
    assert Workbook.load(tmp_path / "s.qufur").learner.rule.limit == (41 if where == "prune" else 40)
    assert work("budget", "--add", 3)[0] == 0
    assert len(kept(tmp_path)) <= 3


def test_undo_raises_for_files_of_earlier_versions(work, tmp_path):
    file = WORKBOOKS / "1-csv-paced.qufur.gz"
    (tmp_path / "s.qufur").write_bytes(gzip.decompress(file.read_bytes()))
    state = state_of(tmp_path)
    code, text = work("undo")
    assert (code, "must be stored, got none in" in text) == (2, True)
    work("budget", "--add", 1)
    assert work("undo")[0] == 0
    assert state_of(tmp_path) == state


def test_first_table_that_fails_leaves_no_folder(work, tmp_path):
    may = write(tmp_path / "may.csv", range(30))
    assert work("ask", may, "-o", tmp_path / "out.csv", *START, "--burst", 3)[0] == 2
    assert {path.name for path in tmp_path.iterdir()} <= {"may.csv", "s.qufur.lock"}


@pytest.mark.parametrize(
    "history",
    [
        {"before": ["../../etc/passwd"]},
        {"before": [7]},
        {"before": 7},
        {"command": ["ask"]},
        {"at": "now"},
        {"at": True},
        {"more": 1},
    ],
    ids=str,
)
def test_invalid_history_in_a_file_raises(work, tmp_path, history):
    asked(work, tmp_path)
    header, tensors = container.read(tmp_path / "s.qufur")
    header["workbook"]["history"] |= history
    container.write(tmp_path / "s.qufur", (header, tensors), lambda content: content)
    code, text = work("undo")
    assert (code, len(text.splitlines())) == (2, 1)
    assert "must be a file of `qufur ask`" in text


@pytest.mark.parametrize("line", ["5", "[9,1]", "[0]", "{}", "[0,1,2]", "[0,1e999,1,2,3,4,5]", "x"])
def test_invalid_pending_rows_in_a_file_raise(work, tmp_path, line):
    asked(work, tmp_path)
    header, tensors = container.read(tmp_path / "s.qufur")
    lines = np.frombuffer("\n".join([line] * 40).encode(), dtype=np.uint8)
    malformed = "pending rows of the state file must be lines of cells"
    other_file = "path of Workbook.load must be a file of `qufur ask`"
    for name, messages in {
        "pending.cells": [malformed],
        "workbook.waiting": [malformed, other_file],  # version 1
    }.items():
        changed = header, tensors | {name: lines}
        container.write(tmp_path / "s.qufur", changed, lambda content: content)
        code, text = work("outstanding", "-o", tmp_path / "again.csv")
        assert (code, len(text.splitlines())) == (2, 1)
        assert any(message in text for message in messages)
