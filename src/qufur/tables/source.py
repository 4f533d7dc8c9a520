"""Table sources: a path, folder, glob pattern or standard input, opened in the format of its suffix."""

from __future__ import annotations

import glob
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from os import PathLike
from pathlib import Path

from qufur.arrays import as_count
from qufur.errors import invalid
from qufur.tables.batch import Batch
from qufur.tables.formats.base import TableFile, no_rows
from qufur.tables.formats.csv_file import CsvFile
from qufur.tables.formats.dialect import Dialect
from qufur.tables.formats.excel_file import ExcelFile
from qufur.tables.formats.json_lines import JsonLines
from qufur.tables.formats.numpy_file import NpyFile, NpzFile
from qufur.tables.formats.parquet_file import ParquetFile

_TAB = {"tab": "\t", "\\t": "\t"}
STANDARD_INPUT = Path("-")
_MAGIC = {
    b"\x1f\x8b": ".csv.gz",
    b"\x28\xb5\x2f\xfd": ".csv.zst",
    b"PAR1": ".parquet",
    b"\x93NUMPY": ".npy",
    b"PK\x03\x04": ".xlsx",
    b"{": ".jsonl",
}
"""Suffix by the first bytes of standard input; without a match it is CSV."""
_TEMPORARY: list[tempfile.TemporaryDirectory[str]] = []
"""Folder of the copy of standard input; it is removed at exit."""
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
"""Readers by suffix; text files may be compressed."""


@dataclass(frozen=True)
class Source(os.PathLike[str]):
    r"""Path of a table, with the dialect of CSV files where it is not to be detected.

    Parameters
    ----------
    path
        See `qufur.tables.read`.
    separator
        Delimiter of a CSV file, one character or `tab`.
    decimal
        Decimal mark of its numbers, "." or ",".
    default
        Dialect of earlier tables, used if detection is ambiguous.
    expected
        Column names that decide between several possible delimiters.
    opened
        The open table, if it is not in a local file.

    Examples
    --------
    >>> Source(Path("days.csv"), "tab").separator
    '\t'
    """

    path: Path
    separator: str | None = None
    decimal: str | None = None
    default: Dialect | None = None
    expected: tuple[str, ...] = ()
    opened: TableFile | None = None

    def __post_init__(self) -> None:
        separator = _TAB.get(self.separator or "", self.separator)
        if separator is not None and (len(separator) != 1 or separator in '"\r\n\0'):
            raise invalid("separator", "Source", "one character, or tab", repr(separator))
        if self.decimal not in (None, ".", ","):
            raise invalid("decimal", "Source", "a point or a comma", repr(self.decimal))
        object.__setattr__(self, "separator", separator)

    @classmethod
    def of(cls, path: str | os.PathLike[str]) -> Source:
        """Return the source of a path; return a source unchanged."""
        return path if isinstance(path, Source) else cls(Path(path))

    def __fspath__(self) -> str:
        return str(self.path)

    @property
    def name(self) -> str:
        """File name of the table."""
        return self.path.name

    @cached_property
    def file(self) -> TableFile:
        """The open table. It is opened, and its dialect detected, once per source."""
        if self.opened is not None:
            return self.opened
        files = [_open_file(file, self) for file in files_at(self)]
        return files[0] if len(files) == 1 else ConcatenatedFiles(self.path, files)


class ConcatenatedFiles(TableFile):
    """Rows of several files, one file after the other. The order of columns may differ between files.

    Parameters
    ----------
    path
        Folder or glob pattern of the files.
    files
        Open files in the order of their rows.
    """

    format = "table"

    def __init__(self, path: Path, files: Sequence[TableFile]) -> None:
        super().__init__(path)
        self._files, first = files, files[0]
        self.columns, self.numbers = first.columns, first.numbers
        self.dialect = first.dialect
        self.target, self.domain, self.truth = first.target, first.domain, first.truth
        for file in files:
            self._check_columns(file, first)
            self.notes += file.notes

    def count(self) -> int:
        """Return the number of rows of all files."""
        return sum(file.count() for file in self._files)

    def batches(self, size: int, columns: Sequence[str] | None = None) -> Iterator[Batch]:
        """Yield batches of `size` rows; each batch comes from a single file."""
        before = 0
        for file in self._files:
            for batch in file.batches(size, columns or self.columns):
                yield replace(batch, before=before)
                rows = batch.first + len(batch) - 1
            before += rows

    def _check_columns(self, file: TableFile, first: TableFile) -> None:
        for expected, checked in ((first, file), (file, first)):
            missing = [name for name in expected.columns if name not in checked.columns]
            if missing:
                allowed = f"the columns of {expected.path.name}"
                received = f"no column {missing[0]!r}"
                remedy = "Use a separate command for files with other columns."
                raise invalid("columns", checked.path.name, allowed, received, remedy)


def files_at(path: str | os.PathLike[str]) -> list[Path]:
    """Return the files of a table in natural order.

    A path that is neither a folder nor a pattern is returned even if there is no such file.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     for week in (10, 9):
    ...         Path(folder, f"week{week}.csv").touch()
    ...     [file.name for file in files_at(Path(folder, "week*.csv"))]
    ['week9.csv', 'week10.csv']
    """
    path = Path(path)
    if path == STANDARD_INPUT:
        return [_spooled()]
    if path.is_dir():
        files = list(path.rglob("*.parquet"))
        if not files:
            raise invalid("path", "qufur", "an existing file, or a folder of .parquet files", repr(str(path)))
    elif not path.exists() and glob.has_magic(str(path)):
        files = [Path(name) for name in glob.glob(str(path), recursive=True)]
        if not files:
            allowed = "a file, or a pattern of files that exist"
            raise invalid("path", "qufur", allowed, repr(str(path)), "Check its folder and spelling.")
    else:
        return [path]
    return sorted(files, key=natural)


def natural(path: str | os.PathLike[str]) -> list[tuple[str, int]]:
    """Return the sort key of natural order, in which 9 precedes 10."""
    parts = re.split(r"([0-9]+)", os.fspath(path))
    return [(word, int(number or 0)) for word, number in zip(parts[::2], [*parts[1::2], "0"], strict=True)]


@cache
def _spooled() -> Path:
    """Copy standard input to a temporary file, since tables are read twice, and return its path.

    The file is removed when the process exits.
    """
    folder = tempfile.TemporaryDirectory(prefix="qufur-")
    _TEMPORARY.append(folder)
    start = sys.stdin.buffer.read(64)
    ending = next((_MAGIC[magic] for magic in _MAGIC if start.startswith(magic)), ".csv")
    if ending == ".xlsx" and b".npy" in start:
        ending = ".npz"
    path = Path(folder.name, f"standard-input{ending}")
    with path.open("wb") as file:
        file.write(start)
        shutil.copyfileobj(sys.stdin.buffer, file)
    return path


def open_table(path: str | PathLike[str]) -> TableFile:
    """Open a table and read its column names; `read` lists the formats."""
    return Source.of(path).file


def _open_file(path: Path, source: Source) -> TableFile:
    format = next((FORMATS[ending] for ending in FORMATS if path.name.lower().endswith(ending)), None)
    if format is None:
        allowed = f"a file ending in {', '.join(_TEXT)} (also .gz, .zst), {', '.join(_WHOLE)}"
        raise invalid("path", "qufur", allowed, repr(str(path)))
    if not path.is_file():
        raise invalid("path", "qufur", "an existing file", repr(str(path)), "Check its folder and spelling.")
    if not path.stat().st_size:
        raise no_rows(path)
    dialect = {"separator": source.separator, "decimal": source.decimal}
    if format is not CsvFile:
        for name, value in dialect.items():
            if value is not None:
                raise invalid(name, path.name, "omitted for a file that is not CSV", repr(value))
        return format(path)
    return CsvFile(path, **dialect, default=source.default, expected=source.expected)


def read(path: str | PathLike[str], size: int = 4096) -> Iterator[Batch]:
    r"""Yield the rows of a table in batches of `size` rows; only one batch is in memory.

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
