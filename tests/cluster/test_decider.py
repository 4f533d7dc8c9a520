"""The actor without its cluster: no bit of what it decides depends on how rows come to it."""

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
from tests.cluster.work import ROWS, Work, assert_same, run  # noqa: E402
from tests.letters import let_letters_be_counted  # noqa: E402

from qufur.bookkeeping.wanted import header_of  # noqa: E402
from qufur.cluster.blocks import batch_of, with_inputs  # noqa: E402
from qufur.cluster.decider import Decider  # noqa: E402
from qufur.storage import container  # noqa: E402
from qufur.tables import Growth  # noqa: E402
from qufur.workbook import Workbook  # noqa: E402

TABLE = "0" * 32


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    return Work(tmp_path_factory.mktemp("decider"), categories=True)


@pytest.fixture(scope="module")
def rows(work):
    return pq.read_table(work.folder / "later.parquet")


@pytest.fixture(scope="module")
def book(work, rows):
    book = Workbook.load(work.first_state)
    growth = Growth(book.encoding, scale=not book.learner.model.scales_inputs)
    growth.add(batch_of(rows))
    book.grow(growth.grown)
    book.note_table(TABLE, "later")
    book.unfinished[TABLE] = 0
    return book


def decider(book, rows, packed=None):
    header, shown = header_of(book, rows.column_names)
    return Decider(packed or container.pack(book.content()), TABLE, header, shown)


def encoded(book, rows):
    return with_inputs(rows, encoding=book.encoding, columns=rows.column_names, kept=rows.column_names)


def unpacked(found):
    book = Workbook.from_content(container.unpack(found.packed(), "it"))
    assert book.unfinished.pop(TABLE) == ROWS
    return book


@pytest.mark.parametrize("seed", range(4))
def test_rows_are_decided_alike_however_they_are_cut_and_come_again(work, book, rows, seed):
    rng, found, answers, done = np.random.default_rng(seed), decider(book, rows), [], 0
    while done < ROWS:
        first = max(0, done - int(rng.integers(0, 500)))  # some of them once more
        part = rows.slice(first, int(rng.integers(600, 5000)))
        answers.append(found.take(first, encoded(book, part)))
        done = first + len(part)
        if rng.random() < 0.3:  # somebody else goes on from what was written
            state = found.packed()
            found = decider(book, rows, state)
            done = Workbook.from_content(container.unpack(state, "it")).unfinished[TABLE]
    answers.append(found.finish())
    assert_same(unpacked(found), work.expected)
    whole = pa.concat_tables([table for table in answers if table is not None])
    assert whole["id"].to_pylist() == work.later["flight"].to_list()
    assert sum(whole["query"].to_pylist()) == work.expected.learner.spent - book.learner.spent


def test_texts_are_decided_as_many_at_a_time_as_by_ask(tmp_path, monkeypatch):
    let_letters_be_counted(monkeypatch)
    rng = np.random.default_rng(3)
    notes = ["".join(rng.choice([*"abc  "], 30)) + "z" for _ in range(600)]
    rows = pa.table({"n": range(600), "note": notes, "wind": rng.normal(size=600)})
    start = "--model", "ridge", "--label-range", 0, 60, "--budget", "9%", "--id", "n"
    state, later = tmp_path / "s.qufur", tmp_path / "later.parquet"
    for name, part in ("first", rows.slice(0, 100)), ("later", rows.slice(100)):
        pq.write_table(part, tmp_path / f"{name}.parquet")
    text = "--text", "note", "--text-model", "letters-abc"
    run("ask", tmp_path / "first.parquet", "--state", state, "-o", tmp_path / "a.csv", *start, *text)
    book = Workbook.load(state)
    run("ask", later, "--state", state, "-o", tmp_path / "b.csv")
    book.unfinished[TABLE] = 0
    found = decider(book, rows)
    found.take(0, encoded(book, pq.read_table(later)))
    found.finish()
    own, expected = Workbook.from_content(container.unpack(found.packed(), "it")), Workbook.load(state)
    assert own.content()[0]["learner"] == expected.content()[0]["learner"]


def test_a_gap_is_seen(book, rows):
    with pytest.raises(RuntimeError, match="5 rows before row 5 did not come"):
        decider(book, rows).take(5, encoded(book, rows.slice(5)))
