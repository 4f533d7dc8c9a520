"""Shifts of inputs: located in row and column, without false alarms."""

import math

import numpy as np
import pytest

from qufur.estimates.input_blocks import InputBlocks
from qufur.estimates.input_shifts import MIN_BLOCKS, input_shifts, largest_shifts, only_advances

NAMES = ["wind", "rain", "sun", "night"]


def shifts_in(X, names=NAMES, first=0):
    blocks = InputBlocks(first)
    blocks.update(X)
    return input_shifts(blocks, names)


def noise(rows=1600, seed=0):
    return np.random.default_rng(seed).normal(size=(rows, 4))


def test_shift_of_the_mean_is_detected():
    X = noise()
    X[800:, 1] += 3.0
    (shift,) = shifts_in(X)
    first = shift.changes[0]
    assert (shift.row, shift.within, first.column, first.spread) == (800, 8, "rain", False)
    assert first.before == pytest.approx(0.0, abs=0.5)
    assert first.after == pytest.approx(3.0, abs=0.5)
    assert first.deviations == pytest.approx(first.after - first.before, rel=0.05)


def test_shift_of_the_spread_is_detected():
    X = noise()
    X[800:, 2] *= 6.0
    (shift,) = shifts_in(X)
    assert abs(shift.row - 800) <= 24
    assert (shift.changes[0].column, shift.changes[0].spread) == ("sun", True)
    assert shift.changes[0].after > 3 * shift.changes[0].before


def test_new_category_is_detected():
    X = noise()
    X[:, 3] = np.arange(1600) >= 1200
    shift = shifts_in(X)[0]
    change = shift.changes[0]
    assert (shift.row, change.column, change.before, change.after) == (1200, "night", 0.0, 1.0)


def test_shifts_are_listed_in_the_order_of_the_stream():
    X = noise(2000)
    X[500:1000, 0] += 3
    X[1500:, 0] += 9
    found = shifts_in(X)
    assert [round(shift.row, -2) for shift in found] == [500, 1000, 1500]
    assert [round(shift.row, -2) for shift in largest_shifts(found, 1)] == [1500]
    assert largest_shifts(found, 2) == [shift for shift in found if shift in largest_shifts(found, 2)]


def test_ignored_columns_raise_no_alarm_and_are_not_named():
    X = noise()
    X[400:, 0] += 9.0
    X[1200:, 1] += 3.0
    blocks = InputBlocks()
    blocks.update(X)
    (shift,) = input_shifts(blocks, NAMES, np.array([True, False, False, False]))
    assert abs(shift.row - 1200) <= 8
    assert shift.changes[0].column == "rain"
    assert input_shifts(blocks, NAMES, np.ones(4, dtype=bool)) == []


@pytest.mark.parametrize("rows_per_day", [1, 5, 20, 200])
def test_clocks_and_counters_only_advance_and_measurements_do_not(rows_per_day):
    t = np.arange(4000)
    day, rng = t // rows_per_day, np.random.default_rng(3)
    counters = np.column_stack([t + 100.0 * rng.random(4000), 1e9 + 86400.0 * day, day % 31])
    walk = rng.normal(size=4000).cumsum()
    level = np.where(t < 2000, 0.0, 5.0)  # set once: this is a shift
    others = np.column_stack([walk, level, rng.normal(size=4000), np.sin(t / 50), rng.random(4000) < 0.1])
    blocks = InputBlocks()
    blocks.update(np.column_stack([counters, others]))
    found = only_advances(blocks).tolist()
    assert found[:2] == [True, True] or (rows_per_day == 200 and found[0])
    assert found[3:] == [False] * 5


@pytest.mark.parametrize("seed", range(5))
def test_independent_rows_raise_no_alarm(seed):
    """At a level of 1e-6 the probability of an alarm is below 1 in 100."""
    rng = np.random.default_rng(seed)
    assert shifts_in(rng.normal(size=(3000, 4))) == []
    assert shifts_in(rng.lognormal(size=(3000, 4)).clip(max=50)) == []
    assert shifts_in((rng.random((3000, 4)) < 0.02).astype(float)) == []


def test_cycles_trends_and_weather_raise_no_alarm():
    rng, t = np.random.default_rng(1), np.arange(6000)
    weather = np.zeros(6000)
    for k in range(1, 6000):
        weather[k] = 0.97 * weather[k - 1] + rng.normal()
    hours = np.column_stack([t % 24, np.sin(2 * np.pi * t / 24), weather, t / 100 + rng.normal(size=6000)])
    assert shifts_in(hours) == []


def test_single_outlier_row_raises_no_alarm():
    X = noise()
    X[700] = 1e6
    assert shifts_in(X) == []


def test_constant_and_huge_columns_raise_no_alarm():
    X = noise()
    X[:, 0], X[:, 1] = 5.0, 1e49
    assert shifts_in(X) == []
    X[800:, 1] = -1e49
    (shift,) = shifts_in(X)
    assert (shift.row, shift.changes[0].column) == (800, "rain")
    assert math.isfinite(shift.size)


def test_columns_of_one_name_count_together():
    X = noise()
    X[800:, 1:3] += 2.0
    (shift,) = shifts_in(X, ["wind", "text", "text", "night"])
    change = shift.changes[0]
    assert change.column == "text"
    assert math.isnan(change.before)
    assert math.isnan(change.after)
    assert len([part for part in shift.changes if part.column == "text"]) == 1


def test_rows_are_counted_from_the_start_of_the_stream():
    X = noise()
    X[800:] += 2.0
    assert shifts_in(X, first=500)[0].row == 1300


def test_shifts_need_enough_rows():
    X = noise(8 * MIN_BLOCKS - 1)
    X[90:] += 20
    assert shifts_in(X) == []
    assert shifts_in(X[:0]) == []
