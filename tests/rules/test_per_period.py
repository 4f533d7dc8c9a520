"""PerPeriod: no period exceeds its budget, each is spent evenly, and no label is carried over."""

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.refusals import refusal
from tests.rules.test_paced import uncertainties

from qufur import Learner, Ridge, checks, run, streams
from qufur.rules.per_period import UNKNOWN, PerPeriod

RULES = PerPeriod.examples(checks.HORIZON)
FEW = settings(max_examples=40, deadline=None, derandomize=True)
periods = st.lists(st.sampled_from([UNKNOWN, *range(-1, 6)]), min_size=300, max_size=300).map(np.array)


def running(domain):
    """Return the period of each example; examples before the first known period count for that one."""
    period = np.maximum.accumulate(domain)
    return np.where(period == UNKNOWN, min(period[period > UNKNOWN], default=UNKNOWN), period)


def play(spending, delta, domain, rng, cuts=()):
    """Decide examples in blocks that end at `cuts`; return queries and probabilities."""
    query, probability, start = [], [], 0
    while start < len(delta):
        stop = next(end for end in [*sorted(cuts), len(delta)] if end > start)
        offer = spending.offer(stop - start, rng, domain[start:stop])
        widths = delta[start : start + len(offer)]
        for row in range(len(widths)):
            if widths[row] > offer.lowest_threshold[row]:
                offer.buy(row, widths[row])
        probability.append(offer.close(widths))
        query.append(offer.query)
        start += len(offer)
    return np.concatenate(query), np.concatenate(probability)


def slow(budget, rows, delta, domain, coins):
    """Return queries and probabilities from the definition, one example at a time."""
    period, begun, bought, spent, mean, ended = None, 0, 0, 0, 0.0, []
    average, expected, position, segment, length = rows, rows, 0, [], 1
    base, slope = 1.0, 0.0
    decisions = []

    def begin_segment(t):
        nonlocal position, segment, length, base, slope, mean
        for place, width in enumerate(segment, position + 1):
            mean += (width - mean) / min(place, 100)
        position, segment = t, []
        end = begun + expected
        length = 1 if t < end else 32
        if t < end - 32:
            length = min(32, max(1, t), end - 32 - t)
        left, ahead = budget - bought, max(end - t, 1)
        rate = left / ahead * (1 + 3 * math.exp(-8 * spent / budget))
        if t == 0 or left >= ahead - length + 1:
            rate = math.inf
        flat = mean < 1e-150 or rate == math.inf
        base, slope = (min(1, rate), 0) if flat else (min(1, rate / 2), rate / 2 / mean)

    for t, (width, number, coin) in enumerate(zip(delta, domain.tolist(), coins, strict=True)):
        if number != UNKNOWN and period is not None and number > period:
            ended.append(t - begun)
            average = np.mean(ended) if len(ended) <= 4 else 0.25 * ended[-1] + 0.75 * average
            expected = max(1, round(average))
            begun, bought = t, 0
            begin_segment(t)
        if number != UNKNOWN:
            period = number if period is None else max(period, number)
        p = min(1, base + slope * width) if bought < budget else 0
        query = coin < p
        bought, spent = bought + query, spent + query
        segment.append(width)
        decisions.append((query, p))
        if len(segment) == length:
            begin_segment(t + 1)
    return np.array(decisions).T


@pytest.mark.parametrize("seed", range(12))
def test_per_period_matches_its_definition(seed):
    rng = np.random.default_rng(seed)
    delta, domain = rng.random(500) ** 4, np.sort(rng.choice([UNKNOWN, *range(1 + seed % 7)], 500))
    domain[rng.random(500) < 0.1] = UNKNOWN
    domain[300:][rng.random(200) < 0.1] = 0  # late examples
    budget, rows = rng.integers(1, 60), rng.integers(1, 200)
    expected = slow(int(budget), int(rows), delta, domain, np.random.default_rng(seed).random(500))
    decided = play(PerPeriod(budget, rows).start(), delta, domain, np.random.default_rng(seed))
    np.testing.assert_array_equal(decided[0], expected[0])
    np.testing.assert_allclose(decided[1], expected[1], rtol=1e-9)


@FEW
@given(uncertainties, periods, st.integers(1, 40), st.integers(1, 200), st.integers(0, 2**32))
def test_period_never_exceeds_its_budget(delta, domain, budget, rows, seed):
    domain, spending = domain[: len(delta)], PerPeriod(budget, rows).start()
    query, _ = play(spending, delta, domain, np.random.default_rng(seed))
    found = running(domain)
    assert all(query[found == period].sum() <= budget for period in set(found.tolist()))
    assert spending.spent == query.sum()
    assert spending.left == budget - query[found == found[-1]].sum()


@FEW
@given(
    uncertainties,
    periods,
    st.lists(st.integers(1, 299), max_size=20, unique=True),
    st.dictionaries(st.integers(-1, 6), st.integers(1, 90), max_size=5),
    st.integers(0, 2**32),
)
def test_decisions_do_not_depend_on_batches(delta, domain, cuts, coming, seed):
    domain = domain[: len(delta)]
    for rule in RULES:
        played = []
        for where in ((), cuts, range(1, len(delta))):
            spending = rule.start()
            spending.expect(coming)
            query, _ = play(spending, delta, domain, np.random.default_rng(seed), where)
            played.append((query.tolist(), spending.save()))
        one, rng = rule.start(), np.random.default_rng(seed)
        one.expect(coming)
        single = [one.decide_one(width, rng, domain[t : t + 1])[0] for t, width in enumerate(delta.tolist())]
        assert played == [(single, one.save())] * 3


@pytest.mark.parametrize("check", checks.CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_contract(check, rule):
    if check is not checks.check_bad_input:  # which expects a large domain to be rejected
        check(Ridge(checks.DIM), rule)


def test_ask_and_ask_many_agree_on_labels_left():
    X, domain = np.random.default_rng(1).normal(size=(90, 3)), np.repeat([3, 4, 9], 30)
    one, many = (Learner(Ridge(3), PerPeriod(8, 30), seed=2) for _ in range(2))
    answers = [one.ask(x, domain=int(u)) for x, u in zip(X, domain, strict=True)]
    assert [answer.why for answer in answers] == [answer.why for answer in many.ask_many(X, domain=domain)]


def test_periods_of_known_length_are_spent_whole_evenly_and_half_at_random():
    delta, domain = np.random.default_rng(3).random(6000), np.repeat(np.arange(6), 1000)
    spending, rng, decisions = PerPeriod(200, 1000).start(), np.random.default_rng(4), []
    for t, width in enumerate(delta.tolist()):
        query, _, _, at_random = spending.decide_one(width, rng, domain[t : t + 1])
        decisions.append((query, at_random))
    query, at_random = np.array(decisions).T
    assert query.reshape(6, 1000).sum(axis=1).tolist() == [200] * 6
    quarters = query.reshape(6, 4, 250).sum(axis=2)
    assert quarters[0, 0] > 70  # the warm-up
    # 50 labels are expected, with a standard deviation below √(50 · 0.8) = 6.3.
    assert 25 <= quarters[1:].min() <= quarters[1:].max() <= 75
    assert 0.45 < at_random.sum() / query.sum() < 0.6


def spent_by_period(rule, lengths, tables=()):
    """Return the labels bought per period; `tables` has the announced rows by first row of a table."""
    spending, rng = rule.start(), np.random.default_rng(0)
    query = []
    for t, period in enumerate(np.repeat(np.arange(len(lengths)), lengths)):
        if t in tables:
            spending.expect(tables[t])
        query.append(spending.decide_one(0.5, rng, np.array([period]))[0])
    return [int(queries.sum()) for queries in np.split(np.array(query), np.cumsum(lengths)[:-1])]


def test_announced_rows_get_labels():
    """Announced rows count in files of one period each, in one file, and if a period continues later."""
    rule, lengths = PerPeriod(20, 200), [200, 100, 50, 300, 50]
    unknown = spent_by_period(rule, lengths)
    assert unknown[0] == 20
    assert max(unknown[1:3]) < 20
    starts = np.cumsum([0, *lengths])
    files = {start: {period: lengths[period]} for period, start in enumerate(starts[:-1])}
    assert spent_by_period(rule, lengths, files) == [20] * 5
    assert spent_by_period(rule, lengths, {0: dict(enumerate(lengths))}) == [20] * 5
    days = {25 * day: {day // 4: 25} for day in range(40)}
    by_day = spent_by_period(PerPeriod(20, 100), [100] * 10, days)
    assert by_day == [20] * 10


def test_first_period_in_parts_is_spent_on_its_first_part_unless_rows_are_given():
    tables = {0: {0: 50}, 50: {0: 50}}
    assert spent_by_period(PerPeriod(20, 50), [50, 50], tables) == [20, 20]
    first = PerPeriod(20, 50).start(), PerPeriod(20, 100).start()
    for spending in first:
        spending.expect({7: 50})
    assert [spending.horizon for spending in first] == [50, 100]


def settled(rule, domain):
    spending = rule.start()
    charges = []
    for period in domain:
        query, _, charge, _ = spending.decide_one(0.0, np.random.default_rng(0), np.array([period]))
        charges += [charge] * query
    return spending, charges


def test_label_is_refunded_within_its_period_only():
    spending, charges = settled(PerPeriod(3, 3), [5] * 3 + [6] * 3)
    assert (len(charges), spending.spent, spending.left) == (6, 6, 0)
    spending.refund(charges[0])
    assert (spending.spent, spending.left) == (5, 0)
    spending.refund(charges[3])
    assert (spending.spent, spending.left) == (4, 1)
    late_query, *_ = spending.decide_one(0.0, np.random.default_rng(0), np.array([5]))
    assert late_query  # it counts for period 6
    assert spending.left == 0


def test_added_labels_apply_to_the_current_period():
    learner = Learner(Ridge(1), PerPeriod(2, 20))
    learner.ask_many(np.ones((20, 1)), domain=np.full(20, 1))
    learner.add_budget(5, 10)
    assert (learner.spent, learner.left, learner.spending.horizon) == (2, 5, 30)
    assert learner.ask_many(np.ones((10, 1)), domain=np.full(10, 1)).query.sum() == 5
    learner.ask_many(np.ones((30, 1)), domain=np.full(30, 2))
    assert learner.spent == 9
    assert learner.rule == PerPeriod(2, 20)


def test_period_survives_save_and_load(tmp_path):
    stream = next(streams.HiddenDomains([100, 100, 100], [5, 2, 1], seed=2).chunks(300))
    whole, first = (Learner(Ridge(8), PerPeriod(15, 90), seed=5) for _ in range(2))
    for learner in (whole, first):
        learner.spending.expect({0: 100, 1: 100, 2: 40})
        learner.ask_many(stream.X[:117], domain=stream.domain[:117])
    first.save(tmp_path / "learner")
    second = Learner.load(tmp_path / "learner")
    assert second.spending.coming == {2: 40}
    later = [learner.ask_many(stream.X[117:], domain=stream.domain[117:]) for learner in (whole, second)]
    assert list(later[0]) == list(later[1])
    assert second.spending.save() == whole.spending.save()
    assert json.dumps(second.spending.save())


def test_per_period_runs_on_a_stream_of_domains():
    stream = streams.HiddenDomains([200, 200], [3, 2], seed=1)
    trace = run(Learner(Ridge(5), PerPeriod.for_budget(40, 400, ([200, 200], [3, 2]))), stream)
    assert [totals.queries for totals in trace.by_domain().values()] == [20, 20]


def test_per_period_rejects_invalid_arguments():
    assert "budget of PerPeriod must be" in refusal(lambda: PerPeriod(0, 10))
    assert "rows of PerPeriod must be" in refusal(lambda: PerPeriod(1, 0))
    assert "domain of PerPeriod must be given" in refusal(lambda: Learner(Ridge(1), RULES[0]).ask([1.0]))
