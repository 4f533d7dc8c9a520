"""Text files with gzip or zstd compression, and errors about their encoding.

The standard library supports zstd only from Python 3.14, so the package `zstandard` is used.
"""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Generator
from pathlib import Path
from typing import IO, Any

from qufur.errors import import_extra, invalid
from qufur.tables.batch import shown
from qufur.tables.formats.base import unreadable

_CHUNK_BYTES = 2**17
_SAVE = "Save it as UTF-8: in Excel as 'CSV UTF-8', elsewhere with iconv -f cp1252 -t utf-8."


def zstandard() -> Any:
    """Return the package `zstandard`, or raise an error that names the extra to install."""
    return import_extra("zstandard", "zstd", "a .zst file")


class _ZstdReader(io.RawIOBase):
    """Decompressed bytes of a file; raises EOFError if the file is truncated.

    The reader of `zstandard` would return the bytes of a truncated file without an error.
    """

    def __init__(self, path: Path) -> None:
        self._chunks, self._rest = _unpacked(path), b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self._rest = self._rest or next(filter(None, self._chunks), b"")
        chunk, self._rest = self._rest[: len(buffer)], self._rest[len(buffer) :]
        buffer[: len(chunk)] = chunk
        return len(chunk)

    def close(self) -> None:
        self._chunks.close()
        super().close()


def _unpacked(path: Path) -> Generator[bytes, None, None]:
    """Yield the decompressed chunks of a file, which has one frame or several."""
    unpack, frame = zstandard().ZstdDecompressor(), None
    with path.open("rb") as file:
        while packed := (frame.unused_data if frame and frame.eof else b"") or file.read(_CHUNK_BYTES):
            frame = unpack.decompressobj() if frame is None or frame.eof else frame
            yield frame.decompress(packed)
    if frame and not frame.eof:
        raise EOFError("it ends too early")


def lines(path: Path) -> Generator[str, None, None]:
    """Yield the lines of a UTF-8 file, with their ends; raise InvalidError for other or damaged files."""
    try:
        with open_file(path, "rt", encoding="utf-8-sig", newline="") as file:
            yield from file
    except Exception as error:
        raise _reading_error(path, error) from None


def _reading_error(path: Path, error: Exception) -> Exception:
    """Return the error to raise for an exception during reading."""
    if isinstance(error, UnicodeDecodeError):
        try:
            return invalid("text", path.name, "UTF-8", _first_undecodable(path), _SAVE)
        except Exception as later_error:  # the file may also be damaged after that line
            return _reading_error(path, later_error)
    # `zstandard` may not be installed, so its exception is recognised by name.
    if isinstance(error, gzip.BadGzipFile | EOFError | zlib.error) or type(error).__name__ == "ZstdError":
        return unreadable(path, "zstd" if path.suffix.lower() == ".zst" else "gzip", error)
    return error


def open_file(path: Path, mode: str, **options: Any) -> IO[Any]:
    """Open a file that may be compressed, as its suffix says, to read its bytes, "rb", or its text, "rt"."""
    suffix = path.suffix.lower()
    if suffix == ".zst":
        raw = io.BufferedReader(_ZstdReader(path), _CHUNK_BYTES)
        return io.TextIOWrapper(raw, **options) if mode == "rt" else raw
    opener: Any = gzip.open if suffix == ".gz" else open
    file: IO[Any] = opener(path, mode, **options)
    return file


def _first_undecodable(path: Path) -> str:
    """Describe the first line that is not UTF-8, and how Windows-1252 would decode it."""
    with open_file(path, "rb") as file:
        numbered = enumerate(file, 1)
        number, line = next(pair for pair in numbered if pair[1].decode(errors="ignore").encode() != pair[1])
    if b"\0" in line:
        return f"other bytes in line {number}, which look like UTF-16"
    word = next((word for word in line.decode("cp1252", "replace").split() if not word.isascii()), "")
    return f"other bytes in line {number}, {shown(word)} in Windows-1252"
