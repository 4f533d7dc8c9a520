"""How the log grows: in the driver's own words, as SQLAlchemy takes longer over it than the database."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from sqlalchemy import Engine, PoolProxiedConnection, Table, insert

from qufur.service import tables
from qufur.service.opening import check_epoch, query_of_epoch

Values = tuple[Any, ...]
"""Of one row, in the order of the table's columns."""
EXAMPLES = {
    "sqlite": "INSERT INTO examples (stream, seq, id) SELECT ?, ?, value FROM json_each(?)",
    "postgresql": "INSERT INTO examples (stream, seq, id) SELECT %s::int, %s::bigint, unnest(%s::text[])",
}
"""All ids of an event in one statement: the driver hands the interpreter over at each, which takes longer."""


class Appender:
    """Writes transactions over a connection that stays open; one that failed is not used again.

    Parameters
    ----------
    engine
        That of the store.
    epoch
        In which this process may write.
    """

    def __init__(self, engine: Engine, epoch: int) -> None:
        self._engine, self._epoch = engine, epoch
        self._inserts = {
            table: insert(table).compile(dialect=engine.dialect) for table in (tables.streams, tables.events)
        }
        self._is_sqlite = engine.dialect.name == "sqlite"
        self._connection: PoolProxiedConnection | None = None

    def append(
        self,
        streams: Sequence[Values],
        events: Sequence[Values],
        examples: Sequence[tuple[int, int, Sequence[str]]],
    ) -> None:
        """Insert rows, all of them or none; examples are those of an event: the stream, its number, ids."""
        connection = self._connection or self._engine.raw_connection()
        self._connection = None
        try:
            cursor = connection.cursor()
            self._begin(cursor)
            self._insert(cursor, tables.streams, streams)
            self._insert(cursor, tables.events, events)
            self._insert_examples(cursor, examples)
            cursor.close()
            connection.commit()
        except BaseException:
            connection.close()
            raise
        self._connection = connection

    def _begin(self, cursor: Any) -> None:
        if self._is_sqlite:
            cursor.execute("BEGIN IMMEDIATE")
        cursor.execute(query_of_epoch(self._engine))
        check_epoch(cursor.fetchone(), self._epoch)

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
        statement = EXAMPLES[self._engine.dialect.name]
        for stream, seq, ids in examples:
            together = msgspec.json.encode(ids).decode() if self._is_sqlite else ids
            cursor.execute(statement, (stream, seq, together))

    def close(self) -> None:
        """Let go of the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
