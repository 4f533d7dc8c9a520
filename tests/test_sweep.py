"""Sweeps: the same numbers whatever the number of workers and however often interrupted."""

import itertools
import json
import os

import pytest

from qufur import QuFUR, Ridge, Uniform, streams
from qufur.sweep import sweep

GRID = {
    "QuFUR": (lambda alpha, stream: QuFUR(alpha), [0.5, 2.0]),
    "Uniform": (lambda rate, stream: Uniform(rate), [0.1, 0.5]),
}


def stream(seed):
    return streams.HiddenDomains([40, 30], [4, 2], seed=seed)


def model(stream):
    return Ridge(stream.dim)


def other_model(stream):
    return Ridge(stream.dim, regularization=5.0)


def test_a_row_for_every_run():
    table = sweep(stream, model, GRID, seeds=[3, 1])
    cells = [(n, v, s) for n, (_, values) in GRID.items() for v, s in itertools.product(values, [3, 1])]
    assert table.select("rule", "parameter", "seed").rows() == cells
    assert table["horizon"].to_list() == [70] * 8
    assert table.select(["queries", "loss", "regret", "excess"]).null_count().row(0) == (0, 0, 0, 0)


def test_jobs_do_not_change_numbers():
    assert sweep(stream, model, GRID, seeds=range(3), jobs=2).equals(
        sweep(stream, model, GRID, seeds=range(3))
    )


def test_an_interrupted_sweep_goes_on(tmp_path):
    out = tmp_path / "runs.jsonl"
    whole = sweep(stream, model, GRID, seeds=range(3), out=out)
    lines = out.read_text().splitlines()
    assert len(lines) == 1 + 12
    kept = "\n".join(lines[:6])
    out.write_text(kept + "\n" + lines[6][: len(lines[6]) // 2])
    assert sweep(stream, model, GRID, seeds=range(3), out=out).equals(whole)
    assert out.read_text().startswith(kept)
    assert sweep(stream, model, GRID, seeds=range(3), out=out).equals(whole)


def test_finished_runs_are_not_repeated(tmp_path):
    out = tmp_path / "runs.jsonl"
    sweep(stream, model, GRID, seeds=range(2), out=out)
    size = os.path.getsize(out)
    sweep(stream, model, GRID, seeds=range(2), out=out)
    assert os.path.getsize(out) == size
    sweep(stream, model, GRID, seeds=range(3), out=out)
    assert len([line for line in out.read_text().splitlines() if line]) == 12


@pytest.mark.parametrize(
    "changed",
    [
        {"model": other_model},
        {"stream": lambda seed: streams.HiddenDomains([40, 30], [4, 2], seed=seed, noise=0.5)},
        {"grid": {**GRID, "QuFUR": (lambda alpha, stream: QuFUR(alpha, power=2.0), [0.5, 2.0])}},
    ],
    ids=["model", "stream", "rule"],
)
def test_a_stale_file_is_not_believed(tmp_path, changed):
    out = tmp_path / "runs.jsonl"
    arguments = {"stream": stream, "model": model, "grid": GRID}
    sweep(**arguments, seeds=[0], out=out)
    fresh = sweep(**{**arguments, **changed}, seeds=[0])
    assert sweep(**{**arguments, **changed}, seeds=[0], out=out).equals(fresh)


def test_the_file_is_json_lines(tmp_path):
    out = tmp_path / "runs.jsonl"
    table = sweep(stream, model, GRID, seeds=[0], out=out)
    rows = [json.loads(line)[1] for line in out.read_text().splitlines() if line]
    assert rows == table.to_dicts()


def test_an_adaptive_adversary_can_be_swept():
    grid = {"QuFUR": (lambda alpha, stream: QuFUR(alpha), [1.0])}
    table = sweep(lambda seed: streams.MostUncertain(3, 20, seed=seed), model, grid, seeds=range(2))
    assert table["horizon"].to_list() == [20, 20]
