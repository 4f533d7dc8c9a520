"""`qufur ask --cluster`: the rows of a table are encoded on a Ray cluster."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from qufur.bookkeeping.wanted import header_of
from qufur.cli.ask import prepared
from qufur.cli.columns import Columns
from qufur.cli.connection import connected
from qufur.cli.exchange import rows_out
from qufur.cli.loop import files_of
from qufur.cli.outputs import check_answered, check_table
from qufur.cluster.asking import decide, plainly
from qufur.cluster.growing import DatasetFile
from qufur.cluster.installed import ray_with_data
from qufur.cluster.parquet import ParquetTable
from qufur.cluster.record import Record
from qufur.labelling.exchange import Tool
from qufur.storage import container
from qufur.storage.lock import locked
from qufur.tables.source import Source
from qufur.tables.waiting import by_column
from qufur.workbook import Workbook


class Cluster(NamedTuple):
    """Where tasks run, how many at a time, and how many GPUs each takes."""

    address: str
    workers: int | None
    gpus: float


class Asked(NamedTuple):
    """The work, how many rows were asked about, how many labels are wanted, and what to note."""

    book: Workbook
    rows: int
    wanted: int
    notes: list[str]


def ask_on_cluster(
    cluster: Cluster,
    data: str,
    state: Path,
    out: Path,
    first: dict[str, Any],
    columns: Columns,
    format: Tool | None,
    *,
    force: bool,
) -> Asked:
    """Ask about the rows of Parquet files; a call that was killed goes on when it is made again."""
    ray = ray_with_data()
    check_table(out, files_of(state))
    table = ParquetTable(data)
    with connected(ray, cluster.address), locked(state), plainly(ray):
        book = Workbook.load(state) if state.exists() else None
        notes: list[str] = []
        if book is None or table.digest(book) not in book.unfinished:
            book, notes = _begun(ray, table, book, first, columns)
        if not force:
            check_answered(book, out)
        results = Path(f"{out}.results")
        record = Record(state, book, table.digest(book), results, f"ask {table.name}")
        with record.or_nothing(), plainly(ray):
            decide(ray, table, book, record, workers=cluster.workers, gpus=cluster.gpus)
        wanted = _write(record, table, out, format)
        # Last: until then the same call makes the same file again.
        book = record.finish()
    notes = [*notes, f"Predictions of all rows are in the folder {results}."]
    return Asked(book, record.done, wanted, notes)


def _begun(
    ray: Any, table: ParquetTable, book: Workbook | None, first: dict[str, Any], columns: Columns
) -> tuple[Workbook, list[str]]:
    """Return the work with the table among those that it knows; rows are looked at on the cluster."""
    if book is not None and table.digest(book) in book.tables:
        book.note_table(table.digest(book), table.name)
    packed = None if book is None else container.pack(book.content())
    source = Source(Path(table.name), opened=DatasetFile(ray, table))
    task = ray.remote(num_cpus=0)(_prepared)
    packed, notes = ray.get(task.remote(packed, source, first, columns))
    book = _unpacked(packed)
    book.note_table(table.digest(book), table.name)
    book.unfinished[table.digest(book)] = 0
    return book, notes


def _prepared(
    packed: bytes | None, source: Source, first: dict[str, Any], columns: Columns
) -> tuple[bytes, list[str]]:
    book = None if packed is None else _unpacked(packed)
    start = prepared(book, source, first, columns, quiet=True)
    return container.pack(start.book.content()), start.notes


def _unpacked(packed: bytes) -> Workbook:
    return Workbook.from_content(container.unpack(packed, "the state"))


def _write(record: Record, table: ParquetTable, out: Path, format: Tool | None) -> int:
    """Write the rows to label; return how many."""
    book, wanted = _unpacked(record.packed), record.wanted()
    header, _ = header_of(book, [name for name in table.columns if name not in table.lists])
    ids = [id for id in book.learner.outstanding if str(id) in wanted]
    with rows_out(book, out, header, format) as write:
        write(by_column(book.waiting.cells(id) or {}, header) for id in ids)
    return len(ids)
