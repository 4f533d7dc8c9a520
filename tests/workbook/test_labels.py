import tracemalloc

import numpy as np
import pytest

from qufur.errors import InvalidError
from qufur.workbook.labels import Labels, StoredLabel

RNG = np.random.default_rng(3)


class OffloadedRows:
    """Reader of offloaded rows that counts the rows it returns."""

    def __init__(self):
        self.rows, self.read = {}, 0

    def __call__(self, ids):
        self.read += len(ids)
        return np.array([self.rows[id] for id in ids])


def assert_equal_labels(labels, model):
    assert list(labels) == list(model)
    assert labels.numbers.tolist() == [list(record[:4]) for record in model.values()]
    expected = [record.row.tolist() for record in model.values()]
    assert labels.rows.tolist() == [row.tolist() for rows in labels.blocks() for row in rows] == expected
    for id, record in model.items():
        assert (labels[id].row == record.row).all()
        assert (labels[id][:4], labels.label(id)) == (record[:4], record.label)


@pytest.mark.parametrize("room", [None, 0, 5 * 3 * 8, 10**6])
def test_labels_are_a_mapping_of_records(room):
    labels, model, offloaded = Labels(), {}, OffloadedRows()
    if room is not None:
        labels.offload_rows(offloaded, room)
    next_id, width = 0, 3
    for step in range(200):
        removed = [id for id in model if RNG.random() < 2 / len(model)]
        if step % 10 == 9 and removed:
            labels.remove(removed)
            for id in removed:
                del model[id]
        elif step % 10 == 8 and model:
            new = RNG.normal(size=len(model))
            labels.replace(new)
            pairs = zip(new.tolist(), model.items(), strict=True)
            model = {id: record._replace(label=label) for label, (id, record) in pairs}
        elif step % 50 == 7:
            labels.widen(width - 1, [4.0, 5.0])
            width += 2
            model = {id: r._replace(row=np.insert(r.row, [-1, -1], [4.0, 5.0])) for id, r in model.items()}
        else:
            count = int(RNG.integers(0, 4))
            ids, numbers = list(range(next_id, next_id + count)), RNG.normal(size=(count, 4))
            rows = RNG.normal(size=(count, width))
            labels.add(ids, numbers, rows)
            model |= {
                id: StoredLabel(*one.tolist(), row) for id, one, row in zip(ids, numbers, rows, strict=True)
            }
            next_id += count
        offloaded.rows = {id: record.row for id, record in model.items()}
        assert_equal_labels(labels, model)
        if room is not None and width == 3:
            assert labels.cached_rows.nbytes <= room
    assert labels.label("none") is None
    assert "none" not in labels
    assert (offloaded.read > 0) == (room in (0, 5 * 3 * 8))


def test_offloading_frees_cached_rows():
    rows, offloaded = RNG.normal(size=(8, 3)), OffloadedRows()
    offloaded.rows = dict(enumerate(rows))
    labels = Labels(list(range(8)), np.zeros((8, 4)), rows)
    labels.offload_rows(offloaded, 2 * 3 * 8)
    assert (labels.cached_rows.tolist(), labels.rows.tolist()) == (rows[:2].tolist(), rows.tolist())
    assert offloaded.read == 6


def test_rows_after_a_gap_are_not_cached():
    rows, offloaded = RNG.normal(size=(8, 3)), OffloadedRows()
    offloaded.rows = dict(enumerate(rows))
    labels = Labels()
    labels.offload_rows(offloaded, 5 * 3 * 8)
    for place in range(7):
        labels.add([place], np.zeros((1, 4)), rows[place : place + 1])
    labels.remove([0, 1, 2])
    labels.add([7], np.zeros((1, 4)), rows[7:])
    assert labels.rows.tolist() == rows[3:].tolist()


def test_labels_take_little_memory_when_rows_are_offloaded():
    labels, rows = Labels(), np.zeros((1, 88))
    labels.offload_rows(OffloadedRows(), 88 * 8 * 10)
    numbers = np.zeros((1, 4))
    tracemalloc.start()
    for place in range(5000):
        labels.add([str(place)], numbers, rows)
    taken, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert taken / 5000 < 300


@pytest.mark.parametrize(
    "parts", [(["a"], np.zeros((2, 4)), np.zeros((1, 3))), (["a", "a"], np.zeros((2, 4)), np.zeros((2, 3)))]
)
def test_inconsistent_label_arrays_are_rejected(parts):
    with pytest.raises(InvalidError, match="distinct ids"):
        Labels(*parts)
