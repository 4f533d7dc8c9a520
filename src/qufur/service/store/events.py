"""Events of a stream: payloads and the hash chain.

A payload consists of a header and parts. Each part holds one example: its id and its row, or its label. The
digest of a payload is the digest of the digests of its parts, so one part can be erased and leave its digest
in its place: the chain still holds, and any other change breaks it. A header can be replaced in the same way.
The event that records the erasure chains the digest of the new header.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from typing import Any, NamedTuple

import msgspec
from msgspec.msgpack import Ext

SIZE = 32
"""Bytes of a digest or hash."""
START = bytes(SIZE)
"""Stands for the hash before the first event."""
ERASED = 1
"""Extension code of an erased part; its content is the digest of the part."""
REPLACED = 2
"""Extension code of a replaced header: digests of the original and of the new header, then the new header."""

encode = msgspec.msgpack.Encoder(order="sorted").encode
"""Encode values canonically: equal values give equal bytes."""
encode_in_order = msgspec.msgpack.Encoder().encode
"""Encode values in the order of their keys: the order of a stream's columns is part of its configuration."""
decode = msgspec.msgpack.Decoder().decode


class Kind(StrEnum):
    """Kind of an event. The values are stored in the log."""

    created = "created"
    asked = "asked"
    told = "told"
    untold = "untold"
    retracted = "retracted"
    learned = "learned"
    refitted = "refitted"
    budget_added = "budget_added"
    imported = "imported"
    erased = "erased"
    deleted = "deleted"


class DamagedError(RuntimeError):
    """The content of a store differs from what was written."""


def digest_of(content: bytes | bytearray | memoryview) -> bytes:
    """Return the BLAKE2b digest of some bytes."""
    return hashlib.blake2b(content, digest_size=SIZE).digest()


class Payload(NamedTuple):
    """Content of an event.

    Attributes
    ----------
    header
        Encoded values, or the extension that replaced them.
    parts
        Encoded values; an extension with the digest for each erased part.
    """

    header: bytes | Ext
    parts: Sequence[bytes | Ext] = ()

    def to_bytes(self) -> bytes:
        """Return the payload as stored in the log."""
        return encode([self.header, list(self.parts)])

    @classmethod
    def from_bytes(cls, stored: bytes) -> Payload:
        """Read a stored payload; raise `DamagedError` if it cannot be decoded."""
        try:
            payload = cls(*decode(stored))
            if payload.new_header not in (None, digest_of(payload._current_header)):
                raise ValueError
        except (msgspec.DecodeError, TypeError, ValueError):
            raise DamagedError("An event of the store cannot be read: it is damaged.") from None
        return payload

    @property
    def values(self) -> Any:
        """The decoded header."""
        return decode(self._current_header)

    @property
    def new_header(self) -> bytes | None:
        """The digest of the header that replaced the original; None for an original header."""
        return None if isinstance(self.header, bytes) else bytes(self.header.data)[SIZE : 2 * SIZE]

    @property
    def is_erased(self) -> bool:
        """Whether the payload has parts and all of them are erased."""
        return bool(self.parts) and all(isinstance(part, Ext) for part in self.parts)

    def rows(self) -> Iterator[Any]:
        """Yield each part decoded, None for an erased part."""
        return (None if isinstance(part, Ext) else decode(part) for part in self.parts)

    def digest(self) -> bytes:
        """Return the digest of the digests of header and parts."""
        parts = [part.data if isinstance(part, Ext) else digest_of(part) for part in self.parts]
        return digest_of(b"".join([self._original_digest, *parts]))

    def without(self, indices: Iterable[int]) -> Payload:
        """Return a copy with the parts at these indices erased; the digest does not change."""
        parts = list(self.parts)
        for index in indices:
            part = parts[index]
            if not isinstance(part, Ext):
                parts[index] = Ext(ERASED, digest_of(part))
        return Payload(self.header, parts)

    def with_header(self, values: Any) -> Payload:
        """Return a copy with a new header; the digest does not change."""
        new = encode(values)
        content = self._original_digest + digest_of(new) + new
        return Payload(Ext(REPLACED, content), self.parts)

    @property
    def _current_header(self) -> bytes:
        return self.header if isinstance(self.header, bytes) else bytes(self.header.data)[2 * SIZE :]

    @property
    def _original_digest(self) -> bytes:
        return digest_of(self.header) if isinstance(self.header, bytes) else bytes(self.header.data)[:SIZE]


class Event(NamedTuple):
    """One row of the log.

    Attributes
    ----------
    seq
        Number of the event in its stream, starting at 1.
    at
        Microseconds since 1970 by the server's clock, for information: no result depends on it.
    actor
        Name of the key of the request.
    payload
        The stored bytes of the payload.
    """

    seq: int
    kind: str
    at: int
    actor: str
    payload: bytes
    digest: bytes
    hash: bytes

    @classmethod
    def after(cls, previous: tuple[int, bytes], kind: Kind, at: int, actor: str, payload: Payload) -> Event:
        """Return the event that follows the event with this number and hash."""
        seq, digest = previous[0] + 1, payload.digest()
        hash = _chain_hash(previous[1], seq, kind.value, at, actor, digest)
        return cls(seq, kind.value, at, actor, payload.to_bytes(), digest, hash)

    def check(self, previous: tuple[int, bytes]) -> Payload:
        """Return the payload; raise `DamagedError` if the event does not follow or its content changed."""
        hash = _chain_hash(previous[1], self.seq, self.kind, self.at, self.actor, self.digest)
        if self.seq != previous[0] + 1 or hash != self.hash:
            text = f"The log is damaged at event {self.seq}: it does not follow from the previous event."
            raise DamagedError(f"{text} Restore a backup.")
        return self.checked_payload()

    def checked_payload(self) -> Payload:
        """Return the payload; raise `DamagedError` if it does not match its digest."""
        payload = Payload.from_bytes(self.payload)
        if payload.digest() != self.digest:
            text = f"The log is damaged at event {self.seq}: its content does not match its digest."
            raise DamagedError(f"{text} Restore a backup.")
        return payload


def _chain_hash(previous: bytes, seq: int, kind: str, at: int, actor: str, digest: bytes) -> bytes:
    numbers = struct.pack("<qq", seq, at)
    words = encode([kind, actor])
    return digest_of(previous + numbers + words + digest)
