"""Tables on a cluster: Parquet files with random access to row groups, Ray Datasets, and either as a file."""

from __future__ import annotations

import hashlib
import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from qufur.cluster.blocks import batch_of, check_columns
from qufur.errors import invalid
from qufur.storage.container import reason
from qufur.tables import Batch
from qufur.tables.formats.base import TableFile
from qufur.tables.source import files_at, natural
from qufur.workbook import Workbook

if TYPE_CHECKING:
    import pyarrow as pa


Then = Callable[["pa.Table"], "pa.Table"]
ROWS = 8192
"""Rows read at a time: they stay in the CPU caches while they are encoded."""
PIECE = 2**18
"""Rows per task if row groups are smaller: a task takes some milliseconds to start."""
READERS = 16
"""Footers read concurrently: each takes a round trip to a remote store."""
BLOCK_BYTES = 2**24
"""Target size of a block: small enough to hold several in memory, large enough to keep their number low."""
GPU_ROWS = 1024
"""Rows per call of a task with a GPU."""


class File(NamedTuple):
    """Parquet file: store, path, rows per row group, columns, and digest of its footer.

    The URL names the store that contains `path`; it is empty for local files.
    """

    url: str
    path: str
    groups: Sequence[int]
    schema: pa.Schema
    digest: str


def name_of(path: str) -> str:
    """Return the name of the table at a path or URL.

    >>> name_of("s3://bucket/reviews/?region=eu-west-1")
    'reviews'
    """
    return os.path.basename((path.partition("?")[0] if "://" in path else path).rstrip("/"))


def paths_at(path: str) -> tuple[str, list[str]]:
    """Return the URL of the store, empty for local files, and the Parquet files in natural order.

    Local paths are absolute, since workers run in other folders.
    """
    if "://" not in path:
        return "", [os.path.abspath(file) for file in files_at(path)]
    from pyarrow.fs import FileSelector, FileSystem, FileType

    try:
        system, location = FileSystem.from_uri(path)
        info = system.get_file_info(location)
        if info.type == FileType.Directory:
            entries = system.get_file_info(FileSelector(location, recursive=True))
            files = [entry.path for entry in entries if entry.path.endswith(".parquet")]
        else:
            files = [location] if info.type == FileType.File else []
    except (OSError, ValueError) as error:
        raise invalid("path", "qufur", "one that can be read", f"{path!r} ({reason(error)})") from None
    if not files:
        raise invalid("path", "qufur", "a Parquet file, or a folder of .parquet files", repr(path))
    return path, sorted(files, key=natural)


def read_footer(url: str, path: str) -> File:
    """Return a file with the content of its footer."""
    import pyarrow.parquet as pq

    try:
        with _system(url).open_input_file(path) as file:
            opened = pq.ParquetFile(file)
            footer = opened.metadata
            groups = [footer.row_group(group).num_rows for group in range(footer.num_row_groups)]
            file.seek(file.size() - footer.serialized_size - 8)
            digest = digest_of([file.read().hex()])
        return File(url, path, groups, opened.schema_arrow, digest)
    except FileNotFoundError:
        remedy = "Check its folder and spelling."
        raise invalid("path", "qufur", "an existing file", repr(path), remedy) from None
    except (OSError, ValueError) as error:  # pyarrow raises either
        raise invalid("path", "qufur", "a Parquet file", f"{path!r} ({reason(error)})") from None


def _system(url: str) -> Any:
    """Return the file system of a store, or the local one."""
    from pyarrow.fs import FileSystem, LocalFileSystem

    return FileSystem.from_uri(url)[0] if url else LocalFileSystem()


def batches_of(url: str, path: str, groups: list[int], columns: list[str]) -> Iterator[pa.RecordBatch]:
    """Yield the rows of the given row groups; runs on a worker."""
    import pyarrow.parquet as pq

    try:
        with _system(url).open_input_file(path) as file:
            yield from pq.ParquetFile(file).iter_batches(ROWS, groups, columns)
    except OSError as error:  # not InvalidError: decisions remain valid, and the store may recover
        remedy = "All workers need access to it and the credentials of its store."
        raise OSError(f"a worker cannot read {path!r} ({reason(error)}). {remedy}") from None


def digest_of(parts: Iterable[str]) -> str:
    """Return the digest of a sequence of texts."""
    return hashlib.blake2b("\n".join(parts).encode(), digest_size=16).hexdigest()


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
        allowed = "of the same types in all its files"
        remedy = "Call ask separately for files with other types."
        raise invalid("columns", "the dataset", allowed, reason(error), remedy) from None


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
        self._dataset, self.columns = dataset, list(schema.names)
        self.lists = {name for name, dtype in zip(schema.names, schema.types, strict=True) if is_list(dtype)}

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
    settings = [
        (context.execution_options, "preserve_order", True),
        (context, "enable_progress_bars", False),
        (context, "target_max_block_size", BLOCK_BYTES),
        (context, "raise_original_map_exception", True),
    ]
    before = [getattr(options, name) for options, name, _ in settings]
    try:
        for options, name, value in settings:
            setattr(options, name, value)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", module="ray")  # for example that there are few blocks
            yield dataset
    finally:
        for (options, name, _), value in zip(settings, before, strict=True):
            setattr(options, name, value)


class DatasetFile(TableFile):
    """Table on a cluster with the interface of a table file.

    Parameters
    ----------
    ray
        The module.
    table
        The table; tasks read its rows, and batches preserve their order.
    """

    format = "dataset"

    def __init__(self, ray: Any, table: Table) -> None:
        super().__init__(Path(table.name))
        self.columns = table.columns
        self._dataset, _ = table.mapped(ray, lambda block: block)

    def count(self) -> int:
        """Count the rows on the cluster."""
        return int(self._dataset.count())

    def batches(self, size: int, columns: Sequence[str] | None = None) -> Iterator[Batch]:
        """Yield `size` rows at a time, independently of the block sizes."""
        first = 1
        with in_order(self._dataset):
            for block in self._dataset.iter_batches(batch_size=size, batch_format="pyarrow"):
                check_columns(block.column_names, self.columns)
                yield batch_of(block.select(list(columns or self.columns)), first, "the dataset")
                first += len(block)
