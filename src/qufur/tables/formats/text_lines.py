"""The lines of a text file, gzipped or not."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Generator
from pathlib import Path
from typing import IO, Any

from qufur.errors import invalid
from qufur.tables.formats.base import unreadable


def lines(path: Path) -> Generator[str, None, None]:
    """Yield the lines of a UTF-8 file, with their ends."""
    try:
        with _open(path, "rt", encoding="utf-8-sig", newline="") as file:
            yield from file
    except UnicodeDecodeError:
        remedy = "Save it as UTF-8."
        raise invalid("text", path.name, "UTF-8", f"other bytes in line {_first_odd(path)}", remedy) from None
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise unreadable(path, "gzip", error) from None


def _open(path: Path, mode: str, **options: Any) -> IO[Any]:
    opener: Any = gzip.open if path.suffix.lower() == ".gz" else open
    file: IO[Any] = opener(path, mode, **options)
    return file


def _first_odd(path: Path) -> int:
    with _open(path, "rb") as file:
        return next(number for number, line in enumerate(file, 1) if not _decodes(line))


def _decodes(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True
