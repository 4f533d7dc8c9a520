"""How a CSV file is written: what stands between its cells, and in its numbers."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice

from qufur.errors import invalid

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
    """The characters between cells and before decimals.

    Parameters
    ----------
    separator, decimal
        What they are.
    said
        Whether somebody said the one before decimals: then no number of a later file says otherwise.
    """

    separator: str = ","
    decimal: str = "."
    said: bool = field(default=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        if len(self.separator) != 1 or self.decimal not in (".", ","):
            received = repr((self.separator, self.decimal))
            raise invalid("characters", "Dialect", "a separator, and a point or a comma", received)

    def note(self, file: str, usual: Dialect, found: Dialect) -> list[str]:
        """Say what is taken if it is not the usual, or if it is but something else would have been found."""
        if self == usual == found:
            return []
        between = {"\t": "tabs", " ": "blanks"}.get(self.separator, repr(self.separator))
        numbers = "1,5 is a number" if self.decimal == "," else "1.5 is a number"
        numbers += ", as in tables before" * (self == usual)
        return [f"{file}: {between} between cells, and {numbers}; --sep and --decimal say otherwise."]


def reader(lines: Iterable[str], separator: str = ",") -> Iterator[list[str]]:
    """Read records with cells of up to so many characters."""
    csv.field_size_limit(LONGEST_TEXT)  # of all readers, so every one says it
    return csv.reader(lines, delimiter=separator)


def dialect_of(
    lines: Iterable[str],
    separator: str | None = None,
    decimal: str | None = None,
    usual: Dialect | None = None,
) -> Dialect:
    r"""Find out from the first lines what is not said.

    The separator is the one that makes most columns, all rows being of one width; the usual one comes before
    others that do. A comma in numbers is looked for only where it is not between cells: one number such as
    1,5, and none such as 1.5. Where it is usual, it is taken unless it is the other way round.

    >>> dialect_of(["wind;rain\n", "1,5;2\n", "1.000;3\n"])
    Dialect(separator=';', decimal=',')
    >>> dialect_of(["a;b\n", "1,000;2.5\n"]), dialect_of(["note\n", "so; so\n"])
    (Dialect(separator=';', decimal='.'), Dialect(separator=',', decimal='.'))
    >>> dialect_of(["wind;rain\n", "1.000;2\n"], usual=Dialect(";", ","))
    Dialect(separator=';', decimal=',')
    """
    head = list(islice(lines, HEAD))
    separator = separator or _separator(head, None if usual is None else usual.separator)
    if decimal is not None:
        return Dialect(separator, decimal, said=True)
    alike = usual if usual is not None and usual.separator == separator else None
    if alike is not None and alike.said:
        return alike
    cells = [cell for row in _rows(head, separator)[1:] for cell in row]
    comma, point = (any(_is_sure(one, cell) for cell in cells) for one in (_WITH_COMMA, _WITH_POINT))
    if alike is not None and alike.decimal == ",":
        return Dialect(separator, "." if point and not comma else ",")
    return Dialect(separator, "," if separator != "," and comma and not point else ".")


def with_point(cell: str) -> str:
    """Return a number that is written with a comma as one with a point, and any other text as it is.

    >>> [with_point(cell) for cell in ("1,5", "-1.234,5", "1.000", "€ 3,20", "a, b", "1.5", "01.02.2020")]
    ['1.5', '-1234.5', '1000', '€ 3.20', 'a, b', '1.5', '01.02.2020']
    """
    if _WITH_COMMA.fullmatch(cell) or _THOUSANDS.fullmatch(cell):
        return cell.replace(".", "").replace(",", ".")
    return cell


def _separator(head: list[str], usual: str | None) -> str:
    """Return the separator of most columns, of several the first; even rows count for more, and the usual."""
    several = SEPARATORS if usual is None or usual in SEPARATORS else usual + SEPARATORS
    found = {separator: [len(row) for row in _rows(head, separator)] for separator in several}

    def rank(one: str) -> tuple[bool, bool, int, bool]:
        width = found[one][0] if found[one] else 0
        return _is_even(found[one]), one == usual and width > 1, width, one == usual

    return max(several, key=rank)


def _is_even(widths: list[int]) -> bool:
    return len(set(widths)) == 1 and widths[0] > 1


def _rows(head: list[str], separator: str) -> list[list[str]]:
    """Return the records that are not blank, without one that the end of the head may have cut."""
    try:
        rows = [row for row in reader(head, separator) if row]
    except csv.Error:
        return []
    return rows[:-1] if len(head) == HEAD else rows


def _is_sure(pattern: re.Pattern[str], cell: str) -> bool:
    """Return whether what follows is decimals: three digits after one to three may be thousands."""
    found = pattern.fullmatch(cell)
    if found is None:
        return False
    whole, groups, decimals = found.groups()
    return bool(groups) or len(decimals) != 3 or not re.fullmatch(_MANY, whole)
