"""Streams as bytes: what a snapshot has in it."""

from __future__ import annotations

import hashlib

import numpy as np

from qufur.service.description import Description
from qufur.service.events import SIZE, DamagedError, decode, encode
from qufur.service.stream import Stream
from qufur.storage import container
from qufur.workbook import Workbook

ASKED, STATE = "workbook.asked", "the stored state"


def pack(stream: Stream) -> bytes:
    """Return everything as a snapshot has it: all but the rows that are read from the log."""
    header, tensors = stream.book.content(whole=False)
    # The ids are most of it in the end, 8 bytes each: a container would copy them several times.
    asked = tensors.pop(ASKED).astype("<u8", copy=False)
    body = encode(
        {
            "book": container.pack((header, tensors)),
            "asked": asked.view(np.uint8).data,
            "reopened": list(stream.reopened),
            "asked_at": stream.asked_at,
        }
    )
    return hashlib.blake2b(body, digest_size=SIZE).digest() + body


def unpack(number: int, description: Description, last: tuple[int, bytes], packed: bytes) -> Stream:
    """Return what was packed; whatever else is there is refused."""
    body = memoryview(packed)[SIZE:]
    if hashlib.blake2b(body, digest_size=SIZE).digest() != packed[:SIZE]:
        raise DamagedError("A snapshot is damaged.")
    values = decode(body)
    header, tensors = container.unpack(values["book"], STATE)
    if "asked" in values:  # in snapshots of before they are in the book
        tensors[ASKED] = np.frombuffer(values["asked"], dtype="<u8").astype(np.uint64)
    book = Workbook.from_content((header, tensors), whole=False)
    stream = Stream(number, description, book, last)
    stream.reopened, stream.asked_at = dict.fromkeys(values["reopened"]), values["asked_at"]
    return stream


def unpack_book(content: bytes) -> Workbook:
    """Return the workbook that a state file of these bytes has."""
    return Workbook.from_content(container.unpack(content, STATE))
