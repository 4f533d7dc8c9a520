"""The tables of a store, on SQLite and PostgreSQL alike."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Integer, LargeBinary, MetaData, Table, Text, UniqueConstraint

VERSION = 1

metadata = MetaData()

facts = Table(
    "facts",
    metadata,
    Column("name", Text, primary_key=True),
    Column("value", Text, nullable=False),
)
"""The version of the tables, the epoch of who may write, and the secret that keys are stored under."""

streams = Table(
    "streams",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", Text, nullable=False),
    UniqueConstraint("name"),
)
DELETED = "deleted:"
"""Begins the name of a deleted stream, followed by its number. No name of a stream has a colon."""

events = Table(
    "events",
    metadata,
    Column("stream", Integer, primary_key=True, autoincrement=False),
    Column("seq", BigInteger, primary_key=True, autoincrement=False),
    Column("kind", Text, nullable=False),
    Column("at", BigInteger, nullable=False),
    Column("actor", Text, nullable=False),
    Column("payload", LargeBinary, nullable=False),
    Column("digest", LargeBinary, nullable=False),
    Column("hash", LargeBinary, nullable=False),
)
"""The log: everything else follows from it, but for the keys."""

examples = Table(
    "examples",
    metadata,
    Column("stream", Integer, primary_key=True, autoincrement=False),
    Column("id", Text, primary_key=True),
    Column("seq", BigInteger, nullable=False),
    sqlite_with_rowid=False,
)
"""Which event an example came with."""

snapshots = Table(
    "snapshots",
    metadata,
    Column("stream", Integer, primary_key=True, autoincrement=False),
    Column("seq", BigInteger, primary_key=True, autoincrement=False),
    Column("hash", LargeBinary, nullable=False),
    Column("body", LargeBinary, nullable=False),
)
"""Streams as they were after an event: caches, which can be thrown away."""

keys = Table(
    "keys",
    metadata,
    Column("id", Text, primary_key=True),
    Column("name", Text, nullable=False),
    Column("mac", LargeBinary, nullable=False),
    Column("scopes", Text, nullable=False),
    Column("stream", Text),
    Column("created", BigInteger, nullable=False),
    Column("revoked", BigInteger),
)
