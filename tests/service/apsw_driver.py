"""DBAPI driver over apsw, with the parts that SQLAlchemy's SQLite dialect uses."""

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
    """Return the driver for the virtual file system with this name."""
    return type("driver", (), {**globals(), "connect": staticmethod(lambda path, **_: Connection(path, vfs))})


def translated(call):
    """Call a function and translate apsw's exceptions to those of this driver."""
    try:
        return call()
    except apsw.ConstraintError as error:
        raise IntegrityError(str(error)) from None
    except apsw.Error as error:
        raise OperationalError(str(error)) from None


class Connection:
    isolation_level = None

    def __init__(self, path, vfs):
        self._connection = translated(lambda: apsw.Connection(path, vfs=vfs))

    def cursor(self):
        return Cursor(self._connection)

    def execute(self, statement, parameters=()):
        return self.cursor().execute(statement, parameters)

    def create_function(self, name, count, function, **settings):
        self._connection.create_scalar_function(name, function, count)

    def commit(self):
        if self._connection.in_transaction:
            self.execute("COMMIT")

    def rollback(self):
        if self._connection.in_transaction:
            self.execute("ROLLBACK")

    def close(self):
        with suppress(apsw.Error):  # after a power cut, closing fails
            self._connection.close(True)


class Cursor:
    arraysize, lastrowid = 1, None

    def __init__(self, connection):
        self._connection, self._rows, self.description, self.rowcount = connection, iter(()), None, -1

    def execute(self, statement, parameters=()):
        cursor = self._connection.cursor()
        cursor.exec_trace = self._describe  # after execution, a query without rows has no description
        self._rows = iter(translated(lambda: list(cursor.execute(statement, tuple(parameters)))))
        self.rowcount = self._connection.changes()
        return self

    def _describe(self, cursor, statement, parameters):
        self.description = [(name, *[None] * 6) for name, *_ in cursor.get_description()] or None
        return True

    def executemany(self, statement, rows):
        cursor = self._connection.cursor()
        translated(lambda: cursor.executemany(statement, list(map(tuple, rows))))
        self.description = None

    def fetchone(self):
        return next(self._rows, None)

    def fetchall(self):
        return list(self._rows)

    def fetchmany(self, size=1):
        return [row for row, _ in zip(self._rows, range(size), strict=False)]

    def close(self):
        self._rows = iter(())
