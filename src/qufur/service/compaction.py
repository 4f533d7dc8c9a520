"""A store without what was deleted from it."""

from __future__ import annotations

from contextlib import closing
from typing import Any

from sqlalchemy import text

from qufur.service.store import Store, StoreError


def compact(store: Store) -> None:
    """Let no file have in it what was deleted, O(size of the store); PostgreSQL may keep a log of its own."""
    if store.engine.dialect.name != "sqlite":
        with store.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.execute(text("VACUUM (FULL, ANALYZE) events, examples, snapshots"))
        return
    with closing(store.engine.raw_connection()) as connection:
        # At the driver: VACUUM is refused in a transaction, and SQLAlchemy begins one by itself.
        raw: Any = connection.driver_connection
        try:
            raw.execute("VACUUM")
            is_complete = store.checkpoint("TRUNCATE")
        except store.engine.dialect.loaded_dbapi.Error as error:
            raise StoreError(f"The file of the store could not be written anew: {error}.") from None
    if not is_complete:
        raise StoreError("The file of the store could not be written anew: somebody reads it.")
