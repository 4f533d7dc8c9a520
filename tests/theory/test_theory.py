"""Tests of invalid arguments: one clear error per argument."""

import math

import numpy as np
import pytest

from qufur import theory
from qufur.theory import Bounds, Structure

ONE = Structure([100], [2])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Structure([], []), "durations and dims of Structure must be of equal length, at least 1"),
        (lambda: Structure([5], [1, 2]), "got 1 durations and 2 dims"),
        (lambda: Structure([0], [1]), "each of durations of Structure .* got 0"),
        (lambda: Structure([5], [1.5]), "each of dims of Structure .* got 1.5"),
        (lambda: Structure(5, 1), "durations of Structure must be a sequence"),
        (lambda: theory.qufur_bounds(ONE, 0), "alpha of qufur_bounds must be a finite number above 0, got 0"),
        (lambda: theory.qufur_bounds(ONE, math.nan), "alpha of qufur_bounds .* got nan"),
        (lambda: theory.qufur_order(ONE, -1.0), "alpha of qufur_order .* got -1.0"),
        (lambda: theory.kernel_bounds(ONE, 0), "alpha of kernel_bounds"),
        (lambda: theory.nonlinear_bounds(ONE, 0, log_covering=1.0), "alpha of nonlinear_bounds"),
        (lambda: theory.qufur_bounds(ONE, 1, delta=0), "delta of qufur_bounds must be between 0 and 1, both"),
        (lambda: theory.qufur_bounds(ONE, 1, delta=1), "delta of qufur_bounds .* got 1"),
        (lambda: theory.fixed_budget_bounds(ONE, 50, delta=None), "delta of fixed_budget_bounds .* got None"),
        (lambda: theory.nonlinear_bounds(ONE, 1, log_covering=1.0, delta=2), "delta .* got 2"),
        (lambda: theory.qufur_bounds(ONE, 1, noise=-1), "noise of qufur_bounds .* got -1"),
        (lambda: theory.qufur_bounds(ONE, 1, norm_bound=0), "norm_bound of qufur_bounds .* got 0"),
        (lambda: theory.subsequence_bounds(0, 1, 1.0), "length of subsequence_bounds .* got 0"),
        (
            lambda: theory.fixed_budget_bounds(ONE, 0),
            "budget of FixedBudget must be an integer of at least 1",
        ),
        (lambda: theory.fixed_budget_bounds(ONE, 3), "budget of FixedBudget must be at least 21"),
        (lambda: theory.fixed_budget_order(ONE, 0.5), "budget of fixed_budget_order .* got 0.5"),
        (
            lambda: theory.regret_lower_bound(ONE, 1),
            "budget of regret_lower_bound .* at least Σ d_u = 2, got 1",
        ),
        (lambda: theory.regret_lower_bound(ONE, 0), "budget of regret_lower_bound .* got 0"),
        (lambda: theory.regret_lower_bound(ONE, 2, noise=0.1), "noise .* at least 0.5, got 0.1"),
        (lambda: theory.regret_lower_bound(Structure([2], [3]), 3), "got d_u = 3 with T_u = 2"),
        (lambda: theory.bayes_lower_bound(ONE, 0), "budget of bayes_lower_bound"),
        (lambda: theory.bayes_risk(-1), "labels of bayes_risk .* got -1"),
        (lambda: theory.uniform_bounds(2, 100, 0.0), r"rate of uniform_bounds must be in \(0, 1\], got 0.0"),
        (lambda: theory.uniform_bounds(2, 100, 1.1), "rate of uniform_bounds .* got 1.1"),
        (lambda: theory.oracle_bounds(ONE, 0), "budget of oracle_bounds .* got 0"),
        (lambda: theory.oracle_order(ONE, 0), "budget of oracle_order .* got 0"),
        (lambda: theory.oracle_threshold(ONE, 0), "budget of oracle_threshold .* got 0"),
        (lambda: theory.cost_bound(ONE, 0), "cost_ratio of cost_bound .* got 0"),
        (lambda: theory.cost_lower_bound(ONE, 0.01), "cost_ratio .* at least max d_u/T_u = 0.02, got 0.01"),
        (lambda: Bounds(1.0, 1.0).cost(0), "cost_ratio of Bounds .* got 0"),
        (lambda: theory.online_to_batch(-1.0, 5), "regret of online_to_batch .* got -1.0"),
        (lambda: theory.online_to_batch(1.0, 0), "horizon of online_to_batch .* got 0"),
        (lambda: theory.batch_order([0.5, 0.6], [1, 1], 5), "shares of batch_order .* sum to 1"),
        (lambda: theory.batch_order([0.0, 1.0], [1, 1], 5), "shares of batch_order .* above 0"),
        (lambda: theory.batch_bound([0.5, 0.5], [1], 50, 10), "dims of batch_bound .* a sequence of 2"),
        (
            lambda: theory.effective_dimension(-np.eye(2)),
            "kernel matrix .* positive semi-definite, got an eig",
        ),
        (lambda: theory.effective_dimension([[1.0, 2.0], [2.0, 1.0]]), "got an eigenvalue of -1"),
        (lambda: theory.effective_dimension([[1.0, 0.5], [0.0, 1.0]]), "finite and symmetric"),
        (lambda: theory.effective_dimension(np.ones((2, 3))), r"square, got shape \(2, 3\)"),
        (lambda: theory.effective_dimension([[np.nan]]), "X of effective_dimension must be finite"),
        (lambda: theory.effective_dimension(np.eye(2), regularization=0), "regularization .* got 0"),
        (lambda: theory.finite_log_covering(0), "count of finite_log_covering .* An empty class"),
        (lambda: theory.linear_log_covering(1, 0.0), "epsilon of linear_log_covering .* got 0.0"),
        (lambda: theory.confidence_radius(1, log_covering=-1.0, horizon=5), "log_covering .* got -1.0"),
        (lambda: theory.confidence_radius(-1, log_covering=1.0, horizon=5), "labels .* got -1"),
    ],
)
def test_theory_functions_reject_invalid_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_structure_is_immutable_and_compared_by_value():
    structure = Structure(np.array([5, 6]), np.array([1, 2]))
    assert structure == Structure((5, 6), (1, 2))
    with pytest.raises(AttributeError):
        structure.dims = (1, 1)
