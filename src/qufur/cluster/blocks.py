"""Blocks of a dataset: Arrow tables that workers encode into inputs, without copies in transit."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from qufur._internal.threads import single_blas_thread
from qufur.arrays import Floats
from qufur.errors import invalid
from qufur.tables import Batch, Encoding
from qufur.tables.columns import Text
from qufur.tables.formats.parquet_file import batches_of
from qufur.tables.text import vectors_of

if TYPE_CHECKING:
    import pyarrow as pa


INPUTS = " inputs"
"""Name of the column of inputs; the names of table columns never begin with a blank."""
BLOCK = "a block of the dataset"
NUMBERS = 3 * 2**18
"""Numbers encoded at a time: beyond the size of the CPU caches, encoding takes three times as long."""


@cache
def polars() -> Any:
    """Import polars in another thread, which Ray cannot interrupt.

    Ray interrupts the tasks of a dataset when another task has failed. An interrupted import would make
    polars unusable in this process, which Ray reuses for further tasks. Only the main thread is interrupted.
    """
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(import_module, "polars").result()


def batch_of(table: pa.Table, first: int = 1, file: str = BLOCK) -> Batch:
    """Return a non-empty table as the batch that a Parquet file with these rows would give."""
    frame = polars().from_arrow(_plain(table))
    (batch,) = batches_of(frame, len(frame), first, file)
    return batch


def with_inputs(
    table: pa.Table, *, encoding: Encoding, columns: Sequence[str], kept: Sequence[str], gpu: bool = False
) -> pa.Table:
    """Replace the columns of a block by a column of inputs.

    Parameters
    ----------
    table
        The block.
    encoding
        The encoding of rows. It is fixed while blocks are encoded, so the result does not depend on the
        worker.
    columns
        The columns of the dataset; a block with other columns is an error.
    kept
        Columns that are returned beside the inputs.
    gpu
        Whether to embed text on a GPU if there is one.
    """
    import pyarrow as pa

    check_columns(table.column_names, columns)
    models = {column.model for column in encoding.columns if isinstance(column, Text)}
    if gpu and models and has_gpu():
        for model in models:
            vectors_of(model, fetch=False).move("cuda")
    X = np.empty((len(table), encoding.dim))
    rows = max(64, NUMBERS // encoding.dim)
    with single_blas_thread():
        for start in range(0, len(table), rows):
            X[start : start + rows] = encoding.encode(batch_of(table.slice(start, rows), start + 1))
    inputs = pa.FixedSizeListArray.from_arrays(pa.array(X.ravel()), X.shape[1])
    return table.select(list(kept)).append_column(INPUTS, inputs)


def inputs_in(table: pa.Table) -> Floats:
    """Return the inputs of a block, as a view if they are contiguous in memory."""
    column = table.column(INPUTS)
    chunks = [chunk.flatten().to_numpy().reshape(len(chunk), -1) for chunk in column.chunks]
    return chunks[0] if len(chunks) == 1 else np.concatenate(chunks)


def has_gpu() -> bool:
    """Return whether torch can use a GPU in this process."""
    try:
        import torch
    except ImportError:
        return False
    return bool(torch.cuda.is_available())


def check_columns(names: Sequence[str], columns: Sequence[str]) -> None:
    """Raise an error if a block has other columns than the dataset; the order is irrelevant."""
    for name in (*names, *columns):
        if (name in names) != (name in columns):
            received = f"{name!r} in some only"
            remedy = "Call ask separately for files with other columns."
            raise invalid("columns", "the dataset", "the same in all its files", received, remedy)


def _plain(table: pa.Table) -> pa.Table:
    """Return a table with the storage types of Ray's extension types."""
    import pyarrow as pa

    for index, field in enumerate(table.schema):
        if isinstance(field.type, pa.ExtensionType):
            column = table.column(index)
            stored = pa.chunked_array([chunk.storage for chunk in column.chunks], field.type.storage_type)
            table = table.set_column(index, field.name, stored)
    return table
