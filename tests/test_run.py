"""`run`: golden numbers, contents of a trace, arrival of labels, and adaptive adversaries."""

import os
import subprocess
import sys

import numpy as np
import pytest

from qufur import (
    DomainOracle,
    FixedBudget,
    Greedy,
    Learner,
    QuFUR,
    Ridge,
    Threshold,
    Trace,
    Uniform,
    run,
    streams,
)
from qufur.trace import Totals

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3)) / 2
TRUTH = X @ [0.6, -0.4, 0.2]
Y = TRUTH + 0.1 * RNG.normal(size=60)
DOMAIN = np.repeat([0, 2, 5], [10, 20, 30])


def full_stream():
    return streams.Arrays(X, Y, truth=TRUTH, domain=DOMAIN)


def learner_of(rule=None, **options):
    return Learner(Ridge(3, **options), rule or QuFUR(1.5), seed=3)


# Golden numbers, from the stream and the random draws of the published scripts


GOLDEN = [(QuFUR(2.0), 638, 18.62150188), (Uniform(0.3), 430, 21.44705409), (Greedy(450), 450, 27.90887421)]


@pytest.mark.parametrize("block", [None, 1, 2, 7, 64, 1000, 1500])
@pytest.mark.parametrize(("rule", "queries", "loss"), GOLDEN, ids=["QuFUR", "Uniform", "Greedy"])
def test_run_reproduces_recorded_numbers(rule, queries, loss, block):
    stream = streams.published_draw(3)
    assert (stream.horizon, stream.dim) == (1500, 91)
    coins = np.random.Generator(np.random.RandomState(11)._bit_generator)
    learner = Learner(Ridge(91, regularization=1.0, cap=False), rule, seed=coins)
    trace = run(learner, stream, block=block)
    assert trace.queries == queries
    assert trace.total_loss == pytest.approx(loss, abs=1e-8, rel=0)


# Traces


def test_trace_has_one_record_per_example():
    trace = run(learner_of(), full_stream())
    assert len(trace) == 60
    for column in ("prediction", "uncertainty", "probability", "query", "loss", "regret", "excess", "domain"):
        assert getattr(trace, column).shape == (60,)
    assert trace.query.dtype == bool
    np.testing.assert_allclose(trace.loss, (trace.prediction - Y) ** 2, rtol=1e-14)
    np.testing.assert_allclose(trace.regret, (trace.prediction - TRUTH) ** 2, rtol=1e-14)
    np.testing.assert_allclose(trace.excess, trace.loss - (TRUTH - Y) ** 2, rtol=1e-12, atol=1e-15)
    np.testing.assert_array_equal(trace.domain, DOMAIN)
    np.testing.assert_allclose(trace.probability, np.minimum(1, 1.5 * trace.uncertainty), rtol=1e-12)


def test_totals_are_sums():
    trace = run(learner := learner_of(), full_stream())
    assert trace.queries == trace.query.sum() == learner.spent
    assert 0 < trace.queries < 60
    assert trace.total_loss == pytest.approx(trace.loss.sum())
    assert trace.total_regret == pytest.approx(trace.regret.sum())
    assert trace.total_excess == pytest.approx(trace.excess.sum())
    assert trace.totals == Totals(60, trace.queries, trace.total_loss, trace.total_regret, trace.total_excess)


def test_totals_by_domain():
    trace = run(learner_of(), full_stream())
    parts = trace.by_domain()
    assert list(parts) == [0, 2, 5]
    assert [part.examples for part in parts.values()] == [10, 20, 30]
    assert parts[2].queries == trace.query[10:30].sum()
    assert parts[2].loss == pytest.approx(trace.loss[10:30].sum())
    for total in ("queries", "loss", "regret", "excess"):
        assert sum(getattr(part, total) for part in parts.values()) == pytest.approx(
            getattr(trace.totals, total)
        )


def test_unknown_values_are_nan():
    trace = run(learner_of(), streams.Arrays(X, Y))
    assert np.isnan(trace.regret).all()
    assert np.isnan(trace.excess).all()
    assert np.isnan(trace.total_regret)
    assert np.isnan(trace.total_excess)
    assert (trace.domain == -1).all()
    assert np.isfinite(trace.total_loss)
    assert list(trace.by_domain()) == [-1]


def test_losses_are_in_the_users_units():
    stars = 3 + 2 * np.clip(Y, -1, 1)
    trace = run(learner_of(label_range=(1, 5)), streams.Arrays(X, stars, truth=3 + 2 * TRUTH))
    inside = run(learner_of(), streams.Arrays(X, np.clip(Y, -1, 1), truth=TRUTH))
    np.testing.assert_array_equal(trace.query, inside.query)
    np.testing.assert_allclose(trace.prediction, 3 + 2 * inside.prediction)
    np.testing.assert_allclose(trace.loss, 4 * inside.loss, atol=1e-14)
    np.testing.assert_allclose(trace.regret, 4 * inside.regret, atol=1e-14)


@pytest.mark.parametrize("horizon", [1, 60, 9000])
def test_trace_in_a_file_equals_trace_in_memory(tmp_path, horizon):
    stream = streams.Arrays(np.resize(X, (horizon, 3)), np.resize(Y, horizon))
    memory = run(learner_of(), stream)
    file = run(learner_of(), stream, out=tmp_path / "trace.npy")
    for trace in (file, Trace.load(tmp_path / "trace.npy")):
        assert len(trace) == horizon
        assert isinstance(trace.records, np.memmap)
        assert trace.records.tobytes() == memory.records.tobytes()
    assert np.load(tmp_path / "trace.npy")["query"].sum() == memory.queries


def test_trace_before_a_failure_is_readable(tmp_path):
    class Breaks(streams.Arrays):
        def chunks(self, size):
            yield next(super().chunks(20))
            raise RuntimeError("lost the connection")

    with pytest.raises(RuntimeError, match="lost the connection"):
        run(learner_of(), Breaks(X, Y), out=tmp_path / "trace.npy")
    np.testing.assert_array_equal(
        Trace.load(tmp_path / "trace.npy").query, run(learner_of(), full_stream()).query[:20]
    )


@pytest.mark.parametrize("horizon", [60, 5])
def test_open_trace_stays_valid_when_its_file_is_replaced(tmp_path, horizon):
    """Runs in a separate process, since reading a memory map of a truncated file kills the reader."""
    code = f"""
import numpy as np
from qufur import Learner, QuFUR, Ridge, Trace, Uniform, run, streams
X = np.random.default_rng(0).normal(size=(4000, 3))
play = lambda rule, T: run(Learner(Ridge(3), rule), streams.Arrays(X[:T], X[:T, 0]), out="trace.npy")
first = play(QuFUR(1.0), 4000)
kept = first.records.tobytes()
play(Uniform(0.5), {horizon})
assert first.records.tobytes() == kept
assert len(Trace.load("trace.npy")) == {horizon}
"""
    done = subprocess.run(
        [sys.executable, "-c", code], check=False, cwd=tmp_path, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert os.listdir(tmp_path) == ["trace.npy"]


def test_trace_file_is_kept_when_no_record_was_written(tmp_path):
    class Breaks(streams.Arrays):
        def chunks(self, size):
            raise RuntimeError("no connection")

    out = tmp_path / "trace.npy"
    kept = run(learner_of(), full_stream(), out=out)
    with pytest.raises(RuntimeError, match="no connection"):
        run(learner_of(), Breaks(X, Y), out=out)
    assert Trace.load(out).records.tobytes() == kept.records.tobytes()
    assert os.listdir(tmp_path) == ["trace.npy"]


def test_kill_leaves_the_old_file_and_readable_records(tmp_path):
    code = """
import os
import numpy as np
from qufur import Learner, QuFUR, Ridge, run, streams
class Killed(streams.Arrays):
    def chunks(self, size):
        yield next(super().chunks(20))
        os._exit(9)
run(Learner(Ridge(3), QuFUR(1.5)), Killed(np.eye(60, 3), np.zeros(60)), out="trace.npy")
"""
    out = tmp_path / "trace.npy"
    kept = run(learner_of(), full_stream(), out=out)
    assert subprocess.run([sys.executable, "-c", code], check=False, cwd=tmp_path).returncode == 9
    assert Trace.load(out).records.tobytes() == kept.records.tobytes()
    (part,) = tmp_path.glob(".trace.npy.*.part")
    assert 0 < len(Trace.load(part)) <= 20


def test_file_trace_uses_no_memory_for_records(tmp_path):
    with pytest.raises(ValueError, match="out of run must be a file, new or to be replaced, got '"):
        run(learner := learner_of(), full_stream(), out=tmp_path)
    assert learner.spent == 0


# Delays


@pytest.mark.parametrize("block", [1, 2, 3, None])
@pytest.mark.parametrize(
    ("delay", "told"),
    [
        (0, [0, 1, 2, 3, 4]),
        (1, [0, 0, 1, 2, 3]),
        (3, [0, 0, 0, 0, 1]),
        (9, [0, 0, 0, 0, 0]),
        ([0, 2, 0, 0, 0], [0, 1, 1, 2, 4]),
        ([3, 2, 1, 0, 0], [0, 0, 0, 0, 4]),
        ([9, 0, 9, 0, 9], [0, 0, 1, 1, 2]),
    ],
)
def test_label_arrives_after_its_delay(delay, told, block):
    """With x = y = 1 and λ = 1, the prediction after n labels is n/(n + 1)."""
    learner = Learner(Ridge(1), Uniform(1.0))
    trace = run(learner, streams.Arrays(np.ones((5, 1)), np.ones(5)), delay=delay, block=block)
    np.testing.assert_allclose(trace.prediction, [n / (n + 1) for n in told], atol=1e-15)
    np.testing.assert_allclose(trace.uncertainty, [1, 1 / 2, 1 / 3, 1 / 4, 1 / 5])
    assert learner.outstanding == ()
    np.testing.assert_allclose(learner.predict([[1.0]]), [5 / 6])


@pytest.mark.parametrize("delay", [sys.maxsize, np.full(60, 2**64 - 1, dtype=np.uint64)], ids=["one", "many"])
def test_label_may_never_arrive(delay):
    learner = learner_of()
    trace = run(learner, full_stream(), delay=delay)
    assert not trace.prediction.any()
    assert not learner.outstanding


def test_delays_do_not_change_what_is_queried():
    """Holds for label-free models."""
    traces = [run(learner_of(), full_stream(), delay=delay) for delay in (0, 4, 100, np.arange(60) % 7)]
    for trace in traces[1:]:
        np.testing.assert_array_equal(trace.query, traces[0].query)
        np.testing.assert_allclose(trace.uncertainty, traces[0].uncertainty, atol=1e-12)
        assert not np.allclose(trace.prediction, traces[0].prediction)


def test_run_continues_from_the_state_of_the_learner():
    whole, in_parts = learner_of(), learner_of()
    trace = run(whole, full_stream())
    first = run(in_parts, streams.Arrays(X[:25], Y[:25]))
    second = run(in_parts, streams.Arrays(X[25:], Y[25:]))
    np.testing.assert_array_equal(trace.query, [*first.query, *second.query])
    np.testing.assert_allclose(trace.prediction, [*first.prediction, *second.prediction], atol=1e-12)
    assert whole.spent == in_parts.spent


def test_run_keeps_earlier_outstanding_queries():
    learner = Learner(Ridge(3), Uniform(1.0))
    learner.ask(X[0], id="mine")
    run(learner, full_stream(), delay=2)
    assert learner.outstanding == ("mine",)
    assert learner.spent == 61


def test_run_reveals_queried_labels_only():
    """Changing the labels that were not bought changes only the losses."""
    first = run(learner_of(), full_stream())
    other = np.where(first.query, Y, 77.0)
    second = run(learner_of(), streams.Arrays(X, other))
    np.testing.assert_array_equal(first.query, second.query)
    np.testing.assert_array_equal(first.prediction, second.prediction)


def test_run_leaves_the_learner_as_ask_and_tell_do():
    ran, asked = learner_of(), learner_of()
    trace = run(ran, full_stream(), block=1)
    for t in range(60):
        answer = asked.ask(X[t])
        assert answer == (t, trace.prediction[t], trace.uncertainty[t], trace.probability[t], trace.query[t])
        if answer.query:
            asked.tell(t, Y[t])
    np.testing.assert_array_equal(ran.predict(X), asked.predict(X))
    np.testing.assert_array_equal(ran.uncertainty(X), asked.uncertainty(X))


# Adversaries


@pytest.mark.parametrize("block", [None, 1, 50])
@pytest.mark.parametrize("rule", [QuFUR(1.0), Threshold(0.3), FixedBudget(60, 40)], ids=repr)
def test_adaptive_adversary_sees_the_learner_before_every_example(rule, block):
    stream = streams.MostUncertain(4, 40, seed=2)
    trace = run(ran := Learner(Ridge(4), rule, seed=1), stream, block=block)
    assert len(trace) == 40
    by_hand = Learner(Ridge(4), rule, seed=1)
    for t, chunk in enumerate(stream.against(by_hand).chunks(1)):
        answer = by_hand.ask(chunk.X[0])
        if answer.query:
            by_hand.tell(answer.id, chunk.y[0])
        assert answer.query == trace.query[t]
        np.testing.assert_allclose(
            answer[1:4], [trace.prediction[t], trace.uncertainty[t], trace.probability[t]]
        )
        np.testing.assert_allclose(trace.regret[t], (answer.prediction - chunk.truth[0]) ** 2, atol=1e-14)
    assert 0 < ran.spent == by_hand.spent


def test_adversary_is_harder_than_random_inputs():
    regret = {}
    for pool in (1, 64):
        traces = [
            run(Learner(Ridge(5), QuFUR(1.0)), streams.MostUncertain(5, 80, pool=pool, seed=s))
            for s in range(8)
        ]
        regret[pool] = np.mean([trace.uncertainty.sum() for trace in traces])
    assert regret[64] > regret[1]


# The two regrets


def test_regret_and_excess_agree_in_expectation():
    """E[R] = E[Reg]: the difference of the sums is 2 Σ (ŷ − f*) ξ, of mean 0 given the past.

    Over 200 seeds it is within 4.5 standard errors of 0: random seeds would fail once in 150,000.
    """
    differences, regrets = [], []
    for seed in range(200):
        stream = streams.HiddenDomains([30, 40], [3, 2], noise=0.5, seed=seed)
        trace = run(Learner(Ridge(stream.dim, clip=False), QuFUR(1.0), seed=seed), stream)
        differences.append(trace.total_excess - trace.total_regret)
        regrets.append(trace.total_regret)
    error = np.std(differences, ddof=1) / np.sqrt(200)
    assert abs(np.mean(differences)) < 4.5 * error
    assert 10 * error < np.mean(regrets), "too noisy to tell"
    assert np.std(differences) > 0.1, "they are two different numbers on every single run"


def test_oracle_divides_its_budget_over_the_domains():
    """Domain 0 gets √8/(√8 + 1) of the labels; the hard cap, reached late, changes this by less than 0.03."""
    durations, dims = [200, 200], [8, 1]
    stream = streams.HiddenDomains(durations, dims, seed=0)
    rule = DomainOracle(durations=durations, dims=dims, budget=60)
    traces = [run(Learner(Ridge(stream.dim), rule, seed=seed), stream) for seed in range(300)]
    assert max(trace.queries for trace in traces) == 60
    share = np.mean([trace.by_domain()[0].queries for trace in traces]) / 60
    assert share == pytest.approx(np.sqrt(8) / (np.sqrt(8) + 1), abs=0.03)


WATCHED = """
import threadpoolctl
from qufur import Greedy, Learner, Ridge, run, streams

class Watched(streams.HiddenDomains):
    def chunks(self, size):
        yield from super().chunks(30)
        pools = threadpoolctl.threadpool_info()
        print(len(pools), *{pool["num_threads"] for pool in pools})

run(Learner(Ridge(2), Greedy(50)), Watched([90], [2]))  # long enough to need SciPy
"""


def test_run_limits_blas_to_one_thread():
    """SciPy is imported late, but before the limit looks for its thread pool."""
    threads = {**os.environ, "OPENBLAS_NUM_THREADS": "2"}
    code = [sys.executable, "-c", WATCHED]
    done = subprocess.run(code, env=threads, capture_output=True, text=True, check=True)
    pools, *most = done.stdout.split()
    assert most == ["1"]
    assert int(pools) >= 1
