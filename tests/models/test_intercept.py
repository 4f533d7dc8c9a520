"""Tests of the intercept with a separate penalty, against a dense solve with that penalty on the diagonal."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from tests.refusals import refusal
from tests.same import same

from qufur import Learner, QuFUR, Ridge, Threshold, Uniform, run
from qufur.models.gram.cholesky import FactorGram
from qufur.models.gram.gram import Gram
from qufur.models.gram.inverse import InverseGram
from qufur.models.gram.low_rank import LowRankGram
from qufur.planning.search import draw_parameters
from qufur.snapshot import decode, encode
from qufur.streams import Arrays


def solution(X, y, probes, penalty, intercept_penalty):
    """Return ⟨θ̂, x⟩ and xᵀM⁻¹x by a dense solve, with λ·intercept_penalty in the corner of M."""
    rows, new = (np.column_stack([part, np.ones(len(part))]) for part in (X, probes))
    M = rows.T @ rows + penalty * np.diag([*np.ones(X.shape[1]), intercept_penalty])
    return new @ np.linalg.solve(M, rows.T @ y), np.einsum("ij,ji->i", new, np.linalg.solve(M, new.T))


def shifted_data(count, dim, seed=0):
    """Return inputs that are not centred, and labels around 900 in a range from 5 to 1000."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(count, dim)) / dim**0.5 + 0.3
    return X, 900 + 20 * X @ rng.normal(size=dim) + rng.normal(size=count)


@pytest.mark.parametrize("intercept_penalty", [1.0, 0.1, 1e-6, 1e-10])
@pytest.mark.parametrize("penalty", [1e-3, 0.1, 9.0])
@pytest.mark.parametrize(("count", "dim"), [(1, 3), (9, 40), (300, 3), (300, 40)])
def test_intercept_has_a_separate_penalty(count, dim, penalty, intercept_penalty):
    X, y = shifted_data(count, dim)
    options = {"intercept_penalty": intercept_penalty, "regularization": penalty, "label_range": (5, 1000)}
    learner = Learner(Ridge(dim, intercept=True, cap=False, clip=False, **options), Uniform(1.0))
    run(learner, Arrays(X, y))
    probes = shifted_data(20, dim, seed=1)[0]
    scores, variances = solution(X, (y - 502.5) / 497.5, probes, penalty, intercept_penalty)
    np.testing.assert_allclose(learner.predict(probes), 502.5 + 497.5 * scores, atol=1e-4)
    np.testing.assert_allclose(learner.uncertainty(probes), variances, rtol=1e-6)


def test_shifted_labels_are_learned_with_a_free_intercept_alone():
    X, y = shifted_data(60, 3)
    off = {}
    for intercept_penalty in (1.0, 1e-6):
        options = {"regularization": 9.0, "label_range": (5, 1000)}
        model = Ridge(3, intercept=True, intercept_penalty=intercept_penalty, **options)
        learner = Learner(model, Uniform(1.0))
        learner.learn(X[:30], y[:30])
        off[intercept_penalty] = np.abs(learner.predict(X[30:]) - y[30:]).mean()
    assert off[1e-6] < 15
    assert off[1.0] > 40


@pytest.mark.parametrize(
    ("dim", "penalty", "rows", "form"),
    [(40, 1.0, 20, LowRankGram), (40, 0.1, 60, InverseGram), (3, 1e-3, 60, InverseGram)],
)
def test_large_constant_does_not_force_the_slow_form(dim, penalty, rows, form):
    """Squared norms that included the constant would always select the slow factor form."""
    model = Ridge(dim, intercept=True, regularization=penalty)
    X, y = shifted_data(rows, dim)
    state = model.start()
    for t in range(rows):
        state.learn(X[t : t + 1], y[t : t + 1] / 1000)
    assert type(state.labelled.form) is form
    probes = np.column_stack([X[:5], np.ones(5)])
    M = np.column_stack([X, np.ones(rows)])
    M = M.T @ M + penalty * np.diag([*np.ones(dim), 1e-6])
    expected = np.einsum("ij,ji->i", probes, np.linalg.solve(M, probes.T))
    np.testing.assert_allclose(state.labelled.variance(model.features(X[:5])), expected, rtol=1e-8)


def test_intercept_is_learned_through_the_factor_when_precision_would_be_lost():
    gram, row = Gram(3, 1e-3, constant=1000.0), np.array([[0.5, 0.1, 1000.0]])
    gram.prepare(row)
    assert isinstance(gram.form, FactorGram)
    gram.add(row, np.ones(1))
    assert isinstance(gram.form, InverseGram)
    gram.add(np.array([[1e6, -1e6, 1000.0]]), np.ones(1))
    assert isinstance(gram.form, FactorGram), "inputs that are large themselves need it as before"


def test_discounted_intercept_returns_to_the_weak_prior():
    model = Ridge(2, intercept=True, half_life=4, label_range=(5, 1000))
    learner, X = Learner(model, Threshold(1e9)), np.random.default_rng(0).normal(size=(20, 2)) / 9
    learner.learn(X, np.full(20, 900.0))
    for _ in range(10):
        learner.ask_many(np.zeros((20, 2)))
        assert np.all((learner.predict(X) > 500) & (learner.predict(X) <= 1000))
        assert np.all((learner.uncertainty(X) >= 0) & (learner.uncertainty(X) <= 1))
    assert np.all(learner.uncertainty(X) == 1)
    learner.learn(X, np.full(20, 100.0))
    np.testing.assert_allclose(learner.predict(X), 100, atol=1)


def test_noise_and_penalty_are_estimated_without_the_intercept():
    """A constant shift of all labels changes neither the estimated noise nor the suggested λ."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(400, 5)) / 5**0.5
    y = X @ rng.normal(size=5) * 0.3 + 0.1 * rng.normal(size=400)
    fits = []
    for shift in (0.0, 0.6):
        state = Ridge(5, intercept=True, regularization=0.1).start()
        state.learn(X, y + shift)
        fits.append(state.fit())
    assert 0.09 < fits[0].noise < 0.11
    assert 0.03 < fits[0].suggested < 0.5  # σ²/τ² is 0.11
    assert fits[0].noise == pytest.approx(fits[1].noise, rel=1e-4)
    assert fits[0].suggested == pytest.approx(fits[1].suggested, rel=1e-3)
    assert fits[0].misfit == fits[1].misfit == ()


def test_drift_is_detected_with_a_free_intercept():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(800, 5))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    angle = np.pi * np.arange(800) / 800
    y = X[:, 0] * np.cos(angle) + X[:, 1] * np.sin(angle) + 0.1 * rng.normal(size=800)
    state = Ridge(5, intercept=True, regularization=0.05).start()
    state.learn(X, y)
    assert "may be drifting" in state.fit().misfit[0]


def test_queries_are_independent_of_the_intercept_penalty():
    X = np.random.default_rng(0).normal(size=(50, 3))
    stream = Arrays(X, np.zeros(50))
    held, free = (Ridge(3, intercept=True, intercept_penalty=penalty) for penalty in (1.0, 1e-6))
    np.testing.assert_array_equal(*(draw_parameters(m, stream, 1.0, range(4)) for m in (held, free)))


def test_files_of_older_versions_have_an_intercept_penalty_of_one():
    header, tensors = encode(Learner(Ridge(3, intercept=True, intercept_penalty=1.0), QuFUR(1.0)))
    del header["model"]["intercept_penalty"]
    assert decode(Learner, (header, tensors)).model.intercept_penalty == 1
    folder = Path(__file__).parents[1] / "storage" / "states"
    content = gzip.decompress((folder / "1-ridge-fixed-budget.qufur.gz").read_bytes())
    assert b"intercept_penalty" not in content
    assert json.loads((folder / "answers.json").read_text())["1-ridge-fixed-budget"]


@pytest.mark.parametrize("penalty", [1e-3, 1.0])
def test_saving_and_loading_midway_changes_no_bit(tmp_path, penalty):
    X, y = shifted_data(120, 6)
    model = Ridge(6, intercept=True, regularization=penalty, label_range=(5, 1000))
    uninterrupted, reloaded = (Learner(model, QuFUR(0.7), seed=3) for _ in range(2))
    for start in range(0, 120, 7):
        reloaded.save(tmp_path / "learner.qufur")
        reloaded = Learner.load(tmp_path / "learner.qufur")
        for each in (uninterrupted, reloaded):
            each.ask_many(X[start : start + 7])
            each.tell_many(each.outstanding[1::2], y[list(each.outstanding[1::2])])
        assert same(uninterrupted, reloaded)


@pytest.mark.parametrize("value", [0, -1.0, 2.0, "free", None, float("nan")])
def test_invalid_intercept_penalty_raises(value):
    message = refusal(lambda: Ridge(3, intercept=True, intercept_penalty=value))
    assert message.startswith("intercept_penalty of Ridge must be in (1e-12, 1], got ")


def test_conversion_to_the_inverse_loses_no_precision():
    gram, X = Gram(3, 1.0, constant=1000.0), np.random.default_rng(4).normal(size=(3, 2))
    rows = np.column_stack([X, np.full(3, 1000.0)])
    for row in rows:
        gram.add(row[None])
    assert isinstance(gram.form, InverseGram)
    _, variances = solution(X, np.zeros(3), X, 1.0, 1e-6)
    np.testing.assert_allclose(gram.variance(rows), variances, rtol=1e-12)


def test_intercept_in_many_dimensions_is_not_learned_through_an_inverse():
    """The variance of the intercept is only one of many in the trace of M⁻¹."""
    gram = Gram(400, 0.01, constant=1000.0)
    gram.prepare_for(2.0)
    assert isinstance(gram.form, FactorGram)


def test_large_inputs_stay_with_the_factor():
    gram = Gram(3, 1e-3, constant=1000.0)
    for x in (1e6, 0.1):  # the second input determines the intercept
        gram.add(np.array([[x, -x, 1000.0]]))
        assert isinstance(gram.form, FactorGram)


def test_copy_continues_identically():
    gram, row = Gram(3, 0.1, constant=1000.0), np.array([[0.5, 0.1, 1000.0]])
    gram.add(np.repeat(row, 20, axis=0))
    assert isinstance(gram.form, InverseGram)
    twin = gram.copy()
    for each in (gram, twin):
        each.add(np.repeat(row, 20, axis=0))
    assert type(gram.form) is type(twin.form) is InverseGram
