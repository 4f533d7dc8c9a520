"""Tests of widening: a widened state equals a state that had the new columns, at 0, from the start."""

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF
from tests.refusals import refusal
from tests.same import same_content

from qufur import Experts, FisherSoftmax, KernelRidge, Learner, PaperAdam, QuFUR, Ridge, Softmax
from qufur.models._widen import with_columns
from qufur.models.gram.cholesky import FactorGram
from qufur.models.gram.inverse import InverseGram
from qufur.models.gram.low_rank import LowRankGram
from qufur.snapshot import encode


def data(rows, dim, *, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, dim)) / dim**0.5
    return X, X @ np.linspace(-0.5, 0.5, dim) + 0.1 * rng.normal(size=rows)


def ask_and_tell(learner, X, labels, *, delay=3):
    """Ask and tell with a delay; return the answers. The last label stays pending."""
    answers, pending = [], []
    for x, y in zip(X, labels, strict=True):
        answers.append(learner.ask(x))
        pending += [(answers[-1].id, y)] if answers[-1].query else []
        if len(pending) > delay:
            learner.tell(*pending.pop(0))
    for id, y in pending[:-1]:
        learner.tell(id, y)
    return answers


def assert_same(a, b):
    assert [x.query for x in a] == [x.query for x in b]
    for name in ("prediction", "uncertainty", "probability"):
        np.testing.assert_allclose(
            [getattr(x, name) for x in a], [getattr(x, name) for x in b], rtol=1e-8, atol=1e-10
        )


CASES = {
    "young": (Ridge, {}, LowRankGram, 4, 30, 1.0),
    "inverse": (Ridge, {"regularization": 0.3}, InverseGram, 40, 5, 1.0),
    "factor": (Ridge, {"regularization": 0.3}, FactorGram, 40, 5, 1e5),
    "intercept": (Ridge, {"intercept": True, "label_range": (0, 3)}, InverseGram, 40, 5, 1.0),
    "forgetting": (Ridge, {"half_life": 20}, InverseGram, 40, 5, 1.0),
    "weighted": (Ridge, {"intercept": True, "importance": 0.7}, InverseGram, 40, 5, 1.0),
}


@pytest.mark.parametrize("case", CASES)
def test_new_columns_equal_columns_of_zeros_from_the_start(case):
    model_class, options, form, rows, dim, size = CASES[case]
    X, y = data(60, dim + 3)
    X[:rows, dim:] = 0.0
    X[rows // 2] *= size
    late = Learner(model_class(dim, **options), QuFUR(2.0), seed=1)
    early = Learner(model_class(dim + 3, **options), QuFUR(2.0), seed=1)
    before = ask_and_tell(late, X[:rows, :dim], y[:rows]), ask_and_tell(early, X[:rows], y[:rows])
    assert_same(*before)
    assert isinstance(late.state.labelled.form, form)
    assert late.outstanding  # pending rows get the new columns too
    late.widen(np.zeros(3))
    assert late.model == early.model
    assert late.outstanding == early.outstanding
    assert_same(ask_and_tell(late, X[rows:], y[rows:]), ask_and_tell(early, X[rows:], y[rows:]))
    np.testing.assert_allclose(late.predict(np.eye(dim + 3)), early.predict(np.eye(dim + 3)), rtol=1e-8)
    assert late.state.fit().labels == early.state.fit().labels


def test_misfit_tests_continue_after_widening():
    X, y = data(900, 4)
    X[:450, 2:] = 0.0
    late, early = Learner(Ridge(2), QuFUR(2.0)), Learner(Ridge(4), QuFUR(2.0))
    late.learn(X[:450, :2], y[:450])
    early.learn(X[:450], y[:450])
    late.widen([0, 0])
    for learner in (late, early):
        learner.learn(X[450:], y[450:])
    tests = [learner.state.labelled.tested().array() for learner in (late, early)]
    np.testing.assert_allclose(*tests, rtol=1e-6, atol=1e-9)


def test_widening_keeps_the_condition_bound():
    X, y = data(40, 4)
    late, early = (
        Learner(Ridge(2, regularization=5.0), QuFUR(2.0)),
        Learner(Ridge(4, regularization=5.0), QuFUR(2.0)),
    )
    late.learn(X[:, :2], y)
    early.learn(X * [1, 1, 0, 0], y)
    late.widen([0, 0])
    risks = (learner.state.labelled.form.risk(1.0) for learner in (late, early))
    np.testing.assert_allclose(*risks, rtol=1e-9)


def test_classifier_gets_columns_and_classes():
    X, y = data(60, 6)
    classes = np.digitize(y, [-0.1, 0.1])
    classes[:30] = np.minimum(classes[:30], 1)
    X[:30, 4:] = 0.0
    late, early = Learner(Softmax(4, 2), QuFUR(2.0)), Learner(Softmax(6, 3), QuFUR(2.0))
    ask_and_tell(late, X[:30, :4], classes[:30])
    ask_and_tell(early, X[:30], classes[:30])
    before = late.state.probabilities(X[:, :4])
    late.widen([0, 0])
    late.state = with_columns(late.state, late.model, Softmax(6, 3))
    late.model = late.state.model
    # A new class lowers all other probabilities by the same factor.
    after = late.state.probabilities(X)[:, :2]
    np.testing.assert_allclose(after / after.sum(axis=1, keepdims=True), before, rtol=1e-12)
    for learner in (late, early):
        learner.tell(learner.outstanding[0], classes[learner.outstanding[0]])
        learner.learn(X[30:], classes[30:])
    P, Q = (learner.state.probabilities(X) for learner in (late, early))
    np.testing.assert_allclose(P, Q, atol=1e-7)
    np.testing.assert_allclose(late.uncertainty(X), early.uncertainty(X), rtol=1e-9)


def test_widened_state_can_be_saved(tmp_path):
    X, y = data(20, 3)
    learner = Learner(Ridge(2), QuFUR(2.0))
    ask_and_tell(learner, X[:10, :2], y[:10])
    learner.widen([0])
    learner.save(tmp_path / "wide")
    again = Learner.load(tmp_path / "wide")
    assert [a == b for a, b in zip(map(again.ask, X), map(learner.ask, X), strict=True)] == [True] * 20


def test_kernel_gets_columns_that_do_not_affect_it():
    X, y = data(40, 5)
    X[:20, 3:] = 0.0
    late, early = (Learner(KernelRidge(RBF(0.5), regularization=0.1), QuFUR(2.0)) for _ in range(2))
    assert_same(ask_and_tell(late, X[:20, :3], y[:20]), ask_and_tell(early, X[:20], y[:20]))
    late.widen([0, 0])
    assert late.model.dim is None
    assert_same(ask_and_tell(late, X[20:], y[20:]), ask_and_tell(early, X[20:], y[20:]))


def queried_learner(model):
    learner = Learner(model, QuFUR(9.0))
    learner.ask([0.5, 0.5])
    return learner


@pytest.mark.parametrize(
    ("learner", "constants", "message"),
    [
        (
            queried_learner(Ridge(2)),
            [0, 5],
            "constants of Learner.widen must be 0 for Ridge, which does not shift",
        ),
        (queried_learner(Ridge(2)), [np.nan], "constants of Learner.widen must be finite, got nan"),
        (
            queried_learner(KernelRidge(RBF(1.0))),
            [3],
            "constants of Learner.widen must be 0 for KernelRidge",
        ),
        (
            queried_learner(KernelRidge(RBF([1.0, 2.0]))),
            [0],
            "kernel of Learner.widen must be one to which columns",
        ),
        (
            queried_learner(Softmax(2, 2, training=PaperAdam())),
            [0],
            "training of Learner.widen must be Converged",
        ),
        (
            queried_learner(FisherSoftmax(2, 2)),
            [0],
            "model of Learner.widen must be one that accepts additional columns",
        ),
        (Learner(Experts(), QuFUR(1.0)), [0], "dim of Learner.widen must be known, got None. Call it after"),
    ],
)
def test_models_that_cannot_be_widened_raise_and_stay_unchanged(learner, constants, message):
    before = encode(learner)
    assert refusal(lambda: learner.widen(constants)).startswith(message)
    assert same_content(before, encode(learner))


def test_widening_to_another_model_raises():
    message = refusal(lambda: with_columns(Ridge(2).start(), Ridge(2), Softmax(3, 2)))
    assert message == "after of with_columns must be a Ridge, got Softmax."
