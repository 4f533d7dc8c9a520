"""How a CSV file is written: what stands between its cells, and in its numbers."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

SEPARATORS = ",;\t|"
HEAD = 200
"""Lines that are looked at."""
LONGEST_TEXT = 2**27
"""Characters: a cell may hold a book, but after a quote that never closes no more than this is read."""
_MANY = r"[1-9][0-9]{0,2}"
_BEFORE, _AFTER = r"[-+\s€$£¥]{0,4}", r"[\s%€$£¥]{0,4}"
_WITH_COMMA = re.compile(rf"{_BEFORE}([0-9]+|{_MANY}(\.[0-9]{{3}})+),([0-9]+){_AFTER}")
_WITH_POINT = re.compile(rf"{_BEFORE}([0-9]+|{_MANY}(,[0-9]{{3}})+)\.([0-9]+){_AFTER}")
_THOUSANDS = re.compile(rf"{_BEFORE}{_MANY}(\.[0-9]{{3}})+{_AFTER}")


@dataclass(frozen=True)
class Dialect:
    """The characters between cells and before decimals."""

    separator: str = ","
    decimal: str = "."

    def note(self, file: str, usual: Dialect) -> list[str]:
        """Say what was found if it is not the usual."""
        if self == usual:
            return []
        between = {"\t": "tabs", " ": "blanks"}.get(self.separator, repr(self.separator))
        numbers = "1,5 is a number" if self.decimal == "," else "1.5 is a number"
        return [f"{file}: {between} between cells, and {numbers}; --sep and --decimal say otherwise."]


def reader(lines: Iterable[str], separator: str = ",") -> Iterator[list[str]]:
    """Read records with cells of up to so many characters."""
    csv.field_size_limit(LONGEST_TEXT)  # of all readers, so every one says it
    return csv.reader(lines, delimiter=separator)


def dialect_of(lines: Iterable[str], separator: str | None = None, decimal: str | None = None) -> Dialect:
    r"""Find out from the first lines what is not said.

    The separator is the one that makes most columns, all rows being of one width. A comma in numbers is
    looked for only where it is not between cells: one number such as 1,5, and none such as 1.5.

    >>> dialect_of(["wind;rain\n", "1,5;2\n", "1.000;3\n"])
    Dialect(separator=';', decimal=',')
    >>> dialect_of(["a;b\n", "1,000;2.5\n"]), dialect_of(["note\n", "so; so\n"])
    (Dialect(separator=';', decimal='.'), Dialect(separator=',', decimal='.'))
    """
    head = list(islice(lines, HEAD))
    separator = separator or _separator(head)
    if decimal is None:
        cells = [cell for row in _rows(head, separator)[1:] for cell in row]
        decimal = "," if separator != "," and _has_comma(cells) else "."
    return Dialect(separator, decimal)


def with_point(cell: str) -> str:
    """Return a number that is written with a comma as one with a point, and any other text as it is.

    >>> [with_point(cell) for cell in ("1,5", "-1.234,5", "1.000", "€ 3,20", "a, b", "1.5", "01.02.2020")]
    ['1.5', '-1234.5', '1000', '€ 3.20', 'a, b', '1.5', '01.02.2020']
    """
    if _WITH_COMMA.fullmatch(cell) or _THOUSANDS.fullmatch(cell):
        return cell.replace(".", "").replace(",", ".")
    return cell


def _separator(head: list[str]) -> str:
    """Return the separator of most columns, of several the first; even rows count for more."""
    found = {separator: [len(row) for row in _rows(head, separator)] for separator in SEPARATORS}
    return max(SEPARATORS, key=lambda one: (_is_even(found[one]), *found[one][:1]))


def _is_even(widths: list[int]) -> bool:
    return len(set(widths)) == 1 and widths[0] > 1


def _rows(head: list[str], separator: str) -> list[list[str]]:
    """Return the records that are not blank, without one that the end of the head may have cut."""
    try:
        rows = [row for row in reader(head, separator) if row]
    except csv.Error:
        return []
    return rows[:-1] if len(head) == HEAD else rows


def _has_comma(cells: list[str]) -> bool:
    """Return whether one number can only be meant with a decimal comma, and none with a point."""
    return any(_is_sure(_WITH_COMMA, cell) for cell in cells) and not any(
        _is_sure(_WITH_POINT, cell) for cell in cells
    )


def _is_sure(pattern: re.Pattern[str], cell: str) -> bool:
    """Return whether what follows is decimals: three digits after one to three may be thousands."""
    found = pattern.fullmatch(cell)
    if found is None:
        return False
    whole, groups, decimals = found.groups()
    return bool(groups) or len(decimals) != 3 or not re.fullmatch(_MANY, whole)
