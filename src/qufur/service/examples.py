"""Examples and labels as they are sent: checked, and as the parts of an event."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec
import numpy as np

from qufur.arrays import LARGEST, LARGEST_COUNT, Floats
from qufur.errors import invalid
from qufur.service.description import ANY, Description, check_text
from qufur.service.events import decode, encode
from qufur.tables import Batch

Cell = float | int | str | bool | list[float] | None
LONGEST = 10_000
"""Characters of a cell."""


class Example(msgspec.Struct, gc=False):
    """One example: its id, and its numbers or its record."""

    id: str | int
    x: list[float] | None = None
    record: dict[str, Cell] | None = None


class Question(msgspec.Struct, gc=False):
    """What is only predicted: an example without an id."""

    x: list[float] | None = None
    record: dict[str, Cell] | None = None


class Label(msgspec.Struct, gc=False):
    """The label of an example: a number, or the name of a class."""

    id: str | int
    label: float | str


class Lesson(msgspec.Struct, gc=False):
    """An example with a label that was free."""

    id: str | int
    label: float | str
    x: list[float] | None = None
    record: dict[str, Cell] | None = None


class Rows(NamedTuple):
    """Examples of one stream, checked.

    Attributes
    ----------
    ids
        As text.
    parts
        Each as a part of an event: its id, and its numbers as bytes or its record.
    X
        Their numbers; None for records.
    """

    ids: list[str]
    parts: list[bytes]
    X: Floats | None

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def records(self) -> list[dict[str, Cell]]:
        """Their records, where they have no numbers."""
        return [decode(part)[1] for part in self.parts]

    def at(self, places: Sequence[int]) -> Rows:
        """Return those at some places."""
        X = None if self.X is None else self.X[places]
        return Rows([self.ids[place] for place in places], [self.parts[place] for place in places], X)


def as_id(id: str | int) -> str:
    """Return an id as text; what cannot be stored is refused."""
    text = str(id)
    check_text("an id", text)
    return text


def read_examples(stream: Description, examples: Sequence[Example | Lesson]) -> Rows:
    """Return examples as the stream has them, or complain about the first that it cannot have."""
    ids = [as_id(example.id) for example in examples]
    if stream.dim is None:
        parts = [encode([id, _record(stream, one, id)]) for id, one in zip(ids, examples, strict=True)]
        return Rows(ids, parts, None)
    return numbered(ids, read_numbers(stream, examples, ids))


def numbered(ids: list[str], X: Floats) -> Rows:
    """Return examples that are numbers."""
    content, size = X.tobytes(), 8 * X.shape[1]
    starts = range(0, len(content), size)
    parts = [encode((id, content[start : start + size])) for id, start in zip(ids, starts, strict=True)]
    return Rows(ids, parts, X)


def read_numbers(
    stream: Description, examples: Sequence[Example | Lesson | Question], ids: Sequence[str] = ()
) -> Floats:
    """Return the numbers of examples."""
    rows, dim = [example.x for example in examples], stream.dim or 0
    for place, (row, example) in enumerate(zip(rows, examples, strict=True)):
        if row is None or len(row) != dim or example.record is not None:
            received = "a record" if row is None else f"{len(row)} numbers"
            raise invalid("x", _called(ids, place), f"a list of {dim} numbers", received)
    # NumPy takes three times as long over lists of lists.
    pack = struct.Struct(f"<{dim}d").pack
    packed = b"".join([pack(*row) for row in rows if row is not None])
    return check_numbers(np.frombuffer(packed, dtype="<f8").reshape(len(rows), dim), ids)


def check_numbers(X: Floats, ids: Sequence[str] = ()) -> Floats:
    """Refuse numbers that nothing can be computed with."""
    entries = X.ravel()
    with np.errstate(over="ignore"):
        if entries.dot(entries) < LARGEST:  # so that none of them is larger
            return X
    sound = (np.abs(X) < LARGEST).all(axis=1)
    if not sound.all():
        place = int(sound.argmin())
        raise invalid("x", _called(ids, place), f"finite numbers below {LARGEST:g} in size", "others")
    return X


def read_records(stream: Description, examples: Sequence[Question]) -> list[dict[str, Cell]]:
    """Return the records of examples."""
    return [_record(stream, example, f"number {place}") for place, example in enumerate(examples, 1)]


def batch_of(stream: Description, records: Sequence[dict[str, Cell]]) -> Batch:
    """Return records as a table; what one of them does not have is an empty cell."""
    return Batch(
        {name: [one.get(name) for one in records] for name in stream.columns or {}}, file="the request"
    )


def _record(stream: Description, example: Example | Lesson | Question, id: str) -> dict[str, Cell]:
    columns, record = stream.columns or {}, example.record
    if record is None or example.x is not None:
        raise invalid("record", f"example {id!r}", "an object with the stream's columns", "a list of numbers")
    for name in record:
        if name not in columns:
            raise invalid(
                "record", f"example {id!r}", "of the stream's columns", f"a column {ascii(name)[:80]}"
            )
    return {name: _cell(name, columns[name], cell, id) for name, cell in record.items()}


def _cell(name: str, kind: str, cell: Cell, id: str) -> Cell:
    """Return a cell as it is stored: 1 and 1.0 are the same number, and true is the category 'true'."""
    category = kind == "category"
    if cell is None or kind == ANY or (category and isinstance(cell, str) and len(cell) <= LONGEST):
        return cell
    if category and isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, int | float) and not isinstance(cell, bool):
        if category and abs(cell) < LARGEST_COUNT:
            return cell
        if not category and abs(cell) < LARGEST:
            return float(cell)
    allowed = f"a number below {LARGEST:g} in size, or null"
    if category:
        allowed = f"a text of at most {LONGEST} characters, a number below 2⁶³, or null"
    raise invalid(f"column {name!r}", f"example {id!r}", allowed, ascii(cell)[:80])


def read_label(stream: Description, label: float | str, id: str) -> float:
    """Return a label as a number, that of its class where labels are classes."""
    if stream.classes is not None:
        if label not in stream.classes:
            few = ", ".join(map(repr, stream.classes[:10])) + (", …" if len(stream.classes) > 10 else "")
            raise invalid("label", f"example {id!r}", f"one of {few}", ascii(label)[:80])
        return float(stream.classes.index(str(label)))
    if isinstance(label, str) or not math.isfinite(label) or abs(label) >= LARGEST:
        raise invalid("label", f"example {id!r}", "a finite number", ascii(label)[:80])
    return float(label)


def shown_label(stream: Description, label: float) -> Any:
    """Return a label as it is sent."""
    return label if stream.classes is None else stream.classes[int(label)]


def _called(ids: Sequence[str], place: int) -> str:
    return f"example {ids[place]!r}" if ids else f"example number {place + 1}"
