"""Every file in examples/ runs as it stands."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import qufur

FILES = sorted((Path(__file__).resolve().parents[1] / "examples").glob("*.py"))


def output(file, folder):
    path = os.pathsep.join([str(Path(qufur.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-W", "error", str(file)]
    environment = {**os.environ, "PYTHONPATH": path, "PYTHONIOENCODING": "utf-8"}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_it_runs_and_says_something(file, tmp_path):
    if "river" in file.name:
        pytest.importorskip("river")
    assert output(file, tmp_path).strip()


def test_bought_labels_beat_the_first_ones(tmp_path):
    (file,) = (file for file in FILES if file.name == "sklearn_pipeline.py")
    rows = [[float(cell) for cell in line.split()] for line in output(file, tmp_path).splitlines()[1:]]
    assert [labels for labels, *_ in rows] == [30, 60, 120, 240, 2000]
    assert all(bought < first for labels, bought, _, first in rows if labels < 2000)
    assert len(set(rows[-1][1:])) == 1  # with all labels there is nothing to choose
