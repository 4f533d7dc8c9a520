"""A copy of a store, of which it is known that it can be gone on with."""

from __future__ import annotations

import os
from pathlib import Path

from qufur.errors import invalid
from qufur.service.store import Store
from qufur.service.verification import Verified, verify


def backup(store: Store, file: Path) -> list[Verified]:
    """Copy a store on SQLite to a new file while others write to it, verified before it has its name."""
    beside = file.with_name(f"{file.name}.part")
    if not file.parent.is_dir():
        raise invalid("FILE", "qufur backup", "in a folder that exists", repr(str(file)))
    try:
        store.backup(str(beside))
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
