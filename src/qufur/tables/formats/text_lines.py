"""The lines of a text file, packed or not."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Generator
from pathlib import Path
from typing import IO, Any

from qufur.errors import invalid
from qufur.tables.batch import shown
from qufur.tables.formats.base import unreadable
from qufur.tables.formats.zstd import open_zstd

_SAVE = "Save it as UTF-8: in Excel as 'CSV UTF-8', elsewhere with iconv -f cp1252 -t utf-8."


def lines(path: Path) -> Generator[str, None, None]:
    """Yield the lines of a UTF-8 file, with their ends."""
    try:
        with open_file(path, "rt", encoding="utf-8-sig", newline="") as file:
            yield from file
    except Exception as error:
        raise _refused(path, error) from None


def _refused(path: Path, error: Exception) -> Exception:
    """Return the complaint for what came up while a file was read."""
    if isinstance(error, UnicodeDecodeError):
        try:
            return invalid("text", path.name, "UTF-8", _first_odd(path), _SAVE)
        except Exception as worse:  # a file can be damaged further on
            return _refused(path, worse)
    # That of zstd is of a package that may not be there.
    if isinstance(error, gzip.BadGzipFile | EOFError | zlib.error) or type(error).__name__ == "ZstdError":
        return unreadable(path, "zstd" if path.suffix.lower() == ".zst" else "gzip", error)
    return error


def open_file(path: Path, mode: str, **options: Any) -> IO[Any]:
    """Open a file that may be packed, as its ending says."""
    packed = path.suffix.lower()
    opener: Any = gzip.open if packed == ".gz" else open_zstd if packed == ".zst" else open
    file: IO[Any] = opener(path, mode, **options)
    return file


def _first_odd(path: Path) -> str:
    """Return where bytes are odd, and what they would be in the usual other encodings."""
    with open_file(path, "rb") as file:
        odd = ((number, line) for number, line in enumerate(file, 1) if not _decodes(line))
        number, line = next(odd)
    if b"\0" in line:
        return f"other bytes in line {number}, which look like UTF-16"
    word = next((word for word in line.decode("cp1252", "replace").split() if not word.isascii()), "")
    return f"other bytes in line {number}, {shown(word)} in Windows-1252"


def _decodes(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True
