"""Writers of tables in the format of their suffix, which the readers of this package read back.

Text that a spreadsheet would run as a formula is escaped, and `unescaped` restores it.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import datetime
from numbers import Number
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from qufur.errors import import_extra, invalid
from qufur.storage.atomic import replacing
from qufur.tables.batch import Batch
from qufur.tables.formats.compression import zstandard

if TYPE_CHECKING:
    import polars as pl

Write = Callable[[Iterable[Sequence[Any]]], None]
EXCEL_ROWS, EXCEL_TEXT = 2**20 - 1, 2**15 - 1
"""Maximum number of rows below the header of a sheet, and of characters of a cell."""
_START = r"[=+\-@\t\r]"
_FORMULA, _ESCAPED = re.compile(f"'*{_START}"), re.compile(f"'+{_START}")
_NUMBER_TEXT = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_WHOLE = "(0|-?[1-9][0-9]{0,17})"
_NUMBER = r"-?(0|[1-9][0-9]{0,17})(\.[0-9]+)?(e[+-]?[0-9]{1,3})?"


def escaped(cell: Any) -> Any:
    """Return a cell with an apostrophe in front if a spreadsheet would run it as a formula.

    A NUL character, at which CSV readers stop, becomes a question mark.

    >>> [escaped(cell) for cell in ("=1+1", "-5", "-five", "'=1", "'tis", -5)]
    ["'=1+1", '-5', "'-five", "''=1", "'tis", -5]
    """
    if cell is None or isinstance(cell, Number):
        return cell
    text = str(cell).replace("\0", "?")
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER_TEXT.fullmatch(text) else text


def unescaped(text: str) -> str:
    """Return the original text of an escaped cell.

    >>> [unescaped(text) for text in ("'=1+1", "-5", "''=1", "'tis")]
    ['=1+1', '-5', "'=1", "'tis"]
    """
    return text[1:] if _ESCAPED.match(text) else text


def column_heading(name: str) -> str:
    """Return a column name without surrounding whitespace and byte order marks."""
    return name.replace("\ufeff", "").strip()


def unused_name(name: str, taken: set[str]) -> str:
    """Return `name` with underscores appended until it is not in `taken`.

    >>> unused_name("row", {"id"}), unused_name("row", {"row"})
    ('row', 'row_')
    """
    while name in taken:
        name += "_"
    return name


def written_heading(name: str) -> str:
    """Return the heading of a column in files that this package writes."""
    return str(escaped(column_heading(name)))


def column_called(name: str, batch: Batch) -> str:
    """Return the name under which a file contains a column: as `written_heading` writes it, or unchanged.

    A file of this package has the first name, a file of another program the second. If it has neither, `name`
    is returned.
    """
    written = written_heading(name)
    # Surrounding whitespace indicates another program; an escaped name indicates this package.
    candidates = (written, name) if column_heading(name) == name else (name, written)
    return next((candidate for candidate in candidates if candidate in batch.columns), name)


@contextmanager
def table(path: Path, columns: Sequence[str]) -> Iterator[Write]:
    """Yield a function that writes rows; the file replaces the old one after the last row, or not at all.

    The first column has the ids of the rows. CSV files contain text only. In the other formats, text that is
    formatted as a number becomes a number; among ids only integers do, and 007 remains text.

    Parameters
    ----------
    path
        File whose suffix determines the format: .csv, .tsv, .jsonl or .ndjson, each also with .gz or .zst,
        .parquet or .xlsx. Any other suffix means CSV.
    columns
        Names of the columns.
    """
    ending = path.name.lower().removesuffix(".gz").removesuffix(".zst")
    with replacing(path) as file:
        if ending.endswith((".parquet", ".xlsx")):
            frames: list[pl.DataFrame] = []
            yield lambda rows: frames.append(_frame(rows, columns))
            frame = _with_types(frames or [_frame([], columns)])
            if ending.endswith(".parquet"):
                frame.write_parquet(file)
            else:
                _write_excel(frame, file)
            return
        with _compressed(file, path) as stream:
            # An unpaired surrogate in a cell must not prevent the table from being written.
            text = io.TextIOWrapper(stream, encoding="utf-8", errors="replace", newline="")
            is_json = ending.endswith((".jsonl", ".ndjson"))
            yield _json_lines(text, columns) if is_json else _csv(text, columns, ending)
            text.flush()
            text.detach()


def check_writable(path: Path) -> None:
    """Raise an error if a package that writes this format is not installed."""
    if path.suffix.lower() == ".zst":
        zstandard()
    if path.suffix.lower() in (".xlsx", ".parquet"):
        _polars()
    if path.suffix.lower() == ".xlsx":
        _xlsxwriter()


def _compressed(file: IO[bytes], path: Path) -> AbstractContextManager[Any]:
    """Return the file or a compressing stream. Equal rows give equal bytes, so no time stamp is written."""
    suffix = path.suffix.lower()
    if suffix == ".gz":
        return gzip.GzipFile("", "wb", fileobj=file, mtime=0)
    if suffix == ".zst":
        stream: AbstractContextManager[Any] = zstandard().ZstdCompressor().stream_writer(file, closefd=False)
        return stream
    return nullcontext(file)


def _csv(text: IO[str], columns: Sequence[str], ending: str) -> Write:
    writer = csv.writer(text, delimiter="\t" if ending.endswith(".tsv") else ",")

    def write(rows: Iterable[Sequence[Any]]) -> None:
        writer.writerows(map(escaped, row) for row in rows)

    write([columns])
    return write


def _json_lines(text: IO[str], columns: Sequence[str]) -> Write:
    names = [escaped(name) for name in columns]

    def write(rows: Iterable[Sequence[Any]]) -> None:
        for cells in map(_texts, rows):
            values = [number_or_text(cell, whole=index == 0) for index, cell in enumerate(cells)]
            text.write(json.dumps(dict(zip(names, values, strict=True)), ensure_ascii=False) + "\n")

    return write


def _texts(row: Sequence[Any]) -> list[str | None]:
    """Return the cells as a CSV file has them; None for an empty cell."""
    return [None if cell is None else str(escaped(cell)) or None for cell in row]


def number_or_text(cell: str | None, *, whole: bool) -> str | float | None:
    """Convert text that is formatted as a number; with `whole` only integers.

    >>> [number_or_text(cell, whole=False) for cell in ("4.50", "007", "x", None)]
    [4.5, '007', 'x', None]
    """
    is_number = cell is not None and re.fullmatch(_WHOLE if whole else _NUMBER, cell)
    return json.loads(cell) if cell is not None and is_number else cell


def _frame(rows: Iterable[Sequence[Any]], columns: Sequence[str]) -> pl.DataFrame:
    polars = _polars()
    texts = [[cell and cell.encode("utf-8", "replace").decode() for cell in _texts(row)] for row in rows]
    schema = {escaped(name): polars.String for name in columns}
    frame: pl.DataFrame = polars.DataFrame(texts, schema=schema, orient="row")
    return frame


def _with_types(frames: list[pl.DataFrame]) -> pl.DataFrame:
    """Concatenate frames, and convert columns in which all cells are formatted as numbers."""
    polars = _polars()
    frame: pl.DataFrame = polars.concat(frames)
    for index, column in enumerate(frame):
        cells = column.drop_nulls()
        if cells.is_empty():
            continue
        if cells.str.contains(f"^{_WHOLE}$").all():
            frame = frame.with_columns(column.cast(polars.Int64))
        elif index > 0 and cells.str.contains(f"^{_NUMBER}$").all():
            frame = frame.with_columns(column.cast(polars.Float64))
    return frame


def _write_excel(frame: pl.DataFrame, file: IO[bytes]) -> None:
    if len(frame) > EXCEL_ROWS:
        raise invalid("out", "table", f"another format for more than {EXCEL_ROWS} rows", f"{len(frame)} rows")
    as_text = {"strings_to_formulas": False, "strings_to_urls": False, "nan_inf_to_errors": True}
    with _xlsxwriter().Workbook(file, as_text) as workbook:
        workbook.set_properties({"created": datetime(2000, 1, 1)})  # equal rows give equal bytes
        sheet = workbook.add_worksheet()
        for index, row in enumerate([frame.columns, *frame.iter_rows()]):
            sheet.write_row(index, 0, [c[:EXCEL_TEXT] if isinstance(c, str) else c for c in row])


def _polars() -> Any:
    return import_extra("polars", "tables", "writing Parquet and Excel files")


def _xlsxwriter() -> Any:
    return import_extra("xlsxwriter", "excel", "writing Excel files")
