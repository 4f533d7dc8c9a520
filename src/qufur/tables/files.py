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
from qufur.tables.formats.excel_file import ExcelFile
from qufur.tables.formats.json_lines import JsonLines
from qufur.tables.formats.numpy_file import NpyFile, NpzFile
from qufur.tables.formats.parquet_file import ParquetFile
from qufur.tables.formats.several_files import SeveralFiles
from qufur.tables.places import files_at
from qufur.tables.source import Source

_TEXT: dict[str, type[TableFile]] = {
    ".csv": CsvFile,
    ".tsv": CsvFile,
    ".jsonl": JsonLines,
    ".ndjson": JsonLines,
}
_WHOLE: dict[str, type[TableFile]] = {
    ".parquet": ParquetFile,
    ".xlsx": ExcelFile,
    ".npy": NpyFile,
    ".npz": NpzFile,
}
FORMATS = {f"{ending}{packed}": _TEXT[ending] for ending in _TEXT for packed in ("", ".gz", ".zst")} | _WHOLE


def open_table(path: str | PathLike[str]) -> TableFile:
    """Return a table's file, of which the columns are known; which formats there are says `read`."""
    source = Source.of(path)
    if source.opened is not None:
        return source.opened
    files = files_at(source)
    opened = [_opened(file, source) for file in files]
    return opened[0] if len(opened) == 1 else SeveralFiles(source.path, opened)


def _opened(path: Path, source: Source) -> TableFile:
    format = next((FORMATS[ending] for ending in FORMATS if path.name.lower().endswith(ending)), None)
    if format is None:
        allowed = f"a file ending in {', '.join(_TEXT)} (also .gz, .zst), {', '.join(_WHOLE)}"
        raise invalid("path", "qufur", allowed, repr(str(path)))
    if not path.is_file():
        raise invalid("path", "qufur", "an existing file", repr(str(path)), "Check its folder and spelling.")
    if not path.stat().st_size:
        raise no_rows(path)
    said = {"separator": source.separator, "decimal": source.decimal}
    if format is not CsvFile and any(said.values()):
        raise invalid("--sep or --decimal", path.name, "left out for what is no CSV file", "one of them")
    return CsvFile(path, **said, usual=source.usual) if format is CsvFile else format(path)


def read(path: str | PathLike[str], size: int = 4096) -> Iterator[Batch]:
    r"""Return the rows of a table, `size` at a time; no more than that is in memory.

    Parameters
    ----------
    path
        A .csv or .tsv file with a header line, .jsonl or .ndjson with one object per line (UTF-8; also
        .csv.gz and .csv.zst), a .parquet file (needs polars), the first sheet of an .xlsx file (needs
        fastexcel), an .npy matrix of numbers, whose columns are called x0, x1, …, or an .npz archive of
        vectors and matrices with one row per example. A folder of Parquet files, or a pattern such as
        weeks/*.csv, is one table, file after file, with week9 before week10; - is standard input.
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
