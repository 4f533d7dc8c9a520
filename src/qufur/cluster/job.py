"""`ask` for Parquet files and Ray Datasets on a cluster."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from qufur.arrays import as_count
from qufur.cluster.blocks import has_gpu, with_inputs
from qufur.cluster.dataset_record import Record
from qufur.cluster.decider import Decider, needed
from qufur.cluster.driver import TRIES, Driver, feeding
from qufur.cluster.sources import DatasetFile, ParquetTable, Table, table_of
from qufur.errors import DeviceWarning, InvalidError, invalid, missing_extra
from qufur.storage.lock import locked
from qufur.tables import Encoding, Growth
from qufur.tables.batch import rows_at_a_time
from qufur.workbook import Workbook
from qufur.workbook.workbook import header_of


def ray_with_data() -> Any:
    """Return the module `ray` with `ray.data` imported, or raise an error that names the extra to install."""
    try:
        import pyarrow  # noqa: F401  # without it `ray.data` fails with a long message
        import ray
        import ray.data
    except ImportError:
        raise missing_extra("ray[data]", "ray", "tables on a cluster") from None
    return ray


def ask(
    dataset: Any,
    workbook: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    workers: int | None = None,
    gpus: float = 0.0,
    impute: bool = False,
) -> Any:
    """Decide which labels of a dataset to query, as `qufur ask` does for a table.

    All workers read and encode rows and embed text. One actor decides the rows in the order of the dataset,
    exactly and within the budget of the workbook, and its decisions are written to disk periodically. After
    a failure, a second call resumes at the last write and returns the same results as an uninterrupted call.

    Parameters
    ----------
    dataset
        Path or URL of a Parquet file or of a folder of Parquet files, such as s3://bucket/rows; or a Ray
        Dataset whose order is the same in every execution. After a failure a Dataset is executed from its
        start, while decided rows of files are not read again.
    workbook
        The state file, created by `qufur learn` or by `qufur ask` for a first table.
    out
        Folder of the results. Later calls may add Parquet files to it.
    workers
        Number of tasks that read and encode concurrently; by default as many as the CPUs allow.
    gpus
        GPUs per task, for text. With 0.25, four tasks share a GPU.
    impute
        Whether to impute missing cells in this and all later tables.

    Returns
    -------
    Dataset
        One row per row of the dataset, with the columns id, prediction, uncertainty, probability and query.

    Raises
    ------
    InvalidError
        If an argument or a row is invalid; then no row of the dataset is decided.
    """
    ray = ray_with_data()
    state = Path(workbook)
    if not state.is_file():
        remedy = "Create one with `qufur learn`, or with `qufur ask` for a first table."
        raise invalid("workbook", "cluster.ask", "an existing file", repr(str(state)), remedy)
    with locked(state, "workbook", "cluster.ask"), plainly(ray):
        loaded, table = Workbook.load(state), table_of(dataset)
        digest = _start_or_resume(ray, table, loaded, impute=impute)
        record = Record(state, loaded, digest, Path(out), f"ask {table.name}")
        with record.or_nothing(), plainly(ray):
            decide(ray, table, loaded, record, workers=workers, gpus=gpus)
        record.finish()
        return _results(ray, record)


def _start_or_resume(ray: Any, table: Table, workbook: Workbook, *, impute: bool) -> str:
    """Register a table in the workbook, or resume it if it is partially decided; return its digest."""
    if not workbook.has_rule or workbook.periods is not None:
        received = "none yet" if workbook.periods is None else "one per period"
        raise invalid("budget", "cluster.ask", "in the workbook, for all rows", received, "See `qufur ask`.")
    digest = table.digest(workbook)
    if digest not in workbook.partial_tables:
        if digest not in workbook.tables:
            grow(ray, table, workbook, impute=impute)
        workbook.register_table(digest, table.name)
        workbook.partial_tables[digest] = 0
    return digest


def grow(ray: Any, table: Table, workbook: Workbook, *, impute: bool) -> None:
    """Append the inputs that a table needs to the workbook, after a pass over the table if one is needed.

    One task reads all rows in order, as `qufur ask` does, because the scales of a column depend on the order
    by rounding. The task runs on the cluster, so rows are not sent to the driver.
    """
    aside = [workbook.target, *filter(None, [workbook.id])]
    scale = not workbook.learner.model.tags.scales_inputs
    growth = Growth(workbook.encoding, impute=impute, scale=scale, aside=aside)
    if growth.is_complete:
        workbook.grow(growth.grown)
    else:
        task = ray.remote(num_cpus=0)(_grown)
        workbook.grow(ray.get(task.remote(DatasetFile(ray, table), growth)))


def _grown(file: DatasetFile, growth: Growth) -> Encoding:
    for batch in file.batches(rows_at_a_time(text=growth.known.text is not None)):
        growth.add(batch)
    return growth.grown


def check_gpus(ray: Any, gpus: float, *, text: bool) -> None:
    """Warn if the cluster has fewer than `gpus` GPUs, or if torch cannot use them for text on a worker."""
    if gpus <= 0:
        return
    available = ray.cluster_resources().get("GPU", 0.0)
    if available < gpus:
        message = f"A task needs {gpus:g} GPUs and the cluster has {available:g}: it waits for more."
    elif text and not ray.get(ray.remote(num_cpus=0, num_gpus=gpus)(has_gpu).remote()):
        message = "torch finds no CUDA GPU on a worker: text is embedded on its CPU."
    else:
        return
    warnings.warn(message, DeviceWarning, stacklevel=3)


def decide(
    ray: Any, table: Table, workbook: Workbook, record: Record, *, workers: int | None, gpus: float
) -> None:
    """Decide all rows of a table that are not decided yet, and replace the actor if it dies."""
    header, displayed = header_of(workbook, [name for name in table.columns if name not in table.lists])
    kept = list(dict.fromkeys([*displayed, *needed(workbook)]))
    then = partial(with_inputs, encoding=workbook.encoding, columns=table.columns, kept=kept, gpu=gpus > 0)
    check_gpus(ray, gpus, text=workbook.encoding.text is not None)
    # By default Ray starts a process, which loads the model, for every task with a GPU.
    options = {"num_gpus": gpus, "max_calls": 0} if gpus else {}
    size = None if workers is None else as_count(workers, "workers", "cluster.ask")
    options |= {"compute": ray.data.TaskPoolStrategy(size)}
    # On a cluster with one CPU, an actor that reserves it would block the workers forever.
    num_cpus = 1 if ray.cluster_resources().get("CPU", 0) > 1 else 0
    decider = ray.remote(num_cpus=num_cpus, max_restarts=0)(Decider)
    tries = 0
    while True:
        dataset, first = table.mapped(ray, then, record.done, **options)
        actor, done = decider.remote(record.packed, record.table, header, displayed), record.done
        try:
            with feeding(ray, dataset, first) as blocks:
                Driver(ray, actor, record).decide(blocks)
            return
        except ray.exceptions.RayActorError:  # a new actor resumes at the last write
            tries = 1 if record.done > done else tries + 1
            if tries > TRIES:
                raise
        finally:
            ray.kill(actor)


def _results(ray: Any, record: Record) -> Any:
    """Return the answers as a dataset, in order."""
    dataset, _ = ParquetTable(record.parts()).mapped(ray, lambda table: table)
    dataset.context.execution_options.preserve_order = True
    return dataset


@contextmanager
def plainly(ray: Any) -> Iterator[None]:
    """Replace errors of Ray by the one-line error that a task or actor raised."""
    try:
        yield
    except ray.exceptions.RayError as error:
        cause: BaseException | None = error
        while cause is not None and type(cause) not in (InvalidError, OSError):
            cause = getattr(cause, "cause", None) or cause.__cause__
        if cause is None:
            raise
        raise type(cause)(str(cause).partition("\n")[0]) from None  # Ray appends a traceback
