"""Tests of labels at equal error."""

import numpy as np
import pytest

from qufur.sweep.equal_labels import labels_ratio, reaches

N = np.array([50.0, 100.0, 150.0, 225.0, 340.0])


def runs(ours, errors):
    """Return runs of one seed: the first rule with 100 labels, and the second rule's errors at N."""
    return np.array([[[100.0, ours], *zip(N, errors, strict=True)]])


@pytest.mark.parametrize("power", [0.3, 1.0])
@pytest.mark.parametrize("times", [0.6, 1.0, 1.7, 3.0])
def test_labels_ratio_is_exact_on_a_power_law(power, times):
    log_ratio = labels_ratio(runs((100 * times) ** -power, N**-power))
    assert np.exp(log_ratio) == pytest.approx(times, rel=1e-9)


def test_labels_ratio_does_not_depend_on_the_order_of_points():
    one = runs(0.15, 10 / N)
    other = one[:, [0, 3, 1, 5, 2, 4]]
    assert labels_ratio(one) == labels_ratio(other)
    assert reaches(one) == reaches(other)


def test_labels_ratio_uses_the_running_minimum_of_a_rising_curve():
    wiggly = runs(0.5, [1.0, 0.5, 0.7, 0.6, 0.4])
    assert np.exp(labels_ratio(wiggly)) <= 2.25 + 1e-9
    assert np.exp(labels_ratio(wiggly)) >= 1 - 1e-9


@pytest.mark.parametrize(
    ("ours", "within", "times"), [(0.01, False, 3.4), (9.0, False, 0.5), (0.1, True, 1.0)]
)
def test_labels_ratio_is_a_bound_beyond_the_ends_of_the_curve(ours, within, times):
    points = runs(ours, 10 / N)
    assert reaches(points) == within
    assert np.exp(labels_ratio(points)) == pytest.approx(times)


def test_labels_ratio_averages_over_seeds_first():
    pair = np.concatenate([runs(0.05, 5 / N), runs(0.15, 15 / N)])
    assert np.exp(labels_ratio(pair)) == pytest.approx(1.0)
