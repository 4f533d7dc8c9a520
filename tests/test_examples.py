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
    assert output(file, tmp_path).strip()
