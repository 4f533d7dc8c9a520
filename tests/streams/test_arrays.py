import numpy as np
import pytest

from qufur.streams import Arrays
from qufur.streams.arrays import Rest

X = np.arange(14.0).reshape(7, 2)
Y = np.linspace(-1, 1, 7)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 100])
def test_arrays_yield_rows_in_order_for_any_chunk_size(size):
    stream = Arrays(X, Y, truth=-Y, domain=[5, 5, -2, -2, -2, 9, 9])
    chunks = list(stream.chunks(size))
    assert [len(chunk) for chunk in chunks] == [min(size, 7 - i) for i in range(0, 7, size)]
    np.testing.assert_array_equal(np.concatenate([chunk.X for chunk in chunks]), X)
    np.testing.assert_array_equal(np.concatenate([chunk.y for chunk in chunks]), Y)
    np.testing.assert_array_equal(np.concatenate([chunk.truth for chunk in chunks]), -Y)
    assert np.concatenate([chunk.domain for chunk in chunks]).tolist() == [5, 5, -2, -2, -2, 9, 9]


def test_arrays_yield_views_and_accept_read_only_inputs():
    frozen_X, frozen_y = X.copy(), Y.copy()
    frozen_X.flags.writeable = frozen_y.flags.writeable = False
    chunk = list(Arrays(frozen_X, frozen_y).chunks(3))[1]
    assert np.shares_memory(chunk.X, frozen_X)
    assert np.shares_memory(chunk.y, frozen_y)
    assert chunk.truth is None
    assert chunk.domain is None


def test_arrays_attributes_match_their_arguments():
    stream = Arrays(X, Y, domain=np.zeros(7, dtype=np.uint8))
    assert (stream.horizon, stream.dim, stream.domain.dtype) == (7, 2, np.int64)
    assert stream.against(object()) is stream


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"y": Y[:3]}, r"label of Arrays must be of shape \(7,\)"),
        ({"truth": Y[:3]}, r"truth of Arrays must be of shape \(7,\), one per row of X, got shape \(3,\)"),
        ({"truth": np.full(7, np.nan)}, r"truth of Arrays must be finite, got nan at row 0"),
        ({"domain": [1]}, r"domain of Arrays must be of shape \(7,\), one per row of X, got shape \(1,\)"),
        ({"domain": Y}, "domain of Arrays must be integer labels, got float64 values. Number the domains"),
        ({"domain": list("aabbccd")}, "domain of Arrays must be integer labels"),
        ({"X": np.empty((0, 2)), "y": []}, r"X of Arrays must be of at least one row .* shape \(0, 2\)"),
        ({"X": np.where(X == 3, np.inf, X)}, "X of Arrays must be finite, got inf at row 1, column 1"),
    ],
)
def test_arrays_errors_name_the_invalid_argument(arguments, message):
    with pytest.raises(ValueError, match=message):
        Arrays(**({"X": X, "y": Y} | arguments))


def test_arrays_chunks_reject_invalid_sizes():
    with pytest.raises(ValueError, match=r"size of Arrays.chunks must be an integer of at least 1, got 0"):
        next(Arrays(X, Y).chunks(0))


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
