"""`ask` on a Ray Dataset."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from qufur.arrays import as_count
from qufur.bookkeeping.wanted import header_of
from qufur.cluster.blocks import with_inputs
from qufur.cluster.cards import check_cards
from qufur.cluster.decider import Decider, needed
from qufur.cluster.driver import TRIES, Driver
from qufur.cluster.feed import feeding
from qufur.cluster.growing import grow
from qufur.cluster.installed import ray_with_data
from qufur.cluster.parquet import ParquetTable
from qufur.cluster.record import Record
from qufur.cluster.sources import Table, table_of
from qufur.errors import InvalidError, invalid
from qufur.storage.lock import locked
from qufur.workbook import Workbook


def ask(
    dataset: Any,
    workbook: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    workers: int | None = None,
    gpus: float = 0.0,
    impute: bool = False,
) -> Any:
    """Decide which labels of a dataset are worth buying, as `qufur ask` does for a table.

    Rows are read and encoded on all workers, and text is embedded there. One actor decides, in the order of
    the dataset, exactly and within the budget of the workbook; what was decided is written to disk on the
    way. Called again after a failure, it goes on from there, and comes to the same results as without.

    Parameters
    ----------
    dataset
        The path or URL of a Parquet file or a folder of them, such as s3://bucket/rows; or a Ray Dataset that
        comes in the same order when it is run again. After a failure that is done from its start, while of
        files nothing is read again that was decided.
    workbook
        The state file of the work, made by `qufur learn` or by `qufur ask` about a first table.
    out
        A folder for results, in Parquet files that later calls may add to.
    workers
        How many tasks read and encode at the same time; by default as many as there are CPUs for.
    gpus
        The GPUs that each of these tasks takes, for text; 0.25 lets four of them share one.
    impute
        Whether cells may be missing from now on.

    Returns
    -------
    Dataset
        The columns id, prediction, uncertainty, probability and query, a row for each one asked about.
    """
    ray = ray_with_data()
    state = Path(workbook)
    if not state.is_file():
        remedy = "`qufur learn` makes one, and so does `qufur ask` about a first table."
        raise invalid("workbook", "cluster.ask", "an existing file", repr(str(state)), remedy)
    with locked(state, "workbook", "cluster.ask"), plainly(ray):
        book, table = Workbook.load(state), table_of(dataset)
        digest = begun(ray, table, book, impute=impute)
        record = Record(state, book, digest, Path(out), f"ask {table.name}")
        with record.or_nothing(), plainly(ray):
            decide(ray, table, book, record, workers=workers, gpus=gpus)
        record.finish()
        return results(ray, record)


def begun(ray: Any, table: Table, book: Workbook, *, impute: bool) -> str:
    """Let a workbook begin with a table, or go on with it; return its digest."""
    if not book.has_rule or book.periods is not None:
        received = "none yet" if book.periods is None else "one per period"
        raise invalid("budget", "cluster.ask", "in the workbook, for all rows", received, "See `qufur ask`.")
    digest = table.digest(book)
    if digest not in book.unfinished:
        if digest not in book.tables:
            grow(ray, table, book, impute=impute)
        book.note_table(digest, table.name)
        book.unfinished[digest] = 0
    return digest


def decide(
    ray: Any, table: Table, book: Workbook, record: Record, *, workers: int | None, gpus: float
) -> None:
    """Decide all rows of a table that are not decided yet."""
    header, shown = header_of(book, [name for name in table.columns if name not in table.lists])
    kept = list(dict.fromkeys([*shown, *needed(book)]))
    then = partial(with_inputs, encoding=book.encoding, columns=table.columns, kept=kept, gpu=gpus > 0)
    check_cards(ray, gpus, text=book.encoding.text is not None)
    # Ray would start a process, and load the model, for every task that has a GPU.
    options = {"num_gpus": gpus, "max_calls": 0} if gpus else {}
    size = None if workers is None else as_count(workers, "workers", "cluster.ask")
    options |= {"compute": ray.data.TaskPoolStrategy(size)}
    # A cluster of one CPU has none to spare: the workers would wait for it for ever.
    spare = ray.cluster_resources().get("CPU", 0) > 1
    decider = ray.remote(num_cpus=int(spare), max_restarts=0)(Decider)
    tries = 0
    while True:
        dataset, first = table.mapped(ray, then, record.done, **options)
        actor, done = decider.remote(record.packed, record.table, header, shown), record.done
        try:
            with feeding(ray, dataset, first) as blocks:
                Driver(ray, actor, record).decide(blocks)
            return
        except ray.exceptions.RayActorError:  # another one goes on from what is written
            tries = 1 if record.done > done else tries + 1
            if tries > TRIES:
                raise
        finally:
            ray.kill(actor)


def results(ray: Any, record: Record) -> Any:
    """Return what was decided as a dataset, in order."""
    dataset, _ = ParquetTable(record.parts()).mapped(ray, lambda table: table)
    dataset.context.execution_options.preserve_order = True
    return dataset


@contextmanager
def plainly(ray: Any) -> Iterator[None]:
    """Turn what Ray says of what went wrong elsewhere into the one line that was said there."""
    try:
        yield
    except ray.exceptions.RayError as error:
        cause: BaseException | None = error
        while cause is not None and type(cause) not in (InvalidError, OSError):
            cause = getattr(cause, "cause", None) or cause.__cause__
        if cause is None:
            raise
        raise type(cause)(str(cause).partition("\n")[0]) from None  # Ray adds lines of its own
