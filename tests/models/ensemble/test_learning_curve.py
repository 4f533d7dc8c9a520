"""Estimated loss with uniformly sampled labels, from known learning curves; class errors."""

import math

import numpy as np
import pytest

from qufur.models.ensemble.learning_curve import LearningCurve
from qufur.models.ensemble.losses import ClassErrors, TrackRecord


def curve(loss, labels=800, seed=None, ensemble=1.0):
    """Return the curve of an expert with loss(n) after n uniform labels; every other label is uniform."""
    estimated, rng = LearningCurve(1), np.random.default_rng(seed)
    noise = np.ones(labels) if seed is None else rng.exponential(size=labels)
    losses = noise * [loss(label // 2) for label in range(labels)]
    estimated.update(losses[:, None], ensemble * noise, np.full(labels, 0.1), 1.0 - np.arange(labels) % 2)
    return estimated


def mean_of(loss, labels=800, share=0.5):
    return np.mean([loss(label // 2 / share) for label in range(labels)])


@pytest.mark.parametrize(("power", "off"), [(0.5, 0.1), (1.0, 0.25)])
def test_estimate_follows_a_falling_curve(power, off):
    def loss(n):
        return 1.0 + 8.0 / (1 + n) ** power

    estimate, error, _ = curve(loss).if_all_random(0, 0.5, 800)
    assert abs(estimate - mean_of(loss)) < 2 * error
    half = mean_of(loss, share=1.0)
    assert abs(estimate - mean_of(loss)) < off * (half - mean_of(loss))


def test_estimate_equals_the_loss_of_a_flat_curve():
    estimate = curve(lambda n: 2.0).if_all_random(0, 0.5, 800)
    assert estimate == (pytest.approx(2.0), pytest.approx(0.0, abs=1e-6), pytest.approx(0.0, abs=1e-6))


def test_estimate_never_exceeds_the_loss_when_the_curve_rises():
    estimate, *_ = curve(lambda n: 1.0 + (n >= 128)).if_all_random(0, 0.5, 800)
    assert estimate == pytest.approx((256 + 2 * 544) / 800)


def test_estimate_changes_little_with_a_share_near_one():
    def loss(n):
        return 1.0 + 8.0 / (1 + n)

    nearly_all, half = (curve(loss).if_all_random(0, share, 800)[0] for share in (0.95, 0.5))
    assert half < nearly_all <= mean_of(loss, share=1.0) + 1e-9


def test_standard_error_matches_repeated_runs():
    """Of 60 runs at most 8 miss by two errors: more do with odds of 1 % if 5 % are expected to."""

    def loss(n):
        return 1.0 + 4.0 / math.sqrt(1 + n)

    runs = [curve(loss, seed=seed, ensemble=1.5).if_all_random(0, 0.5, 800) for seed in range(60)]
    assert sum(abs(estimate - mean_of(loss)) > 2 * error for estimate, error, _ in runs) <= 8
    assert all(lead < error for _, error, lead in runs)  # common noise cancels out


def test_estimate_is_none_with_few_labels_or_a_gap():
    assert curve(lambda n: 1.0, labels=20).if_all_random(0, 0.5, 20) is None
    assert curve(lambda n: 1.0).if_all_random(0, 0.5, 801) is None
    fresh = LearningCurve(1)
    fresh.restore({})  # a file written by an older version
    assert fresh.if_all_random(0, 0.5, 10) is None


def test_restored_curve_continues():
    one, other = curve(lambda n: 1.0, labels=90, seed=1), LearningCurve(1)
    other.restore({name: array.copy() for name, array in one.arrays().items()})
    for part in (one, other):
        part.update(np.array([[3.0]]), np.array([2.0]), np.array([0.2]), np.ones(1))
    assert one.if_all_random(0, 0.5, 91) == other.if_all_random(0, 0.5, 91)


def test_class_errors_are_weighted_by_inverse_probability():
    errors = ClassErrors(3)
    errors.update(np.array([0, 0, 1]), np.array([1.0, 0.0, 0.0]), np.array([0.1, 0.5, 0.2]))
    first, second, third = errors.of(["a", "b", "c"])
    assert (first.labels, first.error, first.share) == (2, pytest.approx(10 / 12), pytest.approx(12 / 17))
    assert first.low < 10 / 12 < first.high <= 1
    assert (second.error, second.low) == (0.0, 0.0)
    assert (third.labels, third.share, third.low, third.high) == (0, 0.0, 0.0, 1.0)
    assert math.isnan(third.error)


def test_class_error_intervals_cover_the_truth():
    """Of 200 runs at most 18 miss: more do with odds of 1 % if 5 % are expected to."""
    rng, missed = np.random.default_rng(0), 0
    for _ in range(200):
        errors, p, wrong = ClassErrors(1), rng.uniform(0.05, 0.5, size=400), 1.0 * (rng.random(400) < 0.15)
        bought = rng.random(400) < p
        errors.update(np.zeros(bought.sum(), dtype=int), wrong[bought], p[bought])
        (interval,) = errors.of(["a"])
        missed += not interval.low <= 0.15 <= interval.high
    assert missed <= 18


@pytest.mark.parametrize("make", [lambda: LearningCurve(2), lambda: TrackRecord(2), lambda: ClassErrors(3)])
def test_sums_do_not_depend_on_batch_size_bit_for_bit(make):
    rng = np.random.default_rng(4)
    losses, p, at_random = (
        rng.exponential(size=(70, 3)),
        rng.uniform(0.1, 1, 70),
        rng.integers(2, size=70) * 1.0,
    )
    whole, parts = make(), make()
    for record, cuts in ((whole, [0, 70]), (parts, [0, 1, 2, 33, 70])):
        for part in map(slice, cuts, cuts[1:]):
            if isinstance(record, LearningCurve):
                record.update(losses[part, :2], losses[part, 2], p[part], at_random[part])
            elif isinstance(record, TrackRecord):
                record.update(losses[part], p[part])
            else:
                record.update((3 * p[part] - 0.1).astype(int), at_random[part], p[part])
    for name, array in whole.arrays().items():
        np.testing.assert_array_equal(array, parts.arrays()[name])
