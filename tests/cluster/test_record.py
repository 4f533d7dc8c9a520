"""What is on disk: results before the state that speaks of them, and nothing of a table that is refused."""

import pytest

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
from tests.cluster.work import Work  # noqa: E402
from tests.refusals import refusal  # noqa: E402

from qufur.cluster.record import Record  # noqa: E402
from qufur.errors import InvalidError  # noqa: E402
from qufur.storage import container  # noqa: E402
from qufur.workbook import Workbook  # noqa: E402

TABLE = "0" * 32


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    return Work(tmp_path_factory.mktemp("record"), categories=False)


def opened(state, out):
    book = Workbook.load(state)
    if TABLE not in book.unfinished:
        book.note_table(TABLE, "later")
        book.unfinished[TABLE] = 0
    return Record(state, book, TABLE, out, "ask later")


def later(record, rows):
    """Return the state after further rows, and answers to them."""
    book = Workbook.from_content(container.unpack(record.packed, "it"))
    book.unfinished[TABLE] += rows
    answers = pa.table({"id": range(record.done, record.done + rows), "query": [True] * rows})
    return container.pack(book.content()), [answers]


def ids(record):
    return [id for path in record.parts() for id in pq.read_table(path)["id"].to_pylist()]


def test_results_are_there_before_the_state_and_are_replaced_where_it_never_came(work, tmp_path, monkeypatch):
    state, out = work.fresh(tmp_path), tmp_path / "out"
    record = opened(state, out)
    record.write(*later(record, 5))
    before = Workbook.load(state).unfinished
    with monkeypatch.context() as patch:
        patch.setattr(Workbook, "save", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            record.write(*later(record, 3))
    assert len(list(out.iterdir())) == 2
    assert Workbook.load(state).unfinished == before
    again = opened(state, out)
    assert ids(again) == list(range(5))
    again.write(*later(again, 4))
    assert ids(again) == list(range(9))
    assert again.wanted() == set(map(str, range(9)))
    assert not again.finish().unfinished
    assert Workbook.load(state).history.outcome == "9 rows"


def test_results_of_work_that_was_lost_are_replaced(work, tmp_path):
    state, out = work.fresh(tmp_path), tmp_path / "out"
    record = opened(state, out)
    for rows in (5, 3):
        record.write(*later(record, rows))
    again = opened(work.fresh(tmp_path), out)
    again.write(*later(again, 8))
    assert ids(again) == list(range(8))


def test_lost_results_are_refused(work, tmp_path):
    state, out = work.fresh(tmp_path), tmp_path / "out"
    record = opened(state, out)
    for rows in (5, 3, 4):
        record.write(*later(record, rows))
    record.parts()[1].unlink()
    assert "must be the folder of the first 12 results, got" in refusal(lambda: opened(state, out))


@pytest.mark.parametrize("new", [True, False])
def test_nothing_is_left_of_a_table_that_is_refused(work, tmp_path, new):
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
