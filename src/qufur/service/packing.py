"""Streams as bytes: what a snapshot has in it."""

from __future__ import annotations

import hashlib

from qufur.service.description import Description
from qufur.service.events import SIZE, DamagedError, decode, encode
from qufur.service.stream import Stream
from qufur.storage import container
from qufur.workbook import Workbook


def pack(stream: Stream) -> bytes:
    """Return everything as a snapshot has it: all but the rows that are read from the log."""
    body = encode(
        {
            "book": container.pack(stream.book.content(whole=False)),
            "reopened": list(stream.reopened),
            "asked_at": stream.asked_at,
        }
    )
    return hashlib.blake2b(body, digest_size=SIZE).digest() + body


def unpack(number: int, description: Description, last: tuple[int, bytes], packed: bytes) -> Stream:
    """Return what was packed; whatever else is there is refused."""
    if hashlib.blake2b(packed[SIZE:], digest_size=SIZE).digest() != packed[:SIZE]:
        raise DamagedError("A snapshot is damaged.")
    values = decode(packed[SIZE:])
    stream = Stream(number, description, unpack_book(values["book"], whole=False), last)
    stream.reopened, stream.asked_at = dict.fromkeys(values["reopened"]), values["asked_at"]
    return stream


def unpack_book(content: bytes, *, whole: bool = True) -> Workbook:
    """Return the workbook that a state file of these bytes has; unless whole, rows may be in the log."""
    return Workbook.from_content(container.unpack(content, "the stored state"), whole=whole)
