"""Files packed with zstd, which the standard library has only from Python 3.14 on."""

from __future__ import annotations

import io
from pathlib import Path
from typing import IO, Any

from qufur.errors import missing_extra

_PART = 2**17


def zstandard() -> Any:
    """Return the package, or say what to install."""
    try:
        import zstandard
    except ImportError:
        raise missing_extra("zstandard", "zstd", "a .zst file") from None
    return zstandard


def open_zstd(path: Path, mode: str, **options: Any) -> IO[Any]:
    """Open a file to read its bytes, "rb", or its text, "rt"."""
    raw = io.BufferedReader(_Unpacked(path), _PART)
    return io.TextIOWrapper(raw, **options) if mode == "rt" else raw


class _Unpacked(io.RawIOBase):
    """The bytes of a file; the reader of the package takes one that was cut for a shorter one."""

    def __init__(self, path: Path) -> None:
        self._unpack = zstandard().ZstdDecompressor()
        self._frame: Any = None
        self._rest = b""
        self._file = path.open("rb")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._rest and self._fill():
            pass
        part, self._rest = self._rest[: len(buffer)], self._rest[len(buffer) :]
        buffer[: len(part)] = part
        return len(part)

    def close(self) -> None:
        self._file.close()
        super().close()

    def _fill(self) -> bool:
        """Unpack some more, of one frame or the next; return whether there was any."""
        packed = self._frame.unused_data if self._frame and self._frame.eof else b""
        packed = packed or self._file.read(_PART)
        if not packed:
            if self._frame and not self._frame.eof:
                raise EOFError("it ends too early")
            return False
        if self._frame is None or self._frame.eof:
            self._frame = self._unpack.decompressobj()
        self._rest = self._frame.decompress(packed)
        return True
