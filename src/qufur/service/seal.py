"""A digest of what is in a store beside the log: its facts and its keys."""

from __future__ import annotations

import hashlib

from sqlalchemy import Connection, delete, insert, select

from qufur.service import tables
from qufur.service.events import SIZE, DamagedError, encode

SEAL = "seal"


def seal(connection: Connection) -> None:
    """Take note of the facts and keys as they are now; with every change of them."""
    facts = tables.facts
    # Whoever seals at the same time waits here, and then sees this change.
    connection.execute(select(facts.c.value).where(facts.c.name == SEAL).with_for_update()).all()
    found = _digest(connection)
    connection.execute(delete(facts).where(facts.c.name == SEAL))
    connection.execute(insert(facts), {"name": SEAL, "value": found})


def check_seal(connection: Connection) -> None:
    """Refuse facts and keys that are not what was written."""
    stated = connection.execute(select(tables.facts.c.value).where(tables.facts.c.name == SEAL)).scalar()
    if stated != _digest(connection):
        raise DamagedError(
            "The store is damaged: its facts or keys are not what was written. Restore a backup."
        )


def is_unsealed(connection: Connection) -> bool:
    """Return whether nothing was ever written to a store."""
    found = (connection.execute(select(table).limit(1)).first() for table in tables.metadata.sorted_tables)
    return all(row is None for row in found)


def _digest(connection: Connection) -> str:
    facts, keys = tables.facts, tables.keys
    rows = [
        *connection.execute(select(facts).where(facts.c.name != SEAL).order_by(facts.c.name)),
        *connection.execute(select(keys).order_by(keys.c.id)),
    ]
    return hashlib.blake2b(encode([list(row) for row in rows]), digest_size=SIZE).hexdigest()
