"""The rows of a user's table, whatever its format."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from os import PathLike
from pathlib import Path

from qufur.arrays import as_count
from qufur.errors import invalid
from qufur.tables.batch import Batch
from qufur.tables.formats.csv_file import csv_batches
from qufur.tables.formats.json_lines import json_batches
from qufur.tables.formats.numpy_file import npz_batches
from qufur.tables.formats.parquet_file import parquet_batches

Reader = Callable[[Path, int], Iterator[Batch]]
READERS: dict[str, Reader] = {
    ".csv": csv_batches,
    ".csv.gz": csv_batches,
    ".jsonl": json_batches,
    ".jsonl.gz": json_batches,
    ".ndjson": json_batches,
    ".ndjson.gz": json_batches,
    ".parquet": parquet_batches,
    ".npz": npz_batches,
}


def read(path: str | PathLike[str], size: int = 4096) -> Iterator[Batch]:
    r"""Return the rows of a table, `size` at a time; no more than that is in memory.

    Parameters
    ----------
    path
        A .csv file with a header line, .jsonl or .ndjson with one object per line (UTF-8; also .csv.gz),
        a .parquet file (needs polars), or an .npz archive of vectors and matrices with one row per example.
    size
        Number of rows of a batch; the last may be smaller.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "days.csv")
    ...     _ = path.write_text("wind,season\n1,winter\n3,\n4,spring\n")
    ...     for batch in read(path, 2):
    ...         print(batch.first, batch.columns)
    1 {'wind': ['1', '3'], 'season': ['winter', None]}
    3 {'wind': ['4'], 'season': ['spring']}
    """
    path, size = Path(path), as_count(size, "size", "read")
    reader = next((READERS[ending] for ending in READERS if path.name.lower().endswith(ending)), None)
    if reader is None:
        raise invalid("path", "qufur", f"a file ending in {', '.join(READERS)}", repr(str(path)))
    if not path.is_file():
        raise invalid("path", "qufur", "an existing file", repr(str(path)), "Check its folder and spelling.")
    return reader(path, size)
