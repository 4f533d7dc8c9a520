"""Whether SQLite's write-ahead log is what was written.

SQLite takes a damaged frame for the end of the log, as if it had been on its way when power was cut, and
forgets all that follows without a word. Here the two are told apart: no other transaction follows on one that
was cut off. Damage to the last one is seen by what is noted beside the store.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from qufur.service.events import DamagedError

HEADER, FRAME = 32, 24
MAGIC = {0x377F0682: "<u4", 0x377F0683: ">u4"}
"""How words are read for checksums."""
DAMAGED = "The store is damaged: its write-ahead log is not what was written. Restore a backup."

Words = np.ndarray[tuple[int], np.dtype[np.uint32]]
Sum = tuple[int, int]


class Frame(NamedTuple):
    """A page in the log.

    Attributes
    ----------
    salt, before, stated
        The salt that it carries, the checksum that the frame before it carries, and its own.
    commits
        Whether it ends a transaction.
    """

    salt: bytes
    before: Sum
    stated: Sum
    words: Words
    commits: bool


def check_wal(file: str) -> None:
    """Refuse a store whose log was damaged; nobody may be writing to it."""
    path = f"{file}-wal"
    if not os.path.exists(path):
        return
    with open(path, "rb") as opened:
        content = opened.read()
    if len(content) < HEADER or not any(content[:HEADER]):
        return
    magic, _, size, _ = struct.unpack(">4I", content[:16])
    stated: Sum = struct.unpack(">2I", content[24:HEADER])
    order = MAGIC.get(magic)
    if order is None or _sum(_weights(24), np.frombuffer(content[:24], order), (0, 0)) != stated:
        raise DamagedError(DAMAGED)
    _check_frames(content[16:24], list(_frames(content, size, order, stated)), _weights(8 + size))


def _frames(content: bytes, size: int, order: str, before: Sum) -> Iterator[Frame]:
    for start in range(HEADER, len(content) - FRAME - size + 1, FRAME + size):
        head, page = content[start : start + FRAME], content[start + FRAME : start + FRAME + size]
        _, pages, _, _, *stated = struct.unpack(">6I", head)
        words = np.frombuffer(head[:8] + page, order).astype(np.uint32)
        yield Frame(head[8:16], before, (stated[0], stated[1]), words, pages > 0)
        before = stated[0], stated[1]


def _check_frames(salt: bytes, frames: list[Frame], weights: tuple[Words, Words]) -> None:
    sound = [one.salt == salt and _sum(weights, one.words, one.before) == one.stated for one in frames]
    end = sound.index(False) if False in sound else len(frames)
    # Only the last transaction can have been cut off: no other follows on it.
    for place in range(end + 1, len(frames)):
        if sound[place] and sound[place - 1] and frames[place - 1].commits:
            raise DamagedError(DAMAGED)


def _weights(size: int) -> tuple[Words, Words]:
    """Return by how much each word of a part of this size counts in the two sums: Fibonacci's numbers."""
    found = [0, 1]
    for _ in range(size // 4 - 1):
        found.append((found[-1] + found[-2]) % 2**32)
    backwards = np.array(found[::-1], dtype=np.uint32)
    return backwards[1:], backwards[:-1]


def _sum(weights: tuple[Words, Words], words: Words, before: Sum) -> Sum:
    """Return SQLite's checksum of words, which goes on from that before it."""
    given = words.astype(np.uint32)
    # It starts at the sum before, as if that were added to the first two words.
    given[:2] += np.array([sum(before) % 2**32, before[1]], dtype=np.uint32)
    return int((weights[0] * given).sum(dtype=np.uint32)), int((weights[1] * given).sum(dtype=np.uint32))
