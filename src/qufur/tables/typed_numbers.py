"""Numbers typed by a person, read by the rules for the cells of a table."""

from __future__ import annotations

import re

from qufur.tables.cells import clean
from qufur.tables.formats.dialect import with_point
from qufur.tables.label_forms import label_numbers

_BLANK_IN_NUMBER = re.compile(r"(?<=[0-9])[ \u00a0\u202f](?=[0-9]{3}(?![0-9]))")


def readings(text: str) -> dict[str, float]:
    """Return the numbers that a typed text can mean, by decimal mark.

    A cell is read in a file whose decimal mark is known. A typed text has no file around it, so it is read
    with either mark. The result has one entry unless the two marks give different numbers, and none if the
    text is not a number with either of them. A blank between groups of three digits and the sign − are read
    too.

    >>> readings("1,500"), readings("1.500"), readings("1,234,567"), readings("1.500,25"), readings("1 500,5")
    ({'.': 1500.0, ',': 1.5}, {'.': 1.5, ',': 1500.0}, {'.': 1234567.0}, {',': 1500.25}, {',': 1500.5})
    >>> readings("−5"), readings("12 %"), readings("1e2"), readings("0x10"), readings("Infinity")
    ({'.': -5.0}, {'.': 0.12}, {'.': 100.0}, {}, {})
    """
    plain = _BLANK_IN_NUMBER.sub("", text.replace("\u2212", "-").strip())
    found = {mark: _number(cell) for mark, cell in ((".", plain), (",", with_point(plain)))}
    known = {mark: number for mark, number in found.items() if number is not None}
    return known if len(set(known.values())) > 1 else dict(list(known.items())[:1])


def _number(cell: str) -> float | None:
    """Return the number in a cell of a file with a decimal point; None if it holds none."""
    text = clean(cell)
    found = None if text is None else label_numbers([text])
    return None if found is None else float(found.item())
