"""Objects through a pipe between two processes of ours, their arrays as they lie in memory."""

from __future__ import annotations

import io
import pickle
import struct
from collections.abc import Sequence
from typing import Any, BinaryIO

Frame = Sequence[bytearray]
"""A pickled object, and then its arrays."""


def write(out: BinaryIO, value: Any) -> None:
    """Write an object; nothing of its arrays is copied, and other threads go on."""
    buffers: list[pickle.PickleBuffer] = []
    pickled = pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
    parts = [memoryview(pickled), *(buffer.raw() for buffer in buffers)]
    out.write(struct.pack(f"<{1 + len(parts)}Q", len(parts), *map(len, parts)))
    for part in parts:
        out.write(part)
    out.flush()


def read(source: BinaryIO) -> Frame:
    """Return what the next object is made of; EOFError says that the other process has gone."""
    (count,) = struct.unpack("<Q", _exactly(source, 8))
    sizes = struct.unpack(f"<{count}Q", _exactly(source, 8 * count))
    return [_exactly(source, size) for size in sizes]


def opened(frame: Frame) -> Any:
    """Return the object; other threads have their turn meanwhile.

    So it is opened in Python: the compiled way would keep them off for as long as a forest takes.
    """
    return pickle._Unpickler(io.BytesIO(frame[0]), buffers=frame[1:]).load()


def _exactly(source: BinaryIO, size: int) -> bytearray:
    buffer = bytearray(size)
    if source.readinto(buffer) < size:  # type: ignore[attr-defined]
        raise EOFError
    return buffer
