import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qufur.streams import Chunk, HiddenDomains, published_draw

ORDERS = ("sequential", "interleaved", "shuffled")


def whole(stream, size):
    parts = [(c.X, c.y, c.truth, c.domain) for c in stream.chunks(size)]
    return Chunk(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def assert_same_bits(first, second):
    for name in ("X", "y", "truth", "domain"):
        assert getattr(first, name).tobytes() == getattr(second, name).tobytes(), name


@pytest.mark.parametrize("ambient", [None, 300])
@pytest.mark.parametrize("order", ORDERS)
def test_hidden_domains_do_not_depend_on_chunk_size(order, ambient):
    # 200 dimensions exceed the 128 terms that numpy adds pairwise.
    stream = HiddenDomains([40, 30, 21], [5, 200, 1], order=order, seed=7, ambient=ambient)
    reference = whole(stream, stream.horizon)
    for size in (1, 2, 7, 64, 90, 1000):
        assert_same_bits(whole(stream, size), reference)


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.tuples(st.integers(1, 30), st.integers(1, 9)), min_size=1, max_size=5),
    st.sampled_from(ORDERS),
    st.integers(1, 40),
    st.sampled_from([None, 9]),
)
def test_random_hidden_domains_do_not_depend_on_chunk_size(pairs, order, size, ambient):
    durations, dims = zip(*pairs, strict=True)
    stream = HiddenDomains(durations, dims, order=order, seed=1, ambient=ambient)
    assert_same_bits(whole(stream, size), whole(stream, stream.horizon))


@pytest.mark.parametrize("ambient", [None, 12])
@pytest.mark.parametrize("order", ORDERS)
def test_hidden_domains_have_their_durations_and_subspaces(order, ambient):
    stream = HiddenDomains([50, 20, 30], [4, 7, 1], order=order, seed=3, ambient=ambient)
    chunk = whole(stream, 16)
    assert np.bincount(chunk.domain).tolist() == [50, 20, 30]
    assert [np.linalg.matrix_rank(chunk.X[chunk.domain == u]) for u in range(3)] == [4, 7, 1]
    assert chunk.X.shape == (stream.horizon, stream.dim) == (100, 12)
    np.testing.assert_allclose(np.linalg.norm(chunk.X, axis=1), 1.0, rtol=1e-13)
    np.testing.assert_allclose(chunk.truth, chunk.X @ stream.theta, atol=1e-14)
    np.testing.assert_allclose(np.linalg.norm(stream.theta), 1.0, rtol=1e-13)


def test_blocks_are_orthogonal_and_random_subspaces_overlap():
    blocks, spans = (
        whole(HiddenDomains([40, 40], [3, 3], seed=2, ambient=ambient), 80) for ambient in (None, 4)
    )
    assert np.all(blocks.X[:40, 3:] == 0)
    assert np.all(blocks.X[40:, :3] == 0)
    assert np.linalg.matrix_rank(spans.X) == 4


def test_noise_is_a_standard_deviation():
    # The deviation of 40,000 Gaussians has relative error 0.0035: P(5 % off) < 1e-40.
    chunk = whole(HiddenDomains([40_000], [2], noise=0.3, seed=5), 40_000)
    residual = chunk.y - chunk.truth
    assert residual.std() == pytest.approx(0.3, rel=0.05)
    # Both have standard error 0.005 or less: 0.04 is 8 of them, less than 1e-14 of seeds.
    assert abs(residual.mean()) < 0.04 * 0.3
    assert abs(np.corrcoef(residual, chunk.truth)[0, 1]) < 0.04
    assert np.abs(chunk.X.mean(axis=0)).max() < 0.04


def test_zero_noise_gives_exact_labels():
    chunk = whole(HiddenDomains([20], [3], noise=0), 20)
    np.testing.assert_array_equal(chunk.y, chunk.truth)


def test_orders_arrange_domains_as_documented():
    sequential, interleaved, shuffled = (
        whole(HiddenDomains([6, 3, 2], [1, 1, 1], order=order), 4).domain.tolist() for order in ORDERS
    )
    assert sequential == [0] * 6 + [1] * 3 + [2] * 2
    places = [((k + 0.5) / T, u) for u, T in enumerate([6, 3, 2]) for k in range(T)]
    assert interleaved == [u for _, u in sorted(places)]
    assert sorted(shuffled) == sequential != shuffled


def test_shuffled_order_is_uniform_over_arrangements():
    # Each of the 10 arrangements of aabbb is expected 200 times; chi² with 9 degrees of freedom
    # exceeds 45 for less than 1e-6 of seeds.
    counts = {}
    for seed in range(2000):
        stream = HiddenDomains([2, 3], [1, 1], order="shuffled", seed=seed)
        key = tuple(next(stream.chunks(5)).domain)
        counts[key] = counts.get(key, 0) + 1
    assert len(counts) == 10
    assert sum((count - 200) ** 2 / 200 for count in counts.values()) < 45


def test_seeds_differ_and_sources_are_independent():
    first, second = (whole(HiddenDomains([30], [4], seed=seed), 30) for seed in (0, 1))
    assert not np.array_equal(first.X, second.X)
    quiet = whole(HiddenDomains([30], [4], seed=0, noise=0), 30)
    loud = whole(HiddenDomains([30], [4], seed=0, order="shuffled", noise=2), 30)
    np.testing.assert_array_equal(quiet.X, loud.X)
    np.testing.assert_array_equal(quiet.truth, first.truth)


def test_streams_do_not_touch_the_global_random_state():
    before = np.random.get_state(legacy=False)["state"]  # noqa: NPY002
    whole(HiddenDomains([5], [2], order="shuffled"), 5)
    published_draw(3)
    after = np.random.get_state(legacy=False)["state"]  # noqa: NPY002
    assert before["pos"] == after["pos"]
    np.testing.assert_array_equal(before["key"], after["key"])


def test_hidden_domains_memory_does_not_grow_with_the_horizon():
    def peak(horizon):
        tracemalloc.start()
        for _ in HiddenDomains([horizon, horizon], [3, 3], order="interleaved").chunks(100):
            pass
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return peak

    peak(100)
    assert peak(20_000) < 1.2 * peak(1000)


def test_named_settings_match_paper_and_scripts():
    scripts, text = HiddenDomains.scripts(3), HiddenDomains.text(3, order="shuffled")
    assert set(zip(scripts.durations, scripts.dims, strict=True)) == {(50, 6), (100, 3)}
    assert set(zip(text.durations, text.dims, strict=True)) == {(100, 6), (50, 3)}
    assert (len(scripts.dims), scripts.noise, scripts.order) == (20, 0.1, "sequential")
    assert (len(text.dims), text.noise**2, text.order) == (20, pytest.approx(0.1), "shuffled")
    assert HiddenDomains.text(3, noise=0.5).noise == 0.5
    assert len({HiddenDomains.scripts(seed).durations for seed in range(5)}) == 5
    intro = HiddenDomains.introduction(10, 200, seed=4)
    assert (intro.durations, intro.dims, intro.horizon, intro.dim) == ((10, 190), (10, 1), 200, 11)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"dims": [2]},
            "durations and dims of HiddenDomains must be of equal length.*got 2 durations and 1 dims",
        ),
        ({"durations": [], "dims": []}, "at least 1, got 0 durations"),
        ({"durations": 5}, "durations of HiddenDomains must be a sequence .*, got 5"),
        ({"dims": [0, 1]}, "each of dims of HiddenDomains must be an integer of at least 1, got 0"),
        ({"durations": [1.5, 2]}, "each of durations .* got 1.5"),
        ({"noise": -0.1}, "noise of HiddenDomains must be a finite number of at least 0, got -0.1"),
        ({"noise": np.nan}, "noise of HiddenDomains must be a finite number of at least 0, got nan"),
        (
            {"order": "random"},
            "order of HiddenDomains must be one of sequential, interleaved, shuffled, got 'random'",
        ),
        ({"seed": -1}, "seed of HiddenDomains must be an integer of at least 0, got -1"),
        ({"seed": None}, "seed of HiddenDomains must be an integer of at least 0, got None"),
        ({"ambient": 2}, "ambient of HiddenDomains must be at least max d_u = 3, got 2"),
    ],
)
def test_hidden_domains_errors_name_the_invalid_argument(arguments, message):
    with pytest.raises(ValueError, match=message):
        HiddenDomains(**({"durations": [4, 5], "dims": [3, 2]} | arguments))


def test_introduction_rejects_horizons_not_above_dim():
    with pytest.raises(ValueError, match=r"horizon .* must be above dim = 5, got 5"):
        HiddenDomains.introduction(5, 5)


class TestPublishedDraw:
    """Golden numbers: the authors' stream of seed 3, the scripts' learner with query draws of seed 11."""

    stream = published_draw(3)

    def play(self, decide):
        X, y = self.stream.X, self.stream.y
        inverse, b, queries, loss = np.eye(X.shape[1]), np.zeros(X.shape[1]), 0, 0.0
        for x, label in zip(X, y, strict=True):
            v = inverse @ x
            loss += (np.clip(v @ b, -1, 1) - label) ** 2
            if decide(x @ v, queries):
                inverse -= np.outer(v, v) / (1 + x @ v)
                b += label * x
                queries += 1
        return queries, loss

    def test_published_draw_has_the_shape_of_the_scripts(self):
        stream = self.stream
        assert (stream.horizon, stream.dim) == (1500, 91)
        assert not stream.X[:, -1].any()
        assert set(np.bincount(stream.domain)) == {50, 100}
        assert np.all(np.diff(stream.domain) >= 0)
        for u, duration in enumerate(np.bincount(stream.domain)):
            assert np.linalg.matrix_rank(stream.X[stream.domain == u]) == {50: 6, 100: 3}[duration]

    def test_truth_is_linear_and_noise_has_deviation_a_tenth(self):
        theta, residual, *_ = np.linalg.lstsq(self.stream.X, self.stream.truth)
        assert not residual.size or residual.max() < 1e-20
        assert 0.9 < np.linalg.norm(theta) < 1
        # 1500 Gaussians: relative error 0.018, so 0.1 is 5.5 of them; the draw is fixed.
        assert (self.stream.y - self.stream.truth).std() == pytest.approx(0.1, rel=0.1)

    def test_qufur_reproduces_published_numbers(self):
        rng = np.random.RandomState(11)
        queries, loss = self.play(lambda uncertainty, _: rng.rand() < min(1, 2 * uncertainty))
        assert (queries, loss) == (638, pytest.approx(18.62150188, abs=5e-9))

    def test_uniform_reproduces_published_numbers(self):
        rng = np.random.RandomState(11)
        queries, loss = self.play(lambda *_: rng.rand() < 0.3)
        assert (queries, loss) == (430, pytest.approx(21.44705409, abs=5e-9))

    def test_greedy_reproduces_published_numbers(self):
        queries, loss = self.play(lambda _, queries: queries < 450)
        assert (queries, loss) == (450, pytest.approx(27.90887421, abs=5e-9))
