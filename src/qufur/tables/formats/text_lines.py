"""The lines of a text file, packed or not."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Generator
from pathlib import Path
from typing import IO, Any

from qufur.errors import invalid, missing_extra
from qufur.tables.formats.base import unreadable


def lines(path: Path) -> Generator[str, None, None]:
    """Yield the lines of a UTF-8 file, with their ends."""
    try:
        with open_file(path, "rt", encoding="utf-8-sig", newline="") as file:
            yield from file
    except UnicodeDecodeError:
        remedy = "Save it as UTF-8."
        raise invalid("text", path.name, "UTF-8", f"other bytes in line {_first_odd(path)}", remedy) from None
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


def _first_odd(path: Path) -> int:
    with open_file(path, "rb") as file:
        return next(number for number, line in enumerate(file, 1) if not _decodes(line))


def _decodes(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True
