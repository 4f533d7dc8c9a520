"""Output tables, tasks of labelling tools (`--format`) and their exports.

The checks keep a command from overwriting its inputs, or rows whose labels were not given to `qufur tell`.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import NamedTuple

import numpy as np

from qufur._internal.counts import counted
from qufur.arrays import Floats
from qufur.cli._classes import read_labels
from qufur.cli._state_file import tables_at
from qufur.errors import InvalidError, invalid
from qufur.ids import Id
from qufur.labelling import tool_files
from qufur.labelling.tasks import Columns
from qufur.labelling.votes import majority
from qufur.tables import Batch, ids, read
from qufur.tables.cells import listed
from qufur.tables.formats.compression import open_file
from qufur.tables.formats.csv_file import CsvFile
from qufur.tables.formats.dialect import dialect_of, reader
from qufur.tables.number_formats import LabelForms
from qufur.tables.source import FORMATS
from qufur.tables.writers import Write, check_writable, column_called, column_heading, escaped, table
from qufur.workbook import Workbook


class Exported(NamedTuple):
    """Labels of a table or an export: one label per row, skipped rows, and the number of blank rows."""

    names: list[Id]
    labels: Floats
    skipped: list[Id]
    blank: int


def rows_out(
    workbook: Workbook, out: Path, header: Sequence[str], tool: tool_files.Tool | None
) -> AbstractContextManager[Write]:
    """Open a file for the rows to label: a table, or tasks of a labelling tool."""
    return table(out, header) if tool is None else tool_files.tasks(out, header, tool, _columns(workbook))


def exported(workbook: Workbook, data: Path, tool: tool_files.Tool) -> Exported:
    """Read the labels of an export; several labels of a row give their majority class or mean."""
    export = tool_files.read_export(data, tool, _columns(workbook))
    _reject_foreign_ids(workbook, [*export.ids, *export.skipped, *export.blank], data)
    values: dict[Id, list[float]] = {}
    forms = LabelForms(workbook.unit)
    for id, row, label in zip(export.ids, export.places, export.labels, strict=True):
        _, parsed = read_labels(workbook, forms, Batch({"label": [label]}, row, data.name), "label")
        values.setdefault(id, []).extend(parsed.tolist())
    labels = [majority(opinions, mean=workbook.classes is None) for opinions in values.values()]
    outstanding = set(workbook.learner.outstanding)
    skipped = [id for id in workbook.resolve_ids(export.skipped) if id in outstanding]
    return Exported(list(values), np.array(labels, dtype=np.float64), skipped, len(export.blank))


def _columns(workbook: Workbook) -> Columns:
    text = column_heading(workbook.encoding.text or "text")
    return Columns(
        column_heading(workbook.id_column), column_heading(workbook.target), text, workbook.classes or ()
    )


def _reject_foreign_ids(workbook: Workbook, ids: Sequence[Id], data: Path) -> None:
    """Raise an error if no row of the file belongs to this workbook."""
    queried = {*workbook.labels, *workbook.learner.pending}
    if ids and not queried.intersection(workbook.resolve_ids(ids)):
        received = f"other ids, such as {ids[0]!r}"
        remedy = "Check that the file is from the same project."
        raise invalid("ids", data.name, "of rows that `qufur ask` chose", received, remedy)


_NOT_WRITTEN = (".npy", ".npz")


def check_table(out: Path, used: Mapping[str, Path]) -> None:
    """Reject an unwritable path, an unknown format, or a file in `used` (path by description)."""
    check_output(out, used, "--out")
    if out.name.lower().endswith(_NOT_WRITTEN):
        allowed = "a name ending in .csv, .tsv, .jsonl, .parquet or .xlsx"
        raise invalid("--out", "qufur", allowed, repr(str(out)))
    check_writable(out)


def check_output(out: Path, used: Mapping[str, Path], option: str) -> None:
    """Reject a path that is unwritable or in `used`."""
    if not Path(os.path.realpath(out)).parent.is_dir() or out.is_dir():
        raise invalid(option, "qufur", "a file in a folder that exists", repr(str(out)))
    check_file(out, used, option)


def check_folder(out: Path, names: list[str], data: Path | None = None) -> None:
    """Reject a folder in which a file cannot be written or is the input table."""
    if out.exists() and not out.is_dir():
        raise invalid("--out", "qufur", "a folder, or a new one", f"{str(out)!r}, which is a file")
    for name in names:
        check_file(out / name, {} if data is None else tables_at(data))


def check_file(out: Path, used: Mapping[str, Path], option: str = "--out") -> None:
    """Reject a device, a pipe, or a file in `used`, also under another name."""
    if out.exists() and not out.is_file():
        received = f"{str(out)!r}, which is a device, a pipe or a folder"
        raise invalid(option, "qufur", "a regular file, or a new one", received)
    for description, path in used.items():
        is_linked = out.exists() and path.exists() and out.samefile(path)
        if is_linked or os.path.realpath(out) == os.path.realpath(path):
            raise invalid(option, "qufur", f"another file than {description}", repr(str(out)))


def check_answered(workbook: Workbook, out: Path) -> None:
    """Reject a file with pending rows of this workbook, or with labels other than the learned ones."""
    rows = workbook.unlabelled(_ids_and_labels(workbook, out))
    if rows:
        problem = counted(len(rows), "row is pending or changed", "rows are pending or changed")
        raise _not_told(out, f"where {problem}, such as {rows[0]!r}", "--force replaces it.")


def check_filled_in(workbook: Workbook, out: Path) -> None:
    """Reject a file with labels that were not learned; blank rows may be replaced."""
    cells = _ids_and_labels(workbook, out)
    rows = workbook.unlabelled((id, label) for id, label in cells if label.strip())
    if rows:
        raise _not_told(
            out, f"where the label of {rows[0]!r} is new or changed", "--force discards its labels."
        )


def _not_told(out: Path, problem: str, alternative: str) -> InvalidError:
    allowed = "a file whose labels were given to `qufur tell`"
    remedy = f"Pass it to `qufur tell` first, or write to another file; {alternative}"
    return invalid("--out", "qufur", allowed, f"{str(out)!r}, {problem}", remedy)


def _ids_and_labels(workbook: Workbook, path: Path) -> Iterator[tuple[str, str]]:
    """Yield ids and labels of an earlier output, if it exists, up to the first unreadable row."""
    if not path.exists():
        return
    format = next((FORMATS[ending] for ending in FORMATS if path.name.lower().endswith(ending)), CsvFile)
    rows = _read_csv if format is CsvFile else _read_other
    with suppress(ValueError, csv.Error, OSError, EOFError):
        yield from rows(workbook, path)


def _read_other(workbook: Workbook, path: Path) -> Iterator[tuple[str, str]]:
    for batch in read(path):
        id, target = (column_called(name, batch) for name in (workbook.id_column, workbook.target))
        for name, label in zip(ids(batch, id), listed(batch.column(target)), strict=True):
            yield str(name), "" if label is None else str(label)


def _read_csv(workbook: Workbook, path: Path) -> Iterator[tuple[str, str]]:
    """Yield ids and labels of a CSV file, also after a spreadsheet changed its dialect or encoding."""
    mode = {"mode": "rt", "encoding": "utf-8-sig", "errors": "replace", "newline": ""}
    with open_file(path, **mode) as head:
        dialect = dialect_of(head)
    with open_file(path, **mode) as file:
        records = reader(file, dialect.separator)
        names = [name.strip() for name in next(records, [])]
        required = [escaped(column_heading(name)) for name in (workbook.id_column, workbook.target)]
        if set(required) <= set(names):
            id, target = map(names.index, required)
            yield from ((cells[id], cells[target]) for cells in records if len(cells) > max(id, target))
