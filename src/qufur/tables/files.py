"""The rows of a user's table, whatever its format."""

from __future__ import annotations

from collections.abc import Iterator
from os import PathLike
from pathlib import Path

from qufur.arrays import as_count
from qufur.errors import invalid
from qufur.tables.batch import Batch
from qufur.tables.formats.base import TableFile, no_rows
from qufur.tables.formats.csv_file import CsvFile
from qufur.tables.formats.json_lines import JsonLines
from qufur.tables.formats.numpy_file import NpyFile, NpzFile
from qufur.tables.formats.parquet_file import ParquetFile

FORMATS: dict[str, type[TableFile]] = {
    ".csv": CsvFile,
    ".csv.gz": CsvFile,
    ".jsonl": JsonLines,
    ".jsonl.gz": JsonLines,
    ".ndjson": JsonLines,
    ".ndjson.gz": JsonLines,
    ".parquet": ParquetFile,
    ".npy": NpyFile,
    ".npz": NpzFile,
}


def open_table(path: str | PathLike[str]) -> TableFile:
    """Return a table's file, of which the columns are known; which formats there are says `read`."""
    path = Path(path)
    format = next((FORMATS[ending] for ending in FORMATS if path.name.lower().endswith(ending)), None)
    if format is None:
        raise invalid("path", "qufur", f"a file ending in {', '.join(FORMATS)}", repr(str(path)))
    if not path.is_file():
        raise invalid("path", "qufur", "an existing file", repr(str(path)), "Check its folder and spelling.")
    if not path.stat().st_size:
        raise no_rows(path)
    return format(path)


def read(path: str | PathLike[str], size: int = 4096) -> Iterator[Batch]:
    r"""Return the rows of a table, `size` at a time; no more than that is in memory.

    Parameters
    ----------
    path
        A .csv file with a header line, .jsonl or .ndjson with one object per line (UTF-8; also .csv.gz),
        a .parquet file (needs polars), an .npy matrix of numbers, whose columns are called x0, x1, …, or an
        .npz archive of vectors and matrices with one row per example.
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
    size = as_count(size, "size", "read")
    return open_table(path).batches(size)
