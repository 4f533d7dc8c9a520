"""Forecasts of `plan` against runs with the real labels and other random draws."""

import numpy as np
import pytest

from qufur import ConfidenceSet, KernelRidge, Learner, QuFUR, Ridge, Softmax, hypotheses, plan, run, streams
from qufur.planning import Spread
from qufur.planning.search import Drawn

HiddenDomains = streams.HiddenDomains
# Name: stream, budget. The streams' seeds differ from those of the simulated runs; noise is 0.1 by default.
STREAMS = {
    "scripts": (HiddenDomains.scripts(100), 340),
    "one domain": (HiddenDomains([1500], [12], seed=101), 150),
    "interleaved": (HiddenDomains.scripts(102, order="interleaved"), 170),
    "overlapping": (HiddenDomains([300, 200, 400, 300], [8, 12, 4, 10], ambient=25, seed=103), 120),
    "noisy": (HiddenDomains([400, 100, 600], [5, 15, 10], noise=0.3, seed=104), 220),
}
SEEDS = range(1000, 1020)


@pytest.fixture(scope="module", params=STREAMS)
def case(request):
    drawn, budget = STREAMS[request.param]
    stream = streams.Arrays.of(drawn)
    found = plan(Ridge(stream.dim), stream, budget, noise=drawn.noise)
    traces = [run(Learner(Ridge(stream.dim), QuFUR(found.alpha), seed=seed), stream) for seed in SEEDS]
    return found, traces


def regret_at(found, budget):
    return next(forecast.regret for forecast in found.forecast if forecast.budget == budget)


def test_mean_spend_holds_for_other_random_draws(case):
    # The standard deviation of this mean is at most 1.9 % of the budget: 1 in 100 sets of draws fails.
    found, traces = case
    assert np.mean([trace.queries for trace in traces]) == pytest.approx(found.budget, rel=0.05)
    assert found.spend.mean == pytest.approx(found.budget, rel=0.05)


def test_forecast_regret_matches_the_real_labels(case):
    found, traces = case
    measured = np.mean([trace.total_regret for trace in traces])
    assert regret_at(found, found.budget).mean == pytest.approx(measured, rel=0.3)


def test_labels_of_every_part_match_the_runs(case):
    found, traces = case
    assert [part.start for part in found.parts[1:]] == [part.stop for part in found.parts[:-1]]
    assert (found.parts[0].start, found.parts[-1].stop) == (0, found.horizon)
    for part in found.parts:
        bought = np.array([trace.query[part.start : part.stop].sum() for trace in traces])
        error = 4 * np.sqrt(2 * bought.var(ddof=1) / len(bought)) + 0.5
        assert part.labels.mean == pytest.approx(bought.mean(), abs=error)
    assert sum(part.labels.mean for part in found.parts) == pytest.approx(found.spend.mean)


def test_regret_falls_as_the_budget_grows(case):
    found, _ = case
    budgets = [forecast.budget for forecast in found.forecast]
    means = [forecast.regret.mean for forecast in found.forecast]
    assert budgets == sorted(budgets)
    assert means == sorted(means, reverse=True)
    assert all(
        forecast.regret.low <= forecast.regret.mean <= forecast.regret.high for forecast in found.forecast
    )


def test_regret_depends_on_the_noise():
    stream, budget = STREAMS["noisy"]
    quiet, right = (plan(Ridge(stream.dim), stream, budget, noise=noise) for noise in (0.1, 0.3))
    assert quiet.alpha == right.alpha
    # A forecast with a fixed noise of 0.1 would be off by more than the 30 % allowed above.
    assert regret_at(quiet, budget).mean < 0.6 * regret_at(right, budget).mean


def test_drawn_labels_have_the_regret_of_the_formula():
    # With every label bought, λ = σ²/τ² and no clipping, the expected regret is exactly σ² Σ xᵀM⁻¹x.
    dim, noise, norm = 6, 0.4, 1.0
    model = Ridge(dim, regularization=noise**2 * dim / norm**2, cap=False, clip=False)
    X = np.random.default_rng(0).normal(size=(150, dim)) / 4
    rng = np.random.default_rng(1)
    regret = []
    for seed in range(400):
        theta = rng.normal(size=dim)
        stream = Drawn(streams.Arrays(X, np.zeros(150)), model, theta / np.linalg.norm(theta), noise, seed)
        trace = run(Learner(model, QuFUR(1e9)), stream)
        regret.append(trace.total_regret)
    expected = noise**2 * trace.uncertainty.sum()
    assert np.mean(regret) == pytest.approx(expected, abs=4 * np.std(regret) / 20)


def test_regret_is_in_the_units_of_the_labels():
    X = np.random.default_rng(0).normal(size=(200, 3)) / 3
    unit = plan(Ridge(3), X, 20, noise=0.1, seeds=range(3))
    wide = plan(Ridge(3, label_range=(100, 120)), X, 20, noise=1.0, seeds=range(3))
    assert regret_at(wide, 20).mean == pytest.approx(100 * regret_at(unit, 20).mean)


def test_plan_does_not_depend_on_labels():
    stream = HiddenDomains([60, 60], [4, 2], seed=8)
    X = streams.Arrays.of(stream).X
    junk = streams.Arrays(X, 100 * np.arange(120.0), truth=np.ones(120))
    same = (stream, X, X.tolist(), junk)
    first, *others = (plan(Ridge(6), inputs, 20, noise=0.1, seeds=range(3)) for inputs in same)
    assert others == [first] * 3


def test_truth_stays_in_the_range_of_labels():
    X = np.random.default_rng(0).normal(size=(300, 5))
    found = plan(Ridge(5, intercept=True), X, 30, noise=0.1, seeds=range(5))
    assert 0.2 < found.norm < 0.6
    assert plan(Ridge(5), X / 10, 30, noise=0.1, seeds=range(2)).norm == pytest.approx(1.0)
    assert plan(Ridge(5), X / 10, 30, noise=0.1, norm=0.5, seeds=range(2)).norm == pytest.approx(0.5)


def test_unknown_noise_is_reported_as_a_guess():
    X = np.random.default_rng(0).normal(size=(100, 4)) / 10
    found = plan(Ridge(4), X, 10, seeds=range(2))
    assert found.guessed
    assert found.noise == pytest.approx(0.5)
    assert "a guess" in str(found)
    assert "guess" not in str(plan(Ridge(4), X, 10, noise=0.5, seeds=range(2)))


@pytest.mark.parametrize("kind", ["kernel", "softmax"])
def test_plan_has_no_forecast_for_other_models(kind):
    from sklearn.gaussian_process.kernels import RBF

    model = {"kernel": KernelRidge(RBF(1.0)), "softmax": Softmax(6, 3)}[kind]
    stream = HiddenDomains([60, 60], [4, 2])
    found = plan(model, stream, 20, seeds=range(4))
    assert found.spend.mean == pytest.approx(20, rel=0.2)
    assert all(forecast.regret is None for forecast in found.forecast)
    assert "for Ridge only" in str(found)
    with pytest.raises(ValueError, match="model of plan must be a Ridge to forecast regret"):
        plan(model, stream, 20, noise=0.1)


def test_plan_rejects_adaptive_streams():
    with pytest.raises(ValueError, match="no learner to watch"):
        plan(Ridge(3), streams.MostUncertain(3, 60), 20)


def test_plan_handles_full_and_unreachable_budgets():
    X = np.random.default_rng(0).normal(size=(40, 2))
    whole = plan(Ridge(2), X, 40, seeds=range(5))
    assert whole.spend.mean >= 39.5
    assert [forecast.budget for forecast in whole.forecast] == [10, 20, 40]
    X[::2] = 0
    half = plan(Ridge(2), X, 40, seeds=range(5))
    assert half.spend.mean == 20
    assert "No α spends this budget" in str(half)
    assert "No α" not in str(whole)


def test_planned_rule_keeps_the_budget():
    stream = HiddenDomains([60, 60], [4, 2])
    found = plan(Ridge(6), stream, 20, seeds=range(5))
    assert found.rule == QuFUR(found.alpha, budget=20)


def test_intervals_contain_one_more_run_with_probability_90_percent():
    # The standard deviation of this share is 0.5 %.
    runs = np.random.default_rng(0).normal(size=(4000, 21))
    spreads = [Spread.of(row[:20]) for row in runs]
    inside = [s.low <= one <= s.high for s, one in zip(spreads, runs[:, 20], strict=True)]
    assert np.mean(inside) == pytest.approx(0.9, abs=0.02)


def test_short_streams_have_few_parts():
    found = plan(Ridge(2), np.eye(2), 1, seeds=[5])
    assert [(part.start, part.stop) for part in found.parts] == [(0, 1), (1, 2)]


WRONG = {
    "budget 6": ({"budget": 6}, "budget of plan must be at most 5 labels, one for each row, got 6."),
    "no rows": ({"inputs": np.empty((0, 2))}, "inputs of plan must be of at least one row"),
    "other columns": ({"inputs": np.ones((5, 3))}, "X of plan must be of 2 columns"),
    "NaN": ({"inputs": np.full((5, 2), np.nan)}, "X of plan must be finite"),
    "noise": ({"noise": -1.0}, "noise of plan must be a finite number of at least 0"),
    "norm": ({"norm": 0.0}, "norm of plan must be a finite number above 0"),
    "parts": ({"parts": 0}, "parts of plan must be an integer of at least 1"),
    "seeds": ({"seeds": []}, "seeds of plan must be one or more integers"),
    "model": (
        {"model": ConfidenceSet(hypotheses.LinearBall(2), horizon=5)},
        "model of plan must be label-free",
    ),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_plan_rejects_invalid_arguments(wrong):
    changed, message = WRONG[wrong]
    arguments = {"model": Ridge(2), "inputs": np.ones((5, 2)), "budget": 2, "seeds": range(2), **changed}
    with pytest.raises(ValueError, match=message):
        plan(arguments.pop("model"), arguments.pop("inputs"), arguments.pop("budget"), **arguments)
