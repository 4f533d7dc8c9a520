"""Parquet files as pieces that workers read: in a fixed order, of known lengths, from any row on."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qufur.cluster.blocks import check_columns
from qufur.cluster.stores import batches_of, digest_of, looked_at, name_of, paths_at
from qufur.errors import invalid
from qufur.storage.container import reason
from qufur.workbook import Workbook

if TYPE_CHECKING:
    import pyarrow as pa

Then = Callable[["pa.Table"], "pa.Table"]
PIECE = 2**18
"""Rows that a task reads, where row groups are smaller: a task takes some milliseconds to start."""
READERS = 16
"""Footers that are looked at together: each takes a while where files are far."""


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
            url, paths = paths_at(os.fspath(path))
        else:
            url, paths = "", list(map(str, path))
        self.name = name_of(str(path))
        with ThreadPoolExecutor(READERS) as pool:
            self._files = list(pool.map(partial(looked_at, url), paths))
        self._schema = _common([file.schema for file in self._files])
        self.columns: list[str] = self._schema.names
        if not any(sum(file.groups) for file in self._files):
            raise invalid("dataset", "cluster.ask", "of at least one row", "none")
        self.lists = {field.name for field in self._schema if is_list(field.type)}

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
        given = {"schema": self._schema, "then": then}
        how = {"batch_size": 1, "batch_format": "pyarrow", "fn_kwargs": given}  # of pieces, not of rows
        return items.map_batches(_read, **how, **options), first


def is_list(kind: Any) -> bool:
    """Return whether cells of an Arrow type are lists, or tensors of Ray's."""
    import pyarrow as pa

    lists = pa.ListType, pa.LargeListType, pa.FixedSizeListType, pa.ExtensionType
    return isinstance(kind, lists)


def _common(schemas: Sequence[pa.Schema]) -> pa.Schema:
    """Return the columns of all parts, of types that hold what they have; complain if there are none."""
    import pyarrow as pa

    for schema in schemas:
        check_columns(schema.names, schemas[0].names)
    try:
        return pa.unify_schemas(schemas, promote_options="permissive")
    except (TypeError, ValueError) as error:  # those of pyarrow are either
        remedy = "Ask about parts with other types by a call of their own."
        raise invalid(
            "columns", "the dataset", "of the same types in all its parts", reason(error), remedy
        ) from None


def _read(pieces: pa.Table, *, schema: pa.Schema, then: Then) -> Iterator[pa.Table]:
    import pyarrow as pa

    for piece in pieces.to_pylist():
        for batch in batches_of(**piece, columns=schema.names):
            table = pa.Table.from_batches([batch])
            yield then(table if table.schema.equals(schema) else table.select(schema.names).cast(schema))


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
