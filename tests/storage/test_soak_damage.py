"""Damaged files: each raises an error or loads with unchanged content."""

import gzip
import json

import numpy as np
import polars as pl
import pytest
from sklearn.gaussian_process.kernels import RBF
from tests.same import same
from tests.soak import times
from tests.storage.test_snapshot import X

from qufur import FisherSoftmax, FixedBudget, KernelRidge, Learner, Paced, Ridge, Uniform
from qufur.streams import Table
from qufur.tables import read

CASES = [
    (Ridge(2), Paced(20, 30)),
    (KernelRidge(RBF(0.5)), FixedBudget(40, 30)),
    (FisherSoftmax(2, 2), Uniform(0.5)),
    (Ridge(2, half_life=20), Uniform(0.5, budget=6)),
    (Ridge(2, importance=0.5), Uniform(0.5, budget=6)),
]


def flip_bits(rng, raw):
    for start in rng.integers(0, len(raw), rng.integers(1, 5)):
        raw[start] ^= 1 << rng.integers(8)


def cut_off(rng, raw):
    del raw[rng.integers(len(raw)) :]


def swap_blocks(rng, raw):
    size = int(rng.integers(1, 400))
    a, b = rng.integers(0, len(raw) - size, 2)
    raw[a : a + size], raw[b : b + size] = raw[b : b + size], raw[a : a + size]


def insert(rng, raw):
    start = rng.integers(len(raw) + 1)
    raw[start:start] = rng.bytes(rng.integers(1, 20))


def remove(rng, raw):
    start = rng.integers(len(raw))
    del raw[start : start + rng.integers(1, 20)]


def blank(rng, raw):
    start = rng.integers(len(raw))
    raw[start : start + 64] = bytes(len(raw[start : start + 64]))


def edit_header(rng, raw):
    """Replace one character of the header by another one of the header."""
    end = header_end(raw)
    raw[rng.integers(8, end)] = raw[rng.integers(8, end)]


def edit_values(rng, raw):
    """Replace one character of the values and keep the header valid."""
    header = json.loads(raw[8 : header_end(raw)])
    text = header["__metadata__"]["qufur"]
    start = int(rng.integers(len(text)))
    header["__metadata__"]["qufur"] = (
        text[:start] + str(rng.choice(list("0123456789ae.- "))) + text[start + 1 :]
    )
    rewrite(raw, header)


def move_arrays(rng, raw):
    """Swap the offsets, types or shapes of two arrays, or list the arrays in another order."""
    header = json.loads(raw[8 : header_end(raw)])
    first, second = rng.choice(sorted(header.keys() - {"__metadata__"}), 2)
    field = rng.choice(["data_offsets", "dtype", "shape", "order"])
    if field == "order":
        header = {name: header[name] for name in rng.permutation(sorted(header)).tolist()}
    else:
        header[first][field], header[second][field] = header[second][field], header[first][field]
    rewrite(raw, header)


def header_end(raw):
    return 8 + int.from_bytes(raw[:8], "little")


def rewrite(raw, header):
    end, text = header_end(raw), json.dumps(header).encode()
    raw[:end] = len(text).to_bytes(8, "little") + text


def damaged(rng, whole, damage):
    """Return damaged bytes that differ from the original; swapping equal blocks is no damage."""
    raw = bytearray(whole)
    while raw == whole:
        damage(rng, raw)
    return raw


DAMAGES = (flip_bits, cut_off, swap_blocks, insert, remove, blank, edit_header, edit_values, move_arrays)


@pytest.mark.parametrize(("model", "rule"), CASES, ids=repr)
def test_damaged_learner_files_raise_or_load_unchanged(tmp_path, model, rule):
    rng, file = np.random.default_rng(6), tmp_path / "learner"
    learner = Learner(model, rule, seed=1)
    learner.ask_many(X[:12])
    learner.tell(learner.outstanding[0], 1.0)
    learner.save(file)
    whole, errors, equal = file.read_bytes(), 0, 0
    for i in range(times(100_000 // len(CASES))):
        file.write_bytes(damaged(rng, whole, DAMAGES[i % len(DAMAGES)]))
        try:
            loaded = Learner.load(file)
        except ValueError as error:
            assert str(error).startswith(
                f"path of Learner.load must be a file that Learner.save wrote, got '{file}'"
            )
            assert "\n" not in str(error)
            errors += 1
        else:
            assert same(loaded, learner)
            equal += 1
    print(f"{errors} damaged files raised, {equal} loaded unchanged")
    assert errors > equal > 0


TABLE_DAMAGES = [flip_bits, cut_off, swap_blocks, insert, remove, blank]
TABLES = ["t.npz", "packed.npz", "t.npy", "t.parquet", "t.csv", "t.csv.gz", "t.jsonl"]


def whole_table(path):
    """Write a table and return its bytes."""
    columns = {"x0": X[:, 0], "x1": X[:, 1], "y": X[:, 0] > 0}
    frame = pl.DataFrame(columns)
    if path.suffix == ".npz":
        save = np.savez if path.name == "t.npz" else np.savez_compressed
        save(path, X=X, y=X[:, 0], domain=np.arange(len(X)))
    elif path.suffix == ".npy":
        np.save(path, X)
    elif path.suffix == ".parquet":
        frame.write_parquet(path)
    elif path.suffix == ".jsonl":
        frame.write_ndjson(path)
    else:
        text = frame.write_csv().encode()
        path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)
    return path.read_bytes()


@pytest.mark.filterwarnings("default")  # as for a user
@pytest.mark.parametrize("name", TABLES)
def test_damaged_tables_are_read_or_raise_one_line_errors(tmp_path, name):
    """Damaged tables are read or raise one-line errors, both as streams and as tables of mixed columns."""
    path = tmp_path / name
    whole, errors = whole_table(path), 0
    readers = [lambda: list(Table(path, None).chunks(7)), lambda: list(read(path, 7))]
    rng = np.random.default_rng(0)
    count = times(20_000)
    for _ in range(count):
        raw = bytearray(whole)
        TABLE_DAMAGES[rng.integers(len(TABLE_DAMAGES))](rng, raw)
        path.write_bytes(raw)
        for reader in readers:
            try:
                reader()
            except ValueError as error:
                errors += 1
                assert len(str(error).splitlines()) == 1
    assert errors > count / 10
