"""Where rows come from: a Ray Dataset, or Parquet files of which it is known where each row is."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from qufur.cluster.parquet import ParquetTable, Then, is_list
from qufur.cluster.stores import ROWS, digest_of
from qufur.errors import invalid
from qufur.workbook import Workbook

if TYPE_CHECKING:
    import pyarrow as pa

BLOCK_BYTES = 2**24
"""Of a block: small enough that a few of them do not matter, and large enough that their number does not."""
GPU_ROWS = 1024
"""Rows that a task with a GPU takes at a time."""


class DatasetTable:
    """A Ray Dataset as a table.

    Parameters
    ----------
    dataset
        It is run from its start, whatever of it was decided: all that is known of it is its order, which must
        be the same each time.
    """

    name = "a dataset"

    def __init__(self, dataset: Any) -> None:
        schema = dataset.schema()
        if schema is None or not schema.names:
            raise invalid("dataset", "cluster.ask", "of at least one row", "none")
        self._dataset, self.columns, self._types = dataset, list(schema.names), schema.types

    @property
    def lists(self) -> set[str]:
        """The columns of lists of numbers."""
        return {name for name, kind in zip(self.columns, self._types, strict=True) if is_list(kind)}

    def digest(self, book: Workbook) -> str:
        """Return what stands for the dataset: the one that is unfinished, or the next of these columns."""
        counts = len(book.tables) - 1, len(book.tables)
        last, new = (digest_of([*self.columns, f"dataset {count}"]) for count in counts)
        return last if last in book.unfinished else new

    def mapped(self, ray: Any, then: Then, done: int = 0, **options: Any) -> tuple[Any, int]:
        """Return what becomes of the blocks, and the number of the first row."""
        # With a number of rows, Ray gathers blocks until it has so many, whatever their size; GPUs need one.
        size = GPU_ROWS if options.get("num_gpus") else None
        how = {"batch_size": size, "batch_format": "pyarrow", "zero_copy_batch": True}
        return self._dataset.map_batches(_in_parts, fn_kwargs={"then": then}, **how, **options), 0


def _in_parts(block: pa.Table, *, then: Then) -> Iterator[pa.Table]:
    for start in range(0, max(1, len(block)), ROWS):
        yield then(block.slice(start, ROWS))


Table = DatasetTable | ParquetTable


def table_of(dataset: Any) -> Table:
    """Return a Ray Dataset, or what is at a path, as a table."""
    if isinstance(dataset, str | os.PathLike):
        return ParquetTable(dataset)
    if not hasattr(dataset, "iter_internal_ref_bundles"):
        allowed = "a Ray Dataset, or the path or URL of Parquet files"
        raise invalid("dataset", "cluster.ask", allowed, type(dataset).__name__)
    return DatasetTable(dataset)


@contextmanager
def in_order(dataset: Any) -> Iterator[Any]:
    """Let a dataset be run in its order and in small blocks, without a word."""
    context = dataset.context
    ours = {
        "enable_progress_bars": False,
        "target_max_block_size": BLOCK_BYTES,
        "raise_original_map_exception": True,
    }
    before = {name: getattr(context, name) for name in ours}
    kept_order = context.execution_options.preserve_order
    try:
        context.execution_options.preserve_order = True
        for name, value in ours.items():
            setattr(context, name, value)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", module="ray")  # such as that there are few blocks
            yield dataset
    finally:
        context.execution_options.preserve_order = kept_order
        for name, value in before.items():
            setattr(context, name, value)
