"""`LossEstimate`: unbiased, equal in blocks, and inside its interval at all times."""

import itertools
import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.refusals import refusal
from tests.soak import SOAK

from qufur import Learner, QuFUR, Ridge, Uniform, run
from qufur.estimates.loss import _SUMS, LossEstimate
from qufur.streams import Arrays, HiddenDomains

LOSS = np.array([0.3, 1.0, 0.0, 0.7, 0.05, 1.0])
LARGEST = np.array([0.4, 1.0, 1.0, 0.9, 0.1, 1.0])
HORIZON = 300


def adaptive(draws):
    """Yield probabilities that depend on earlier draws; the third is 0 and the fifth is 1."""
    for i in range(len(draws)):
        if i in (2, 4):
            yield 0.0 if i == 2 else 1.0
        else:
            yield 0.6 if i and draws[i - 1] else 0.15


def outcomes():
    """Yield chance, query probabilities and queries of every possible outcome of a short stream."""
    for draws in itertools.product([False, True], repeat=len(LOSS)):
        p = np.array(list(adaptive(draws)))
        query = np.array(draws)
        chance = np.prod(np.where(query, p, 1 - p))
        if chance > 0:
            yield chance, p, query


def updated(p, query, loss=LOSS, largest=LARGEST, **options):
    estimate = LossEstimate(1.0, **options)
    estimate.update(p, query, np.where(query, loss, np.nan), largest)
    return estimate


def test_estimate_is_unbiased():
    chances, values = zip(
        *((chance, updated(p, query).value) for chance, p, query in outcomes()), strict=True
    )
    assert math.isclose(sum(chances), 1, rel_tol=1e-12)
    covered = np.delete(LOSS, 2)
    assert math.isclose(np.dot(chances, values), covered.mean(), rel_tol=1e-12)


def test_sums_are_supermartingales_at_every_rate():
    total, low, high = np.delete(LOSS, [2, 4]).sum(), 0.0, 0.0
    for chance, p, query in outcomes():
        estimate = updated(p, query)
        gains, costs = np.split(estimate._sums[len(_SUMS) :], 2)
        low = low + chance * np.exp(gains - estimate._low_rates * total)
        high = high + chance * np.exp(np.minimum(estimate._high_rates * total - costs, 700))
    # The first is an equality, up to the rounding of exponents of up to 10⁶.
    np.testing.assert_allclose(low, 1, rtol=1e-8)
    assert (high <= 1 + 1e-8).all()
    np.testing.assert_allclose(high[:10], 1, rtol=1e-8)
    assert high[-1] < 0.9


@pytest.mark.parametrize("confidence", [0.2, 0.5, 0.9])
def test_miss_probability_is_at_most_delta(confidence):
    mean = np.cumsum(np.delete(LOSS, 2)) / np.arange(1, len(LOSS))
    missed = 0.0
    for chance, p, query in outcomes():
        low, high = LossEstimate(1.0, confidence=confidence).intervals(p, query, LOSS, LARGEST)
        low, high = np.delete(low, 2), np.delete(high, 2)
        missed += chance * ((mean < low - 1e-12) | (mean > high + 1e-12)).any()
    assert missed <= 1 - confidence


def some_examples(count, seed):
    rng = np.random.default_rng(seed)
    p = np.where(rng.random(count) < 0.2, rng.integers(0, 2, count), rng.random(count) ** 4)
    query = rng.random(count) < p
    largest = 4 * rng.random(count)
    return p, query, np.where(query, largest * rng.random(count) ** 3, np.nan), largest


@given(st.integers(0, 10**6), st.lists(st.integers(0, 60), max_size=3))
@settings(deadline=None, max_examples=15)
def test_estimate_does_not_depend_on_blocks(seed, cuts):
    columns = some_examples(60, seed)
    single, blocks = LossEstimate(4.0), LossEstimate(4.0)
    ends = []
    for row in zip(*columns, strict=True):
        single.update(*row)
        ends.append(single.interval())
    for part in np.split(np.arange(60), sorted(cuts)):
        blocks.update(*(column[part] for column in columns))
    assert_alike(single, blocks)
    np.testing.assert_allclose(
        np.transpose(LossEstimate(4.0).intervals(*columns)), ends, rtol=1e-9, atol=1e-9
    )


def assert_alike(one, other):
    np.testing.assert_allclose(one.state()["sums"], other.state()["sums"], rtol=1e-12, atol=1e-12)


def test_long_update_equals_short_updates():
    columns = some_examples(5000, 0)
    whole, halves = LossEstimate(4.0), LossEstimate(4.0)
    whole.update(*columns)
    for part in (slice(2500), slice(2500, None)):
        halves.update(*(column[part] for column in columns))
    assert_alike(whole, halves)


def test_saved_estimate_continues_bit_for_bit():
    p, query, loss, largest = some_examples(50, 1)
    estimate = LossEstimate(4.0, confidence=0.9, typical_probability=0.2)
    estimate.update(p, query, loss, largest)
    again = LossEstimate.from_state(json.loads(json.dumps(estimate.state())))
    for one in (estimate, again):
        one.update(p, query, loss, largest)
    assert again.state() == estimate.state()
    assert again.interval() == estimate.interval()
    short = estimate.state() | {"sums": [0.0]}
    assert "sums of LossEstimate must be" in refusal(lambda: LossEstimate.from_state(short))


def test_estimate_is_nan_without_covered_examples():
    estimate = LossEstimate(2.0)
    assert math.isnan(estimate.value)
    assert math.isnan(estimate.covered)
    assert (estimate.examples, estimate.interval()) == (0, (0.0, 2.0))
    estimate.update([0.0, 0.0], [False, False], [np.nan, np.nan])
    assert math.isnan(estimate.value)
    assert (estimate.examples, estimate.covered, estimate.interval()) == (2, 0.0, (0.0, 2.0))


def test_interval_is_exact_at_probability_one():
    estimate = updated(np.ones(6), np.ones(6, dtype=bool))
    assert estimate.interval() == (estimate.value, estimate.value)
    assert math.isclose(estimate.value, LOSS.mean())


def test_interval_is_narrow_near_probability_one():
    for p in (1 - 2.0**-53, 1 - 2.0**-52, 1 - 1e-12):
        estimate = LossEstimate(4.0)
        estimate.saw(np.array([p, p]), np.array([4.0, 1.0]), np.array([4.0, 4.0]))
        assert np.isfinite(estimate.state()["sums"]).all()
        estimate.forgo([p])
        low, high = estimate.interval()
        assert 0 <= low <= high <= 4


def test_interval_respects_the_observed_losses():
    query = np.array([True, False, True, False, False, False])
    least, most = 0.3 / 6, (0.3 + 0.0 + 1.0 + 0.9 + 0.1 + 1.0) / 6
    low, high = updated(np.full(6, 0.5), query, confidence=1 - 1e-9).interval()
    assert math.isclose(low, least, rel_tol=1e-3)
    assert math.isclose(high, most)
    unlikely = np.full(6, 1e-9)  # the weighted losses exceed the possible total
    assert updated(unlikely, query).interval() == pytest.approx((most, most))


def test_interval_ends_do_not_cross():
    # A loss queried with probability 1e-9 suggests a large total, 200 draws without a query a small one.
    p, query = np.append(np.full(200, 0.5), 1e-9), np.arange(201) == 200
    assert LossEstimate(1.0).intervals(p, query, np.ones(201))[1][-2] < 0.2
    estimate = LossEstimate(1.0)
    estimate.update(p, query, np.ones(201))
    low, high = estimate.interval()
    assert low == high == 1.0


def test_lower_end_is_never_above_the_estimate():
    for seed in range(50):
        p, query, loss, largest = some_examples(100, seed)
        low, high = LossEstimate(4.0).intervals(p, query, loss, largest)
        weighted = np.where(query, loss, 0.0) / np.where(p > 0, p, 1.0)
        assert (low <= weighted.cumsum() / np.maximum(1, (p > 0).cumsum()) + 1e-12).all()
        assert (low <= high).all()


def test_interval_allows_any_value_of_outstanding_labels():
    p, query, loss, largest = some_examples(40, 2)
    waiting = np.flatnonzero(query)[::2]
    rest = np.delete(np.arange(40), waiting)
    estimate = LossEstimate(4.0)
    estimate.update(p[rest], query[rest], loss[rest], largest[rest])
    low, high = estimate.interval(p[waiting], largest[waiting])
    for share in (0.0, 0.3, 1.0):
        after = LossEstimate.from_state(estimate.state())
        after.update(p[waiting], query[waiting], share * largest[waiting], largest[waiting])
        least, most = after.interval()
        assert low <= least <= most <= high
    assert estimate.examples == len(rest)
    estimate.forgo(p[waiting], largest[waiting])
    assert estimate.interval() == (low, high)
    assert estimate.examples == 40


def test_estimate_does_not_depend_on_the_order_of_labels():
    columns = some_examples(40, 3)
    there, back = LossEstimate(4.0), LossEstimate(4.0)
    there.update(*columns)
    back.update(*(column[::-1] for column in columns))
    np.testing.assert_allclose(there.interval(), back.interval(), rtol=1e-12)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (([1.2], [True], [0.1]), "probability of LossEstimate must be in [0, 1], got 1.2 at row 0."),
        (([0.5, np.nan], [False] * 2, [0.1] * 2), "must be in [0, 1], got nan at row 1."),
        (([0.0], [True], [0.1]), "probability of LossEstimate must be above 0 where the label was queried"),
        (([1.0], [False], [0.1]), "must be below 1 where the label was not queried"),
        (([0.5], [True], [1.1]), "loss of LossEstimate must be in [0, largest_loss] where"),
        (([0.5], [True], [-0.1]), "got -0.1 at row 0. Cap losses above the bound"),
        (([0.5], [True], [np.nan]), "got nan at row 0."),
        (([0.5], [True], [0.4], [0.3]), "got 0.4 at row 0."),
        (([0.5], [True], [0.1], [np.inf]), "largest_loss of LossEstimate must be finite and at least 0"),
        (([0.5], [True, False], [0.1]), "query of LossEstimate must be one per probability, of shape (1,)"),
        (([0.5], [True], [0.1, 0.2]), "loss of LossEstimate must be one per probability"),
        (([[0.5]], [[True]], [[0.1]]), "must be one per probability"),
        (([0.5], [1], [0.1]), "query of LossEstimate must be an array of bool, got int64 values."),
    ],
)
def test_invalid_examples_are_rejected_and_change_nothing(columns, message):
    estimate = LossEstimate(1.0)
    assert message in refusal(lambda: estimate.update(*columns))
    assert estimate.examples == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"largest_loss": 0}, "largest_loss of LossEstimate must be a finite number above 0, got 0."),
        ({"largest_loss": math.inf}, "got inf."),
        ({"confidence": 1.0}, "confidence of LossEstimate must be in (0, 1), got 1.0."),
        ({"confidence": 0.0}, "confidence of LossEstimate must be in (0, 1]"),
        ({"typical_probability": 1}, "typical_probability of LossEstimate must be in (0, 1), got 1."),
    ],
)
def test_invalid_options_are_rejected(options, message):
    assert message in refusal(lambda: LossEstimate(**{"largest_loss": 1.0} | options))


def test_rounding_beyond_the_bound_is_accepted():
    estimate = LossEstimate(1.0)
    estimate.update([0.5], [True], [1 + 1e-12])
    assert estimate.value == 2.0


def realizable(seed):
    stream = Arrays.of(HiddenDomains([100, 200], [3, 2], seed=seed))
    return Arrays(stream.X, np.clip(stream.y, -1, 1))


def misspecified(seed):
    stream = Arrays.of(HiddenDomains([100, 200], [3, 2], seed=seed))
    noise = 0.1 * np.random.default_rng(seed).standard_normal(HORIZON)
    return Arrays(stream.X, np.clip(np.sin(6 * stream.truth) + noise, -1, 1))


def played(make, rule, seed):
    """Return probabilities, queries, losses and their bounds of a run with this seed."""
    trace = run(Learner(Ridge(5), rule, seed=10_000 + seed), make(seed))
    return trace.probability, trace.query, trace.loss, (1 + abs(trace.prediction)) ** 2


def true_mean(p, loss):
    return np.where(p > 0, loss, 0).cumsum() / np.maximum(1, (p > 0).cumsum())


def ordinary(p, query, loss):
    """Return the ends of the 95 % interval by the central limit theorem after each example."""
    count, inverse = np.maximum(1, (p > 0).cumsum()), 1 / np.where(p > 0, p, 1)
    mean = np.where(query, loss * inverse, 0).cumsum() / count
    half = 1.96 * np.sqrt(np.where(query, (1 - p) * (loss * inverse) ** 2, 0).cumsum()) / count
    return mean - half, mean + half


def misses(low, high, mean, since=0):
    return bool(((mean < low - 1e-12) | (mean > high + 1e-12))[since:].any())


@pytest.mark.parametrize(
    ("make", "budget", "rule"),
    [
        (realizable, 0.05, QuFUR(0.15)),
        (realizable, 0.2, QuFUR(1.5)),
        (misspecified, 0.05, Uniform(0.05)),
        (misspecified, 0.2, QuFUR(3.0, budget=60)),
    ],
    ids=["realizable-5", "realizable-20", "misspecified-5", "misspecified-20"],
)
def test_interval_covers_the_mean_at_all_times(make, budget, rule):
    # A valid 95 % sequence misses in more than 14 of 125 runs, or 40 of 500, with probability 0.2 %.
    runs, most = (500, 40) if SOAK else (125, 14)
    wrong = naive = 0
    for seed in range(runs):
        p, query, loss, largest = played(make, rule, seed)
        mean = true_mean(p, loss)
        estimate = LossEstimate(4.0, typical_probability=budget)
        wrong += misses(*estimate.intervals(p, query, loss, largest), mean)
        since = int(np.searchsorted(query.cumsum(), 5))  # this interval is meant for many labels
        naive += misses(*ordinary(p, query, loss), mean, since)
    assert wrong <= most, wrong
    assert naive > 0.16 * runs, naive


def test_floor_narrows_the_interval():
    widths = []
    for rule in (QuFUR(0.15), QuFUR(0.15, floor=0.05)):
        ends = [LossEstimate(4.0).intervals(*played(realizable, rule, seed)) for seed in range(20)]
        widths.append(np.mean([high[-1] - low[-1] for low, high in ends]))
    assert widths[1] < 0.9 * widths[0]


def test_lower_end_is_not_negative_after_all_losses_but_zero_are_forgotten():
    # 0.1 + 0.7 + 0.3 is not 0 after its terms are subtracted: the report takes the root of the lower end.
    for seed in range(40):
        rng = np.random.default_rng(seed)
        estimate, p, loss = LossEstimate(1.0), rng.uniform(0.1, 1, 6), rng.uniform(0, 1, 6)
        loss[0] = 0.0
        for row in range(6):
            estimate.saw(p[[row]], loss[[row]], np.ones(1))
        for row in range(1, 6):
            estimate.forget(p[[row]], loss[[row]], np.ones(1))
        assert estimate.interval()[0] >= 0
