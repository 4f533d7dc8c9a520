"""What a command may write to: never what it reads, nor rows whose labels are yet to be told."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from qufur.errors import invalid
from qufur.tables.files import FORMATS
from qufur.tables.formats.dialect import reader
from qufur.tables.written import escaped, heading
from qufur.workbook import Workbook

_OTHERS = tuple(ending for ending in FORMATS if ending != ".csv")


def check_table(out: Path, used: Mapping[str, Path]) -> None:
    """Refuse to write a CSV file where it cannot be, or would not be read again; `used` says what is used."""
    if not Path(os.path.realpath(out)).parent.is_dir() or out.is_dir():
        raise invalid("--out", "qufur", "a file in a folder that exists", repr(str(out)))
    if out.name.lower().endswith(_OTHERS):
        raise invalid("--out", "qufur", "a name ending in .csv, as the content is", repr(str(out)))
    check_file(out, used)


def check_folder(out: Path, names: list[str], data: Path | None = None) -> None:
    """Refuse a folder in which these files cannot be written, or one of them is the table."""
    if out.exists() and not out.is_dir():
        raise invalid("--out", "qufur", "a folder, or a new one", f"{str(out)!r}, which is a file")
    for name in names:
        check_file(out / name, {} if data is None else {"the table": data})


def check_file(out: Path, used: Mapping[str, Path]) -> None:
    """Refuse to replace a device, a pipe, or a file that is used, by whatever name."""
    if out.exists() and not out.is_file():
        received = f"{str(out)!r}, which is neither"
        raise invalid("--out", "qufur", "a regular file, or a new one", received)
    for what, path in used.items():
        if _is_same(out, path):
            raise invalid("--out", "qufur", f"another file than {what}", repr(str(out)))


def check_answered(book: Workbook, out: Path) -> None:
    """Refuse to replace a file with rows of this work whose labels were not told."""
    rows = book.untold(_ids_and_labels(book, out)) if out.exists() else []
    if rows:
        received = f"{str(out)!r}, where those of {len(rows)} rows were not, such as {rows[0]!r}"
        remedy = "Give them to `qufur tell`, or write to another file; --force gives them up."
        raise invalid("--out", "qufur", "a file whose labels were told", received, remedy)


def _is_same(one: Path, other: Path) -> bool:
    if os.path.realpath(one) == os.path.realpath(other):
        return True
    return one.exists() and other.exists() and os.path.samefile(one, other)


def _ids_and_labels(book: Workbook, path: Path) -> Iterator[tuple[str, str]]:
    """Yield the cells as far as there are any, whatever a spreadsheet has made of the file."""
    with path.open(encoding="utf-8-sig", errors="replace", newline="") as file, suppress(csv.Error):
        records = reader(file)
        names = [name.strip() for name in next(records, [])]
        wanted = [escaped(heading(name)) for name in (book.id_column, book.target)]
        if set(wanted) <= set(names):
            id, target = map(names.index, wanted)
            yield from ((cells[id], cells[target]) for cells in records if len(cells) > max(id, target))
