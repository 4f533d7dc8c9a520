"""Examples and labels of requests: validation and encoding as parts of an event."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec
import numpy as np

from qufur.arrays import LARGEST, LARGEST_COUNT, Floats
from qufur.errors import invalid
from qufur.service.config import ANY, StreamConfig, check_text
from qufur.service.store.events import decode, encode
from qufur.tables import Batch

Cell = float | int | str | bool | list[float] | None
MAX_CELL_LENGTH = 10_000
"""Characters of a cell, at most."""


class Example(msgspec.Struct, gc=False):
    """Example: an id, and numbers or a record."""

    id: str | int
    x: list[float] | None = None
    record: dict[str, Cell] | None = None


class PredictionRequest(msgspec.Struct, gc=False):
    """Example without an id, for a prediction that is not stored."""

    x: list[float] | None = None
    record: dict[str, Cell] | None = None


class Label(msgspec.Struct, gc=False):
    """Label of an example: a number, or the name of a class."""

    id: str | int
    label: float | str


class LabelledExample(msgspec.Struct, gc=False):
    """Example with a free label."""

    id: str | int
    label: float | str
    x: list[float] | None = None
    record: dict[str, Cell] | None = None


class Rows(NamedTuple):
    """Validated examples of one stream.

    Attributes
    ----------
    ids
        Ids as text.
    parts
        Encoded parts of an event: the id, and the numbers as bytes or the record.
    X
        Matrix of numbers; None for records.
    """

    ids: list[str]
    parts: list[bytes]
    X: Floats | None

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def records(self) -> list[dict[str, Cell]]:
        """Decoded records, for streams with columns."""
        return [decode(part)[1] for part in self.parts]

    def at(self, indices: Sequence[int]) -> Rows:
        """Return the examples at these indices."""
        X = None if self.X is None else self.X[indices]
        return Rows([self.ids[index] for index in indices], [self.parts[index] for index in indices], X)


def as_id(id: str | int) -> str:
    """Return an id as text; raise `InvalidError` if it cannot be stored."""
    text = str(id)
    check_text("an id", text)
    return text


def read_examples(stream: StreamConfig, examples: Sequence[Example | LabelledExample]) -> Rows:
    """Validate and encode examples; raise `InvalidError` for the first invalid one."""
    ids = [as_id(example.id) for example in examples]
    if stream.dim is None:
        parts = [
            encode([id, _record(stream, example, f"example {id!r}")])
            for id, example in zip(ids, examples, strict=True)
        ]
        return Rows(ids, parts, None)
    return numbered(ids, read_numbers(stream, examples, ids))


def numbered(ids: list[str], X: Floats) -> Rows:
    """Encode examples from a matrix of numbers."""
    content, size = X.tobytes(), 8 * X.shape[1]
    starts = range(0, len(content), size)
    parts = [encode((id, content[start : start + size])) for id, start in zip(ids, starts, strict=True)]
    return Rows(ids, parts, X)


def read_numbers(
    stream: StreamConfig,
    examples: Sequence[Example | LabelledExample | PredictionRequest],
    ids: Sequence[str] = (),
) -> Floats:
    """Return the numbers of examples as a matrix."""
    rows, dim = [example.x for example in examples], stream.dim or 0
    for index, (row, example) in enumerate(zip(rows, examples, strict=True)):
        if row is None or len(row) != dim or example.record is not None:
            received = "a record" if row is None else f"{len(row)} numbers"
            raise invalid("x", _describe(ids, index), f"a list of {dim} numbers", received)
    # NumPy takes three times as long to read lists of lists.
    pack = struct.Struct(f"<{dim}d").pack
    packed = b"".join([pack(*row) for row in rows if row is not None])
    return check_numbers(np.frombuffer(packed, dtype="<f8").reshape(len(rows), dim), ids)


def check_numbers(X: Floats, ids: Sequence[str] = ()) -> Floats:
    """Raise `InvalidError` for numbers that are not finite or too large."""
    entries = X.ravel()
    with np.errstate(over="ignore"):
        if entries.dot(entries) < LARGEST:  # hence no entry is larger
            return X
    is_valid = (np.abs(X) < LARGEST).all(axis=1)
    if not is_valid.all():
        index = int(is_valid.argmin())
        raise invalid("x", _describe(ids, index), f"finite numbers below {LARGEST:g} in size", "others")
    return X


def read_inputs(stream: StreamConfig, examples: Sequence[PredictionRequest]) -> Floats | Batch:
    """Validate examples without ids; return their numbers as a matrix, or their records as a table."""
    if stream.dim is not None:
        return read_numbers(stream, examples)
    return batch_of(stream, [_record(stream, each, _describe((), row)) for row, each in enumerate(examples)])


def batch_of(stream: StreamConfig, records: Sequence[dict[str, Cell]]) -> Batch:
    """Return records as a table; missing fields are empty cells."""
    return Batch(
        {name: [record.get(name) for record in records] for name in stream.columns or {}}, file="the request"
    )


def _record(
    stream: StreamConfig, example: Example | LabelledExample | PredictionRequest, owner: str
) -> dict[str, Cell]:
    columns, record = stream.columns or {}, example.record
    if record is None or example.x is not None:
        raise invalid("record", owner, "an object with the stream's columns", "a list of numbers")
    for name in record:
        if name not in columns:
            raise invalid("record", owner, "of the stream's columns", f"a column {ascii(name)[:80]}")
    return {name: _cell(name, columns[name], cell, owner) for name, cell in record.items()}


def _cell(name: str, column_type: str, cell: Cell, owner: str) -> Cell:
    """Return a cell as stored: among numbers 1 and 1.0 are the same, among categories true is 'true'."""
    category = column_type == "category"
    if (
        cell is None
        or column_type == ANY
        or (category and isinstance(cell, str) and len(cell) <= MAX_CELL_LENGTH)
    ):
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
        allowed = f"a text of at most {MAX_CELL_LENGTH} characters, a number below 2⁶³, or null"
    raise invalid(f"column {name!r}", owner, allowed, ascii(cell)[:80])


def read_label(stream: StreamConfig, label: float | str, id: str) -> float:
    """Return a label as a number; for classes, the index of the class."""
    if stream.classes is not None:
        if label not in stream.classes:
            names = ", ".join(map(repr, stream.classes[:10])) + (", …" if len(stream.classes) > 10 else "")
            raise invalid("label", f"example {id!r}", f"one of {names}", ascii(label)[:80])
        return float(stream.classes.index(str(label)))
    if isinstance(label, str) or not math.isfinite(label) or abs(label) >= LARGEST:
        raise invalid("label", f"example {id!r}", "a finite number", ascii(label)[:80])
    return float(label)


def decode_label(stream: StreamConfig, label: float) -> Any:
    """Return a label as sent by clients: a number, or the name of a class."""
    return label if stream.classes is None else stream.classes[int(label)]


def _describe(ids: Sequence[str], index: int) -> str:
    return f"example {ids[index]!r}" if ids else f"example number {index + 1}"
