"""A stream without its first examples."""

import numpy as np
import pytest

from qufur.streams import Arrays
from qufur.streams.rest import Rest


@pytest.mark.parametrize("count", [1, 4, 7])
@pytest.mark.parametrize("size", [1, 3, 4, 100])
def test_nothing_else_is_left_out(count, size):
    X, y = np.arange(20.0).reshape(10, 2), np.arange(10.0)
    whole = Arrays(X, y, truth=y + 1, domain=np.arange(10))
    rest = Rest(whole, count)
    chunks = list(rest.chunks(size))
    assert max(map(len, chunks)) <= size
    assert (rest.horizon, rest.dim) == (10 - count, 2)
    np.testing.assert_array_equal(rest.first.X, X[:count])
    for name, all_of_it in {"X": X, "y": y, "truth": y + 1, "domain": np.arange(10)}.items():
        found = np.concatenate([getattr(chunk, name) for chunk in chunks])
        np.testing.assert_array_equal(found, all_of_it[count:])


def test_what_is_not_known_stays_so():
    (chunk,) = Rest(Arrays(np.eye(3), np.ones(3)), 1).chunks(9)
    assert chunk.truth is None
    assert chunk.domain is None
