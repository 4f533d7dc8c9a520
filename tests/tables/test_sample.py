"""Uniform random samples of the rows of a table, in one pass."""

import numpy as np
import pytest
from tests.tables.test_tables import save

from qufur.tables import Batch, Encoding, read
from qufur.tables.sample import Sample

TABLE = {
    "flight": [f"LH{t}" for t in range(100)],
    "wind": [None if t % 5 == 0 else t / 4 for t in range(100)],
    "hour": list(range(100)),
    "sky": [["clear", "storm"][t % 2] for t in range(100)],
}


def drawn(path, size, batch, seed=0):
    sample = Sample(size, seed)
    for part in read(path, batch):
        names = list(range(part.first, part.first + len(part)))
        sample.add(part, names, np.array(names) != 13)
    return sample


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet", "npz"])
def test_sampled_rows_are_encoded_as_in_the_table(tmp_path, ending):
    path = save(
        tmp_path, {n: c for n, c in TABLE.items() if ending != "npz" or n in ("wind", "hour")}, ending
    )
    encoding = Encoding.of(read(path), impute=True)
    whole = np.vstack([encoding.encode(batch) for batch in read(path)])
    sample = drawn(path, 20, 7)
    np.testing.assert_array_equal(encoding.encode(sample.batch()), whole[np.array(sample.ids) - 1])
    blank = [cell is None for cell in sample.batch().columns["wind"]]
    assert blank == [id % 5 == 1 for id in sample.ids]
    assert sample.ids == sorted(sample.ids)
    assert (len(sample.ids), sample.count) == (20, 99)


def test_sample_depends_on_the_seed_and_not_on_batches(tmp_path):
    path = save(tmp_path, TABLE, "csv")
    assert drawn(path, 20, 7).ids == drawn(path, 20, 100).ids == drawn(path, 20, 1).ids
    assert drawn(path, 20, 7).ids != drawn(path, 20, 7, seed=1).ids


def test_sample_of_a_short_table_has_all_eligible_rows(tmp_path):
    path = save(tmp_path, TABLE, "csv")
    assert drawn(path, 99, 10).ids == [t for t in range(1, 101) if t != 13]


def test_sample_of_a_matrix_has_the_sampled_rows():
    X = np.arange(12.0).reshape(6, 2)
    sample = Sample(3)
    sample.add(Batch({"X": X}, numbers={"x1": ("X", 1)}), range(6), np.ones(6, bool))
    np.testing.assert_array_equal(sample.batch().column("x1"), X[sample.ids, 1])


def test_sample_is_uniform():
    counts = np.zeros(10)
    for seed in range(2000):
        sample = Sample(3, seed)
        for start in range(0, 10, 2):
            sample.add(Batch({"a": [start, start + 1]}), [start, start + 1], np.ones(2, bool))
        counts[sample.ids] += 1
    # Each count is 600 ± 20. By chance, one of ten exceeds 5 standard deviations once in 10⁵ runs.
    assert abs(counts - 600).max() < 5 * 20.5
