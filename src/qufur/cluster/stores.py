"""Parquet files, here or in a store such as S3: which there are, what their footers say, and their rows."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from qufur.errors import invalid
from qufur.storage.container import reason
from qufur.tables.places import files_at, natural

if TYPE_CHECKING:
    import pyarrow as pa

ROWS = 8192
"""Rows that are read at a time: while they are encoded, they stay in the caches."""


class File(NamedTuple):
    """A Parquet file: where it is, the rows of its row groups, its columns, and a digest of its footer.

    A path is within the store that the URL names, which is empty for files here.
    """

    url: str
    path: str
    groups: Sequence[int]
    schema: pa.Schema
    digest: str


def name_of(path: str) -> str:
    """Return what a table is called.

    >>> name_of("s3://bucket/reviews/?region=eu-west-1")
    'reviews'
    """
    return os.path.basename((path.partition("?")[0] if "://" in path else path).rstrip("/"))


def paths_at(path: str) -> tuple[str, list[str]]:
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


def looked_at(url: str, path: str) -> File:
    """Return what the footer of a file says."""
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
        raise invalid(
            "path", "qufur", "an existing file", repr(path), "Check its folder and spelling."
        ) from None
    except (OSError, ValueError) as error:  # those of pyarrow are either
        raise invalid("path", "qufur", "a Parquet file", f"{path!r} ({reason(error)})") from None


def _system(url: str) -> Any:
    """Return the file system of a store, or of this machine."""
    from pyarrow.fs import FileSystem, LocalFileSystem

    return FileSystem.from_uri(url)[0] if url else LocalFileSystem()


def batches_of(url: str, path: str, groups: list[int], columns: list[str]) -> Iterator[pa.RecordBatch]:
    """Yield the rows of some row groups, on a worker."""
    import pyarrow.parquet as pq

    try:
        with _system(url).open_input_file(path) as file:
            yield from pq.ParquetFile(file).iter_batches(ROWS, groups, columns)
    except OSError as error:  # what was decided stands: the store may answer again later
        remedy = "All of them must see it, and have the keys of its store."
        raise OSError(f"a worker cannot read {path!r} ({reason(error)}). {remedy}") from None


def digest_of(parts: Iterable[str]) -> str:
    """Return a digest of some texts."""
    return hashlib.blake2b("\n".join(parts).encode(), digest_size=16).hexdigest()
