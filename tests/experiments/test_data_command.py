"""Tests of `qufur data`: listing, JSON, downloads and errors."""

import json
import os
import sys
from pathlib import Path

import pytest

from qufur.__main__ import main
from qufur.data import Dataset, Edition, File
from qufur.streams import DATASETS

pytest.importorskip("pooch")


def qufur(monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["qufur", *arguments])
    with pytest.raises(SystemExit) as stop:
        main()
    return stop.value.code


@pytest.fixture
def own(tmp_path, monkeypatch):
    """Set QUFUR_DATA to a folder with one complete and one damaged dataset."""
    folder = tmp_path / "[own]"
    (folder / "libsvm").mkdir(parents=True)
    (folder / "libsvm/abalone_scale").write_text("1 1:0.5\n")
    (folder / "portraits").mkdir()
    (folder / "portraits/portraits_32x32.npz").write_bytes(b"half")
    monkeypatch.setenv("QUFUR_DATA", str(folder))
    monkeypatch.setattr("pooch.os_cache", lambda name: tmp_path / "cache")
    return folder


def test_data_command_lists_every_dataset_with_its_state(monkeypatch, capsys, own, tmp_path):
    assert qufur(monkeypatch, "data") == 0
    text = capsys.readouterr().out
    for name in DATASETS:
        assert name in text
    assert "abalone: Abalone, original. From the LIBSVM collection" in text
    assert "cpusmall: Cpusmall, no local copy." in text
    assert f"{own}/portraits/portraits_32x32.npz is damaged: its sha256 is" in text
    assert f"QUFUR_DATA: {own}; cache: {tmp_path / 'cache'}" in text


def test_data_command_prints_json(monkeypatch, capsys, own):
    assert qufur(monkeypatch, "data", "--json") == 0
    result = json.loads(capsys.readouterr().out)
    rows = {row["name"]: row for row in result["datasets"]}
    assert list(rows) == list(DATASETS)
    assert (rows["abalone"]["place"], rows["abalone"]["stand_in"]) == ("QUFUR_DATA", False)
    assert rows["abalone"]["files"][0]["path"] == str(own / "libsvm/abalone_scale")
    assert rows["portraits"]["place"] == "damaged"
    assert (rows["amazon"]["place"], rows["amazon"]["stand_in"]) == ("missing", None)


def test_unavailable_dataset_exits_with_2_and_one_line(monkeypatch, capsys, own):
    assert qufur(monkeypatch, "data", "--download", "portrait") == 2
    assert "--download of qufur data must be one of mnist, portraits, amazon" in capsys.readouterr().err
    monkeypatch.delenv("QUFUR_DATA")
    assert qufur(monkeypatch, "data", "--download", "portraits") == 2
    error = capsys.readouterr().err
    assert error.startswith("qufur: portraits/dataset_32x32.mat is missing: not in QUFUR_DATA (not set)")
    assert error.count("\n") == 1


def test_download_creates_a_missing_dataset_once(monkeypatch, capsys, own):
    made = []
    file = File("made.bin")

    def make():
        made.append(1)
        Path(own, file.name).write_bytes(b"1")

    edition = Edition((file,), "made here", make=make)
    monkeypatch.setitem(DATASETS, "made", Dataset("made", "Made", "nowhere", (edition,)))
    for _ in range(2):
        assert qufur(monkeypatch, "data", "--download", "made") == 0
    assert "made: Made, made here. From nowhere." in capsys.readouterr().out
    assert made == [1]


@pytest.mark.skipif("QUFUR_DATA" not in os.environ, reason="QUFUR_DATA is not set")
def test_stand_in_data_are_marked_in_the_list(monkeypatch, capsys):
    if not Path(os.environ["QUFUR_DATA"], "amazon_standin/streamB_mpnet_768.npz").is_file():
        pytest.skip("not in QUFUR_DATA: amazon_standin/streamB_mpnet_768.npz")
    assert qufur(monkeypatch, "data") == 0
    assert "amazon: Amazon reviews, STAND-IN" in capsys.readouterr().out
