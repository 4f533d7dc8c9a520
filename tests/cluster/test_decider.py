"""The deciding actor without a cluster: decisions do not depend on the block boundaries."""

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
from tests.cluster.helpers import ROWS, Work, assert_same, run  # noqa: E402
from tests.letters import let_letters_be_counted  # noqa: E402

from qufur.cluster.blocks import batch_of, with_inputs  # noqa: E402
from qufur.cluster.decider import Decider  # noqa: E402
from qufur.storage import container  # noqa: E402
from qufur.tables import Growth  # noqa: E402
from qufur.workbook import Workbook  # noqa: E402
from qufur.workbook.workbook import header_of  # noqa: E402

TABLE = "0" * 32


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    return Work(tmp_path_factory.mktemp("decider"), categories=True)


@pytest.fixture(scope="module")
def rows(work):
    return pq.read_table(work.folder / "later.parquet")


@pytest.fixture(scope="module")
def workbook(work, rows):
    workbook = Workbook.load(work.first_state)
    growth = Growth(workbook.encoding, scale=not workbook.learner.model.tags.scales_inputs)
    growth.add(batch_of(rows))
    workbook.grow(growth.grown)
    workbook.register_table(TABLE, "later")
    workbook.partial_tables[TABLE] = 0
    return workbook


def decider(workbook, rows, packed=None):
    header, displayed = header_of(workbook, rows.column_names)
    return Decider(packed or container.pack(workbook.content()), TABLE, header, displayed)


def encoded(workbook, rows):
    return with_inputs(rows, encoding=workbook.encoding, columns=rows.column_names, kept=rows.column_names)


def unpacked(actor):
    workbook = Workbook.from_content(container.unpack(actor.packed(), "it"))
    assert workbook.partial_tables.pop(TABLE) == ROWS
    return workbook


@pytest.mark.parametrize("seed", range(4))
def test_decisions_do_not_depend_on_block_boundaries_and_repetitions(work, workbook, rows, seed):
    rng, actor = np.random.default_rng(seed), decider(workbook, rows)
    answers, done = [], 0
    while done < ROWS:
        first = max(0, done - int(rng.integers(0, 500)))  # repeat some rows
        part = rows.slice(first, int(rng.integers(600, 5000)))
        answers.append(actor.take(first, encoded(workbook, part)))
        done = first + len(part)
        if rng.random() < 0.3:  # another actor resumes from the written state
            state = actor.packed()
            actor = decider(workbook, rows, state)
            done = Workbook.from_content(container.unpack(state, "it")).partial_tables[TABLE]
    answers.append(actor.finish())
    assert_same(unpacked(actor), work.expected)
    whole = pa.concat_tables([table for table in answers if table is not None])
    assert whole["id"].to_pylist() == work.later["flight"].to_list()
    assert sum(whole["query"].to_pylist()) == work.expected.learner.spent - workbook.learner.spent


def test_text_rows_are_decided_in_batches_of_the_size_of_ask(tmp_path, monkeypatch):
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
    workbook = Workbook.load(state)
    run("ask", later, "--state", state, "-o", tmp_path / "b.csv")
    workbook.partial_tables[TABLE] = 0
    actor = decider(workbook, rows)
    actor.take(0, encoded(workbook, pq.read_table(later)))
    actor.finish()
    decided, expected = Workbook.from_content(container.unpack(actor.packed(), "it")), Workbook.load(state)
    assert decided.content()[0]["learner"] == expected.content()[0]["learner"]


def test_missing_rows_between_blocks_raise(workbook, rows):
    with pytest.raises(RuntimeError, match="5 rows before row 5 are missing"):
        decider(workbook, rows).take(5, encoded(workbook, rows.slice(5)))
