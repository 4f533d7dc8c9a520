import numpy as np
import pytest

from qufur.streams import LowerBound, MostUncertain


class LeverageLearner:
    """Fake learner with Δ = xᵀM⁻¹x that queries every input."""

    def __init__(self, dim):
        self.gram = np.eye(dim)

    def uncertainty(self, X):
        return np.einsum("ni,ij,nj->n", X, np.linalg.inv(self.gram), X)

    def learn(self, X):
        self.gram += X.T @ X


def total_uncertainty(stream):
    learner = LeverageLearner(stream.dim)
    uncertainties = []
    for chunk in stream.against(learner).chunks(8):
        uncertainties.append(learner.uncertainty(chunk.X).item())
        learner.learn(chunk.X)
    return sum(uncertainties)


def test_lower_bound_subblocks_match_the_proof():
    stream = LowerBound([7, 3, 4], [3, 3, 1])
    assert stream.subblocks == [2, 2, 3, 1, 1, 1, 4]
    chunk = next(stream.chunks(100))
    assert chunk.X.argmax(axis=1).tolist() == [0, 0, 1, 1, 2, 2, 2, 3, 4, 5, 6, 6, 6, 6]
    assert np.array_equal(chunk.X, np.eye(7)[chunk.X.argmax(axis=1)])
    assert chunk.domain.tolist() == [0] * 7 + [1] * 3 + [2] * 4
    assert (stream.horizon, stream.dim, stream.durations, stream.dims) == (14, 7, (7, 3, 4), (3, 3, 1))


@pytest.mark.parametrize("size", [1, 3, 10, 1000])
def test_lower_bound_examples_do_not_depend_on_chunk_size(size):
    stream = LowerBound([70, 30], [8, 30], seed=2)
    reference = next(stream.chunks(100))
    chunks = list(stream.chunks(size))
    for name in ("X", "y", "truth", "domain"):
        assert (
            np.concatenate([getattr(c, name) for c in chunks]).tobytes() == getattr(reference, name).tobytes()
        )


def test_lower_bound_labels_are_bernoulli_of_theta():
    stream = LowerBound([40_000], [4], seed=1)
    chunk = next(stream.chunks(40_000))
    assert set(chunk.y) == {0.0, 1.0}
    np.testing.assert_array_equal(chunk.truth, chunk.X @ stream.theta)
    # The mean of 10,000 draws has standard error at most 0.005: 0.04 is 8 of them, P < 1e-14 over seeds.
    for i in range(4):
        assert chunk.y[10_000 * i : 10_000 * (i + 1)].mean() == pytest.approx(stream.theta[i], abs=0.04)


def test_lower_bound_theta_is_uniform_on_the_unit_interval():
    theta = LowerBound([10_000], [10_000], seed=6).theta
    assert theta.min() >= 0
    assert theta.max() < 1
    # Kolmogorov-Smirnov: P(D > 0.04) < 2 exp(-2 · 10⁴ · 0.04²) < 3e-14 over seeds.
    assert np.abs(np.sort(theta) - np.arange(10_000) / 10_000).max() < 0.04


def test_lower_bound_rejects_domains_with_fewer_examples_than_dimensions():
    with pytest.raises(ValueError, match=r"dims of LowerBound must be at most .* got d_u = 4 with T_u = 3"):
        LowerBound([5, 3], [5, 4])


def test_adaptive_adversary_shows_the_most_uncertain_candidate():
    learner = LeverageLearner(3)
    seen = []
    watch = learner.uncertainty
    learner.uncertainty = lambda X: seen.append(X) or watch(X)
    stream = MostUncertain(3, 20, pool=10, seed=4)
    for chunk in stream.against(learner).chunks(7):
        assert seen[-1].shape == (10, 3)
        np.testing.assert_allclose(np.linalg.norm(seen[-1], axis=1), 1.0, rtol=1e-14)
        np.testing.assert_array_equal(chunk.X, seen[-1][[watch(seen[-1]).argmax()]])
        np.testing.assert_allclose(chunk.truth, chunk.X @ stream.theta)
        learner.gram += chunk.X.T @ chunk.X
    assert len(seen) == 20


def test_adaptive_adversary_uses_the_state_after_each_update():
    learner = LeverageLearner(2)
    chunks = MostUncertain(2, 2, pool=200, noise=0, seed=0).against(learner).chunks(50)
    first = next(chunks)
    learner.gram += 100 * first.X.T @ first.X
    second = next(chunks)
    # One of 200 directions in the plane is within 0.1 of the orthogonal one, except for 2e-6 of seeds.
    assert abs((first.X @ second.X.T).item()) < 0.1
    np.testing.assert_array_equal(second.y, second.truth)
    assert next(chunks, None) is None


def test_adaptive_adversary_gives_more_uncertainty_than_random_inputs():
    # Only in the first d steps: later, Σ Δ of a learner that queries everything is near its log-det bound.
    adaptive, random = (total_uncertainty(MostUncertain(10, 10, pool=pool, seed=3)) for pool in (64, 1))
    assert adaptive > 1.1 * random


def test_adaptive_adversary_is_reproducible_against_the_same_learner():
    stream = MostUncertain(4, 12, seed=9)
    one, two = (
        np.concatenate([np.append(c.X, c.y) for c in stream.against(LeverageLearner(4)).chunks(size)])
        for size in (1, 5)
    )
    np.testing.assert_array_equal(one, two)


def test_adaptive_adversary_raises_without_a_learner():
    stream = MostUncertain(3, 5)
    stream.against(LeverageLearner(3))
    with pytest.raises(
        ValueError, match=r"MostUncertain has no learner to watch.*\.against\(learner\) first"
    ):
        stream.chunks(1)


@pytest.mark.parametrize("name", ["dim", "horizon", "pool"])
def test_adaptive_adversary_rejects_invalid_counts(name):
    with pytest.raises(ValueError, match=f"{name} of MostUncertain must be an integer of at least 1, got 0"):
        MostUncertain(**({"dim": 2, "horizon": 5} | {name: 0}))
