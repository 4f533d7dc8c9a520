"""Blocks of a dataset: Arrow tables whose rows become inputs on the workers, with no copy on their way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from qufur.arrays import Floats
from qufur.cluster.cards import has_card
from qufur.cluster.interruption import polars
from qufur.errors import invalid
from qufur.tables import Batch, Encoding
from qufur.tables.columns import Text
from qufur.tables.formats.parquet_file import batches_of
from qufur.tables.text_vectors import vectors_of
from qufur.threads import one_thread

if TYPE_CHECKING:
    import pyarrow as pa

INPUTS = " inputs"
"""The column of inputs; that of no table begins with a blank."""
BLOCK = "a block of the dataset"
NUMBERS = 3 * 2**18
"""That are encoded at a time: what does not fit into the caches takes three times as long."""


def batch_of(table: pa.Table, first: int = 1, file: str = BLOCK) -> Batch:
    """Return a table, which has rows, as a Parquet file with these rows is read."""
    frame = polars().from_arrow(_plain(table))
    (batch,) = batches_of(frame, len(frame), first, file)
    return batch


def with_inputs(
    table: pa.Table, *, encoding: Encoding, columns: Sequence[str], kept: Sequence[str], gpu: bool = False
) -> pa.Table:
    """Return a block with inputs in the place of all columns but those that are kept.

    Parameters
    ----------
    table
        The block.
    encoding
        How rows become inputs. It stands still while blocks are encoded, so that it does not matter where.
    columns
        The columns of the dataset; a block with others is refused.
    kept
        Those that are needed beside the inputs.
    gpu
        Whether text is embedded on a GPU, where there is one.
    """
    check_columns(table.column_names, columns)
    models = {column.model for column in encoding.columns if isinstance(column, Text)}
    if gpu and models and has_card():
        for model in models:
            vectors_of(model, fetch=False).move("cuda")
    X = np.empty((len(table), encoding.dim))
    rows = max(64, NUMBERS // encoding.dim)
    with one_thread():
        for start in range(0, len(table), rows):
            X[start : start + rows] = encoding.encode(batch_of(table.slice(start, rows), start + 1))
    return table.select(list(kept)).append_column(INPUTS, _as_column(X))


def inputs_in(table: pa.Table) -> Floats:
    """Return the inputs of a block: a view of its memory if they lie together there."""
    column = table.column(INPUTS)
    parts = [part.flatten().to_numpy().reshape(len(part), -1) for part in column.chunks]
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def check_columns(found: Sequence[str], columns: Sequence[str]) -> None:
    """Complain about a block that has other columns than the dataset, in whatever order."""
    for name in (*found, *columns):
        if (name in found) != (name in columns):
            received = f"{name!r} in some only"
            remedy = "Ask about parts with other columns by a call of their own."
            raise invalid("columns", "the dataset", "the same in all its parts", received, remedy)


def _as_column(X: Floats) -> Any:
    import pyarrow as pa

    values = pa.array(X.ravel())
    return pa.FixedSizeListArray.from_arrays(values, X.shape[1])


def _plain(table: pa.Table) -> pa.Table:
    """Return a table without types of Ray's own, which are made of usual ones."""
    import pyarrow as pa

    for place, field in enumerate(table.schema):
        if isinstance(field.type, pa.ExtensionType):
            column = table.column(place)
            stored = pa.chunked_array([part.storage for part in column.chunks], field.type.storage_type)
            table = table.set_column(place, field.name, stored)
    return table
