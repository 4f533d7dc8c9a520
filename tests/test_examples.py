"""Every file in examples/ and every notebook runs unchanged."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import qufur

ROOT = Path(__file__).resolve().parents[1]
PIPELINE = ROOT / "examples" / "sklearn_pipeline.py"
FILES = sorted({*(ROOT / "examples").glob("*.py")} - {PIPELINE})
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.py"))


def output(file, folder):
    path = os.pathsep.join([str(Path(qufur.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-W", "error", str(file)]
    environment = {**os.environ, "PYTHONPATH": path, "PYTHONIOENCODING": "utf-8", "MPLBACKEND": "Agg"}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_examples_run_and_print(file, tmp_path):
    if "river" in file.name:
        pytest.importorskip("river")
    assert output(file, tmp_path).strip()


def test_bought_labels_beat_the_first_ones(tmp_path):
    rows = [[float(cell) for cell in line.split()] for line in output(PIPELINE, tmp_path).splitlines()[1:]]
    assert [labels for labels, *_ in rows] == [30, 60, 120, 240, 2000]
    assert all(bought < first for labels, bought, _, first in rows if labels < 2000)
    assert len(set(rows[-1][1:])) == 1  # with all labels there is nothing to choose


RESULTS = {
    "embeddings.py": r"the report says +69\d 84\d",
    "figure1.py": r"QuFUR +┆ 44\d\.\d +┆ 4\.6",
    "llm_judge.py": r"\n +160 +0\.[78]",
    "tutorial.py": r"\n[2-6]\d % fewer labels for the same error",
}


@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: file.name)
def test_notebook_prints_the_expected_result_and_draws_a_figure(file, tmp_path):
    assert re.search(RESULTS[file.name], output(file, tmp_path))
    assert (tmp_path / file.with_suffix(".png").name).stat().st_size > 10_000


def test_notebooks_begin_with_a_title_and_are_linked():
    page = (NOTEBOOKS[0].parent / "index.md").read_text()
    assert [file.name for file in NOTEBOOKS] == sorted(RESULTS)
    for file in NOTEBOOKS:
        assert file.read_text().startswith("# %% [markdown]\n# # ")
        assert f"]({file.name})" in page
