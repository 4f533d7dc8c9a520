"""Why a label is wanted, or not: in one line."""

import math

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import DotProduct

from qufur import Answer, ConfidenceSet, KernelRidge, Learner, Paced, QuFUR, Ridge, Softmax, Steady, Uniform
from qufur.hypotheses import LinearBall


def share(learner, x):
    answer = learner.ask(x)
    return learner.model.outside(learner.model.sizes(np.atleast_2d(x)).item(), answer.uncertainty)


def test_the_line_says_it_all():
    learner = Learner(Ridge(2), QuFUR(0.4, budget=2), seed=3)
    lines = [learner.ask(x).why for x in ([1, 0], [1, 0], [0, 1], [0.6, 0.8])]
    assert lines == [
        "asked: uncertainty 1, probability 0.4, 100 % of the input is new; 0 labels bought, 2 left",
        "not asked: uncertainty 0.5, probability 0.2, 50 % of the input is new; 1 label bought, 1 left",
        "not asked: uncertainty 1, probability 0.4, 100 % of the input is new; 1 label bought, 1 left",
        "not asked: uncertainty 0.82, probability 0.328, 82 % of the input is new; 1 label bought, 1 left",
    ]


def test_an_answer_made_by_hand_has_its_reason():
    asked = Learner(Ridge(2), QuFUR(0.4, budget=2), seed=3).ask([1, 0])
    by_hand = Answer(*asked)
    assert by_hand == asked
    assert by_hand.why == "asked: uncertainty 1, probability 0.4"
    assert by_hand._replace(query=False).why == "not asked: uncertainty 1, probability 0.4"


def test_without_a_budget_and_without_a_size():
    model = ConfidenceSet(LinearBall(2), radius=0.1)
    line = Learner(model, Uniform(1.0)).ask([1.0, 0.0]).why
    assert line == "asked: uncertainty 4, probability 1; 0 labels bought"


@pytest.mark.parametrize(
    "rule",
    [
        QuFUR(0.3, budget=20),
        QuFUR(0.3),
        Paced(30, 100),
        Paced(0.1, burst=8.0),
        Steady(30, 100),
        Steady(0.2, burst=3),
    ],
)
def test_a_batch_says_the_same_as_single_questions(rule):
    X = np.random.default_rng(0).normal(size=(100, 3))
    single, batch = Learner(Ridge(3, norm_bound=2.0), rule), Learner(Ridge(3, norm_bound=2.0), rule)
    assert [answer.why for answer in batch.ask_many(X)] == [single.ask(x).why for x in X]
    assert list(Learner(Ridge(3), rule).ask_many(X[:0])) == []


@pytest.mark.parametrize(
    "model",
    [
        Ridge(3, regularization=0.2, noise=3.0, cap=False),
        Ridge(2, regularization=0.2, cap=False, intercept=True),
        KernelRidge(DotProduct(sigma_0=0.0), regularization=0.2, cap=False),
        Softmax(3, 2, regularization=0.2, cap=False),
    ],
    ids=lambda model: type(model).__name__,
)
def test_what_is_new_is_the_part_that_no_query_explains(model):
    """λ‖x‖² in M⁻¹ over ‖x‖² from a plain solve."""
    width = model.dim or 3
    X = np.random.default_rng(1).normal(size=(6, width))
    learner = Learner(model, Uniform(1.0))
    learner.ask_many(X[:5])
    rows = np.column_stack([X, np.ones(6)]) if getattr(model, "intercept", False) else X
    penalties = np.full(rows.shape[1], 0.2)
    penalties[width:] *= 1e-6
    M = np.diag(penalties) + rows[:5].T @ rows[:5]
    expected = 0.2 * rows[5] @ np.linalg.solve(M, rows[5]) / (rows[5] @ rows[5])
    assert share(learner, X[5]) == pytest.approx(expected)


def test_what_is_new_about_nothing_and_about_more_than_the_cap_shows():
    learner = Learner(Ridge(2, norm_bound=3.0), Uniform(1.0))
    assert " 0 % of the input is new" in learner.ask([0.0, 0.0]).why
    assert "at least 11 % of the input is new" in learner.ask([1.0, 0.0]).why  # λ = 1/9, and Δ stops at 1
    assert math.isclose(share(Learner(Ridge(2, cap=False), Uniform(1.0)), [2.0, 0.0]), 1.0)


def test_an_answer_is_still_five_fields():
    id, prediction, uncertainty, probability, query = Learner(Ridge(2), Uniform(1.0)).ask([1.0, 0.0])
    assert (id, prediction, uncertainty, probability, query) == (0, 0.0, 1.0, 1.0, True)
