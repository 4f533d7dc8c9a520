"""Eluder dimension against exhaustive search, and the bounds for common classes against it."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qufur.theory import eluder_dimension, finite_eluder_bound, glm_eluder_bound, linear_eluder_bound
from qufur.theory.eluder import intersect, merge, subtract


def independent(table, x, before, level):
    """Return whether x is independent of its predecessors at a level, literally as in Definition 2."""
    return any(
        sum((f[i] - g[i]) ** 2 for i in before) <= level**2 and f[x] - g[x] > level
        for f in table
        for g in table
    )


def exhaustive(table, epsilon):
    """Try every sequence at every level where anything can change: ε and every norm of a difference."""
    inputs = range(len(table[0]))
    norms = {
        float(np.sqrt(sum((f[i] - g[i]) ** 2 for i in inputs if mask >> i & 1)))
        for f in table
        for g in table
        for mask in range(1 << len(inputs))
    }
    # A norm may be rounded down. Slightly above it is above the true norm and below the next one.
    levels = {level * (1 + 1e-9) for level in norms | {epsilon} if level >= epsilon}
    return max(
        (
            length
            for level in levels
            for length in range(1, len(inputs) + 1)
            for order in permutations(inputs, length)
            if all(independent(table, x, order[:k], level) for k, x in enumerate(order))
        ),
        default=0,
    )


small_tables = st.integers(1, 4).flatmap(
    lambda inputs: st.lists(
        st.lists(st.integers(-4, 4), min_size=inputs, max_size=inputs), min_size=1, max_size=5
    )
)


@settings(max_examples=150, deadline=None)
@given(small_tables, st.sampled_from([0.1, 0.5, 1.0, 1.5, 2.0, 3.0]))
def test_eluder_dimension_equals_exhaustive_search(table, epsilon):
    assert eluder_dimension(table, epsilon) == exhaustive(table, epsilon)


def test_eluder_dimension_equals_exhaustive_search_for_real_values():
    rng = np.random.default_rng(0)
    dimensions = []
    for _ in range(15):
        table = rng.uniform(-1, 1, (4, 4))
        dimensions.append(eluder_dimension(table, 0.2))
        assert dimensions[-1] == exhaustive(table, 0.2)
    assert len(set(dimensions)) > 1


@given(small_tables, st.floats(0.1, 3))
@settings(max_examples=100, deadline=None)
def test_eluder_dimension_falls_with_epsilon_and_with_smaller_classes(table, epsilon):
    dimension = eluder_dimension(table, epsilon)
    assert eluder_dimension(table, 1.5 * epsilon) <= dimension
    assert eluder_dimension(table[1:] or table, epsilon) <= dimension
    assert eluder_dimension([row[::-1] for row in table], epsilon) == dimension
    assert eluder_dimension([row + row for row in table], epsilon) == dimension
    assert dimension <= finite_eluder_bound(len(table), len(table[0]))


def test_eluder_dimension_matches_hand_made_classes():
    assert eluder_dimension([[1.0, 2.0, 3.0]], 0.1) == 0
    assert eluder_dimension([[0.0, 0.0], [0.1, 0.1]], 0.1) == 0
    # Indicators of single inputs, with the zero function: one input after the other.
    assert eluder_dimension(np.vstack([np.eye(16), np.zeros(16)]), 0.5) == 16
    # Thresholds on a line: the pair that differs in one input agrees on all others.
    assert eluder_dimension(np.tri(9, 8, -1), 0.5) == 8


def test_eluder_dimension_of_a_finite_class_can_exceed_its_size_minus_one():
    table = [[-0.6, 0.0, 0.5], [0.6, 0.5, 0.0], [0.0, 1.1, 1.1]]
    assert eluder_dimension(table, 0.99) == exhaustive(table, 0.99) == 3


@pytest.mark.parametrize("dim", [1, 2])
@pytest.mark.parametrize("epsilon", [0.05, 0.3, 1.0])
def test_eluder_linear_bound_holds(dim, epsilon):
    rng = np.random.default_rng(1)
    for _ in range(5):
        theta = rng.standard_normal((60, dim))
        theta /= np.maximum(1, np.linalg.norm(theta, axis=1))[:, None]
        X = rng.standard_normal((8, dim)) * 10.0 ** rng.uniform(-2, 0, (8, 1))
        X /= np.maximum(1, np.linalg.norm(X, axis=1))[:, None]
        dimension = eluder_dimension(theta @ X.T, epsilon)
        assert dimension <= linear_eluder_bound(dim, epsilon)
        squeezed = np.tanh(theta @ X.T)
        slopes = (1 - np.tanh(1) ** 2, 1.0)
        assert eluder_dimension(squeezed, epsilon) <= glm_eluder_bound(dim, epsilon, slopes=slopes)


@given(st.integers(1, 50), st.floats(1e-6, 1), st.floats(0.1, 10), st.floats(0.05, 1))
def test_eluder_bounds_are_the_largest_solution(dim, epsilon, norm_bound, least):
    def allowed(n):
        grown = (1 + least**2 / 2) ** (n / dim)
        return grown <= (1 + (2 * norm_bound * least / epsilon) ** 2 * n / dim) * (1 + 1e-9)

    n = glm_eluder_bound(dim, epsilon, slopes=(least, 1.0), norm_bound=norm_bound)
    assert n == 0 or allowed(n)
    assert not allowed(1.001 * n + 1)
    # The closed form printed in the source is at least as large.
    r2 = 1 / least**2
    scale = (2 * norm_bound / epsilon) ** 2
    assert n <= 3 * dim * r2 * np.e / (np.e - 1) * np.log(3 * r2 + 3 * r2 * scale) + 1


def test_interval_sets_match_set_operations():
    rng = np.random.default_rng(2)
    points = np.arange(60) / 6 + 0.05
    for _ in range(200):
        left, right = (
            merge([(a, a + w) for a, w in rng.integers(1, 8, (n, 2)).tolist()]) for n in rng.integers(0, 4, 2)
        )

        def inside(spans):
            return {p for p in points if any(a <= p < b for a, b in spans)}

        assert inside(intersect(left, right)) == inside(left) & inside(right)
        assert inside(subtract(left, right)) == inside(left) - inside(right)
        assert inside(merge(left + right)) == inside(left) | inside(right)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: eluder_dimension([], 0.1), "values of eluder_dimension must be a table"),
        (lambda: eluder_dimension(np.zeros((0, 3)), 0.1), r"at least one function .* got shape \(0, 3\)"),
        (lambda: eluder_dimension([[0.0, np.nan]], 0.1), "values .* finite"),
        (lambda: eluder_dimension([[0.0]], 0), "epsilon .* above 0, got 0"),
        (lambda: eluder_dimension(np.eye(17), 0.1), "at most 16 inputs, got 17 inputs"),
        (lambda: eluder_dimension(np.arange(200)[:, None], 0.1), "at most 128 functions, got 200"),
        (lambda: finite_eluder_bound(0, 3), "functions .* An empty class"),
        (lambda: linear_eluder_bound(0, 0.1), "dim .* got 0"),
        (lambda: linear_eluder_bound(1, -0.1), "epsilon .* got -0.1"),
        (lambda: glm_eluder_bound(1, 0.1, slopes=(0.5, 0.2)), r"slopes .* \(smallest, largest\)"),
        (lambda: glm_eluder_bound(1, 0.1, slopes=(0.0, 0.2)), "each of slopes .* above 0"),
    ],
)
def test_eluder_functions_reject_invalid_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()
