"""Events: what happened to a stream, each chained to the one before.

A payload is a header and parts, one for each example: its id and its row, or its label. The digest of a
payload is that of the digests of its parts, so that one part can be erased and leave its digest in its place:
the chain still holds, and whatever else is changed breaks it. A header can be replaced in the same way. The
event that records the erasure chains the digest of the new header.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from typing import Any, NamedTuple

import msgspec

SIZE = 32
START = bytes(SIZE)
"""What stands for the hash before the first event."""
ERASED = 1
"""The code of what stands in the place of a part that was erased: its digest."""
REPLACED = 2
"""The code of a replaced header: the digest of the original, the digest of the new header, the new header."""

encode = msgspec.msgpack.Encoder(order="sorted").encode
"""Values as canonical bytes: the same values, the same bytes."""
encode_in_order = msgspec.msgpack.Encoder().encode
"""Values as bytes that keep the order of keys: the order of a stream's columns is part of it."""
decode = msgspec.msgpack.Decoder().decode


class Kind(str, Enum):
    """What can happen to a stream."""

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
    """A store in which something is not what was written."""


class Payload(NamedTuple):
    """What an event says.

    Attributes
    ----------
    header
        Encoded values, or the extension that replaced them.
    parts
        Encoded values, or the digest alone of what was erased.
    """

    header: bytes | msgspec.msgpack.Ext
    parts: Sequence[bytes | msgspec.msgpack.Ext] = ()

    def packed(self) -> bytes:
        """Return it as it is stored."""
        return encode([self.header, list(self.parts)])

    @classmethod
    def unpacked(cls, stored: bytes) -> Payload:
        """Return what was packed."""
        try:
            payload = cls(*decode(stored))
            if payload.new_header not in (None, _digest(payload._current_header)):
                raise ValueError
        except (msgspec.DecodeError, TypeError, ValueError):
            raise DamagedError("An event of the store cannot be read: it is damaged.") from None
        return payload

    @property
    def values(self) -> Any:
        """The header, decoded."""
        return decode(self._current_header)

    @property
    def new_header(self) -> bytes | None:
        """The digest of the header that replaced the original; None for an original header."""
        return None if isinstance(self.header, bytes) else bytes(self.header.data)[SIZE : 2 * SIZE]

    @property
    def _current_header(self) -> bytes:
        return self.header if isinstance(self.header, bytes) else bytes(self.header.data)[2 * SIZE :]

    @property
    def _original_digest(self) -> bytes:
        return _digest(self.header) if isinstance(self.header, bytes) else bytes(self.header.data)[:SIZE]

    def rows(self) -> Iterator[Any]:
        """Yield each part, decoded; None for what was erased."""
        return (None if isinstance(part, msgspec.msgpack.Ext) else decode(part) for part in self.parts)

    @property
    def is_erased(self) -> bool:
        """Whether there were parts, and all of them were erased."""
        return bool(self.parts) and all(isinstance(part, msgspec.msgpack.Ext) for part in self.parts)

    def digest(self) -> bytes:
        """Return the digest of the digests."""
        parts = [part.data if isinstance(part, msgspec.msgpack.Ext) else _digest(part) for part in self.parts]
        return _digest(b"".join([self._original_digest, *parts]))

    def without(self, places: Iterable[int]) -> Payload:
        """Return it with some parts erased; the digest is the same."""
        parts = list(self.parts)
        for place in places:
            part = parts[place]
            if not isinstance(part, msgspec.msgpack.Ext):
                parts[place] = msgspec.msgpack.Ext(ERASED, _digest(part))
        return Payload(self.header, parts)

    def with_header(self, values: Any) -> Payload:
        """Return it with other values in the header; the digest is the same."""
        new = encode(values)
        content = self._original_digest + _digest(new) + new
        return Payload(msgspec.msgpack.Ext(REPLACED, content), self.parts)


class Event(NamedTuple):
    """One row of the log.

    Attributes
    ----------
    seq
        1 for the first of a stream.
    at
        Microseconds since 1970 by the server's clock. It informs people; nothing depends on it.
    actor
        The name of the key that was used.
    payload
        As it is stored.
    """

    seq: int
    kind: str
    at: int
    actor: str
    payload: bytes
    digest: bytes
    hash: bytes

    @classmethod
    def after(cls, before: tuple[int, bytes], kind: Kind, at: int, actor: str, payload: Payload) -> Event:
        """Return the event that follows the one of this number and hash."""
        seq, digest = before[0] + 1, payload.digest()
        found = chained(before[1], seq, kind.value, at, actor, digest)
        return cls(seq, kind.value, at, actor, payload.packed(), digest, found)

    def check(self, before: tuple[int, bytes]) -> Payload:
        """Return the payload; an event that does not follow, or is not what was written, is refused."""
        found = chained(before[1], self.seq, self.kind, self.at, self.actor, self.digest)
        if self.seq != before[0] + 1 or found != self.hash:
            text = f"The log is damaged at event {self.seq}: it does not follow from the one before."
            raise DamagedError(f"{text} Restore a backup.")
        return self.opened()

    def opened(self) -> Payload:
        """Return the payload, checked against its digest."""
        payload = Payload.unpacked(self.payload)
        if payload.digest() != self.digest:
            text = f"The log is damaged at event {self.seq}: its content is not what was written."
            raise DamagedError(f"{text} Restore a backup.")
        return payload


def chained(before: bytes, seq: int, kind: str, at: int, actor: str, digest: bytes) -> bytes:
    """Return the hash of an event."""
    numbers = struct.pack("<qq", seq, at)
    words = encode([kind, actor])
    return hashlib.blake2b(before + numbers + words + digest, digest_size=SIZE).digest()


def _digest(part: bytes) -> bytes:
    return hashlib.blake2b(part, digest_size=SIZE).digest()
