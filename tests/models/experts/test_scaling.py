"""Units and offsets that are learned from inputs, against NumPy over all rows so far."""

import json

import numpy as np
import pytest

from qufur.models.experts.scaling import Scaling


def play(X, cuts=()):
    """Feed rows in blocks that end at `cuts`; return the scaling, and where it was set anew."""
    scaling, renewed, start = Scaling(), [], 0
    while start < len(X):
        if not scaling.ahead(X[start:]):
            scaling.renew(X[start])
            renewed.append(start + 1)
        stop = start + max(1, scaling.ahead(X[start:]))
        stop = min([stop, *(cut for cut in cuts if cut > start)])
        scaling.take_in(X[start:stop])
        start = stop
    return scaling, renewed


def test_it_is_set_anew_at_fixed_positions():
    X = np.random.default_rng(0).uniform(-1, 1, (200, 3))
    assert play(X)[1] == [
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


def test_mean_and_deviation_are_those_of_all_rows_up_to_the_last_position():
    X = np.random.default_rng(1).normal(5, 3, (150, 4))
    scaling, renewed = play(X)
    seen = X[: renewed[-1]]
    np.testing.assert_allclose(scaling.units.mean, seen.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(scaling.units.deviation, seen.std(axis=0), rtol=1e-12)
    expected = np.clip((X - seen.mean(axis=0)) / seen.std(axis=0), -8, 8) / 2
    np.testing.assert_allclose(scaling.units.transform(X), expected, rtol=1e-10)


@pytest.mark.parametrize("offset", [0.0, 1.7e9, -1e15])
def test_a_large_offset_leaves_the_digits(offset):
    X = np.random.default_rng(2).integers(-50, 50, (100, 1)).astype(float)
    scaling, renewed = play(X + offset)
    np.testing.assert_allclose(scaling.units.deviation, X[: renewed[-1]].std(axis=0), rtol=1e-9)


def test_a_column_stays_out_until_it_varies():
    X = np.column_stack([np.arange(90.0), np.where(np.arange(90) < 60, 7.0, 8.0)])
    scaling, _ = play(X[:60])
    assert (scaling.units.transform(X[:60])[:, 1] == 0).all()
    later, renewed = play(X)
    assert 61 in renewed  # before the first row that differs, and it counts
    assert later.units.transform(X[60:])[:, 1].all()


def test_it_is_set_anew_before_what_is_far_out():
    X = np.random.default_rng(3).uniform(-1, 1, (100, 2))
    X[53, 1] = 1e6
    assert 54 in play(X)[1]
    assert 54 not in play(np.delete(X, 53, axis=0))[1]
    assert 76 not in play(np.vstack([X[:75], X[53], X[76:]]))[1]  # as far as what was there already


def test_no_bit_depends_on_blocks():
    X = np.random.default_rng(4).normal(1e6, 1, (300, 3))
    X[100] = 0
    straight, renewed = play(X)
    for cuts in (range(1, 300), range(7, 300, 7), [64, 128, 200]):
        cut, other = play(X, cuts)
        assert other == renewed
        for name, array in straight.save()[1].items():
            np.testing.assert_array_equal(cut.save()[1][name], array)


def test_columns_of_an_embedding_share_a_unit_and_others_do_not():
    rng = np.random.default_rng(5)
    units = rng.uniform(0.5, 2, 40)
    assert np.ptp(play(rng.normal(size=(100, 40)) * units)[0].units.deviation) == 0
    assert np.ptp(play(rng.normal(size=(100, 31)) * units[:31])[0].units.deviation) > 0
    units[0] = 1000
    assert np.ptp(play(rng.normal(size=(100, 40)) * units)[0].units.deviation) > 0


@pytest.mark.parametrize("rows", [0, 1, 40, 130])
def test_it_goes_on_after_a_file_to_the_bit(rows):
    X = np.random.default_rng(6).normal(size=(200, 3))
    scaling = play(X[:rows])[0]
    values, arrays = scaling.save()
    again = Scaling()
    again.restore(json.loads(json.dumps(values)), arrays)
    for one in (scaling, again):
        for x in X[rows:]:
            if not one.ahead(x[None]):
                one.renew(x)
            one.take_in(x[None])
    np.testing.assert_array_equal(again.units.transform(X), scaling.units.transform(X))
