"""The lines of a text file, packed or not."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Generator
from pathlib import Path
from typing import IO, Any

from qufur.errors import invalid, missing_extra
from qufur.tables.batch import shown
from qufur.tables.formats.base import unreadable

_SAVE = "Save it as UTF-8: in Excel as 'CSV UTF-8', elsewhere with iconv -f cp1252 -t utf-8."


def lines(path: Path) -> Generator[str, None, None]:
    """Yield the lines of a UTF-8 file, with their ends."""
    try:
        with open_file(path, "rt", encoding="utf-8-sig", newline="") as file:
            yield from file
    except UnicodeDecodeError:
        raise invalid("text", path.name, "UTF-8", _first_odd(path), _SAVE) from None
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise unreadable(path, "gzip", error) from None
    except Exception as error:
        if type(error).__name__ != "ZstdError":  # of a package that may not be there
            raise
        raise unreadable(path, "zstd", error) from None


def open_file(path: Path, mode: str, **options: Any) -> IO[Any]:
    """Open a file that may be packed, as its ending says."""
    packed = path.suffix.lower()
    opener: Any = gzip.open if packed == ".gz" else zstandard().open if packed == ".zst" else open
    file: IO[Any] = opener(path, mode, **options)
    return file


def zstandard() -> Any:
    """Return the package, or say what to install."""
    try:
        import zstandard
    except ImportError:
        raise missing_extra("zstandard", "zstd", "a .zst file") from None
    return zstandard


def _first_odd(path: Path) -> str:
    """Return where bytes are odd, and what they would be in the usual other encodings."""
    with open_file(path, "rb") as file:
        number, line = next((number, line) for number, line in enumerate(file, 1) if not _decodes(line))
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
