"""Dialect of CSV files: delimiter and decimal mark, and their detection."""

from __future__ import annotations

import csv
import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice

from qufur.errors import invalid

SEPARATORS = ",;\t|"
HEAD = 200
"""Number of lines used for detection."""
LONGEST_TEXT = 2**27
"""Maximum number of characters of a field: enough for a book, and a limit after an unclosed quote."""
_MANY = r"[1-9][0-9]{0,2}"
_BEFORE, _AFTER = r"[-+\s€$£¥]{0,4}", r"[\s%€$£¥]{0,4}"
_WITH_COMMA = re.compile(rf"{_BEFORE}([0-9]+|{_MANY}(\.[0-9]{{3}})+),([0-9]+){_AFTER}")
_WITH_POINT = re.compile(rf"{_BEFORE}([0-9]+|{_MANY}(,[0-9]{{3}})+)\.([0-9]+){_AFTER}")
_THOUSANDS = re.compile(rf"{_BEFORE}{_MANY}(\.[0-9]{{3}})+{_AFTER}")


@dataclass(frozen=True)
class Dialect:
    """Delimiter and decimal mark of a CSV file.

    Parameters
    ----------
    separator, decimal
        The delimiter, and "." or ",".
    said
        Whether the user gave the decimal mark; it is then not detected in later files. State files store
        this field by its name.
    """

    separator: str = ","
    decimal: str = "."
    said: bool = field(default=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        if len(self.separator) != 1 or self.decimal not in (".", ","):
            received = repr((self.separator, self.decimal))
            raise invalid("characters", "Dialect", "a separator, and a point or a comma", received)

    def describe(self, file: str, default: Dialect, detected: Dialect) -> list[str]:
        """Return a message about the dialect if it is not the default, or if detection disagrees with it."""
        if self == default == detected:
            return []
        between = {"\t": "tabs", " ": "blanks"}.get(self.separator, repr(self.separator))
        numbers = "1,5 is a number" if self.decimal == "," else "1.5 is a number"
        if self == default:
            numbers += ", as in earlier tables"
        override = "`separator=` and `decimal=` override this"
        return [f"{file}: {between} between fields, and {numbers}; {override}."]


def reader(lines: Iterable[str], separator: str = ",") -> Iterator[list[str]]:
    """Read records with fields of at most `LONGEST_TEXT` characters."""
    csv.field_size_limit(LONGEST_TEXT)  # global, and other code may change it: every reader sets it
    return csv.reader(lines, delimiter=separator)


def dialect_of(
    lines: Iterable[str],
    separator: str | None = None,
    decimal: str | None = None,
    default: Dialect | None = None,
    columns: Collection[str] = (),
) -> Dialect:
    r"""Detect the separator and the decimal mark from the first lines, unless they are given.

    The separator whose header has most of the expected `columns` wins. Ties are decided by equal numbers of
    fields in all rows, then for the default separator, then by the number of columns.

    A decimal comma is detected if there is a number such as 1,5 and none such as 1.5, and only if commas do
    not separate fields. A decimal comma that is the default is used unless there is a number such as 1.5 and
    none such as 1,5.

    >>> dialect_of(["wind;rain\n", "1,5;2\n", "1.000;3\n"])
    Dialect(separator=';', decimal=',')
    >>> dialect_of(["a;b\n", "1,000;2.5\n"]), dialect_of(["note\n", "so; so\n"])
    (Dialect(separator=';', decimal='.'), Dialect(separator=',', decimal='.'))
    >>> dialect_of(["wind;rain\n", "1.000;2\n"], default=Dialect(";", ","))
    Dialect(separator=';', decimal=',')
    >>> dialect_of(['id,";,;"\n', '1,";,;"\n'], columns=["id"]).separator
    ','
    """
    head = list(islice(lines, HEAD))
    separator = separator or _separator(head, None if default is None else default.separator, columns)
    if decimal is not None:
        return Dialect(separator, decimal, said=True)
    if default is not None and default.separator != separator:
        default = None
    if default is not None and default.said:
        return default
    cells = [cell for row in _rows(head, separator)[1:] for cell in row]
    comma, point = (any(_is_sure(mark, cell) for cell in cells) for mark in (_WITH_COMMA, _WITH_POINT))
    if default is not None and default.decimal == ",":
        return Dialect(separator, "." if point and not comma else ",")
    return Dialect(separator, "," if separator != "," and comma and not point else ".")


def with_point(cell: str) -> str:
    """Replace the decimal comma of a number by a point; return any other text unchanged.

    >>> [with_point(cell) for cell in ("1,5", "-1.234,5", "1.000", "€ 3,20", "a, b", "1.5", "01.02.2020")]
    ['1.5', '-1234.5', '1000', '€ 3.20', 'a, b', '1.5', '01.02.2020']
    """
    if _WITH_COMMA.fullmatch(cell) or _THOUSANDS.fullmatch(cell):
        return cell.replace(".", "").replace(",", ".")
    return cell


def _separator(head: list[str], default: str | None, columns: Collection[str]) -> str:
    """Return the separator that ranks highest by expected columns, equal row widths, default and width."""
    candidates = SEPARATORS if default is None or default in SEPARATORS else default + SEPARATORS
    records = {separator: _rows(head, separator) for separator in candidates}
    widths = {separator: [len(row) for row in rows] for separator, rows in records.items()}

    def rank(separator: str) -> tuple[int, bool, bool, int, bool]:
        width = widths[separator][0] if widths[separator] else 0
        header = {cell.strip() for row in records[separator][:1] for cell in row}
        matches = len(header.intersection(columns))
        is_even = len(set(widths[separator])) == 1 and width > 1
        is_default = separator == default
        return matches, is_even, is_default and width > 1, width, is_default

    return max(candidates, key=rank)


def _rows(head: list[str], separator: str) -> list[list[str]]:
    """Return the non-blank records, without the last one if the head may truncate it."""
    try:
        rows = [row for row in reader(head, separator) if row]
    except csv.Error:
        return []
    return rows[:-1] if len(head) == HEAD else rows


def _is_sure(pattern: re.Pattern[str], cell: str) -> bool:
    """Return whether a number has decimals; three digits after one to three may be thousands."""
    match = pattern.fullmatch(cell)
    if match is None:
        return False
    whole, groups, decimals = match.groups()
    return bool(groups) or len(decimals) != 3 or not re.fullmatch(_MANY, whole)
