"""Paced: a budget is spent and never exceeded, and a rate holds in every window."""

import dataclasses
import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qufur import Learner, Paced, QuFUR, Ridge, run, streams
from qufur.rules.paced import Bucket, Remainder
from qufur.rules.piecewise import SEGMENT


def play(rule, uncertainty, rng, cuts=()):
    """Offer examples with these uncertainties in blocks that end at `cuts`; return the queries."""
    spending, query, start = rule.start(), [], 0
    ends = [*sorted(set(cuts)), len(uncertainty)]
    while start < len(uncertainty):
        stop = min(next(end for end in ends if end > start), start + spending.ahead)
        deltas = uncertainty[start:stop]
        offer = spending.offer(len(deltas), rng, None)
        for row in range(len(deltas)):
            if deltas[row] > offer.lowest_threshold[row]:
                offer.buy(row, deltas[row])
        offer.close(deltas)
        query.append(offer.query)
        start = stop
    return np.concatenate(query), spending


uncertainties = st.lists(
    st.one_of(st.floats(0, 1), st.just(0.0), st.floats(1e-9, 1e-3)), min_size=1, max_size=300
).map(np.array)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(uncertainties, st.integers(1, 400), st.integers(1, 400), st.integers(0, 2**32))
def test_budget_is_never_exceeded(delta, budget, horizon, seed):
    query, spending = play(Paced(budget, horizon), delta, np.random.default_rng(seed))
    assert query.sum() == spending.spent <= budget
    assert spending.left == budget - spending.spent


@settings(max_examples=300, deadline=None, derandomize=True)
@given(uncertainties, st.floats(0.001, 1), st.integers(0, 2**32))
def test_budget_is_spent_within_the_horizon(delta, share, seed):
    """Each of the last examples is a segment, and all are bought once as many labels as examples are left."""
    horizon = len(delta)
    budget = max(1, int(share * horizon))
    query, _ = play(Paced(budget, horizon), delta, np.random.default_rng(seed))
    assert query.sum() == budget


@settings(max_examples=300, deadline=None, derandomize=True)
@given(uncertainties, st.floats(0.01, 1), st.floats(0.1, 50), st.integers(0, 2**32))
def test_rate_holds_in_every_window(delta, rate, more, seed):
    burst = SEGMENT * rate + 1 + more
    query, _ = play(Paced(rate, burst=burst), delta, np.random.default_rng(seed))
    labels = np.append(0, np.cumsum(query))
    for n in range(1, len(delta) + 1):
        assert (labels[n:] - labels[:-n]).max() <= rate * n + burst


steps = st.one_of(
    st.tuples(st.just("ask"), st.integers(1, 70), st.sampled_from([0.0, 0.01, 0.1, 1.0])),
    st.tuples(st.sampled_from(["retract", "tell"]), st.integers(0, 100), st.integers(1, 20)),
)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.lists(steps, max_size=30), st.floats(0.01, 1), st.floats(0.1, 20), st.integers(0, 2**32))
def test_retraction_restores_the_tokens(steps, rate, more, seed):
    """The tokens equal those of a bucket with the other queries only, and these respect the rate."""
    rule = Paced(rate, burst=SEGMENT * rate + 1 + more)
    spending, rng, seen, outstanding, kept = rule.start(), np.random.default_rng(seed), 0, [], set()
    for name, n, size in steps:
        if name == "ask":
            for _ in range(n):
                query, _, charge, _ = spending.decide_one(size, rng, None)
                if query:
                    outstanding.append((seen, charge))
                    kept.add(seen)
                seen += 1
        for _ in range(size if name != "ask" else 0):
            if outstanding:
                place, charge = outstanding.pop(n % len(outstanding))
                if name == "retract":
                    spending.refund(charge)
                    kept.remove(place)
        again = rule.start()
        for place in range(seen):
            again.record(int(place in kept), int(place in kept), [0.0])
        assert math.isclose(spending.tokens, again.tokens, rel_tol=1e-12, abs_tol=1e-9)
        assert spending.spent == len(kept)
    labels = np.append(0, np.cumsum([place in kept for place in range(seen)]))
    for n in range(1, seen + 1):
        assert (labels[n:] - labels[:-n]).max() <= rate * n + rule.burst + 1e-9


def test_returned_tokens_are_not_refunded_twice():
    learner, E = Learner(Ridge(60), Paced(0.05, burst=20.0), seed=0), np.eye(60)
    learner.ask_many(E[:30])
    old = learner.outstanding
    learner.ask_many(np.zeros((1000, 60)))
    learner.ask_many(E[30:])
    left = learner.left
    assert len(old) > 5
    for id in old:
        learner.retract(id)
    assert learner.left == left


def test_rate_holds_when_tokens_arrive_in_bulk():
    """All tokens are spent at the end of a segment, and the tokens that it adds right after it."""
    delta = np.zeros(256)
    delta[128 - 9 : 128 + 9] = 1.0
    rate, burst = 0.25, SEGMENT * 0.25 + 1.1
    query, _ = play(Paced(rate, burst=burst), delta, np.random.default_rng(0))
    labels = np.append(0, np.cumsum(query))
    assert query.sum() > 1
    assert max((labels[n:] - labels[:-n]).max() - rate * n for n in range(1, 257)) <= burst


@settings(max_examples=100, deadline=None, derandomize=True)
@given(uncertainties, st.lists(st.integers(1, 299), max_size=20), st.integers(0, 2**32))
def test_decisions_do_not_depend_on_batches(delta, cuts, seed):
    for rule in Paced.examples(len(delta)):
        whole, one = play(rule, delta, np.random.default_rng(seed))
        cut, other = play(rule, delta, np.random.default_rng(seed), cuts)
        assert whole.tolist() == cut.tolist()
        assert one.save() == other.save()


def test_last_examples_are_segments_of_one():
    rule = Paced(20, 100)
    assert lengths(rule, 100) == [1, 1, 2, 4, 8, 16, 32, 4] + [1] * 32
    assert lengths(Paced(0.1), 100) == [1, 1, 2, 4, 8, 16, 32, 32, 4]


def lengths(rule, count):
    spending, lengths_so_far = rule.start(), []
    while sum(lengths_so_far) < count:
        n = min(spending.ahead, count - sum(lengths_so_far))
        spending.offer(n, np.random.default_rng(0), None).close(np.ones(n))
        lengths_so_far.append(n)
    return lengths_so_far


def slow_alpha(delta, bought, budget, horizon):
    """Return α after the examples `delta`, from the definition, one example at a time."""
    level = 0.0
    for t, D in enumerate(delta):
        weight = 1.0 if t == 0 else max(4 / (t + 4), 1 / ((horizon - t) / 2 + 1))
        level += weight * (D * D - level)
    left, examples = budget - bought, horizon - len(delta)
    rate, n = left / examples, max(bought, 1)
    pace = rate * max(1, (budget**3 - n**3) / (3 * n**2 * left)) / level
    trade = 2 * rate * max(1, left / 2) ** (1 - bought / budget)
    alpha = math.sqrt(pace * trade)
    late = examples <= 0.1 * horizon or left >= examples / 2
    return max(alpha, 1.05 * rate / level**0.75) if late else alpha


@pytest.mark.parametrize("budget", [10, 50, 300])
def test_alpha_matches_its_formula(budget):
    horizon, delta = 640, np.random.default_rng(3).uniform(0.01, 0.3, 640)
    rng, spending, seen = np.random.default_rng(4), Paced(budget, horizon).start(), 0
    while seen < horizon - SEGMENT:
        if seen and spending.left and not math.isinf(spending.alpha):
            expected = slow_alpha(delta[:seen], spending.spent, budget, horizon)
            assert math.isclose(spending.alpha, expected, rel_tol=1e-9)
        deltas = delta[seen : seen + spending.ahead]
        offer = spending.offer(len(deltas), rng, None)
        for row in range(len(deltas)):
            if deltas[row] > offer.lowest_threshold[row]:
                offer.buy(row, deltas[row])
        offer.close(deltas)
        seen += len(deltas)


def test_remaining_labels_are_spent_immediately_beyond_the_horizon():
    delta = np.full(300, 1e-12)
    _, spending = play(Paced(10, 100), delta, np.random.default_rng(0))
    assert spending.spent == 10
    late = Paced(10, 50).start()
    late.seen = 64  # and no label bought
    assert late.next_alpha() == math.inf


def test_refund_returns_the_label():
    learner = Learner(Ridge(2), Paced(3, 40), seed=1)
    asked = [learner.ask([1.0, 0.0]) for _ in range(40)]
    assert sum(answer.query for answer in asked) == 3
    learner.retract(learner.outstanding[0])
    assert learner.left == 1
    bucket = Learner(Ridge(2), Paced(0.125, burst=20.0), seed=1)
    full = bucket.spending.tokens
    answer = bucket.ask([1.0, 0.0])
    assert answer.query
    assert bucket.spending.tokens == full - 1 + 0.125
    bucket.retract(answer.id)
    assert bucket.spending.tokens == full


def test_refund_counts_from_its_batch():
    X = np.random.default_rng(0).normal(size=(160, 20))
    X[:96] = 0.0  # Δ = 0, so no label is bought and the bucket stays full
    single, batches = (Learner(Ridge(20), Paced(0.125, burst=20.0), seed=1) for _ in range(2))
    for x in X:
        single.ask(x)
    for rows in (X[:100], X[100:]):
        batches.ask_many(rows)
    before = batches.spending.tokens
    for learner in (single, batches):
        learner.retract_many(learner.outstanding[-2:])
        assert learner.spending.tokens == before + 2


@pytest.mark.parametrize("rule", Paced.examples(300), ids=str)
def test_segment_survives_save_and_load(rule, tmp_path):
    stream = next(streams.HiddenDomains([150, 150], [5, 2], seed=2).chunks(300))
    whole, first = Learner(Ridge(7), rule, seed=5), Learner(Ridge(7), rule, seed=5)
    expected = whole.ask_many(stream.X)
    first.ask_many(stream.X[:77])  # inside a segment
    first.save(tmp_path / "learner")
    second = Learner.load(tmp_path / "learner")
    rest = second.ask_many(stream.X[77:])
    assert rest.query.tolist() == expected.query[77:].tolist()
    actual, expected = second.spending.save(), whole.spending.save()
    assert actual.keys() == expected.keys()
    for name in actual:  # blocks end at other rows, so Δ may differ in its last digit
        np.testing.assert_allclose(actual[name], expected[name], rtol=1e-13)
    assert json.dumps(actual)


@pytest.mark.parametrize("rule", [Paced(60, 600, floor=0.02), Paced(0.1, floor=0.02), QuFUR(0.5, floor=0.02)])
def test_floor_holds_while_labels_are_left(rule):
    X = np.tile([[1.0, 0.0]], (400, 1))
    X[200:] = 0  # without uncertainty
    learner, without = (Learner(Ridge(2), r, seed=0) for r in (rule, dataclasses.replace(rule, floor=0.0)))
    probability = learner.ask_many(X).probability
    assert learner.left != 0
    assert probability.min() == 0.02
    assert without.ask_many(X).probability.min() == 0


def test_paced_spends_more_where_uncertainty_is_high():
    stream = streams.HiddenDomains([500, 500], [12, 1], seed=1)
    trace = run(Learner(Ridge(stream.dim), Paced(100, 1000), seed=3), stream)
    first, second = trace.by_domain().values()
    assert first.queries > 2 * second.queries


def test_paced_is_near_the_best_alpha_in_hindsight():
    """Within 30 % over ten streams; the standard error of the ratio is about 4 %."""
    hindsight, paced = 0.0, 0.0
    for seed in range(10):
        stream = streams.HiddenDomains([300, 300, 300], [6, 3, 6], seed=seed)
        model = Ridge(stream.dim)
        alphas = [0.25, 0.5, 1.0, 2.0, 4.0]
        runs = [run(Learner(model, QuFUR(a, budget=180), seed=seed + 99), stream) for a in alphas]
        hindsight += min(trace.total_regret for trace in runs)
        paced += run(Learner(model, Paced(180, 900), seed=seed + 99), stream).total_regret
    assert paced < 1.3 * hindsight


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((0, 100), {}, "budget of Paced must be"),
        ((10.5, 100), {}, "a rate takes no horizon"),
        ((10, 0), {}, "horizon of Paced must be"),
        ((10,), {}, "Pass the length of the stream, or a rate such as 0.05"),
        ((1,), {}, "horizon of Paced must be given with a budget, got None. .* 1.0 labels every example"),
        ((np.int64(1),), {}, "horizon of Paced must be given with a budget"),
        ((0.0,), {}, "rate of Paced must be"),
        ((1.5,), {}, "rate of Paced must be"),
        ((0.1,), {"burst": 2.0}, "burst of Paced must be"),
        ((10, 100), {"burst": 50.0}, "given with a rate only"),
        (
            (10, 100),
            {"floor": 0.1},
            "floor of Paced must be at least 0 and below 0.1, got 0.1. A floor equal",
        ),
        ((0.1,), {"floor": 0.2}, "floor of Paced must be at least 0 and below 0.1"),
        ((0.1,), {"floor": -0.01}, "floor of Paced must be"),
        ((0.1,), {"floor": True}, "floor of Paced must be"),
    ],
)
def test_invalid_parameters_are_rejected(arguments, options, message):
    with pytest.raises(ValueError, match=message):
        Paced(*arguments, **options)


def test_start_returns_the_spending_of_budget_or_rate():
    assert isinstance(Paced(10, 100).start(), Remainder)
    assert isinstance(Paced(0.1).start(), Bucket)
    assert Paced(0.1).limit is None
    assert Paced(10, 100).limit == 10
