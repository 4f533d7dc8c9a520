"""How many labels another rule needs for the same error."""

import numpy as np
import pytest

from qufur.sweep.equal_error import labels_ratio, reaches

N = np.array([50.0, 100.0, 150.0, 225.0, 340.0])


def runs(ours, errors):
    """One seed: ours with 100 labels, and the other rule's errors at N."""
    return np.array([[[100.0, ours], *zip(N, errors, strict=True)]])


@pytest.mark.parametrize("power", [0.3, 1.0])
@pytest.mark.parametrize("times", [0.6, 1.0, 1.7, 3.0])
def test_on_a_power_law_it_is_exact(power, times):
    found = labels_ratio(runs((100 * times) ** -power, N**-power))
    assert np.exp(found) == pytest.approx(times, rel=1e-9)


def test_the_order_of_points_does_not_matter():
    one = runs(0.15, 10 / N)
    other = one[:, [0, 3, 1, 5, 2, 4]]
    assert labels_ratio(one) == labels_ratio(other)
    assert reaches(one) == reaches(other)


def test_a_curve_that_rises_stays_at_its_lowest():
    wiggly = runs(0.5, [1.0, 0.5, 0.7, 0.6, 0.4])
    assert np.exp(labels_ratio(wiggly)) <= 2.25 + 1e-9
    assert np.exp(labels_ratio(wiggly)) >= 1 - 1e-9


@pytest.mark.parametrize(
    ("ours", "within", "times"), [(0.01, False, 3.4), (9.0, False, 0.5), (0.1, True, 1.0)]
)
def test_beyond_its_ends_it_is_a_bound(ours, within, times):
    points = runs(ours, 10 / N)
    assert reaches(points) == within
    assert np.exp(labels_ratio(points)) == pytest.approx(times)


def test_seeds_are_averaged_first():
    pair = np.concatenate([runs(0.05, 5 / N), runs(0.15, 15 / N)])
    assert np.exp(labels_ratio(pair)) == pytest.approx(1.0)
