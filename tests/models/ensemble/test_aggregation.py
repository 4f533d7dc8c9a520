"""Weights of experts against plain-Python versions of their formulas."""

import math

import numpy as np
import pytest

from qufur.models.ensemble.aggregation import BiasCorrectedWeights, ExponentialWeights, PolynomialWeights


def test_polynomial_weights_match_the_formula():
    rng = np.random.default_rng(0)
    prior = [0.5, 0.3, 0.2]
    weights, v, R, V, E = PolynomialWeights(np.array(prior)), prior, [0.0] * 3, [0.0] * 3, 0.0
    for _ in range(60):
        f, y, importance = rng.normal(size=3).tolist(), rng.normal(), rng.uniform(0, 8)
        m = sum(a * b for a, b in zip(v, f, strict=True))
        r = [min(5, importance) * 2 * (m - y) * (m - each) for each in f]
        R, V = (
            [0.995 * a + b for a, b in zip(R, r, strict=True)],
            [0.995**2 * a + b * b for a, b in zip(V, r, strict=True)],
        )
        E = max(E, *(b * b for b in r))
        raw = [p * max(a, 0) / (E + b) for p, a, b in zip(prior, R, V, strict=True)]
        v = [each / sum(raw) for each in raw] if sum(raw) else prior
        weights.update(np.array(f)[:, None], y, importance)
        np.testing.assert_allclose(weights.weights, v, rtol=1e-9)
    np.testing.assert_allclose(
        weights.combine(np.array([[[1.0], [2.0], [3.0]]]))[0, 0], v[0] + 2 * v[1] + 3 * v[2]
    )


def test_bias_correction_matches_the_formula():
    """The bias estimates are experts themselves, fitted to the errors of the weighted mean."""
    rng = np.random.default_rng(5)
    prior = np.array([0.7, 0.3])
    corrected, inner, outer = (
        BiasCorrectedWeights(prior),
        PolynomialWeights(prior),
        PolynomialWeights(np.array([0.6, 0.2, 0.2])),
    )
    errors, biases = [], [0.0, 0.0, 0.0]
    for outputs, y in zip(rng.normal(size=(30, 2, 1)), 3 + rng.normal(size=30), strict=True):
        mean = inner.combine(outputs[None]).item()
        expected = mean + float(np.dot(outer.weights, biases))
        assert corrected.combine(outputs[None]).item() == pytest.approx(expected, rel=1e-12)
        outer.update(np.array([[mean + bias] for bias in biases]), y, 1.5)
        inner.update(outputs, y, 1.5)
        corrected.update(outputs, y, 1.5)
        errors.append(y - mean)
        for index, half_life in ((1, 1), (2, 4)):
            w = [0.5 ** (age / half_life) for age in reversed(range(len(errors)))]
            biases[index] = sum(a * b for a, b in zip(w, errors, strict=True)) / (sum(w) + 1)
    np.testing.assert_allclose(corrected.weights, inner.weights, rtol=1e-12)
    corrected.reset_bias()
    np.testing.assert_allclose(corrected.combine(outputs[None]), inner.combine(outputs[None]))


def test_polynomial_weights_are_invariant_to_label_units():
    rng = np.random.default_rng(1)
    outputs, labels = rng.normal(size=(40, 3, 1)), rng.normal(size=40)
    one, other = (PolynomialWeights(np.full(3, 1 / 3)) for _ in range(2))
    for f, y in zip(outputs, labels, strict=True):
        one.update(f, y, 1.0)
        other.update(1e6 * f + 5e7, 1e6 * y + 5e7, 1.0)
    np.testing.assert_allclose(one.weights, other.weights, rtol=1e-5)


def test_weights_stay_when_all_experts_agree():
    weights = PolynomialWeights(np.array([0.9, 0.1]))
    weights.update(np.array([[2.0], [2.0]]), 5.0, 1.0)
    assert weights.weights.tolist() == [0.9, 0.1]


def test_exponential_weights_match_the_formula():
    rng = np.random.default_rng(2)
    prior = [0.7, 0.3]
    weights, v = ExponentialWeights(np.array(prior)), prior
    for _ in range(50):
        outputs, label = rng.dirichlet([0.3, 0.3, 0.3], size=2), int(rng.integers(3))
        importance = rng.uniform(0, 8)
        losses = [min(-math.log(max(p[label], 1e-300)), -math.log(0.01)) for p in outputs.tolist()]
        raw = [w * math.exp(-0.5 * min(5, importance) * loss) for w, loss in zip(v, losses, strict=True)]
        v = [0.99 * each / sum(raw) + 0.01 * p for each, p in zip(raw, prior, strict=True)]
        weights.update(outputs, label, importance)
        np.testing.assert_allclose(weights.weights, v, rtol=1e-9)
    outputs = np.array([[[0.9, 0.1], [0.2, 0.8]]])
    powers = [0.9 ** v[0] * 0.2 ** v[1], 0.1 ** v[0] * 0.8 ** v[1]]
    np.testing.assert_allclose(weights.combine(outputs)[0], np.array(powers) / sum(powers))


@pytest.mark.parametrize("aggregation_type", [PolynomialWeights, BiasCorrectedWeights, ExponentialWeights])
def test_restored_weights_continue_bit_for_bit(aggregation_type):
    rng = np.random.default_rng(3)
    outputs = rng.dirichlet([1, 1], size=(20, 4))
    weights = aggregation_type(np.full(4, 0.25))
    for f in outputs[:10]:
        weights.update(f, 1.0, 2.0)
    again = aggregation_type(np.full(4, 0.25))
    again.restore({name: array.copy() for name, array in weights.arrays().items()})
    for f in outputs[10:]:
        weights.update(f, 0.0, 1.0)
        again.update(f, 0.0, 1.0)
    np.testing.assert_array_equal(weights.weights, again.weights)
    np.testing.assert_array_equal(weights.combine(outputs), again.combine(outputs))
