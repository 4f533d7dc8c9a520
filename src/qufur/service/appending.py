"""How the log grows: in the driver's own words, as SQLAlchemy takes longer over it than the database."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Engine, PoolProxiedConnection, Table, insert
from sqlalchemy.sql.compiler import SQLCompiler

from qufur.service.opening import check_epoch, query_of_epoch

Values = tuple[Any, ...]
"""Of one row, in the order of the table's columns."""


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
        self._inserts: dict[str, SQLCompiler] = {}
        self._is_sqlite = engine.dialect.name == "sqlite"
        self._connection: PoolProxiedConnection | None = None

    def append(self, writes: Sequence[tuple[Table, Sequence[Values]]]) -> None:
        """Insert rows into tables, all of them or none."""
        connection = self._connection or self._engine.raw_connection()
        self._connection = None
        try:
            self._write(connection, writes)
        except BaseException:
            connection.close()
            raise
        self._connection = connection

    def _write(
        self, connection: PoolProxiedConnection, writes: Sequence[tuple[Table, Sequence[Values]]]
    ) -> None:
        cursor = connection.cursor()
        if self._is_sqlite:
            cursor.execute("BEGIN IMMEDIATE")
        cursor.execute(query_of_epoch(self._engine))
        check_epoch(cursor.fetchone(), self._epoch)
        for table, rows in writes:
            if rows:
                self._insert(cursor, table, rows)
        cursor.close()
        connection.commit()

    def _insert(self, cursor: Any, table: Table, rows: Sequence[Values]) -> None:
        if table.name not in self._inserts:
            self._inserts[table.name] = insert(table).compile(dialect=self._engine.dialect)
        statement = self._inserts[table.name]
        if statement.positional:
            cursor.executemany(str(statement), rows)
        else:
            names = [column.name for column in table.columns]
            cursor.executemany(str(statement), [dict(zip(names, row, strict=True)) for row in rows])

    def close(self) -> None:
        """Let go of the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
