"""Tables that commands write, in the format of their ending: what one writes, every other one reads."""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from qufur.errors import invalid, missing_extra
from qufur.storage.atomic import replacing
from qufur.tables.formats.zstd import zstandard
from qufur.tables.written import escaped

if TYPE_CHECKING:
    import polars as pl

Write = Callable[[Iterable[Sequence[Any]]], None]
EXCEL_ROWS, EXCEL_TEXT = 2**20 - 1, 2**15 - 1
"""How many rows below the header a sheet can have, and how many characters a cell."""
_WHOLE = "(0|-?[1-9][0-9]{0,17})"
_NUMBER = r"-?(0|[1-9][0-9]{0,17})(\.[0-9]+)?(e[+-]?[0-9]{1,3})?"


@contextmanager
def table(path: Path, columns: Sequence[str]) -> Iterator[Write]:
    """Yield a function that writes rows; the file is there when all of them are, or not at all.

    The first column names the rows. CSV is text; elsewhere what is written like a number becomes one, of ids
    only whole numbers: 007 stays as it is.

    Parameters
    ----------
    path
        Its ending is .csv, .tsv, .jsonl or .ndjson, also with .gz or .zst, .parquet or .xlsx; CSV if another.
    columns
        Their names.
    """
    ending = path.name.lower().removesuffix(".gz").removesuffix(".zst")
    with replacing(path) as file:
        if ending.endswith((".parquet", ".xlsx")):
            frames: list[pl.DataFrame] = []
            yield lambda rows: frames.append(_frame(rows, columns))
            whole = _typed(frames or [_frame([], columns)])
            (whole.write_parquet if ending.endswith(".parquet") else _excel(whole))(file)
            return
        with _packed(file, path) as stream:
            # Half a character from elsewhere must not keep a whole table from being written.
            text = io.TextIOWrapper(stream, encoding="utf-8", errors="replace", newline="")
            is_json = ending.endswith((".jsonl", ".ndjson"))
            yield _json_lines(text, columns) if is_json else _csv(text, columns, ending)
            text.flush()
            text.detach()


def check_writable(path: Path) -> None:
    """Complain if what is needed to write a file of this name is not installed."""
    if path.suffix.lower() == ".zst":
        zstandard()
    if path.suffix.lower() in (".xlsx", ".parquet"):
        _polars()
    if path.suffix.lower() == ".xlsx":
        _xlsxwriter()


@contextmanager
def _packed(file: IO[bytes], path: Path) -> Iterator[Any]:
    """Yield the file, or what packs into it; the same rows make the same bytes."""
    packed = path.suffix.lower()
    if packed == ".gz":
        with gzip.GzipFile("", "wb", fileobj=file, mtime=0) as stream:
            yield stream
    elif packed == ".zst":
        with zstandard().ZstdCompressor().stream_writer(file, closefd=False) as stream:
            yield stream
    else:
        yield file


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
            values = [number_or_text(cell, whole=not place) for place, cell in enumerate(cells)]
            text.write(json.dumps(dict(zip(names, values, strict=True)), ensure_ascii=False) + "\n")

    return write


def _texts(row: Sequence[Any]) -> list[str | None]:
    """Return cells as a CSV file would have them, None where it has nothing."""
    return [None if cell is None else str(escaped(cell)) or None for cell in row]


def number_or_text(cell: str | None, *, whole: bool) -> str | float | None:
    """Return what is written like a number as one, if `whole` only whole numbers.

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


def _typed(frames: list[pl.DataFrame]) -> pl.DataFrame:
    """Return all rows, with columns of numbers where every cell is written like one."""
    polars = _polars()
    frame: pl.DataFrame = polars.concat(frames)
    for place, column in enumerate(frame):
        cells = column.drop_nulls()
        types = [(polars.Int64, _WHOLE), *([(polars.Float64, _NUMBER)] if place else [])]
        for kind, pattern in types if len(cells) else []:
            if cells.str.contains(f"^{pattern}$").all():
                frame = frame.with_columns(column.cast(kind))
                break
    return frame


def _excel(frame: pl.DataFrame) -> Callable[[IO[bytes]], None]:
    if len(frame) > EXCEL_ROWS:
        raise invalid(
            "--out", "qufur", f"another format for more than {EXCEL_ROWS} rows", f"{len(frame)} rows"
        )
    as_text = {"strings_to_formulas": False, "strings_to_urls": False, "nan_inf_to_errors": True}

    def write(file: IO[bytes]) -> None:
        with _xlsxwriter().Workbook(file, as_text) as workbook:
            workbook.set_properties({"created": datetime(2000, 1, 1)})  # the same rows make the same bytes
            sheet = workbook.add_worksheet()
            for place, row in enumerate([frame.columns, *frame.iter_rows()]):
                sheet.write_row(place, 0, [c[:EXCEL_TEXT] if isinstance(c, str) else c for c in row])

    return write


def _polars() -> Any:
    try:
        import polars as pl
    except ImportError:
        raise missing_extra("polars", "tables", "writing Parquet and Excel files") from None
    return pl


def _xlsxwriter() -> Any:
    try:
        import xlsxwriter
    except ImportError:
        raise missing_extra("xlsxwriter", "excel", "writing Excel files") from None
    return xlsxwriter
