"""A copy of a store, of which it is known that it can be gone on with."""

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
    """Copy a store on SQLite to a new file while others write to it, verified before it has its name."""
    if store.engine.dialect.name != "sqlite":
        remedy = "pg_dump makes a copy of it."
        raise invalid("store", "qufur backup", "on SQLite", "one on PostgreSQL", remedy)
    beside = file.with_name(f"{file.name}.part")
    if not file.parent.is_dir():
        raise invalid("FILE", "qufur backup", "in a folder that exists", repr(str(file)))
    try:
        _copy(store, beside)
        copy = Store(f"sqlite:///{beside}", writing=False)
        try:
            checked = verify(copy)
        finally:
            copy.close()
        with beside.open("rb") as written:
            os.fsync(written.fileno())
        beside.rename(file)
    finally:
        for left in (beside, *(Path(f"{beside}-{end}") for end in ("wal", "shm", "journal"))):
            left.unlink(missing_ok=True)
    return checked


def _copy(store: Store, file: Path) -> None:
    with closing(store.engine.raw_connection()) as connection, closing(sqlite3.connect(file)) as copy:
        raw: Any = connection.driver_connection
        raw.backup(copy)
