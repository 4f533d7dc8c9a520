"""The greedy choice, against one that inverts matrices."""

import numpy as np
import pytest

from qufur.labelling.integrated_variance import NOISE, greedy, kernel


def mean_variance(references, rows):
    """Return the mean posterior variance of references, by the formula in the books."""
    if not len(rows):
        return 1.0
    cross = kernel(references, rows)
    solved = np.linalg.solve(kernel(rows, rows) + NOISE * np.eye(len(rows)), cross.T)
    return 1 - (cross.T * solved).sum(axis=0).mean()


def slow(pool, known, budget, references):
    """Choose by trying every row."""
    chosen, left = [], list(range(len(pool)))
    found = [mean_variance(pool[:references], known)]
    for _ in range(budget):
        tried = [mean_variance(pool[:references], np.vstack([known, pool[[*chosen, row]]])) for row in left]
        found.append(min(tried))
        chosen.append(left.pop(int(np.argmin(tried))))
    return chosen, found


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("labelled", [0, 5])
@pytest.mark.parametrize("references", [25, 60, 1000])
def test_the_choice_is_that_of_trying_every_row(seed, labelled, references):
    rng = np.random.default_rng(seed)
    pool, known = rng.standard_normal((60, 3)), rng.standard_normal((labelled, 3))
    rows, uncertainty = greedy(pool, known, 15, references=references)
    chosen, found = slow(pool, known, 15, references)
    assert rows.tolist() == chosen
    np.testing.assert_allclose(uncertainty, found, rtol=1e-10)


def test_many_steps_on_rows_that_are_alike_keep_their_digits():
    rng = np.random.default_rng(0)
    pool = np.repeat(rng.standard_normal((20, 2)), 20, axis=0) + 1e-9 * rng.standard_normal((400, 2))
    rows, uncertainty = greedy(pool, pool[:0], 400, references=400)
    assert sorted(rows) == list(range(400))
    assert uncertainty[-1] == pytest.approx(mean_variance(pool, pool), rel=1e-8)
    assert (np.diff(uncertainty) < 0).all()
