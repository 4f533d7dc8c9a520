"""Streams as bytes: what a snapshot has in it.

The ids of all examples are most of a stream in the end, 8 bytes each. They are tied up in bundles that are
written once; a snapshot has in it the ids that are in no bundle yet. So it takes no more time and memory as
examples come.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec
import numpy as np

from qufur.ids import KnownIds
from qufur.service.description import Description
from qufur.service.events import SIZE, DamagedError, decode
from qufur.service.stream import Stream
from qufur.storage import container
from qufur.storage.container import Tensors
from qufur.workbook import Workbook

ASKED, STATE = "workbook.asked", "the stored state"
BUNDLE = 2**16
"""Ids of a bundle, half a megabyte."""
ID = 8
"""Bytes of an id."""

Buffer = bytes | bytearray | memoryview
_encode_into = msgspec.msgpack.Encoder().encode_into


class Packed(NamedTuple):
    """A stream as bytes.

    Attributes
    ----------
    body
        Everything but the ids in bundles, and the rows that are read from the log.
    bundles
        Of ids: those that are in no snapshot yet, or all of them in one that was read.
    """

    body: Buffer
    bundles: Sequence[Buffer] = ()


def pack(stream: Stream) -> Packed:
    """Return everything as a snapshot has it, ready to be followed by `note_kept`."""
    header, tensors = stream.book.content(whole=False)
    del tensors[ASKED]
    loose = _bytes(stream.book.asked.loose())
    size = ID * BUNDLE
    end = len(loose) - len(loose) % size
    bundles = [loose[start : start + size] for start in range(0, end, size)]
    values = {
        "workbook": container.pack((header, tensors)),
        "bundles": [*stream.bundles, *map(_digest, bundles)],
        "loose": loose[end:],
        "reopened": list(stream.reopened),
        "asked_at": stream.asked_at,
        "terms": True,
    }
    body = bytearray(SIZE)
    _encode_into(values, body, SIZE)
    body[:SIZE] = _digest(memoryview(body)[SIZE:])
    return Packed(body, bundles)


def note_kept(stream: Stream, packed: Packed) -> None:
    """Let the bundles of a snapshot that was written not be in the next one."""
    stream.bundles += map(_digest, packed.bundles)
    stream.book.asked.tie_up(sum(map(len, packed.bundles)) // ID)


def unpack(number: int, description: Description, last: tuple[int, bytes], packed: Packed) -> Stream:
    """Return what was packed; whatever else is there is refused."""
    body = memoryview(packed.body)[SIZE:]
    if _digest(body) != packed.body[:SIZE]:
        raise DamagedError("A snapshot is damaged.")
    values = decode(body)
    bundles = list(map(_digest, packed.bundles))
    if bundles != values.get("bundles", []):
        raise DamagedError("A snapshot lacks ids.")
    stream = Stream(number, description, _book(values, packed.bundles), last)
    stream.bundles = bundles
    stream.reopened, stream.asked_at = dict.fromkeys(values["reopened"]), values["asked_at"]
    return stream


def keeps_terms(packed: Packed) -> bool:
    """Return whether a snapshot keeps the terms of closed queries; those of version 0.1.0 do not."""
    return "terms" in decode(memoryview(packed.body)[SIZE:])


def unpack_book(content: bytes) -> Workbook:
    """Return the workbook that a state file of these bytes has."""
    return Workbook.from_content(container.unpack(content, STATE))


def _book(values: dict[str, Any], bundles: Sequence[Buffer]) -> Workbook:
    if "workbook" not in values:
        return _book_of_before(values)
    header, tensors = container.unpack(values["workbook"], STATE)
    loose = np.frombuffer(values["loose"], dtype="<u8").astype(np.uint64)
    asked = np.concatenate([*(np.frombuffer(bundle, dtype="<u8") for bundle in bundles), loose])
    asked.sort()
    book = _restored(header, tensors, asked)
    book.asked = KnownIds.of_digests(asked, loose)
    return book


def _book_of_before(values: dict[str, Any]) -> Workbook:
    """Return the workbook of a snapshot that has all ids in it, beside the workbook or as a part of it."""
    header, tensors = container.unpack(values["book"], STATE)
    if "asked" not in values:
        return Workbook.from_content((header, tensors), whole=False)
    return _restored(header, tensors, np.frombuffer(values["asked"], dtype="<u8").astype(np.uint64))


def _restored(header: dict[str, Any], tensors: Tensors, asked: np.ndarray[Any, Any]) -> Workbook:
    return Workbook.from_content((header, {**tensors, ASKED: asked}), whole=False)


def _bytes(digests: np.ndarray[Any, Any]) -> memoryview:
    return digests.astype("<u8", copy=False).view(np.uint8).data


def _digest(content: Buffer) -> bytes:
    return hashlib.blake2b(content, digest_size=SIZE).digest()
