"""Expected error at a budget, from a pilot."""

import numpy as np
import pytest

from qufur import Learner, Ridge, Uniform, run, streams
from qufur.planning import Pilot, plan
from qufur.planning.pilot import _extrapolate


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(3000, 6))
    return streams.Arrays(X, X @ rng.normal(size=6) + rng.normal(size=3000))


MODEL = Ridge(6, label_range=(-12, 12))


def pilot_of(table, count, seed):
    places = np.sort(np.random.default_rng(seed).permutation(table.horizon)[:count])
    return Pilot(places, table.X[places], table.y[places], table.horizon)


@pytest.mark.parametrize("budget", [60, 120, 360])
def test_expected_rmse_matches_uniform_runs(table, budget):
    """Compare in the units of the labels; beyond the pilot the irreducible noise has not been measured."""
    found = np.mean([pilot_of(table, 120, s).expect(MODEL, [budget])[0].loss for s in range(4)])
    rule = Uniform(budget / table.horizon)
    measured = np.mean([run(Learner(MODEL, rule, seed=s), table).loss.mean() for s in range(4)])
    assert np.sqrt(found) == pytest.approx(np.sqrt(measured), rel=0.2)


def test_power_law_is_extrapolated():
    points = np.array([[n, n**-0.5, 0.1] for n in (25.0, 50.0, 100.0)])
    for budget in (10, 25, 60, 100, 1000):
        assert _extrapolate(points, budget).loss == pytest.approx(budget**-0.5)
    within, beyond = _extrapolate(points, 100), _extrapolate(points, 400)
    assert within.high / within.low == pytest.approx(np.exp(0.4))
    assert beyond.high / beyond.low > within.high / within.low


def test_expected_error_never_rises_with_labels():
    points = np.array([[25.0, 1.0, 0.1], [50.0, 1.1, 0.1], [100.0, 1.2, 0.1]])
    assert _extrapolate(points, 400).loss == pytest.approx(1.2)


def walk():
    """Return constant inputs and labels that change slowly, so that only neighbours predict each other."""
    hours = np.arange(3000.0)
    return np.ones((3000, 1)), 10 * np.sin(hours / 40)


@pytest.mark.parametrize("known", [np.arange(3000), np.arange(0, 3000, 25)], ids=["all", "a few"])
def test_pilot_uses_as_many_rows_as_the_budget(known):
    """A model with a half-life follows the last labels, so its error depends on how dense they are."""
    X, y = walk()
    model = Ridge(1, label_range=(-10, 10), half_life=3)
    (found,) = Pilot(known, X[known], y[known], 3000).expect(model, [120])
    measured = run(Learner(model, Uniform(1.0)), streams.Arrays(X[::25], y[::25])).loss.mean()
    assert np.sqrt(found.loss) == pytest.approx(np.sqrt(measured), rel=0.3)


def test_pilot_shuffles_rows_within_a_part():
    X, y = walk()
    part, whole = (Pilot(rows, X[rows], y[rows], 3000) for rows in (np.arange(300), np.arange(0, 3000, 10)))
    assert part.local
    assert not whole.local
    rng = np.random.default_rng
    assert not (np.diff(part._order(120, rng(0))) > 0).all()
    assert len(part._order(120, rng(0))) == 300
    assert (np.diff(whole._order(120, rng(0))) > 0).all()
    assert len(whole._order(120, rng(0))) == 120
    assert len(whole._order(5, rng(0))) == 24


def test_pilot_rejects_too_few_labels(table):
    with pytest.raises(ValueError, match="pilot of plan must be at least 24 labels, got 20"):
        pilot_of(table, 20, 0).expect(MODEL, [50])


def test_plan_prints_expected_rmse_only_with_a_pilot(table):
    found = plan(MODEL, table, 100, seeds=range(2), steady=True, pilot=pilot_of(table, 60, 0))
    assert [part.budget for part in found.expected] == [25, 50, 100, 200, 400]
    text = str(found)
    assert "RMSE" in text
    assert f"{found.expected[2].rmse.mean:.3g} (" in text
    assert found.expected[0].rmse.mean ** 2 == pytest.approx(found.expected[0].loss)
    assert "RMSE" not in str(plan(MODEL, table, 100, seeds=range(2), steady=True))
