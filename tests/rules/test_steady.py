"""Steady: a constant rate with a warm-up, a rate that is respected, and half of the labels at random."""

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.rules.test_paced import lengths, play, steps, uncertainties

from qufur import Learner, Ridge, Steady, run, streams
from qufur.rules.spending import PAID, Charge
from qufur.rules.steady import RateSpending, WarmupSpending


@settings(max_examples=300, deadline=None, derandomize=True)
@given(uncertainties, st.integers(1, 400), st.integers(1, 400), st.integers(0, 2**32))
def test_budget_is_never_exceeded(delta, budget, horizon, seed):
    query, spending = play(Steady(budget, horizon), delta, np.random.default_rng(seed))
    assert query.sum() == spending.spent <= budget
    assert spending.left == budget - spending.spent


@settings(max_examples=300, deadline=None, derandomize=True)
@given(uncertainties, st.floats(0.001, 1), st.integers(0, 2**32))
def test_budget_is_spent_within_the_horizon(delta, share, seed):
    budget = max(1, int(share * len(delta)))
    query, _ = play(Steady(budget, len(delta)), delta, np.random.default_rng(seed))
    assert query.sum() == budget


@settings(max_examples=300, deadline=None, derandomize=True)
@given(uncertainties, st.floats(0.01, 1), st.floats(1, 50), st.integers(0, 2**32))
def test_rate_is_kept_at_all_times(delta, rate, burst, seed):
    query, _ = play(Steady(rate, burst=burst), delta, np.random.default_rng(seed))
    assert (np.cumsum(query) <= rate * np.arange(1, len(delta) + 1) + burst).all()


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.lists(steps, max_size=30), st.floats(0.01, 1), st.floats(1, 20), st.integers(0, 2**32))
def test_retracted_label_may_be_bought_again_immediately(steps, rate, burst, seed):
    spending, rng, seen, outstanding = Steady(rate, burst=burst).start(), np.random.default_rng(seed), 0, []
    for name, n, size in steps:
        for _ in range(n if name == "ask" else 0):
            query, _, charge, _ = spending.decide_one(size, rng, None)
            outstanding += [charge] * query
            seen += 1
            assert spending.spent <= rate * seen + burst
        for _ in range(min(size, len(outstanding)) if name != "ask" else 0):
            before, charge = spending.left, outstanding.pop(n % len(outstanding))
            if name == "retract":
                spending.refund(charge)
            assert spending.left == before + (name == "retract")
        assert 0 <= spending.left <= rate * seen + burst - spending.spent


@settings(max_examples=100, deadline=None, derandomize=True)
@given(uncertainties, st.lists(st.integers(1, 299), max_size=20), st.integers(0, 2**32))
def test_decisions_do_not_depend_on_batches(delta, cuts, seed):
    for rule in Steady.examples(len(delta)):
        whole, one = play(rule, delta, np.random.default_rng(seed))
        cut, other = play(rule, delta, np.random.default_rng(seed), cuts)
        assert whole.tolist() == cut.tolist()
        assert one.save() == other.save()


def test_segment_positions_match_the_definition():
    assert lengths(Steady(20, 100), 100) == [1, 1, 2, 4, 8, 16, 32, 4] + [1] * 32
    assert lengths(Steady(0.05), 100) == [1, 1, 2, 4, 8, 16, 32, 32, 4]
    assert lengths(Steady(0.5), 20) == [1, 1, 2, 4, 5, 5, 2]  # 10 / (4 · 0.5)
    assert lengths(Steady(0.9, burst=1), 3) == [1, 1, 1]


def settled(rule, delta, bought):
    """Return the spending of a rule after examples of which the first `bought` were queried."""
    spending = rule.start()
    for t, width in enumerate(delta):
        spending.record(int(t < bought), int(t < bought), [width])
    return spending


def test_probability_matches_hand_computation():
    """After 64 examples of Δ = 0.2 and 20 of 100 labels: r = 80/936 · (1 + 3e^(−1.6))."""
    spending = settled(Steady(100, 1000), [0.2] * 64, 20)
    r = 80 / 936 * (1 + 3 * math.exp(-1.6))
    np.testing.assert_allclose(spending.mean, 0.2, rtol=1e-12)
    np.testing.assert_allclose(
        spending.probability(np.array([0, 0.1, 0.2, 0.6, 9.0]), None), [r / 2, 0.75 * r, r, 2 * r, 1]
    )
    np.testing.assert_allclose(spending.floor, r / 2)


def test_probability_at_a_rate_matches_hand_computation():
    """After 64 examples at 5 %: 3.2 labels are due, 8 bought and 5.2 more allowed: r = ρ · 5.2/10."""
    spending = settled(Steady(0.05), [0.2] * 64, 8)
    r = 0.05 * 0.52
    np.testing.assert_allclose(spending.probability(np.array([0, 0.2, 0.6]), None), [r / 2, r, 2 * r])
    assert (spending.left, spending.labels_left.tolist()) == (5, [5.0])
    for place in range(8):
        spending.refund(Charge(PAID, place))
    assert (spending.spent, spending.left) == (0, 13)


def test_zero_uncertainty_gives_equal_probabilities():
    spending = settled(Steady(100, 1000), [0.0] * 64, 20)
    r = 80 / 936 * (1 + 3 * math.exp(-1.6))
    np.testing.assert_allclose(spending.probability(np.array([0, 0.1, 1e40]), None), r)
    np.testing.assert_allclose(spending.floor, r)


def test_running_mean_follows_the_last_hundred_examples():
    delta, mean = np.random.default_rng(1).random(640), 0.0
    for t, width in enumerate(delta.tolist(), 1):
        mean = mean + (width - mean) / min(t, 100)
    np.testing.assert_allclose(settled(Steady(0.05), delta.tolist(), 0).mean, mean, rtol=1e-12)
    np.testing.assert_allclose(settled(Steady(0.05), delta[:64].tolist(), 0).mean, delta[:64].mean())


def test_missing_labels_are_not_bought_in_one_batch():
    spending = settled(Steady(0.05), [0.2] * 6400, 0)
    assert spending.left == 330
    np.testing.assert_allclose(spending.probability(np.array([0.2]), None), 4 * 0.05)


def test_remaining_labels_are_spent_immediately_beyond_the_horizon():
    spending = settled(Steady(10, 64), [0.2] * 64, 4)
    assert spending.floor == 1
    query, _ = play(Steady(10, 100), np.full(300, 1e-12), np.random.default_rng(0))
    assert query[:100].sum() == query.sum() == 10


def test_steady_starts_with_a_warm_up():
    """A constant rate would buy 10 ± 3.1 labels of the first 200, and 150 ± 12 of the second half."""
    delta = np.full(6000, 0.3)
    query, _ = play(Steady(300, 6000), delta, np.random.default_rng(2))
    assert query[:200].sum() > 20
    assert query[3000:].sum() > 110


@pytest.mark.parametrize("rate", [0.01, 0.05, 0.3, 0.9])
def test_labels_follow_the_rate(rate):
    stream = streams.HiddenDomains([2500, 2500], [6, 30], seed=1)
    trace = run(Learner(Ridge(stream.dim), Steady(rate), seed=0), stream)
    assert abs(np.cumsum(trace.query) - rate * np.arange(1, 5001)).max() <= 20
    assert (trace.probability == 0).mean() < 0.01


@pytest.mark.parametrize("rule", [Steady(1200, 6000), Steady(0.2)], ids=repr)
def test_about_half_of_the_labels_are_random(rule):
    spending, rng, decisions = rule.start(), np.random.default_rng(6), []
    for width in np.random.default_rng(5).random(6000).tolist():
        query, _, _, at_random = spending.decide_one(width, rng, None)
        decisions.append((query, at_random))
    query, at_random = np.array(decisions).T
    assert 0.45 < at_random.sum() / query.sum() < 0.6


@pytest.mark.parametrize("rule", Steady.examples(300), ids=str)
def test_segment_survives_save_and_load(rule, tmp_path):
    stream = next(streams.HiddenDomains([150, 150], [5, 2], seed=2).chunks(300))
    whole, first = Learner(Ridge(7), rule, seed=5), Learner(Ridge(7), rule, seed=5)
    for x in stream.X[:77]:  # inside a segment
        whole.ask(x)
        first.ask(x)
    first.save(tmp_path / "learner")
    second = Learner.load(tmp_path / "learner")
    assert second.spending.floor == whole.spending.floor > 0
    assert [second.ask(x) for x in stream.X[77:]] == [whole.ask(x) for x in stream.X[77:]]
    assert second.spending.save() == whole.spending.save()
    assert json.dumps(second.spending.save())


@settings(max_examples=200, deadline=None, derandomize=True)
@given(uncertainties, st.floats(0, 1, exclude_max=True), st.floats(0, 1))
def test_thresholds_invert_the_probability(delta, coin, width):
    for rule in Steady.examples(len(delta)):
        spending = settled(rule, delta.tolist(), 0)
        p, level = spending.probability(width, None), spending.thresholds(coin, None)
        assert level == spending.thresholds(np.array([coin]), None)[0]
        assert float(p) == spending.probability(np.array([width]), None)[0]
        if abs(coin - p) > 1e-12:
            assert (width > level) == (coin < p)


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((0, 100), {}, "budget of Steady must be"),
        ((10.5, 100), {}, "a rate takes no horizon"),
        ((10, 0), {}, "horizon of Steady must be"),
        ((10,), {}, "Pass the length of the stream, or a rate such as 0.05"),
        ((1,), {}, "horizon of Steady must be given with a budget, got None. .* 1.0 labels every example"),
        ((0.0,), {}, "rate of Steady must be"),
        ((1.5,), {}, "rate of Steady must be"),
        ((0.1,), {"burst": 0.5}, "burst of Steady must be at least 1, got 0.5"),
        ((0.1,), {"burst": -1}, "burst of Steady must be in"),
        ((0.1,), {"burst": True}, "burst of Steady must be in"),
        ((0.1,), {"burst": 1e300}, "burst of Steady must be in"),
        ((10, 100), {"burst": 50.0}, "given with a rate only"),
    ],
)
def test_invalid_parameters_are_rejected(arguments, options, message):
    with pytest.raises(ValueError, match=message):
        Steady(*arguments, **options)


def test_start_returns_the_spending_of_budget_or_rate():
    assert isinstance(Steady(10, 100).start(), WarmupSpending)
    assert isinstance(Steady(0.1).start(), RateSpending)
    assert (Steady(0.1).limit, Steady(10, 100).limit) == (None, 10)
    assert (Steady(0.1).share, Steady(10, 100).share, Steady(200, 100).share) == (0.1, 0.1, 1.0)


@pytest.mark.parametrize("rule", [Steady(5, 1000), Steady(0.01)], ids=repr)
def test_first_example_is_always_bought(rule):
    learner = Learner(Ridge(2), rule)
    first, second = (learner.ask([1.0, 0.0]) for _ in range(2))
    assert (first.query, first.probability) == (True, 1.0)
    assert second.probability < 0.1


def test_rate_of_one_buys_every_label():
    learner = Learner(Ridge(1), Steady(1.0))
    assert learner.ask_many(np.ones((50, 1))).query.all()
