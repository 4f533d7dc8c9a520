"""Tables of a store, the same on SQLite and PostgreSQL."""

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
"""Version of the tables, epoch of the writing process, secret of the stored keys, checksum."""

streams = Table(
    "streams",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", Text, nullable=False),
    UniqueConstraint("name"),
)
DELETED = "deleted:"
"""Prefix of the name of a deleted stream, before its number. No name of a stream has a colon."""

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
"""Event log: every other table except the keys can be rebuilt from it."""

examples = Table(
    "examples",
    metadata,
    Column("stream", Integer, primary_key=True, autoincrement=False),
    Column("id", Text, primary_key=True),
    Column("seq", BigInteger, nullable=False),
    sqlite_with_rowid=False,
)
"""Index: the event of each example."""

snapshots = Table(
    "snapshots",
    metadata,
    Column("stream", Integer, primary_key=True, autoincrement=False),
    Column("seq", BigInteger, primary_key=True, autoincrement=False),
    Column("hash", LargeBinary, nullable=False),
    Column("body", LargeBinary, nullable=False),
)
"""States of streams after an event: caches, which can be discarded."""

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
