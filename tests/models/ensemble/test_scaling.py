"""Running scaling of inputs against NumPy over all rows so far."""

import json

import numpy as np
import pytest

from qufur.models.ensemble.scaling import Scaling


def feed(X, cuts=()):
    """Feed rows in blocks that end at `cuts`; return the scaling and the positions of its updates."""
    scaling, renewed, start = Scaling(), [], 0
    while start < len(X):
        if not scaling.ahead(X[start:]):
            scaling.renew(X[start])
            renewed.append(start + 1)
        stop = start + max(1, scaling.ahead(X[start:]))
        stop = min([stop, *(cut for cut in cuts if cut > start)])
        scaling.update(X[start:stop])
        start = stop
    return scaling, renewed


def test_scaling_is_updated_at_fixed_positions():
    X = np.random.default_rng(0).uniform(-1, 1, (200, 3))
    assert feed(X)[1] == [
        1,
        2,
        4,
        8,
        16,
        32,
        36,
        40,
        45,
        50,
        56,
        63,
        70,
        78,
        87,
        97,
        109,
        122,
        137,
        154,
        173,
        194,
    ]


def test_units_are_mean_and_deviation_of_rows_up_to_the_last_update():
    X = np.random.default_rng(1).normal(5, 3, (150, 4))
    scaling, renewed = feed(X)
    seen = X[: renewed[-1]]
    np.testing.assert_allclose(scaling.units.mean, seen.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(scaling.units.deviation, seen.std(axis=0), rtol=1e-12)
    expected = np.clip((X - seen.mean(axis=0)) / seen.std(axis=0), -8, 8) / 2
    np.testing.assert_allclose(scaling.units.transform(X), expected, rtol=1e-10)


@pytest.mark.parametrize("offset", [0.0, 1.7e9, -1e15])
def test_scaling_keeps_precision_with_large_offsets(offset):
    X = np.random.default_rng(2).integers(-50, 50, (100, 1)).astype(float)
    scaling, renewed = feed(X + offset)
    np.testing.assert_allclose(scaling.units.deviation, X[: renewed[-1]].std(axis=0), rtol=1e-9)


def test_constant_column_is_zero_until_it_varies():
    X = np.column_stack([np.arange(90.0), np.where(np.arange(90) < 60, 7.0, 8.0)])
    scaling, _ = feed(X[:60])
    assert (scaling.units.transform(X[:60])[:, 1] == 0).all()
    later, renewed = feed(X)
    assert 61 in renewed  # updated before, and including, the first row that differs
    assert later.units.transform(X[60:])[:, 1].all()


def test_scaling_is_updated_before_far_inputs():
    X = np.random.default_rng(3).uniform(-1, 1, (100, 2))
    X[53, 1] = 1e6
    assert 54 in feed(X)[1]
    assert 54 not in feed(np.delete(X, 53, axis=0))[1]
    assert 76 not in feed(np.vstack([X[:75], X[53], X[76:]]))[1]  # not farther than an earlier input


def test_scaling_does_not_depend_on_blocks_bit_for_bit():
    X = np.random.default_rng(4).normal(1e6, 1, (300, 3))
    X[100] = 0
    straight, renewed = feed(X)
    for cuts in (range(1, 300), range(7, 300, 7), [64, 128, 200]):
        cut, other = feed(X, cuts)
        assert other == renewed
        for name, array in straight.save()[1].items():
            np.testing.assert_array_equal(cut.save()[1][name], array)


def test_only_embedding_columns_share_a_deviation():
    rng = np.random.default_rng(5)
    units = rng.uniform(0.5, 2, 40)
    assert np.ptp(feed(rng.normal(size=(100, 40)) * units)[0].units.deviation) == 0
    assert np.ptp(feed(rng.normal(size=(100, 31)) * units[:31])[0].units.deviation) > 0
    units[0] = 1000
    assert np.ptp(feed(rng.normal(size=(100, 40)) * units)[0].units.deviation) > 0


@pytest.mark.parametrize("rows", [0, 1, 40, 130])
def test_restored_scaling_continues_bit_for_bit(rows):
    X = np.random.default_rng(6).normal(size=(200, 3))
    scaling = feed(X[:rows])[0]
    values, arrays = scaling.save()
    again = Scaling()
    again.restore(json.loads(json.dumps(values)), arrays)
    for one in (scaling, again):
        for x in X[rows:]:
            if not one.ahead(x[None]):
                one.renew(x)
            one.update(x[None])
    np.testing.assert_array_equal(again.units.transform(X), scaling.units.transform(X))
