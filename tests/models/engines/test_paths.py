"""Tests that all code paths decide a problem identically, and as the slow implementation does.

The paths are `ask` one by one, `run` in blocks of any size, with and without compiled loops, and `ask_many`.
Problems cover every form of M, kernels, forgetting and an intercept.
"""

import os
import re
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.gaussian_process.kernels import DotProduct
from tests import oracle
from tests.oracle import Oracle
from tests.soak import SOAK
from threadpoolctl import threadpool_limits

from qufur import (
    DomainOracle,
    FixedBudget,
    Greedy,
    KernelRidge,
    Learner,
    Paced,
    QuFUR,
    Ridge,
    Steady,
    Threshold,
    Uniform,
    run,
)
from qufur.models import engines
from qufur.models._least_squares_state import LeastSquaresState
from qufur.models._regression import LeastSquares
from qufur.models.engines import compiled
from qufur.models.engines.covariance import CovarianceEngine
from qufur.rules.base import Rule
from qufur.streams import Arrays

COMPILED = (False, True) if compiled.available() else (False,)
BLOCKS = (1, 7, 64, 1000, None)


class StableOracle(Oracle):
    """Least squares by a QR decomposition of √λI above the rows, for inputs so large that M is inaccurate."""

    def factors(self, rows):
        prior_rows = np.sqrt(self.penalty) * np.eye(self.model.dim)
        return np.linalg.qr(np.vstack([prior_rows, *rows]))

    def prediction(self, x):
        Q, R = self.factors([row for row, *_ in self.labelled])
        labels = np.array([0.0] * self.model.dim + [label for _, label, _ in self.labelled])
        return self.in_range(float(np.linalg.solve(R, Q.T @ labels) @ x))

    def uncertainty(self, x):
        _, R = self.factors([row for row, *_ in self.labelled] + list(self.pending.values()))
        return self.uncertainty_of(float(np.sum(np.linalg.solve(R.T, x) ** 2)))


# Problems


@dataclass(frozen=True)
class Problem:
    """A stream and a learner; `linear` is the equivalent model of the slow implementation."""

    model: LeastSquares
    linear: Ridge
    rule: Rule
    stream: Arrays
    delays: np.ndarray
    seed: int

    def learner(self):
        return Learner(self.model, self.rule, seed=self.seed)

    def answers(self, learner):
        """Return the answers of a learner, asked one by one, as columns."""
        stream = self.stream
        answers = oracle.play(learner, stream.X, stream.y, self.delays, stream.domain)
        return [np.array(column) for column in zip(*answers, strict=True)][1:5]


ENGINES = {"OneRow", "CovarianceEngine"}
IN_LOOPS = {"CompiledEngine"} if True in COMPILED else set()
CHOOSES_IN_LOOP = {"choose"} if True in COMPILED else set()


@dataclass(frozen=True)
class Form:
    """Distribution of problems, and the classes of the library that they must use (`passes`).

    Norms are spread over 10^±`magnitude`. `digits` is the tolerance between two paths: with large variances,
    look-aheads lose some of the digits, up to condition numbers of 10⁸.
    """

    passes: set
    dims: tuple
    horizons: tuple = (20, 130)
    magnitude: float = 0.5
    smallest_penalty: float = 0.03
    digits: float = 1e-9
    kernel: bool = False
    intercept: bool = False
    intercept_penalty: float = 1.0
    forgets: bool = False
    importance: float = 0.0
    examples: int = 50


LARGE = {"smallest_penalty": 1e-3, "digits": 1e-7}
FORMS = {
    "few rows": Form({"LowRankGram"} | ENGINES | IN_LOOPS, (81, 150), (1, 40)),
    "many columns": Form({"LowRankGram"} | ENGINES | CHOOSES_IN_LOOP, (260, 280), (25,)),
    "growing": Form({"LowRankGram", "InverseGram"} | ENGINES | IN_LOOPS, (8, 40)),
    "many rows": Form({"InverseGram"} | ENGINES | IN_LOOPS, (1, 6), (20, 130, 330)),
    "large": Form({"InverseGram", "FactorGram"} | ENGINES, (1, 40), magnitude=3, **LARGE),
    "huge": Form({"FactorGram"} | ENGINES, (1, 12), magnitude=6, **LARGE),
    # Enough labels arrive within a block for M to change through all of its forms.
    "labels together": Form({"FactorGram"} | ENGINES, (8, 20), (330,), 2.5, 0.01, 1e-7, examples=16),
    "kernel": Form({"KernelGram"} | ENGINES | CHOOSES_IN_LOOP, (1, 40), kernel=True),
    "forgetting": Form({"InverseGram"} | ENGINES | IN_LOOPS, (1, 20), forgets=True),
    "intercept": Form({"InverseGram"} | ENGINES | IN_LOOPS, (1, 20), intercept=True),
    "importance": Form({"InverseGram"} | ENGINES | IN_LOOPS, (1, 20), importance=0.8),
    "free intercept": Form(
        {"InverseGram", "FactorGram"} | ENGINES | IN_LOOPS,
        (1, 20),
        (130,),
        digits=1e-7,
        intercept=True,
        intercept_penalty=1e-6,
        examples=30,
    ),
}


def stream_of(dim, horizon, magnitude, label_range, seed):
    """Return consecutive subspaces with duplicates, zero vectors and different norms."""
    rng = np.random.default_rng(seed)
    domain = np.sort(rng.integers(0, 3, horizon))
    X = rng.normal(size=(horizon, dim)) * (rng.random((3, dim)) < rng.choice([0.3, 1.0], (3, 1)))[domain]
    X *= 10 ** rng.uniform(-magnitude, magnitude, (horizon, 1)) / dim**0.5
    again = rng.random(horizon) < rng.choice([0.0, 0.3, 0.9])
    X[again] = X[rng.integers(0, max(1, horizon // 4), int(again.sum()))]
    X[rng.random(horizon) < 0.05] = 0
    y = X @ rng.normal(size=dim)
    y /= max(1.0, np.abs(y).max())
    if magnitude < 1:  # huge rows with contradictory labels would be ill-conditioned
        y += 0.1 * rng.normal(size=horizon)
    low, high = label_range
    return Arrays(X, (low + high) / 2 + (high - low) / 2 * y, domain=domain)


def rules_for(horizon):
    budgets = st.none() | st.integers(1, horizon)
    copies = (horizon**3 - 1).bit_length() + 1
    return st.one_of(
        st.builds(
            QuFUR,
            (st.floats(-1.5, 1.5) | st.floats(-6, 6)).map(lambda exponent: 10**exponent),
            power=st.sampled_from([1.0, 0.5, 3.0]),
            floor=st.just(0.0) | st.floats(0, 0.9),
            budget=budgets,
        ),
        st.builds(FixedBudget, st.integers(copies, 4 * copies), st.just(horizon)),
        st.builds(
            lambda budget, share: Paced(budget, horizon, floor=share * budget / horizon),
            st.integers(1, horizon),
            st.floats(0, 0.9),
        ),
        st.builds(
            lambda rate, burst, share: Paced(rate, burst=burst and 32 * rate + burst, floor=share * rate),
            st.floats(0.02, 0.9),
            st.none() | st.floats(1.01, 30),
            st.floats(0, 0.9),
        ),
        st.builds(Steady, st.integers(1, horizon), st.just(horizon)),
        st.builds(Steady, st.floats(0.02, 0.9), burst=st.floats(1, 30)),
        st.builds(Uniform, st.floats(0.05, 1), budget=budgets),
        st.builds(Greedy, st.integers(1, horizon)),
        # With duplicates, Δ often equals one of the first levels up to rounding, hence the slack.
        st.builds(Threshold, st.sampled_from([0.5, 0.25, 0.05]) | st.floats(1e-4, 2), budget=budgets),
        st.builds(
            DomainOracle,
            durations=st.just([max(1, horizon // 3)] * 3),
            dims=st.lists(st.integers(1, 5), min_size=3, max_size=3),
            budget=st.integers(1, horizon),
        ),
    )


def at_the_end(cuts, horizon):
    """Return delays with which labels arrive at the end of their batch; `cuts` are the starts of batches."""
    ends = np.array([*sorted({cut % horizon for cut in cuts} - {0}), horizon])
    t = np.arange(horizon)
    return ends[np.searchsorted(ends, t, side="right")] - t - 1


cuts = st.lists(st.integers(0, 1000), max_size=6)


def delays_for(horizon):
    return st.one_of(
        st.just(np.zeros(horizon, dtype=int)),
        st.integers(1, max(60, horizon // 2)).map(lambda delay: np.full(horizon, delay)),
        st.integers(0, 99).map(lambda seed: np.random.default_rng(seed).integers(0, 60, horizon)),
        st.builds(at_the_end, cuts, st.just(horizon)),
    )


@st.composite
def problems(draw, form, in_batches):
    dim, horizon = draw(st.integers(*form.dims)), draw(st.sampled_from(form.horizons))
    options = {
        "regularization": form.smallest_penalty * 10 ** draw(st.floats(0, 2)),
        "noise": draw(st.sampled_from([0.0, 2.0])),
        "cap": draw(st.booleans()),
        "clip": draw(st.booleans()),
        "label_range": (1.0, 5.0) if form.intercept else (-1.0, 1.0),
    }
    intercept = form.intercept or (form.kernel and draw(st.booleans()))
    half_life = draw(st.integers(1, 600)) if form.forgets else None
    model = linear = Ridge(
        dim,
        intercept=intercept,
        intercept_penalty=form.intercept_penalty,
        half_life=half_life,
        importance=form.importance,
        **options,
    )
    if form.kernel:
        model = KernelRidge(DotProduct(sigma_0=float(intercept)), dim=dim, **options)
    stream = stream_of(dim, horizon, form.magnitude, model.label_range, draw(st.integers(0, 2**32)))
    delays = st.builds(at_the_end, cuts, st.just(horizon)) if in_batches else delays_for(horizon)
    return Problem(model, linear, draw(rules_for(horizon)), stream, draw(delays), draw(st.integers(0, 99)))


# Paths


def runs(problem):
    """Run the problem with every option of `run`; yield the learner and the columns of its trace."""
    for block in BLOCKS:
        for is_compiled in COMPILED:
            if is_compiled and block is not None and block < compiled.CompiledEngine.min_rows:
                continue
            with mock.patch.object(compiled, "available", lambda on=is_compiled: on):
                learner = problem.learner()
                trace = run(learner, problem.stream, block=block, delay=problem.delays)
            yield learner, (trace.prediction, trace.uncertainty, trace.probability, trace.query)


def batches(problem):
    """Run the problem with `ask_many` and `tell_many`; yield the learner and the columns of its answers."""
    stream = problem.stream
    starts = np.flatnonzero(np.diff(problem.delays) >= 0) + 1
    for is_compiled in COMPILED:
        learner, parts = problem.learner(), []
        with mock.patch.object(compiled, "available", lambda on=is_compiled: on):
            for part in np.split(np.arange(stream.horizon), starts):
                many = learner.ask_many(stream.X[part], domain=stream.domain[part])
                parts.append((many.prediction, many.uncertainty, many.probability, many.query))
                learner.tell_many(learner.outstanding, stream.y[list(learner.outstanding)])
        yield learner, [np.concatenate(column) for column in zip(*parts, strict=True)]


# Comparisons


def assert_same_answers(actual, reference, label_range, digits):
    low, high = label_range
    np.testing.assert_array_equal(actual[3], reference[3])
    np.testing.assert_allclose(actual[0], reference[0], rtol=digits, atol=digits * (high - low))
    np.testing.assert_allclose(actual[1], reference[1], rtol=digits)
    np.testing.assert_allclose(actual[2], reference[2], rtol=0, atol=3 * digits)  # QuFUR's power is at most 3


def assert_same_end(actual, reference, digits):
    assert (actual.spent, actual.left, actual.outstanding) == (reference.spent, reference.left, ())
    assert actual.rng.bit_generator.state == reference.rng.bit_generator.state, "different random draws"
    rows = actual.model.features(np.eye(actual.dim))
    coef, expected = (learner.state.labelled.scores(rows) for learner in (actual, reference))
    np.testing.assert_allclose(coef, expected, rtol=0, atol=digits * max(1.0, np.abs(expected).max()))


def used_classes(form, play, in_batches):
    """Compare `ask` with the slow implementation and every path with `ask`; return the classes used."""
    look_ahead, choose, used = LeastSquaresState.look_ahead, CovarianceEngine._choose_in_loop, set()

    def recording_look_ahead(state, X, **options):
        lookahead, posterior = look_ahead(state, X, **options), state.queried
        used.update({type(lookahead).__name__, type(getattr(posterior, "form", posterior)).__name__})
        return lookahead

    def recording_choice(*arguments):
        used.add("choose")
        return choose(*arguments)

    # Hypothesis derives the examples from the source text of `check`: after an edit, eight examples may no
    # longer reach every form.
    @settings(
        max_examples=form.examples if SOAK else min(form.examples, 8),
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
    @given(problem=problems(form, in_batches))
    def check(problem):
        kind, label_range = StableOracle if form.magnitude > 1 else Oracle, problem.model.label_range
        slow = kind(problem.linear, problem.rule, np.random.default_rng(problem.seed))
        alone = problem.learner()
        reference = problem.answers(alone)
        assert_same_answers(reference, problem.answers(slow), label_range, form.digits)
        assert (alone.spent, alone.left) == (slow.spent, slow.left)
        assert alone.rng.bit_generator.state == slow.rng.bit_generator.state, "not the same number of coins"
        for learner, answers in play(problem):
            assert_same_answers(answers, reference, label_range, form.digits)
            assert_same_end(learner, alone, form.digits)

    with (
        threadpool_limits(limits=1),
        mock.patch.object(LeastSquaresState, "look_ahead", recording_look_ahead),
        mock.patch.object(CovarianceEngine, "_choose_in_loop", recording_choice),
    ):
        check()
    return used


@pytest.mark.parametrize("name", FORMS)
def test_runs_decide_as_one_by_one(name):
    form = FORMS[name]
    assert used_classes(form, runs, in_batches=False) >= form.passes


@pytest.mark.parametrize("name", FORMS)
def test_batches_decide_as_one_by_one(name):
    form = FORMS[name]
    # A batch of one row uses `ask` and no look-ahead.
    assert used_classes(form, batches, in_batches=True) >= form.passes - {"OneRow"}


@pytest.mark.parametrize("norm", [30.0, 1e3, 1e6])
def test_ties_fall_on_one_side_beside_inputs_of_any_norm(norm):
    """Unit vectors repeat, so that their Δ is 1, 1/2, 1/3, … up to rounding."""
    for seed in range(20 if SOAK else 5):
        rng = np.random.default_rng(seed)
        basis = np.linalg.qr(rng.normal(size=(20, 20)))[0]
        X, large = basis[rng.integers(0, 10, size=200)], rng.random(200) < 0.3
        X[large] = rng.normal(size=(large.sum(), 10)) @ basis[10:] * norm
        for level in (1 / 2, 1 / 3):
            traces = [
                run(Learner(Ridge(20), Threshold(level)), Arrays(X, np.zeros(200)), block=block)
                for block in (1, 7, None)
            ]
            bought = round(1 / level)  # ties are bought: a vector has Δ = 1/k after k − 1 queries
            expected = [min(bought, np.all(X[~large] == row, axis=1).sum()) for row in basis[:10]]
            assert [trace.query[~large].sum() for trace in traces] == 3 * [sum(expected)]
            for trace in traces:
                np.testing.assert_array_equal(trace.query, traces[0].query)


@pytest.mark.parametrize("error", ["ImportError('needs another NumPy')", "RuntimeError('no cache')"])
def test_broken_numba_is_ignored(tmp_path, error):
    (tmp_path / "numba.py").write_text(f"raise {error}")
    code = """
import numpy as np
from qufur import Learner, QuFUR, Ridge, run, streams
X = np.random.default_rng(0).normal(size=(100, 5))
print(Learner(Ridge(5), QuFUR(1.0)).ask_many(X).query.sum())
print(run(Learner(Ridge(5), QuFUR(1.0)), streams.Arrays(X, X[:, 0])).queries)
"""
    path = os.pathsep.join([str(tmp_path), *sys.path])
    command = [sys.executable, "-W", "error", "-c", code]
    process = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=True
    )
    X = np.random.default_rng(0).normal(size=(100, 5))
    queries = run(Learner(Ridge(5), QuFUR(1.0)), Arrays(X, X[:, 0])).queries
    assert process.stdout.split() == [str(queries)] * 2


def documented_engine():
    """Return the engine shown in docs/contributing.md."""
    page = Path(__file__).parents[3] / "docs" / "contributing.md"
    (code,) = (
        code for code in re.findall(r"```python\n(.*?)```", page.read_text(), re.S) if "BlockEngine)" in code
    )
    assert len(code.splitlines()) < 40
    names = {}
    exec(compile(code, page.name, "exec"), names)
    return names["RowByRow"]


@pytest.mark.parametrize("name", ["growing", "large", "kernel", "forgetting"])
def test_custom_engine_decides_as_one_by_one(name):
    engine, form = documented_engine(), replace(FORMS[name], examples=4)
    with mock.patch.object(engines, "ENGINES", (engine, *engines.ENGINES)):
        assert "RowByRow" in used_classes(form, runs, in_batches=False)
        assert "RowByRow" in used_classes(form, batches, in_batches=True)
