"""Forged files with a valid digest and invalid content raise one-line errors, and no code is run."""

import copy
import json
import math

import numpy as np
import pytest
from safetensors.numpy import save as save_tensors
from sklearn.gaussian_process.kernels import RBF
from tests.same import same
from tests.soak import times
from tests.storage.test_snapshot import load_error, used

from qufur import ConfidenceSet, FisherSoftmax, KernelRidge, Learner, Paced, Ridge, Softmax, snapshot
from qufur.hypotheses import FiniteLinear
from qufur.models import PaperAdam
from qufur.storage.container import digest, read, write

MODELS = [
    Ridge(2),
    Ridge(5, intercept=True),
    Ridge(2, half_life=20),
    KernelRidge(RBF(0.5), dim=2),
    ConfidenceSet(FiniteLinear(np.eye(2)), radius=0.2),
    Softmax(2, 2),
    Softmax(2, 2, training=PaperAdam(batch=8)),
    FisherSoftmax(2, 2),
]


def forge(path, header, tensors):
    text = json.dumps({"digest": digest(header, tensors), **header})
    path.write_bytes(save_tensors(tensors, metadata={"qufur": text}))


@pytest.fixture
def forged(tmp_path):
    """Return a function that changes the content of a file and returns the reason in the error."""

    def change(edit, learner=None):
        header, tensors = copy.deepcopy(snapshot.encode(learner or used()))
        edit(header, tensors)
        forge(tmp_path / "learner", header, tensors)
        return load_error(tmp_path / "learner")

    return change


def test_rewritten_valid_file_loads(tmp_path):
    used().save(tmp_path / "learner")
    forge(tmp_path / "learner", *read(tmp_path / "learner"))
    assert same(Learner.load(tmp_path / "learner"), used())


def test_strided_view_is_saved_contiguously(tmp_path):
    table = np.arange(12.0).reshape(3, 4)
    arrays = {"column": table[:, 1], "turned": table.T, "none": np.empty((0, 2)), "one": np.array(3.0)}
    write(tmp_path / "a", ({}, dict(arrays)), lambda content: None)
    loaded = read(tmp_path / "a")[1]
    for name, array in arrays.items():
        assert loaded[name].shape == array.shape
        np.testing.assert_array_equal(loaded[name], array)


def test_digest_covers_values_names_types_shapes_and_bytes():
    a = np.arange(4.0)
    contents = [
        ({"v": 1}, {"a": a}),
        ({"v": 1.0}, {"a": a}),
        ({"w": 1}, {"a": a}),
        ({"v": 1}, {"b": a}),
        ({"v": 1}, {"a": a.reshape(2, 2)}),
        ({"v": 1}, {"a": a.view(np.int64)}),
        ({"v": 1}, {"a": -a}),
        ({"v": 1}, {}),
        ({"v": 1}, {"a": a[:2], "b": a[2:]}),
    ]
    assert len({digest(*content) for content in contents}) == len(contents)


def test_newer_file_version_raises(forged):
    message = forged(lambda header, _: header.update(version=4, model="of a later version"))
    assert message == "is of version 4, after 3. Update qufur to read it."


@pytest.mark.parametrize("version", [0, None, "1", 1.5, [1]])
def test_unknown_file_version_raises(forged, version):
    assert "version of the file must be 3" in forged(lambda header, _: header.update(version=version))


PARTS = ("version", "model", "rule", "dim", "state", "rng", "spending", "ledger", "next_id", "ids")


@pytest.mark.parametrize("part", PARTS)
def test_missing_or_mistyped_header_fields_raise(forged, part):
    assert f"KeyError: '{part}'" in forged(lambda header, _: header.pop(part))
    for value in ("x", [[]], {"a": 1}, True, float("nan"), 1.5):
        forged(lambda header, _, value=value: header.update({part: value}))


def key_paths(value, path=()):
    """Yield the path of keys to every value of nested dicts."""
    for key, item in value.items():
        yield (*path, key)
        if isinstance(item, dict):
            yield from key_paths(item, (*path, key))


def change_at(header, path, value):
    for key in path[:-1]:
        header = header[key]
    header[path[-1]] = value


@pytest.mark.parametrize("seed", [1, "Philox", "MT19937"])
def test_values_of_another_type_raise(forged, seed):
    rng = seed if seed == 1 else np.random.Generator(getattr(np.random, seed)(1))
    learner = used(rule=Paced(20, 30), seed=rng)
    paths = [path for path in key_paths(snapshot.encode(learner)[0]) if path[0] not in ("model", "rule")]
    for path in paths:
        for value in ({"a": {}}, "x", ["x"], [None], True, float("nan")):
            forged(lambda header, _, path=path, value=value: change_at(header, path, value), learner)
    assert len(paths) > 25


def learner_of(model):
    learner = Learner(model, Paced(20, 30), seed=1)
    rows = np.random.default_rng(4).normal(size=(14, model.dim or 2)) / 2
    learner.ask_many(rows[:12])
    learner.learn(rows[12:], [0.0, 1.0])
    learner.tell(learner.outstanding[0], 1.0)
    return learner


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_arrays_of_another_type_or_shape_raise(forged, model):
    learner = learner_of(model)
    assert learner.outstanding
    for name, array in snapshot.encode(learner)[1].items():
        for other in invalid_arrays(name, array):
            forged(lambda _, tensors, n=name, a=other: tensors.update({n: np.ascontiguousarray(a)}), learner)


def invalid_arrays(name, array):
    """Yield arrays that cannot replace this one. Buffers may have any number of rows."""
    yield array[..., None]
    yield np.zeros(array.shape, np.int16)
    yield np.zeros(array.shape, np.complex64)
    if array.size and not name.endswith(("recent", "passed", "seen", "errors")):
        yield np.concatenate([array, array[:1]])
    if array.size and array.ndim == 2:
        yield np.concatenate([array, array[:, :1]], axis=1)
    if array.size and array.dtype.kind == "f":
        yield np.full_like(array, math.nan)
        yield np.full_like(array, -math.inf)
    if array.dtype == bool:
        yield np.full(array.shape, 7, np.uint8).view(bool)


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_missing_or_unknown_arrays_raise(forged, model):
    learner = learner_of(model)
    optional = {
        "state.trainer.gram",
        "state.inputs.trainer.gram",
        "state.gram",
    }  # recomputed when it is large
    # Files of older versions lack late rows, early errors and the errors of intervals.
    older = (".late", ".early", "ledger.errors")
    names = {name for name in snapshot.encode(learner)[1] if not name.endswith(older)}
    for name in names - optional:
        forged(lambda _, tensors, name=name: tensors.pop(name), learner)
    for name in ("else", "state.else", "state.queried", "ledger.else", "state.labelled.else"):
        forged(lambda _, tensors, name=name: tensors.update({name: np.ones(1)}), learner)


# Hostile files


@pytest.mark.parametrize(
    ("bits", "edit"),
    [
        ("MT19937", lambda rng: rng["state"].update(pos=1000)),
        ("MT19937", lambda rng: rng["state"].update(pos=-1)),
        ("MT19937", lambda rng: rng["state"].update(key=[1, 2])),
        ("MT19937", lambda rng: rng["state"]["key"].__setitem__(0, 2**40)),
        ("Philox", lambda rng: rng.update(buffer_pos=-7)),
        ("Philox", lambda rng: rng.update(buffer_pos=5)),
        ("Philox", lambda rng: rng.update(buffer=[1])),
        ("PCG64", lambda rng: rng["state"].update(state=2**128)),
        ("PCG64", lambda rng: rng.update(bit_generator="SFC64")),
    ],
)
def test_generator_states_outside_their_buffers_raise(forged, bits, edit):
    learner = used(seed=np.random.Generator(getattr(np.random, bits)(1)))
    forged(lambda header, _: edit(header["rng"]), learner)


def test_unknown_generator_name_calls_no_function(forged, monkeypatch):
    monkeypatch.setattr(np.random, "seed", lambda: pytest.fail("called from a file"))
    for name in ("seed", "default_rng", "BitGenerator", "__class__", ["PCG64"], None):
        reason = forged(lambda header, _, name=name: header["rng"].update(bit_generator=name))
        assert "TypeError" in reason or "rng of the file must be one of ['MT19937', 'PCG64'," in reason


@pytest.mark.parametrize(
    ("part", "description", "reason"),
    [
        ("model", {"type": "Popen", "args": ["true"]}, "must be a registered class, got 'Popen'"),
        ("model", {"type": "Model"}, "must be a registered class, got 'Model'"),
        ("model", {"type": "QuFUR", "alpha": 1.0}, "must be a registered class, got 'QuFUR'"),
        ("model", {"type": ["Ridge"]}, "must be a registered class"),
        ("model", {"type": "Regression"}, "TypeError"),
        ("model", {"type": "Ridge", "dim": "2"}, "dim of Ridge must be an integer of at least 1"),
        ("model", {"type": "Ridge", "dim": 2, "self": 1}, "TypeError"),
        ("model", {"type": "Ridge", "dim": 10**15}, "MemoryError"),
        ("model", {"type": "KernelRidge", "kernel": {"type": "Popen"}}, "must be a registered class"),
        ("model", {"type": "KernelRidge", "kernel": "os.system"}, "must be a kernel"),
        (
            "model",
            {"type": "ConfidenceSet", "hypotheses": {"kind": "Finite", "functions": ["print"], "dim": 2}},
            "",
        ),
        ("rule", {"type": "Ridge", "dim": 2}, "must be a registered class, got 'Ridge'"),
        ("rule", {"type": "QuFUR", "alpha": -1.0}, "alpha of QuFUR must be"),
        ("rule", {"type": "FixedBudget", "budget": 10**400, "horizon": 2}, "must be below 2**63"),
    ],
)
def test_unknown_classes_and_invalid_arguments_raise(forged, part, description, reason):
    assert reason in forged(lambda header, _: header.update({part: description}))


def test_inconsistent_ids_raise(forged):
    ids = list(used().outstanding)
    for wrong in (ids[:-1], ids[:-1] + ids[:1], [*ids[:-1], 1.5], [*ids[:-1], []]):
        forged(lambda header, _, wrong=wrong: header.update(ids=wrong))
    forged(lambda header, _: header["state"].update(fresh=[99]))


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_randomly_forged_files_raise_or_load_consistently(tmp_path, model):
    rng, path = np.random.default_rng(8), tmp_path / "learner"
    whole = snapshot.encode(learner_of(model))
    for _ in range(times(4_000)):
        header, tensors = copy.deepcopy(whole)
        distort(rng, header, tensors)
        forge(path, header, tensors)
        try:
            learner = Learner.load(path)
        except ValueError as error:
            assert "\n" not in str(error)
        else:
            forge(path, *snapshot.encode(learner))
            assert same(Learner.load(path), learner)


def distort(rng, header, tensors):
    """Replace one value or array by another one of the file or by an unexpected value."""
    if rng.random() < 0.5:
        paths = list(key_paths(header))
        values = [
            0,
            -1,
            10**30,
            1e308,
            -0.5,
            "x",
            [],
            {},
            None,
            [1, 2],
            True,
            paths[rng.integers(len(paths))][-1],
        ]
        change_at(header, paths[rng.integers(len(paths))], values[rng.integers(len(values))])
    else:
        target, source = rng.choice(sorted(tensors), 2)
        tensors[target] = rng.permutation(tensors[source]).astype(tensors[target].dtype)
