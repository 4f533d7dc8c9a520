"""Which files a table is in: one, those of a folder or a pattern in order, or what standard input brought."""

from __future__ import annotations

import glob
import os
import re
import shutil
import sys
import tempfile
from functools import cache
from pathlib import Path

from qufur.errors import invalid

STANDARD_INPUT = Path("-")
_MAGIC = {
    b"\x1f\x8b": ".csv.gz",
    b"\x28\xb5\x2f\xfd": ".csv.zst",
    b"PAR1": ".parquet",
    b"\x93NUMPY": ".npy",
    b"PK\x03\x04": ".xlsx",
    b"{": ".jsonl",
}


def files_at(path: str | os.PathLike[str]) -> list[Path]:
    """Return the files of a table, in order; of a file that is not there, its name.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     for week in (10, 9):
    ...         Path(folder, f"week{week}.csv").touch()
    ...     [file.name for file in files_at(Path(folder, "week*.csv"))]
    ['week9.csv', 'week10.csv']
    """
    path = Path(path)
    if path == STANDARD_INPUT:
        return [_spooled()]
    if path.is_dir():
        found = list(path.rglob("*.parquet"))
        if not found:
            raise invalid("path", "qufur", "an existing file, or a folder of .parquet files", repr(str(path)))
    elif not path.exists() and glob.has_magic(str(path)):
        found = [Path(name) for name in glob.glob(str(path), recursive=True)]
        if not found:
            allowed = "a file, or a pattern of files that exist"
            raise invalid("path", "qufur", allowed, repr(str(path)), "Check its folder and spelling.")
    else:
        return [path]
    return sorted(found, key=natural)


def natural(path: str | os.PathLike[str]) -> list[tuple[str, int]]:
    """Return what to sort by so that 9 comes before 10."""
    parts = re.split(r"([0-9]+)", os.fspath(path))
    return [(word, int(number or 0)) for word, number in zip(parts[::2], [*parts[1::2], "0"], strict=True)]


@cache
def _spooled() -> Path:
    """Return a file with what standard input brings, since tables are read twice; gone at the end."""
    folder = tempfile.TemporaryDirectory(prefix="qufur-")
    _KEPT.append(folder)
    start = sys.stdin.buffer.read(64)
    ending = next((_MAGIC[magic] for magic in _MAGIC if start.startswith(magic)), ".csv")
    if ending == ".xlsx" and b".npy" in start:
        ending = ".npz"
    path = Path(folder.name, f"standard-input{ending}")
    with path.open("wb") as file:
        file.write(start)
        shutil.copyfileobj(sys.stdin.buffer, file)
    return path


_KEPT: list[tempfile.TemporaryDirectory[str]] = []
