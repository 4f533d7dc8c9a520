"""Parquet files as pieces that workers read: in a fixed order, of known lengths, from any row on."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from qufur.cluster.blocks import check_columns
from qufur.errors import invalid
from qufur.storage.container import reason
from qufur.tables.places import files_at, natural
from qufur.workbook import Workbook

if TYPE_CHECKING:
    import pyarrow as pa

Then = Callable[["pa.Table"], "pa.Table"]
ROWS = 8192
"""Rows that are read at a time: while they are encoded, they stay in the caches."""
PIECE = 2**18
"""Rows that a task reads, where row groups are smaller: a task takes some milliseconds to start."""
READERS = 16
"""Footers that are looked at together: each takes a while where files are far."""


class File(NamedTuple):
    """A Parquet file: where it is, the rows of its row groups, its columns, and a digest of its footer.

    A path is within the store that the URL names, which is empty for files here.
    """

    url: str
    path: str
    groups: Sequence[int]
    schema: pa.Schema
    digest: str


class ParquetTable:
    """The Parquet files at a path or URL as one table, file after file, with week9 before week10.

    Parameters
    ----------
    path
        A file, a folder, a pattern of local files, or the URL of a file or a folder, such as s3://bucket/rows;
        or some local files.
    """

    def __init__(self, path: str | os.PathLike[str] | Sequence[Path]) -> None:
        if isinstance(path, str | os.PathLike):
            url, paths = _paths(os.fspath(path))
        else:
            url, paths = "", list(map(str, path))
        self.name = _name(str(path))
        with ThreadPoolExecutor(READERS) as pool:
            self._files = list(pool.map(partial(_looked_at, url), paths))
        schema = self._files[0].schema
        self.columns: list[str] = schema.names
        for file in self._files:
            check_columns(file.schema.names, self.columns)
        if not any(sum(file.groups) for file in self._files):
            raise invalid("dataset", "cluster.ask", "of at least one row", "none")
        self.lists = {field.name for field in schema if is_list(field.type)}

    def digest(self, book: Workbook) -> str:
        """Return what stands for the files: what their footers say, since they may be large and far."""
        return digest_of([file.digest for file in self._files])

    def mapped(self, ray: Any, then: Then, done: int = 0, **options: Any) -> tuple[Any, int]:
        """Return the rows from a piece on that has the row `done`, and the number of its first row.

        Parameters
        ----------
        ray
            The module.
        then
            What becomes of every block that is read, in the task that reads it.
        done
            How many rows are not needed; those before the first piece are not read.
        options
            Of the tasks, as `map_batches` takes them.
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
        given = {"columns": self.columns, "then": then}
        how = {"batch_size": 1, "batch_format": "pyarrow", "fn_kwargs": given}  # of pieces, not of rows
        return items.map_batches(_read, **how, **options), first


def is_list(kind: Any) -> bool:
    """Return whether cells of an Arrow type are lists, or tensors of Ray's."""
    import pyarrow as pa

    lists = pa.ListType, pa.LargeListType, pa.FixedSizeListType, pa.ExtensionType
    return isinstance(kind, lists)


def digest_of(parts: Iterable[str]) -> str:
    """Return a digest of some texts."""
    return hashlib.blake2b("\n".join(parts).encode(), digest_size=16).hexdigest()


def _read(pieces: pa.Table, *, columns: list[str], then: Then) -> Iterator[pa.Table]:
    import pyarrow as pa

    for piece in pieces.to_pylist():
        for batch in _batches(**piece, columns=columns):
            yield then(pa.Table.from_batches([batch]))


def _batches(url: str, path: str, groups: list[int], columns: list[str]) -> Iterator[pa.RecordBatch]:
    import pyarrow.parquet as pq

    try:
        with _system(url).open_input_file(path) as file:
            yield from pq.ParquetFile(file).iter_batches(ROWS, groups, columns)
    except OSError as error:  # what was decided stands: the store may answer again later
        remedy = "All of them must see it, and have the keys of its store."
        raise OSError(f"a worker cannot read {path!r} ({reason(error)}). {remedy}") from None


def _pieces(groups: Sequence[int]) -> Iterator[list[int]]:
    """Yield the places of row groups that are read by one task.

    >>> list(_pieces([1, PIECE, 5, 5]))
    [[0], [1], [2, 3]]
    """
    piece: list[int] = []
    for place, rows in enumerate(groups):
        if piece and sum(groups[other] for other in piece) + rows > PIECE:
            yield piece
            piece = []
        piece.append(place)
    yield piece


def _name(path: str) -> str:
    """Return what a table is called.

    >>> _name("s3://bucket/reviews/?region=eu-west-1")
    'reviews'
    """
    return os.path.basename((path.partition("?")[0] if "://" in path else path).rstrip("/"))


def _paths(path: str) -> tuple[str, list[str]]:
    """Return the URL of a store, if any, and the Parquet files there in order, as every node sees them."""
    if "://" not in path:
        return "", [os.path.abspath(file) for file in files_at(path)]
    from pyarrow.fs import FileSelector, FileSystem, FileType

    try:
        system, place = FileSystem.from_uri(path)
        info = system.get_file_info(place)
        if info.type == FileType.Directory:
            found = system.get_file_info(FileSelector(place, recursive=True))
            files = [file.path for file in found if file.path.endswith(".parquet")]
        else:
            files = [place] if info.type == FileType.File else []
    except (OSError, ValueError) as error:
        raise invalid("path", "qufur", "one that can be read", f"{path!r} ({reason(error)})") from None
    if not files:
        raise invalid("path", "qufur", "a Parquet file, or a folder of .parquet files", repr(path))
    return path, sorted(files, key=natural)


def _looked_at(url: str, path: str) -> File:
    import pyarrow.parquet as pq

    try:
        with _system(url).open_input_file(path) as file:
            footer = pq.ParquetFile(file).metadata
            groups = [footer.row_group(group).num_rows for group in range(footer.num_row_groups)]
            file.seek(file.size() - footer.serialized_size - 8)
            digest = digest_of([file.read().hex()])
        return File(url, path, groups, footer.schema.to_arrow_schema(), digest)
    except FileNotFoundError:
        raise invalid(
            "path", "qufur", "an existing file", repr(path), "Check its folder and spelling."
        ) from None
    except (OSError, ValueError) as error:  # those of pyarrow are either
        raise invalid("path", "qufur", "a Parquet file", f"{path!r} ({reason(error)})") from None


def _system(url: str) -> Any:
    """Return the file system of a store, or of this machine."""
    from pyarrow.fs import FileSystem, LocalFileSystem

    return FileSystem.from_uri(url)[0] if url else LocalFileSystem()
