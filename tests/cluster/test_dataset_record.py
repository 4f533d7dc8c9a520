"""Files of a dataset: results are written before the state, and an invalid dataset leaves no files."""

import pytest

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
from tests.cluster.helpers import Work  # noqa: E402
from tests.refusals import refusal  # noqa: E402

from qufur.cluster.dataset_record import Record  # noqa: E402
from qufur.errors import InvalidError  # noqa: E402
from qufur.storage import container  # noqa: E402
from qufur.workbook import Workbook  # noqa: E402

TABLE = "0" * 32


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    return Work(tmp_path_factory.mktemp("record"), categories=False)


def opened(state, out):
    workbook = Workbook.load(state)
    if TABLE not in workbook.partial_tables:
        workbook.register_table(TABLE, "later")
        workbook.partial_tables[TABLE] = 0
    return Record(state, workbook, TABLE, out, "ask later")


def later(record, rows):
    """Return the state after further rows and their answers."""
    workbook = Workbook.from_content(container.unpack(record.packed, "it"))
    workbook.partial_tables[TABLE] += rows
    answers = pa.table({"id": range(record.done, record.done + rows), "query": [True] * rows})
    return container.pack(workbook.content()), [answers]


def ids(record):
    return [id for path in record.parts() for id in pq.read_table(path)["id"].to_pylist()]


def test_results_are_written_before_the_state_and_replaced_when_its_write_failed(work, tmp_path, monkeypatch):
    state, out = work.fresh(tmp_path), tmp_path / "out"
    record = opened(state, out)
    record.write(*later(record, 5))
    before = Workbook.load(state).partial_tables
    with monkeypatch.context() as patch:
        patch.setattr(Workbook, "save", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            record.write(*later(record, 3))
    assert len(list(out.iterdir())) == 2
    assert Workbook.load(state).partial_tables == before
    again = opened(state, out)
    assert ids(again) == list(range(5))
    again.write(*later(again, 4))
    assert ids(again) == list(range(9))
    assert again.queried_ids() == set(map(str, range(9)))
    assert not again.finish().partial_tables
    assert Workbook.load(state).history.outcome == "9 rows"


def test_results_are_replaced_when_their_state_was_lost(work, tmp_path):
    state, out = work.fresh(tmp_path), tmp_path / "out"
    record = opened(state, out)
    for rows in (5, 3):
        record.write(*later(record, rows))
    again = opened(work.fresh(tmp_path), out)
    again.write(*later(again, 8))
    assert ids(again) == list(range(8))


def test_missing_results_raise(work, tmp_path):
    state, out = work.fresh(tmp_path), tmp_path / "out"
    record = opened(state, out)
    for rows in (5, 3, 4):
        record.write(*later(record, rows))
    record.parts()[1].unlink()
    assert "must be the folder of the first 12 results, got" in refusal(lambda: opened(state, out))


@pytest.mark.parametrize("new", [True, False])
def test_rejected_table_leaves_no_files(work, tmp_path, new):
    state, out = work.fresh(tmp_path), tmp_path / "out"
    bytes_before, record = state.read_bytes(), opened(state, out)
    if new:
        state.unlink()

    def decide():
        with record.or_nothing():
            record.write(*later(record, 5))
            raise InvalidError("a bad cell")

    assert refusal(decide) == "a bad cell"
    assert state.exists() != new
    assert new or state.read_bytes() == bytes_before
    assert list(out.iterdir()) == []
