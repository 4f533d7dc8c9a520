"""Parquet files on local disks or in object stores: listing, footers and rows."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from qufur.errors import invalid
from qufur.storage.container import reason
from qufur.tables.source import files_at, natural

if TYPE_CHECKING:
    import pyarrow as pa

ROWS = 8192
"""Rows read at a time: they stay in the CPU caches while they are encoded."""


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
        raise invalid(
            "path", "qufur", "an existing file", repr(path), "Check its folder and spelling."
        ) from None
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
