"""Tables on a cluster: Parquet files with random access to row groups, and Ray Datasets."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qufur.cluster.blocks import check_columns
from qufur.cluster.files import ROWS, batches_of, digest_of, name_of, paths_at, read_footer
from qufur.errors import invalid
from qufur.storage.container import reason
from qufur.workbook import Workbook

if TYPE_CHECKING:
    import pyarrow as pa


Then = Callable[["pa.Table"], "pa.Table"]
PIECE = 2**18
"""Rows per task if row groups are smaller: a task takes some milliseconds to start."""
READERS = 16
"""Footers read concurrently: each takes a round trip to a remote store."""
BLOCK_BYTES = 2**24
"""Target size of a block: small enough to hold several in memory, large enough to keep their number low."""
GPU_ROWS = 1024
"""Rows per call of a task with a GPU."""


class ParquetTable:
    """Parquet files at a path or URL as one table, in natural order: week9 before week10.

    Parameters
    ----------
    path
        A file, a folder, a glob pattern of local files, or the URL of a file or a folder, such as
        s3://bucket/rows; or a list of local files.
    """

    def __init__(self, path: str | os.PathLike[str] | Sequence[Path]) -> None:
        if isinstance(path, str | os.PathLike):
            url, paths = paths_at(os.fspath(path))
        else:
            url, paths = "", list(map(str, path))
        self.name = name_of(str(path))
        with ThreadPoolExecutor(READERS) as pool:
            self._files = list(pool.map(partial(read_footer, url), paths))
        self._schema = _common_schema([file.schema for file in self._files])
        self.columns: list[str] = self._schema.names
        if not any(sum(file.groups) for file in self._files):
            raise invalid("dataset", "cluster.ask", "of at least one row", "none")
        self.lists = {field.name for field in self._schema if is_list(field.type)}

    def digest(self, workbook: Workbook) -> str:
        """Return a digest of the footers, since the files may be large and remote."""
        return digest_of([file.digest for file in self._files])

    def mapped(self, ray: Any, then: Then, done: int = 0, **options: Any) -> tuple[Any, int]:
        """Return a dataset of transformed rows that starts at or before row `done`.

        Parameters
        ----------
        ray
            The module.
        then
            Function applied to every block, in the task that reads it.
        done
            Number of rows to skip. Reading starts with the piece that contains row `done`.
        options
            Options of `map_batches`.

        Returns
        -------
        tuple
            The dataset, and the number of its first row.
        """
        first = 0
        pieces: list[dict[str, Any]] = []
        for file in self._files:
            for groups in _pieces(file.groups):
                rows = sum(file.groups[group] for group in groups)
                if not pieces and first + rows <= done:
                    first += rows
                else:
                    pieces.append({"url": file.url, "path": file.path, "groups": groups})
        items = ray.data.from_items(pieces, override_num_blocks=max(1, len(pieces)))
        options |= {"batch_size": 1, "batch_format": "pyarrow"}  # a batch is one piece, not one row
        arguments = {"schema": self._schema, "then": then}
        return items.map_batches(_read, fn_kwargs=arguments, **options), first


def is_list(arrow_type: Any) -> bool:
    """Return whether an Arrow type is a list, or a tensor type of Ray."""
    import pyarrow as pa

    lists = pa.ListType, pa.LargeListType, pa.FixedSizeListType, pa.ExtensionType
    return isinstance(arrow_type, lists)


def _common_schema(schemas: Sequence[pa.Schema]) -> pa.Schema:
    """Return the columns of all files with types that can represent the values of each file."""
    import pyarrow as pa

    for schema in schemas:
        check_columns(schema.names, schemas[0].names)
    try:
        return pa.unify_schemas(schemas, promote_options="permissive")
    except (TypeError, ValueError) as error:  # pyarrow raises either
        remedy = "Call ask separately for files with other types."
        raise invalid(
            "columns", "the dataset", "of the same types in all its files", reason(error), remedy
        ) from None


def _read(pieces: pa.Table, *, schema: pa.Schema, then: Then) -> Iterator[pa.Table]:
    import pyarrow as pa

    for piece in pieces.to_pylist():
        for batch in batches_of(**piece, columns=schema.names):
            table = pa.Table.from_batches([batch])
            yield then(table if table.schema.equals(schema) else table.select(schema.names).cast(schema))


def _pieces(groups: Sequence[int]) -> Iterator[list[int]]:
    """Yield the indices of the row groups that one task reads.

    >>> list(_pieces([1, PIECE, 5, 5]))
    [[0], [1], [2, 3]]
    """
    piece: list[int] = []
    for index, rows in enumerate(groups):
        if piece and sum(groups[group] for group in piece) + rows > PIECE:
            yield piece
            piece = []
        piece.append(index)
    yield piece


class DatasetTable:
    """Ray Dataset as a table.

    Parameters
    ----------
    dataset
        The dataset. It is always executed from its start, since only its order is known. The order must be
        the same in every execution.
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
        return {name for name, dtype in zip(self.columns, self._types, strict=True) if is_list(dtype)}

    def digest(self, workbook: Workbook) -> str:
        """Return the digest of the partial dataset with these columns, or a new digest."""
        counts = len(workbook.tables) - 1, len(workbook.tables)
        last, new = (digest_of([*self.columns, f"dataset {count}"]) for count in counts)
        return last if last in workbook.partial_tables else new

    def mapped(self, ray: Any, then: Then, done: int = 0, **options: Any) -> tuple[Any, int]:
        """Return the dataset of transformed blocks, and the number of its first row."""
        # With a batch size, Ray merges blocks up to that many rows, whatever their bytes; GPUs require one.
        size = GPU_ROWS if options.get("num_gpus") else None
        options |= {"batch_size": size, "batch_format": "pyarrow", "zero_copy_batch": True}
        return self._dataset.map_batches(_in_parts, fn_kwargs={"then": then}, **options), 0


def _in_parts(block: pa.Table, *, then: Then) -> Iterator[pa.Table]:
    """Transform a block in slices of `ROWS` rows; an empty block is one slice, so columns are checked."""
    for start in range(0, max(1, len(block)), ROWS):
        yield then(block.slice(start, ROWS))


Table = DatasetTable | ParquetTable


def table_of(dataset: Any) -> Table:
    """Return the table of a Ray Dataset, or of Parquet files at a path or URL."""
    if isinstance(dataset, str | os.PathLike):
        return ParquetTable(dataset)
    if not hasattr(dataset, "iter_internal_ref_bundles"):
        allowed = "a Ray Dataset, or the path or URL of Parquet files"
        raise invalid("dataset", "cluster.ask", allowed, type(dataset).__name__)
    return DatasetTable(dataset)


@contextmanager
def in_order(dataset: Any) -> Iterator[Any]:
    """Configure a dataset to run in order, in small blocks and without progress output."""
    context = dataset.context
    settings = {
        "enable_progress_bars": False,
        "target_max_block_size": BLOCK_BYTES,
        "raise_original_map_exception": True,
    }
    before = {name: getattr(context, name) for name in settings}
    kept_order = context.execution_options.preserve_order
    try:
        context.execution_options.preserve_order = True
        for name, value in settings.items():
            setattr(context, name, value)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", module="ray")  # for example that there are few blocks
            yield dataset
    finally:
        context.execution_options.preserve_order = kept_order
        for name, value in before.items():
            setattr(context, name, value)
