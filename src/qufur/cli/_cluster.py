"""`qufur ask --cluster`: connection to a Ray cluster, which encodes the rows of a table."""

from __future__ import annotations

import logging
import socket
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from qufur.cli._start import StartOptions, prepare_table
from qufur.cli._state_file import files_of
from qufur.cli._table_out import check_answered, check_table, rows_out
from qufur.cluster.dataset_record import Record
from qufur.cluster.job import decide, plainly, ray_with_data
from qufur.cluster.sources import DatasetFile, ParquetTable
from qufur.errors import invalid
from qufur.labelling.tool_files import Tool
from qufur.storage import container
from qufur.storage.lock import locked
from qufur.tables.source import Source
from qufur.workbook import Workbook
from qufur.workbook.pending_rows import by_column
from qufur.workbook.workbook import header_of

LOCAL = "local"
"""Ray's address of a cluster on this machine only, which starts and ends with the command."""
CLIENT_SCHEME = "ray://"
CONNECT_TIMEOUT = 5.0
"""Seconds to wait for an address to answer; Ray itself waits for minutes."""


@contextmanager
def connected(ray: Any, address: str) -> Iterator[None]:
    """Connect to a cluster, unless this process is connected already.

    Raises
    ------
    ValueError
        If no cluster answers at the address.
    """
    logging.getLogger("ray.data").setLevel(logging.CRITICAL)
    quiet = {"logging_level": logging.ERROR, "log_to_driver": False}
    cluster = {"address": address} | ({"include_dashboard": False} if address == LOCAL else {})
    was_connected = ray.is_initialized()
    if not was_connected:
        with _connection_errors(ray, address):
            _check_listening(address)
        token = "If it asks for a token, set RAY_AUTH_MODE=token and RAY_AUTH_TOKEN."
        with warnings.catch_warnings(), _connection_errors(ray, address, token):
            warnings.simplefilter("ignore")  # the error has the same text
            ray.init(**cluster, **quiet)
    try:
        yield
    finally:
        if not was_connected:
            ray.shutdown()


@contextmanager
def _connection_errors(ray: Any, address: str, remedy: str = "") -> Iterator[None]:
    try:
        yield
    except (OSError, RuntimeError, ValueError, ray.exceptions.RayError) as error:
        allowed = f"the address of a Ray cluster, or {LOCAL}"
        received = f"{address!r} ({container.reason(error)})"
        raise invalid("--cluster", "qufur ask", allowed, received, remedy) from None


def _check_listening(address: str) -> None:
    """Raise an error if no server listens at an address; Ray resolves one without a host, such as auto."""
    host = address.removeprefix(CLIENT_SCHEME)
    parts = urlsplit(f"//{host}")
    if parts.port is not None and "://" not in host:
        socket.create_connection((parts.hostname, parts.port), CONNECT_TIMEOUT).close()
    elif address != host:
        raise ValueError(f"the port is missing, as in {CLIENT_SCHEME}head:10001")


def ask_on_cluster(
    data: str,
    state: Path,
    out: Path,
    options: StartOptions,
    format: Tool | None,
    *,
    address: str,
    workers: int | None,
    gpus: float,
    force: bool,
) -> tuple[Workbook, int, int, list[str]]:
    """Ask about the rows of Parquet files. The same call resumes after an interruption.

    Parameters
    ----------
    data, state, out, options, format, force
        As in `qufur ask`.
    address, workers, gpus
        Address of the cluster, number of concurrent tasks and GPUs per task.

    Returns
    -------
    tuple
        Workbook, number of rows asked about, number of rows to label, and notes to print.
    """
    ray = ray_with_data()
    check_table(out, files_of(state))
    table = ParquetTable(data)
    with connected(ray, address), locked(state), plainly(ray):
        workbook = Workbook.load(state) if state.exists() else None
        notes: list[str] = []
        if workbook is None or table.digest(workbook) not in workbook.partial_tables:
            workbook, notes = _register_table(ray, table, workbook, options)
        if not force:
            check_answered(workbook, out)
        results = Path(f"{out}.results")
        record = Record(state, workbook, table.digest(workbook), results, f"ask {table.name}")
        with record.or_nothing(), plainly(ray):
            decide(ray, table, workbook, record, workers=workers, gpus=gpus)
        n_chosen = _write(record, table, out, format)
        # Last: until then the same call writes the same file again.
        workbook = record.finish()
    notes = [*notes, f"Predictions of all rows are in the folder {results}."]
    return workbook, record.done, n_chosen, notes


def _register_table(
    ray: Any, table: ParquetTable, workbook: Workbook | None, options: StartOptions
) -> tuple[Workbook, list[str]]:
    """Create or extend the workbook on the cluster, where the rows are, and register the table."""
    if workbook is not None and table.digest(workbook) in workbook.tables:
        workbook.register_table(table.digest(workbook), table.name)
    packed = None if workbook is None else container.pack(workbook.content())
    source = Source(Path(table.name), opened=DatasetFile(ray, table))
    task = ray.remote(num_cpus=0)(_prepare_remotely)
    packed, notes = ray.get(task.remote(packed, source, options))
    workbook = _unpacked(packed)
    workbook.register_table(table.digest(workbook), table.name)
    workbook.partial_tables[table.digest(workbook)] = 0
    return workbook, notes


def _prepare_remotely(packed: bytes | None, source: Source, options: StartOptions) -> tuple[bytes, list[str]]:
    workbook = None if packed is None else _unpacked(packed)
    start = prepare_table(workbook, source, options, quiet=True)
    return container.pack(start.workbook.content()), start.notes


def _unpacked(packed: bytes) -> Workbook:
    return Workbook.from_content(container.unpack(packed, "the state"))


def _write(record: Record, table: ParquetTable, out: Path, format: Tool | None) -> int:
    """Write the rows to label; return how many."""
    workbook, wanted = _unpacked(record.packed), record.queried_ids()
    header, _ = header_of(workbook, [name for name in table.columns if name not in table.lists])
    ids = [id for id in workbook.learner.outstanding if str(id) in wanted]
    with rows_out(workbook, out, header, format) as write:
        write(by_column(workbook.pending_rows.cells(id) or {}, header) for id in ids)
    return len(ids)
