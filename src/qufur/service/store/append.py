"""Inserts into the event log at driver level: SQLAlchemy takes longer over an insert than the database."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from sqlalchemy import Engine, PoolProxiedConnection, Table, insert

from qufur.service.store import schema
from qufur.service.store.fencing import check_epoch, epoch_query

Values = tuple[Any, ...]
"""Values of one row, in the order of the table's columns."""
INSERT_EXAMPLES = {
    "sqlite": "INSERT INTO examples (stream, seq, id) SELECT ?, ?, value FROM json_each(?)",
    "postgresql": "INSERT INTO examples (stream, seq, id) SELECT %s::int, %s::bigint, unnest(%s::text[])",
}
"""One statement for all ids of an event: the driver hands over the GIL at each, which takes longer."""


class Appender:
    """Writer of transactions over one open connection. A connection that failed is closed and replaced.

    Parameters
    ----------
    engine
        Engine of the store.
    epoch
        Epoch in which this process may write.
    """

    def __init__(self, engine: Engine, epoch: int) -> None:
        self._engine, self._epoch = engine, epoch
        self._inserts = {
            table: insert(table).compile(dialect=engine.dialect) for table in (schema.streams, schema.events)
        }
        self._is_sqlite = engine.dialect.name == "sqlite"
        self._connection: PoolProxiedConnection | None = None

    def append(
        self,
        streams: Sequence[Values],
        events: Sequence[Values],
        examples: Sequence[tuple[int, int, Sequence[str]]],
    ) -> None:
        """Insert all rows or none; `examples` holds the stream, event number and ids of each event."""
        connection = self._connection or self._engine.raw_connection()
        self._connection = None
        try:
            cursor = connection.cursor()
            if self._is_sqlite:
                cursor.execute("BEGIN IMMEDIATE")
            cursor.execute(epoch_query(self._engine))
            check_epoch(cursor.fetchone(), self._epoch)
            self._insert(cursor, schema.streams, streams)
            self._insert(cursor, schema.events, events)
            self._insert_examples(cursor, examples)
            cursor.close()
            connection.commit()
        except BaseException:
            connection.close()
            raise
        self._connection = connection

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _insert(self, cursor: Any, table: Table, rows: Sequence[Values]) -> None:
        statement = self._inserts[table]
        if not rows:
            return
        if statement.positional:
            cursor.executemany(str(statement), rows)
        else:
            names = [column.name for column in table.columns]
            cursor.executemany(str(statement), [dict(zip(names, row, strict=True)) for row in rows])

    def _insert_examples(self, cursor: Any, examples: Sequence[tuple[int, int, Sequence[str]]]) -> None:
        statement = INSERT_EXAMPLES[self._engine.dialect.name]
        for stream, seq, ids in examples:
            id_list = msgspec.json.encode(ids).decode() if self._is_sqlite else ids
            cursor.execute(statement, (stream, seq, id_list))
