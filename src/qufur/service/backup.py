"""Verified backup of a SQLite store."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from qufur.errors import invalid
from qufur.service.store import Store
from qufur.service.verification import Verified, verify


def backup(store: Store, file: Path) -> list[Verified]:
    """Copy a SQLite store to a new file, also while a server writes, and verify it before renaming it."""
    if store.engine.dialect.name != "sqlite":
        remedy = "Use pg_dump."
        raise invalid("store", "qufur backup", "on SQLite", "one on PostgreSQL", remedy)
    part = file.with_name(f"{file.name}.part")
    if not file.parent.is_dir():
        raise invalid("FILE", "qufur backup", "in a folder that exists", repr(str(file)))
    try:
        with closing(store.engine.raw_connection()) as source, closing(sqlite3.connect(part)) as target:
            raw: Any = source.driver_connection
            raw.backup(target)
        with closing(Store(f"sqlite:///{part}", writing=False)) as copy:
            checked = verify(copy)
        with part.open("rb") as written:
            os.fsync(written.fileno())
        part.rename(file)
    finally:
        for path in (part, *(Path(f"{part}-{end}") for end in ("wal", "shm", "journal"))):
            path.unlink(missing_ok=True)
    return checked
