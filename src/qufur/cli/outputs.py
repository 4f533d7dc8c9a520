"""What a command may write to: never what it reads, nor rows whose labels are yet to be told."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from qufur.cli.loop import tables_at
from qufur.counts import counted
from qufur.errors import invalid
from qufur.tables import ids, read
from qufur.tables.cells import listed
from qufur.tables.files import FORMATS
from qufur.tables.formats.csv_file import CsvFile
from qufur.tables.formats.dialect import dialect_of, reader
from qufur.tables.formats.text_lines import open_file
from qufur.tables.writers import check_writable
from qufur.tables.written import column_called, escaped, heading
from qufur.workbook import Workbook

_NOT_WRITTEN = (".npy", ".npz")


def check_table(out: Path, used: Mapping[str, Path]) -> None:
    """Refuse to write a table where it cannot be, or would not be read again; `used` says what is used."""
    if not Path(os.path.realpath(out)).parent.is_dir() or out.is_dir():
        raise invalid("--out", "qufur", "a file in a folder that exists", repr(str(out)))
    if out.name.lower().endswith(_NOT_WRITTEN):
        allowed = "a name ending in .csv, .tsv, .jsonl, .parquet or .xlsx"
        raise invalid("--out", "qufur", allowed, repr(str(out)))
    check_writable(out)
    check_file(out, used)


def check_page(out: Path, used: Mapping[str, Path]) -> None:
    """Refuse to write a page where it cannot be, or in the place of a file that is used."""
    if not Path(os.path.realpath(out)).parent.is_dir() or out.is_dir():
        raise invalid("--html", "qufur", "a file in a folder that exists", repr(str(out)))
    check_file(out, used, "--html")


def check_folder(out: Path, names: list[str], data: Path | None = None) -> None:
    """Refuse a folder in which these files cannot be written, or one of them is the table."""
    if out.exists() and not out.is_dir():
        raise invalid("--out", "qufur", "a folder, or a new one", f"{str(out)!r}, which is a file")
    for name in names:
        check_file(out / name, {} if data is None else tables_at(data))


def check_file(out: Path, used: Mapping[str, Path], option: str = "--out") -> None:
    """Refuse to replace a device, a pipe, or a file that is used, by whatever name."""
    if out.exists() and not out.is_file():
        received = f"{str(out)!r}, which is neither"
        raise invalid(option, "qufur", "a regular file, or a new one", received)
    for what, path in used.items():
        if _is_same(out, path):
            raise invalid(option, "qufur", f"another file than {what}", repr(str(out)))


def check_answered(book: Workbook, out: Path) -> None:
    """Refuse to replace a file with rows of this work whose labels were not told."""
    rows = book.untold(_ids_and_labels(book, out)) if out.exists() else []
    if rows:
        received = f"{str(out)!r}, where those of {counted(len(rows), 'row')} were not, such as {rows[0]!r}"
        remedy = "Give them to `qufur tell`, or write to another file; --force gives them up."
        raise invalid("--out", "qufur", "a file whose labels were told", received, remedy)


def check_filled_in(book: Workbook, out: Path) -> None:
    """Refuse to replace a file with labels of this work that were not told; blank rows can be replaced."""
    cells = _ids_and_labels(book, out) if out.exists() else iter(())
    rows = book.untold((id, label) for id, label in cells if label.strip())
    if rows:
        received = f"{str(out)!r}, where that of {rows[0]!r} was not"
        remedy = "Give it to `qufur tell`, or write to another file; --force gives its labels up."
        raise invalid("--out", "qufur", "a file whose labels were told", received, remedy)


def _is_same(one: Path, other: Path) -> bool:
    if os.path.realpath(one) == os.path.realpath(other):
        return True
    return one.exists() and other.exists() and os.path.samefile(one, other)


def _ids_and_labels(book: Workbook, path: Path) -> Iterator[tuple[str, str]]:
    """Yield the cells as far as there are any, whatever has become of the file."""
    format = next((FORMATS[ending] for ending in FORMATS if path.name.lower().endswith(ending)), CsvFile)
    rows = _of_csv if format is CsvFile else _of_others
    with suppress(ValueError, csv.Error, OSError, EOFError):
        yield from rows(book, path)


def _of_others(book: Workbook, path: Path) -> Iterator[tuple[str, str]]:
    for batch in read(path):
        id, target = (column_called(name, batch) for name in (book.id_column, book.target))
        for name, label in zip(ids(batch, id), listed(batch.column(target)), strict=True):
            yield str(name), "" if label is None else str(label)


def _of_csv(book: Workbook, path: Path) -> Iterator[tuple[str, str]]:
    """Yield cells whatever a spreadsheet has made of a file."""
    how = {"mode": "rt", "encoding": "utf-8-sig", "errors": "replace", "newline": ""}
    with open_file(path, **how) as head:
        dialect = dialect_of(head)
    with open_file(path, **how) as file:
        records = reader(file, dialect.separator)
        names = [name.strip() for name in next(records, [])]
        wanted = [escaped(heading(name)) for name in (book.id_column, book.target)]
        if set(wanted) <= set(names):
            id, target = map(names.index, wanted)
            yield from ((cells[id], cells[target]) for cells in records if len(cells) > max(id, target))
