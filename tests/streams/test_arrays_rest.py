"""Tests of the stream without its first examples."""

import numpy as np
import pytest

from qufur.streams import Arrays
from qufur.streams.arrays import Rest


@pytest.mark.parametrize("count", [1, 4, 7])
@pytest.mark.parametrize("size", [1, 3, 4, 100])
def test_rest_skips_exactly_the_first_examples(count, size):
    X, y = np.arange(20.0).reshape(10, 2), np.arange(10.0)
    whole = Arrays(X, y, truth=y + 1, domain=np.arange(10))
    rest = Rest(whole, count)
    chunks = list(rest.chunks(size))
    assert max(map(len, chunks)) <= size
    assert (rest.horizon, rest.dim) == (10 - count, 2)
    np.testing.assert_array_equal(rest.first.X, X[:count])
    for name, expected in {"X": X, "y": y, "truth": y + 1, "domain": np.arange(10)}.items():
        values = np.concatenate([getattr(chunk, name) for chunk in chunks])
        np.testing.assert_array_equal(values, expected[count:])


def test_rest_keeps_missing_truth_and_domain_as_none():
    (chunk,) = Rest(Arrays(np.eye(3), np.ones(3)), 1).chunks(9)
    assert chunk.truth is None
    assert chunk.domain is None
