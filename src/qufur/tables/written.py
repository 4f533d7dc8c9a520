"""Text in files that people open in spreadsheets: shown as it is, never computed, and read back the same."""

from __future__ import annotations

import re
from numbers import Number
from typing import Any

from qufur.tables.batch import Batch

_START = r"[=+\-@\t\r]"
_FORMULA, _ESCAPED = re.compile(f"'*{_START}"), re.compile(f"'+{_START}")
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


def escaped(cell: Any) -> Any:
    """Return a cell with an apostrophe in front if a spreadsheet would take it for a formula.

    A 0 byte, at which readers of CSV stop, becomes a question mark.

    >>> [escaped(cell) for cell in ("=1+1", "-5", "-five", "'=1", "'tis", -5)]
    ["'=1+1", '-5', "'-five", "''=1", "'tis", -5]
    """
    if cell is None or isinstance(cell, Number):
        return cell
    text = str(cell).replace("\0", "?")
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else text


def unescaped(text: str) -> str:
    """Return the text of which `escaped` came.

    >>> [unescaped(text) for text in ("'=1+1", "-5", "''=1", "'tis")]
    ['=1+1', '-5', "'=1", "'tis"]
    """
    return text[1:] if _ESCAPED.match(text) else text


def heading(name: str) -> str:
    """Return the name of a column as a header line can have it: nothing around it that is not seen."""
    return name.replace("\ufeff", "").strip()


def free(name: str, taken: set[str]) -> str:
    """Return a name that no other column has.

    >>> free("row", {"id"}), free("row", {"row"})
    ('row', 'row_')
    """
    while name in taken:
        name += "_"
    return name


def column_called(name: str, batch: Batch) -> str:
    """Return what a column is called in a file that was written so, or by somebody else."""
    written = escaped(heading(name))
    # What has blanks around it was written by somebody else; what looks escaped, rather not.
    either = (written, name) if heading(name) == name else (name, written)
    return next((called for called in either if called in batch.columns), name)
