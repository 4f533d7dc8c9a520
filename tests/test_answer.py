"""Answers, and the reason for each decision in one sentence."""

import math

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import DotProduct

from qufur import Answer, ConfidenceSet, KernelRidge, Learner, Paced, QuFUR, Ridge, Softmax, Steady, Uniform
from qufur.hypotheses import LinearBall


def share(learner, x):
    answer = learner.ask(x)
    return learner.model.unexplained_share(
        learner.model.squared_norms(np.atleast_2d(x)).item(), answer.uncertainty
    )


def test_why_states_decision_uncertainty_and_budget():
    learner = Learner(Ridge(2), QuFUR(0.4, budget=2), seed=3)
    lines = [learner.ask(x).why for x in ([1, 0], [1, 0], [0, 1], [0.6, 0.8])]
    cases = [
        ("Queried", "uncertainty 1, query probability 40 %", 100, "0 labels bought, 2 left"),
        ("Not queried", "uncertainty 0.5, query probability 20 %", 50, "1 label bought, 1 left"),
        ("Not queried", "uncertainty 1, query probability 40 %", 100, "1 label bought, 1 left"),
        ("Not queried", "uncertainty 0.82, query probability 32.8 %", 82, "1 label bought, 1 left"),
    ]
    assert lines == [
        f"{did}: {how}, {new} % of the input is new; {budget}." for did, how, new, budget in cases
    ]


def test_why_omits_budget_for_an_answer_without_context():
    asked = Learner(Ridge(2), QuFUR(0.4, budget=2), seed=3).ask([1, 0])
    by_hand = Answer(*asked)
    assert by_hand == asked
    assert by_hand.why == "Queried: uncertainty 1, query probability 40 %."
    assert by_hand._replace(query=False).why == "Not queried: uncertainty 1, query probability 40 %."


def test_why_omits_missing_budget_and_norm():
    model = ConfidenceSet(LinearBall(2), radius=0.1)
    line = Learner(model, Uniform(1.0)).ask([1.0, 0.0]).why
    assert line == "Queried: uncertainty 4, query probability 100 %; 0 labels bought."


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
def test_batch_answers_equal_single_answers(rule):
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
def test_new_share_is_the_part_no_query_explains(model):
    """The share is λ xᵀM⁻¹x / ‖x‖², here from a plain solve."""
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


def test_new_share_handles_zero_inputs_and_capped_uncertainty():
    learner = Learner(Ridge(2, norm_bound=3.0), Uniform(1.0))
    assert " 0 % of the input is new" in learner.ask([0.0, 0.0]).why
    assert "at least 11 % of the input is new" in learner.ask([1.0, 0.0]).why  # λ = 1/9, and Δ stops at 1
    assert math.isclose(share(Learner(Ridge(2, cap=False), Uniform(1.0)), [2.0, 0.0]), 1.0)


def test_answer_unpacks_into_five_fields():
    id, prediction, uncertainty, probability, query = Learner(Ridge(2), Uniform(1.0)).ask([1.0, 0.0])
    assert (id, prediction, uncertainty, probability, query) == (0, 0.0, 1.0, 1.0, True)
