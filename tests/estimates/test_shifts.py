"""`ShiftSignal`: equal in blocks, invariant to scale; detects most shifts with few false alarms."""

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from studies.shifts.scores import alarms, beginnings, match
from tests.refusals import refusal

from qufur import Learner, Paced, QuFUR, Ridge, Uniform, run
from qufur.estimates.shifts import MAX_TIMES, ShiftSignal
from qufur.streams import Arrays, HiddenDomains


def some_uncertainties(count, seed):
    """Return levels that fall and jump, with noise of log-normal factors and some zeros."""
    rng = np.random.default_rng(seed)
    place = np.arange(count) % rng.integers(40, 150)
    levels = np.exp(rng.uniform(0, 1) * rng.standard_normal(count)) / (1 + place * rng.uniform(0, 1))
    return np.where(rng.random(count) < 0.03, 0.0, levels)


def told(uncertainty):
    signal = ShiftSignal()
    signal.update(uncertainty)
    return signal


def slow(uncertainty):
    """Return times and ratio by the formulas of the module docstring, from the whole past."""
    times, past, spreads = [], [], []
    S = level = begun = rise = 0.0
    quiet = 3
    for k in range(len(uncertainty) // 8):
        block = uncertainty[8 * k : 8 * k + 8]
        block = np.maximum(block[block > 0], block.max() / 1e9) if block.max() > 0 else np.full(8, 5e-324)
        now = np.log(block).mean()
        now = max(now, level - math.log(100)) if k else now
        spread = np.var(np.log(block), ddof=1) / len(block) if len(block) > 1 else 0.0
        rise = now - level if k else 0.0
        if not quiet:
            if S == 0:
                begun = 8 * k
            noise = math.sqrt(max(mean_spread(spreads), spread / 2))
            S = max(0.0, S + min(rise / math.hypot(0.1, noise), 4) - 1.5)
        if S > 3:
            times.append(begun)
            S, quiet, past, level = 0.0, 3, [], now
            spreads.append(None)
            continue
        moves = S == 0
        spreads.append(spread if moves else None)
        past = [now] if quiet else [*past, now if moves else None]
        quiet = max(0, quiet - 1)
        level = average(past, 8)
    return times, math.exp(min(rise, 700.0))


def average(values, most):
    """Return the running mean with weight 1/min(i, most) for value i; None skips a step."""
    mean = 0.0
    for i, value in enumerate(values, 1):
        mean = mean if value is None else mean + (value - mean) / min(i, most)
    return mean


def mean_spread(spreads):
    return average(spreads, 16)


@pytest.mark.parametrize("seed", range(20))
def test_signal_matches_the_formulas(seed):
    uncertainty = some_uncertainties(1500, seed)
    signal = told(uncertainty)
    times, ratio = slow(uncertainty)
    assert signal.times == times
    assert math.isclose(signal.ratio, ratio, rel_tol=1e-9)


def test_signal_has_many_shifts_in_the_compared_streams():
    found = [len(told(some_uncertainties(1500, seed)).times) for seed in range(20)]
    assert min(found) >= 10


@given(st.integers(0, 10**6), st.lists(st.integers(0, 500), max_size=4))
@settings(deadline=None, max_examples=25)
def test_signal_does_not_depend_on_blocks(seed, cuts):
    uncertainty = some_uncertainties(500, seed)
    blocks, single = ShiftSignal(), ShiftSignal()
    for part in np.split(uncertainty, sorted(cuts)):
        blocks.update(part)
    for value in uncertainty.tolist():
        single.update(value)
    assert told(uncertainty).state() == blocks.state() == single.state()


@pytest.mark.parametrize("cut", [0, 5, 160, 203])
def test_saved_signal_continues_bit_for_bit(cut):
    uncertainty = some_uncertainties(400, 3)
    signal = told(uncertainty[:cut])
    again = ShiftSignal.from_state(json.loads(json.dumps(signal.state(), allow_nan=False)))
    assert again.times == signal.times
    for one in (signal, again):
        one.update(uncertainty[cut:])
    assert again.state() == signal.state() == told(uncertainty).state()
    assert again.times


def test_signal_state_is_a_copy():
    signal = told(some_uncertainties(403, 3))
    state = signal.state()
    again = ShiftSignal.from_state(state)
    before = json.dumps(state)
    for one in (signal, again):
        one.update(some_uncertainties(200, 4))
        one.times.append(-1)
    assert json.dumps(state) == before
    assert -1 not in signal.times


def test_incomplete_state_is_rejected():
    state = ShiftSignal().state()
    del state["level"]
    assert "state of ShiftSignal must be of keys" in refusal(lambda: ShiftSignal.from_state(state))


@pytest.mark.parametrize("factor", [2.0**-40, 1e-12, 3.7, 1e9])
def test_signal_does_not_depend_on_scale(factor):
    uncertainty = some_uncertainties(2000, 5)
    signal, scaled = told(uncertainty), told(factor * uncertainty)
    assert scaled.times == signal.times != []
    assert math.isclose(scaled.ratio, signal.ratio, rel_tol=1e-9)


def test_jump_is_located():
    signal = told(np.repeat([1.0, 0.1, 0.2], 160))
    assert signal.times == [320]
    signal.update(np.full(8, 0.6))
    assert math.isclose(signal.ratio, 3)


def test_falling_uncertainty_is_no_shift():
    assert told(1 / np.arange(1.0, 2000)).times == []


def test_single_outlier_is_no_shift():
    uncertainty = np.full(400, 0.1)
    uncertainty[[99, 250]] = 1e6
    assert told(uncertainty).times == []


def test_zero_uncertainty_is_accepted():
    assert told(np.zeros(200)).times == []
    assert told(np.zeros(200)).ratio == 1
    assert told(np.repeat([0.0, 1.0], 80)).times == [80]
    assert told(np.repeat([1.0, 0.0, 1.0], 80)).times == [160]
    with_zeros = np.where(np.arange(400) % 11 == 0, 0.0, np.repeat([0.01, 1.0], 200))
    assert told(with_zeros).times == [200]


IID = {
    "half of the rows are 0": lambda rng: rng.random(5000) < 0.5,
    "one row in ten is 0": lambda rng: rng.random(5000) < 0.9,
    "nine rows in ten are small": lambda rng: np.where(rng.random(5000) < 0.9, 1e-3, 1.0),
    "log-normal norms": lambda rng: np.exp(1.5 * rng.normal(size=5000)),
}


@pytest.mark.parametrize("norms", IID)
@pytest.mark.parametrize("rule", [QuFUR(1.0), Uniform(0.2)], ids=str)
def test_independent_inputs_of_any_size_raise_few_alarms(norms, rule):
    # 30,000 other examples had at most 0.4 alarms per 1000; at that rate, 9 in 10,000 examples have a
    # probability of 2 in 10,000.
    count = 0
    for seed, dim in ((10, 3), (11, 10)):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(5000, dim)) / np.sqrt(dim) * IID[norms](rng)[:, None]
        learner = Learner(Ridge(dim), rule, seed=seed)
        count += len(told(run(learner, Arrays(X, np.zeros(5000))).uncertainty).times)
    assert count <= 8


def test_signal_accepts_values_of_any_size():
    for value in (5e-324, 1e-310, 1e308):
        signal = told(np.full(100, value))
        assert signal.times == []
        assert math.isclose(signal.ratio, 1)
    assert told(np.repeat([5e-324, 1e308], 40)).times == [40]
    assert 1e300 < told(np.repeat([5e-324, 1e308], 8)).ratio < math.inf


def test_signal_is_silent_before_the_first_full_block():
    signal = told([0.5] * 7)
    assert math.isnan(signal.ratio)
    assert (signal.examples, signal.times) == (7, [])
    signal.update(0.5)
    assert (signal.examples, signal.ratio) == (8, 1.0)


def test_signal_keeps_the_latest_times():
    whole = told(np.tile(np.repeat([0.01, 1.0], [40, 40]), MAX_TIMES + 5))
    assert len(whole.times) == MAX_TIMES
    assert whole.times[-1] == 80 * (MAX_TIMES + 5) - 40
    assert whole.times[0] == 80 * 6 - 40


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ([0.5, -0.1], "finite and at least 0, got -0.1 at row 1"),
        (np.nan, "finite and at least 0, got nan at row 0"),
        (-1.0, "finite and at least 0, got -1.0 at row 0"),
        ([np.inf], "finite and at least 0, got inf at row 0"),
        (np.ones((2, 2)), "a vector or one number, got shape (2, 2)"),
        (["a"], "a vector or one number, got list values"),
    ],
)
def test_invalid_input_changes_nothing(bad, message):
    signal = told([0.5] * 11)
    before = signal.state()
    assert f"uncertainty of ShiftSignal must be {message}" in refusal(lambda: signal.update(bad))
    assert signal.state() == before


def test_inputs_are_not_written_to():
    uncertainty = some_uncertainties(100, 0)
    uncertainty.flags.writeable = False
    told(uncertainty)


RULES = {"QuFUR": QuFUR(1.0), "Paced": Paced(400, 2000), "Uniform": Uniform(0.2)}


@pytest.mark.parametrize("rule", RULES)
def test_most_shifts_are_detected_with_few_false_alarms(rule):
    # Four shifts in each of 10 streams. With seeds 1000 to 1199 every rule had all 800 shifts detected and no
    # false alarm in 400,000 examples. Rates of 3/800 and 3/400,000 are therefore upper limits at 95 %. With
    # these rates three misses of 40 have a probability of 5 in 10,000, and so have three alarms in 20,000.
    found = false = 0
    for seed in range(10):
        stream = HiddenDomains([400] * 5, [5, 3, 8, 3, 5], seed=seed)
        trace = run(Learner(Ridge(stream.dim), RULES[rule], seed=seed), stream)
        delays, wrong = match(alarms(trace.uncertainty), beginnings(trace.domain))
        found, false = found + len(delays), false + wrong
    assert found >= 38
    assert false <= 2


@pytest.mark.parametrize("order", ["interleaved", "shuffled"])
def test_stationary_streams_raise_no_alarm(order):
    # Seeds 1000 to 1199 had no alarm in 400,000 examples; the limit is that of the previous test.
    count = 0
    for seed in range(10):
        stream = HiddenDomains([500] * 4, [5, 3, 8, 3], order=order, seed=seed)
        count += len(told(run(Learner(Ridge(stream.dim), QuFUR(1.0), seed=seed), stream).uncertainty).times)
    assert count <= 2


def test_returning_domain_is_no_shift():
    first, second = (HiddenDomains([400], [4], seed=seed) for seed in (1, 2))
    learner, signal = Learner(Ridge(8), QuFUR(4.0)), ShiftSignal()
    for stream, offset in ((first, 0), (second, 4), (first, 0)):
        (chunk,) = stream.chunks(400)
        X = np.zeros((400, 8))
        X[:, offset : offset + 4] = chunk.X
        for row, label in zip(X, chunk.y, strict=True):
            answer = learner.ask(row)
            signal.update(answer.uncertainty)
            if answer.query:
                learner.tell(answer.id, label)
    assert signal.times == [400]
