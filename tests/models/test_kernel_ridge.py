"""Tests of `KernelRidge` against a direct solution; `test_paths.py` compares it with the linear model."""

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    DotProduct,
    ExpSineSquared,
    Matern,
    RationalQuadratic,
    WhiteKernel,
)

from qufur import KernelRidge, Learner, QuFUR, Ridge, Uniform, run, streams
from qufur.models.kernel_ridge import build_kernel, describe_kernel

KERNELS = [
    RBF(0.7),
    Matern(0.5, nu=1.5) * ConstantKernel(0.8),
    RBF(1.0) + 0.5 * DotProduct(sigma_0=1.0),
    RationalQuadratic() * RBF([1.0, 2.0, 3.0]) + ConstantKernel(0.1),
]


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_kernel_ridge_matches_the_formulas(kernel):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = np.sin(X[:, 0]) * 0.5
    trace = run(
        Learner(KernelRidge(kernel, regularization=0.2, cap=False, clip=False), QuFUR(0.4), seed=1),
        streams.Arrays(X, y),
    )
    draws = np.random.default_rng(1)
    queried = []
    for t, x in enumerate(X):
        k = kernel(X[queried], x[None])[:, 0] if queried else np.empty(0)
        M = kernel(X[queried]) + 0.2 * np.eye(len(queried)) if queried else np.empty((0, 0))
        solved = np.linalg.solve(M, k) if queried else k
        delta = (kernel(x[None])[0, 0] - k @ solved) / 0.2
        assert trace.prediction[t] == pytest.approx(y[queried] @ solved, abs=1e-9)
        assert trace.uncertainty[t] == pytest.approx(delta, abs=1e-9)
        assert trace.query[t] == (draws.random() < min(1, 0.4 * delta))
        if trace.query[t]:
            queried.append(t)
    assert 5 < len(queried) < 60


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_kernels_survive_saving_and_loading(kernel, tmp_path):
    model = KernelRidge(kernel, regularization=0.3)
    straight, stopped = Learner(model, QuFUR(0.3)), Learner(model, QuFUR(0.3))
    X = np.random.default_rng(5).normal(size=(30, 3))
    for t, x in enumerate(X):
        answers = [learner.ask(x) for learner in (straight, stopped)]
        assert answers[0] == answers[1]
        if t % 7 == 0:
            stopped.save(tmp_path / "k")
            stopped = Learner.load(tmp_path / "k")
    np.testing.assert_array_equal(build_kernel(describe_kernel(kernel))(X), kernel(X))


def test_dimension_is_set_by_the_first_input(tmp_path):
    learner = Learner(KernelRidge(RBF()), Uniform(1.0))
    learner.ask([1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="X of Learner must be of 3 columns"):
        learner.ask([1.0, 2.0])
    learner.save(tmp_path / "k")
    assert Learner.load(tmp_path / "k").dim == 3
    with pytest.raises(ValueError, match="dim of stream must be 3"):
        run(learner, streams.Arrays(np.eye(2), np.ones(2)))


def test_kernel_that_is_not_positive_definite_raises():
    """The periodic kernel is positive definite in one dimension only."""
    rng = np.random.default_rng(0)
    learner = Learner(KernelRidge(ExpSineSquared(1.0, 3.0), regularization=0.1), Uniform(1.0))
    stream = streams.Arrays(rng.normal(size=(60, 3)), rng.normal(size=60))
    with pytest.raises(
        ValueError, match="kernel of KernelRidge must be positive definite, got ExpSineSquared"
    ):
        run(learner, stream)
    on_the_line = streams.Arrays(stream.X[:, :1], stream.y)
    run(Learner(learner.model, Uniform(1.0)), on_the_line)


@pytest.mark.parametrize("kernel", [None, "rbf", 3.0, {"type": "Nobody"}], ids=repr)
def test_invalid_kernel_raises(kernel):
    with pytest.raises(ValueError, match="kernel of KernelRidge must be a"):
        KernelRidge(kernel)


def test_kernel_ridge_learns_a_nonlinear_function():
    rng = np.random.default_rng(2)
    X = rng.uniform(-2, 2, size=(500, 1))
    f = 0.8 * np.sin(3 * X[:, 0])
    stream = streams.Arrays(X, f + 0.05 * rng.normal(size=500), truth=f)
    kernel = run(Learner(KernelRidge(RBF(0.4), regularization=0.05), QuFUR(0.3)), stream)
    linear = run(Learner(Ridge(1, intercept=True), Uniform(1.0)), stream)
    assert kernel.queries < 120
    # The sine has mean square 0.32. No line has a loss below 0.2; that of the kernel is near the noise.
    assert kernel.regret[250:].mean() < 0.005
    assert linear.regret[250:].mean() > 0.2


class NoisyRBF(RBF):
    """User-defined kernel that adds noise to its diagonal, as `WhiteKernel` does."""

    def diag(self, X):
        return super().diag(X) + 0.1


NOISE = "kernel of KernelRidge must be without noise.*Leave WhiteKernel out, and add its variance to regular"


@pytest.mark.parametrize(
    "kernel",
    [
        WhiteKernel(0.1),
        RBF() + WhiteKernel(0.5),
        2.0 * (RBF() + WhiteKernel(1e-3)) + DotProduct(),
        RBF() * WhiteKernel(),
        (RBF() + WhiteKernel(0.1)) ** 2,
        NoisyRBF(),
    ],
    ids=repr,
)
def test_kernel_with_noise_raises(kernel):
    with pytest.raises(ValueError, match=NOISE):
        KernelRidge(kernel)


def test_kernel_noise_visible_only_on_inputs_raises_at_the_first_input():
    model = KernelRidge(RBF([1.0, 2.0, 3.0]) + WhiteKernel(0.1))
    learner, X = Learner(model, Uniform(1.0)), np.eye(3)
    calls = learner.ask, learner.ask_many, learner.predict, learner.uncertainty
    for call in (*(lambda call=call: call(X[0]) for call in calls), lambda: learner.learn(X, [1.0, 0, 0])):
        with pytest.raises(ValueError, match=NOISE):
            call()
    assert (learner.spent, learner.next_id, learner.outstanding) == (0, 0, ())


def test_kernel_is_copied():
    kernel, X = RBF(1.0), np.random.default_rng(0).normal(size=(20, 2))
    learner = Learner(KernelRidge(kernel), Uniform(1.0))
    learner.learn(X, X[:, 0])
    before = learner.predict(X), learner.uncertainty(X)
    kernel.length_scale = 0.1
    np.testing.assert_array_equal(before, (learner.predict(X), learner.uncertainty(X)))
