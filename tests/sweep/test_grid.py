"""Tests of sweeps: the numbers depend neither on the number of workers nor on interruptions."""

import itertools
import json
import os
import sys
import threading
from dataclasses import dataclass

import numpy as np
import pytest
from joblib import register_parallel_backend
from joblib.parallel import BACKENDS, ThreadingBackend
from tests.soak import SOAK
from threadpoolctl import threadpool_info, threadpool_limits

from qufur import ConfidenceSet, DomainOracle, QuFUR, Ridge, Threshold, Uniform, streams
from qufur.hypotheses import Finite, FiniteLinear
from qufur.rules import Rule
from qufur.sweep import grid as sweep_module
from qufur.sweep import parallel
from qufur.sweep.grid import sweep

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


def test_sweep_returns_one_row_per_run():
    table = sweep(stream, model, GRID, seeds=[3, 1])
    cells = [(n, v, s) for n, (_, values) in GRID.items() for v, s in itertools.product(values, [3, 1])]
    assert table.select("rule", "parameter", "seed").rows() == cells
    assert table["horizon"].to_list() == [70] * 8
    assert table.select(["queries", "loss", "regret", "excess"]).null_count().row(0) == (0, 0, 0, 0)


def test_sweep_numbers_do_not_depend_on_jobs():
    assert sweep(stream, model, GRID, seeds=range(3), jobs=2).equals(
        sweep(stream, model, GRID, seeds=range(3))
    )


def test_sweep_starts_long_runs_first_within_a_seed(monkeypatch):
    begun = []
    perform = sweep_module.perform
    monkeypatch.setattr(
        sweep_module, "perform", lambda tasks, **how: begun.extend(tasks) or perform(tasks, **how)
    )
    sweep(stream, model, GRID, seeds=[3, 1], jobs=2, backend="threading")
    cells = [task.arguments[0] for task in begun]
    assert [cell.seed for cell in cells] == [3] * 4 + [1] * 4
    assert [cell.parameter for cell in cells] == [2.0, 0.5, 0.5, 0.1] * 2


def test_interrupted_sweep_resumes(tmp_path):
    out = tmp_path / "runs.jsonl"
    whole = sweep(stream, model, GRID, seeds=range(3), out=out)
    lines = out.read_text().splitlines()
    assert len(lines) == 1 + 12
    kept = "\n".join(lines[:6])
    out.write_text(kept + "\n" + lines[6][: len(lines[6]) // 2])
    assert sweep(stream, model, GRID, seeds=range(3), out=out).equals(whole)
    assert out.read_text().startswith(kept)
    assert sweep(stream, model, GRID, seeds=range(3), out=out).equals(whole)


def test_sweep_does_not_repeat_finished_runs(tmp_path):
    out = tmp_path / "runs.jsonl"
    sweep(stream, model, GRID, seeds=range(2), out=out)
    size = os.path.getsize(out)
    sweep(stream, model, GRID, seeds=range(2), out=out)
    assert os.path.getsize(out) == size
    sweep(stream, model, GRID, seeds=range(3), out=out)
    assert len([line for line in out.read_text().splitlines() if line]) == 12


X = np.random.default_rng(0).normal(size=(200, 3))
GUESSES = np.random.default_rng(1).uniform(-1, 1, (400, 3))
EARLY = np.repeat([0, 1], 100)


def arrays(**known):
    return lambda seed: streams.Arrays(X, X[:, 0], **known)


def informed(alpha, stream):
    return DomainOracle(durations=[100, 100], dims=[3, 1], budget=40)


def guessing(hypotheses):
    return lambda stream: ConfidenceSet(hypotheses, radius=0.1)


def thresholds(level):
    return guessing(Finite([lambda X: np.sign(X[:, 0] - level), lambda X: np.sign(X[:, 1])], dim=3))


def cautious(power):
    @dataclass(frozen=True)
    class Cautious(QuFUR):
        def probability(self, uncertainty, domain):
            return super().probability(uncertainty, domain) ** power

        thresholds = Rule.thresholds

    return lambda alpha, stream: Cautious(alpha)


class Late(streams.MostUncertain):
    """Adversary that equals another one until the learner has a label."""

    def __init__(self, sign, seed):
        super().__init__(3, 20, seed=seed, pool=2)
        self.sign = sign

    def against(self, learner):
        return super().against(_Watched(learner, self.sign))


class _Watched:
    def __init__(self, learner, sign):
        self.learner, self.sign = learner, sign

    def uncertainty(self, X):
        return self.learner.uncertainty(X) * (self.sign if self.learner.spent > 1 else 1.0)


CHANGES = {
    "model": ({}, {"model": other_model}),
    "stream": ({}, {"stream": lambda seed: streams.HiddenDomains([40, 30], [4, 2], seed=seed, noise=0.5)}),
    "rule": ({}, {"rule": lambda alpha, stream: QuFUR(alpha, power=2.0)}),
    "rule's code": ({"rule": cautious(1)}, {"rule": cautious(2)}),
    "truth": ({"stream": arrays(truth=X[:, 0])}, {"stream": arrays(truth=-X[:, 0])}),
    "no truth": ({"stream": arrays(truth=X[:, 0])}, {"stream": arrays()}),
    "domains": (
        {"stream": arrays(domain=EARLY), "rule": informed},
        {"stream": arrays(domain=1 - EARLY), "rule": informed},
    ),
    "hypotheses": (
        {"stream": arrays(), "model": guessing(FiniteLinear(GUESSES))},
        {"stream": arrays(), "model": guessing(FiniteLinear(-GUESSES))},
    ),
    "functions": (
        {"stream": arrays(), "model": thresholds(0.0)},
        {"stream": arrays(), "model": thresholds(0.5)},
    ),
    "adversary": ({"stream": lambda seed: Late(1, seed)}, {"stream": lambda seed: Late(-1, seed)}),
}


@pytest.mark.parametrize(("before", "after"), CHANGES.values(), ids=CHANGES)
def test_sweep_ignores_rows_of_a_stale_file(tmp_path, before, after):
    def table(stream=stream, model=model, rule=GRID["QuFUR"][0], out=None):
        return sweep(stream, model, {"rule": (rule, [0.5])}, seeds=[0], out=out)

    out = tmp_path / "runs.jsonl"
    old, fresh = table(**before, out=out), table(**after)
    assert not old.equals(fresh)
    assert table(**after, out=out).equals(fresh)
    size = os.path.getsize(out)
    assert table(**before, out=out).equals(old)
    assert os.path.getsize(out) == size


def test_sweep_rejects_out_when_values_have_no_fingerprint(tmp_path):
    lock = threading.Lock()
    locked = guessing(Finite([lambda X: X[:, 0] * lock.locked()], dim=3))
    with pytest.raises(ValueError, match=r"out of sweep must be None if .* with a _thread\.lock in one"):
        sweep(arrays(), locked, GRID, seeds=[0], out=tmp_path / "runs.jsonl")
    assert not list(tmp_path.iterdir())


def test_sweep_file_is_json_lines(tmp_path):
    out = tmp_path / "runs.jsonl"
    table = sweep(stream, model, GRID, seeds=[0], out=out)
    rows = [json.loads(line)[1] for line in out.read_text().splitlines() if line]
    assert sorted(rows, key=str) == sorted(table.to_dicts(), key=str)


def test_sweep_runs_adaptive_adversaries():
    grid = {"QuFUR": (lambda alpha, stream: QuFUR(alpha), [1.0])}
    table = sweep(lambda seed: streams.MostUncertain(3, 20, seed=seed), model, grid, seeds=range(2))
    assert table["horizon"].to_list() == [20, 20]


def test_sweep_draws_a_stream_once_for_all_rules():
    calls = []

    class Counted(streams.HiddenDomains):
        def chunks(self, size):
            calls.append("drawn")
            return super().chunks(size)

    def make(seed):
        calls.append(seed)
        return Counted([40, 30], [4, 2], seed=seed)

    table = sweep(make, model, GRID, seeds=[3, 1])
    assert calls == [3, "drawn", 1, "drawn"]
    assert table.equals(sweep(stream, model, GRID, seeds=[3, 1]))


def test_sweep_does_not_reuse_streams_of_another_sweep():
    def other(seed):
        return streams.HiddenDomains([40, 30], [4, 2], seed=seed, noise=0.5)

    for jobs in (1, 2):
        first = sweep(stream, model, GRID, seeds=[0], jobs=jobs)
        assert not sweep(other, model, GRID, seeds=[0], jobs=jobs).equals(first)


def test_sweep_does_not_cache_large_streams(monkeypatch):
    whole = sweep(stream, model, GRID, seeds=[0])
    monkeypatch.setattr(sweep_module, "MAX_CACHED_BYTES", 70 * 6 * 8 - 1)
    monkeypatch.setattr(streams.Arrays, "of", None)
    assert sweep(stream, model, GRID, seeds=[0]).equals(whole)


def test_sweep_does_not_cache_memory_mapped_streams(tmp_path, monkeypatch):
    """A process that caches it delays joblib by a second at the end of every sweep."""
    held = []
    play = sweep_module.play
    monkeypatch.setattr(sweep_module, "play", lambda *a: held.append(len(sweep_module._cached)) or play(*a))
    whole = sweep(stream, model, GRID, seeds=[0])
    shared = streams.Arrays.of(stream(0))
    np.save(tmp_path / "X.npy", shared.X)
    shared.X = np.load(tmp_path / "X.npy", mmap_mode="r")
    assert sweep(lambda seed: shared, model, GRID, seeds=[0]).equals(whole)
    assert held == [1] * 4 + [0] * 4


def threads_of_blas(_):
    np.ones((2, 2)) @ np.ones((2, 2))
    return {pool["num_threads"] for pool in threadpool_info()}


@pytest.mark.parametrize("jobs", [1, 2])
def test_parallel_jobs_use_one_blas_thread(jobs, monkeypatch):
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "2")  # processes inherit it
    with threadpool_limits(limits=2, user_api="blas"):
        assert list(parallel.parallel_map(threads_of_blas, range(2), jobs)) == [{1}, {1}]


class AllAtOnce(ThreadingBackend):
    """Backend that returns results only per batch, like that of Ray."""

    supports_return_generator = False


@pytest.fixture
def all_at_once(monkeypatch):
    monkeypatch.setitem(BACKENDS, "all at once", None)
    register_parallel_backend("all at once", AllAtOnce)
    return "all at once"


def test_sweep_numbers_do_not_depend_on_the_backend(all_at_once):
    local = sweep(stream, model, GRID, seeds=range(3))
    for backend in ("threading", all_at_once):
        assert sweep(stream, model, GRID, seeds=range(3), jobs=2, backend=backend).equals(local)


def test_parallel_map_sends_batches_to_backends_without_generators(all_at_once):
    begun = []

    def items():
        for n in range(40):
            begun.append(n)
            yield n

    results = parallel.parallel_map(abs, items(), 2, all_at_once)
    next(results)
    assert len(begun) == 2 * parallel.BATCH
    assert sorted(results) == list(range(1, 40))


def test_sweep_rejects_unknown_backends_before_running(tmp_path):
    with pytest.raises(ValueError, match=r"one of .*loky.* ray, .*, got 'slurm'"):
        sweep(stream, model, GRID, seeds=[0], jobs=2, backend="slurm", out=tmp_path / "runs.jsonl")
    assert not list(tmp_path.iterdir())


def test_ray_backend_error_names_the_missing_extra(monkeypatch):
    monkeypatch.delitem(BACKENDS, "ray", raising=False)
    monkeypatch.setitem(sys.modules, "ray.util.joblib", None)
    with pytest.raises(ImportError, match=r"backend 'ray' needs ray: .*\[ray\]"):
        sweep(stream, model, GRID, seeds=[0], backend="ray")


@pytest.mark.skipif(not SOAK, reason="takes eight seconds, most of them Ray's own")
@pytest.mark.filterwarnings("ignore")  # warnings of Ray itself
def test_sweep_numbers_do_not_depend_on_ray(tmp_path):
    ray = pytest.importorskip("ray", reason="needs the extra ray")
    local = sweep(stream, model, GRID, seeds=range(3))
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        assert os.getpid() not in parallel.parallel_map(lambda _: os.getpid(), range(4), 2, "ray")
        out = tmp_path / "runs.jsonl"
        assert sweep(stream, model, GRID, seeds=range(3), jobs=2, backend="ray", out=out).equals(local)
        assert len(out.read_text().splitlines()) == 1 + 12
    finally:
        ray.shutdown()


def test_known_examples_are_learned_by_all_rules_and_not_counted():
    known = streams.Chunk(np.array([[1.0, 0.0]]), np.array([0.8]))
    stream = streams.Arrays([[1.0, 0.0]] * 3, [0.8] * 3)
    grid = {"never": (lambda _, stream: Threshold(1e300), [0.0])}
    table = sweep(lambda _: stream, lambda _: Ridge(2, regularization=1.0), grid, seeds=[0], known=known)
    assert table["loss"].item() == pytest.approx(3 * 0.4**2)  # half of the label, with λ = 1
    assert (table["horizon"].item(), table["queries"].item()) == (3, 0)
