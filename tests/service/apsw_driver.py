"""As much of a DBAPI driver over apsw as SQLAlchemy's dialect for SQLite needs."""

from contextlib import suppress

import apsw

apilevel, paramstyle, threadsafety = "2.0", "qmark", 1
sqlite_version = apsw.sqlite_lib_version()
sqlite_version_info = tuple(map(int, sqlite_version.split(".")))
PARSE_DECLTYPES = PARSE_COLNAMES = 0
Binary = bytes


class Error(Exception):
    pass


class DatabaseError(Error):
    pass


class OperationalError(DatabaseError):
    pass


class IntegrityError(DatabaseError):
    pass


InterfaceError = ProgrammingError = NotSupportedError = InternalError = DataError = DatabaseError


def on(vfs):
    """Return the driver for a file system of this name."""
    return type("driver", (), {**globals(), "connect": staticmethod(lambda path, **_: Connection(path, vfs))})


def translated(call, *given):
    """Return what comes of a call, with errors of this driver."""
    try:
        return call(*given)
    except apsw.ConstraintError as error:
        raise IntegrityError(str(error)) from None
    except apsw.Error as error:
        raise OperationalError(str(error)) from None


class Connection:
    isolation_level = None

    def __init__(self, path, vfs):
        self._found = translated(lambda: apsw.Connection(path, vfs=vfs))

    def cursor(self):
        return Cursor(self._found)

    def execute(self, statement, parameters=()):
        return self.cursor().execute(statement, parameters)

    def create_function(self, name, count, function, **settings):
        self._found.create_scalar_function(name, function, count)

    def commit(self):
        if self._found.in_transaction:
            self.execute("COMMIT")

    def rollback(self):
        if self._found.in_transaction:
            self.execute("ROLLBACK")

    def close(self):
        with suppress(apsw.Error):  # without power there is nothing to be closed
            self._found.close(True)


class Cursor:
    arraysize, lastrowid = 1, None

    def __init__(self, connection):
        self._connection, self._rows, self.description, self.rowcount = connection, iter(()), None, -1

    def execute(self, statement, parameters=()):
        cursor = self._connection.cursor()
        cursor.exec_trace = self._describe  # later on a query without rows has no columns any more
        self._rows = iter(translated(lambda: list(cursor.execute(statement, tuple(parameters)))))
        self.rowcount = self._connection.changes()
        return self

    def _describe(self, cursor, statement, parameters):
        self.description = [(name, *[None] * 6) for name, *_ in cursor.get_description()] or None
        return True

    def executemany(self, statement, many):
        cursor = self._connection.cursor()
        translated(lambda: cursor.executemany(statement, list(map(tuple, many))))
        self.description = None

    def fetchone(self):
        return next(self._rows, None)

    def fetchall(self):
        return list(self._rows)

    def fetchmany(self, size=1):
        return [row for row, _ in zip(self._rows, range(size), strict=False)]

    def close(self):
        self._rows = iter(())
