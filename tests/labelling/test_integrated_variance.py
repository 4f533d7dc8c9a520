"""`greedy` against a reference that inverts matrices."""

import numpy as np
import pytest

from qufur.labelling.pool import NOISE, greedy, kernel


def mean_variance(references, rows):
    """Return the mean posterior variance of references, by the textbook formula."""
    if not len(rows):
        return 1.0
    cross = kernel(references, rows)
    solved = np.linalg.solve(kernel(rows, rows) + NOISE * np.eye(len(rows)), cross.T)
    return 1 - (cross.T * solved).sum(axis=0).mean()


def brute_force(pool, known, budget, references):
    """Choose rows by trying every remaining row in each step."""
    chosen, left = [], list(range(len(pool)))
    variances = [mean_variance(pool[:references], known)]
    for _ in range(budget):
        tried = [mean_variance(pool[:references], np.vstack([known, pool[[*chosen, row]]])) for row in left]
        variances.append(min(tried))
        chosen.append(left.pop(int(np.argmin(tried))))
    return chosen, variances


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("labelled", [0, 5])
@pytest.mark.parametrize("references", [25, 60, 1000])
def test_greedy_equals_brute_force(seed, labelled, references):
    rng = np.random.default_rng(seed)
    pool, known = rng.standard_normal((60, 3)), rng.standard_normal((labelled, 3))
    rows, uncertainty = greedy(pool, known, 15, references=references)
    chosen, variances = brute_force(pool, known, 15, references)
    assert rows.tolist() == chosen
    np.testing.assert_allclose(uncertainty, variances, rtol=1e-10)


def test_greedy_stays_accurate_after_many_steps_on_near_duplicates():
    rng = np.random.default_rng(0)
    pool = np.repeat(rng.standard_normal((20, 2)), 20, axis=0) + 1e-9 * rng.standard_normal((400, 2))
    rows, uncertainty = greedy(pool, pool[:0], 400, references=400)
    assert sorted(rows) == list(range(400))
    assert uncertainty[-1] == pytest.approx(mean_variance(pool, pool), rel=1e-8)
    assert (np.diff(uncertainty) < 0).all()
