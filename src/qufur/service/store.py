"""The store: an append-only log of events, on SQLite or PostgreSQL, that one process writes."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from typing import Any, NamedTuple

from sqlalchemy import Connection, Engine, create_engine, event, func, select
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError

from qufur.errors import invalid, missing_extra
from qufur.service import tables
from qufur.service.appending import Appender
from qufur.service.events import DamagedError, Event
from qufur.service.fence import Hold, hold
from qufur.service.mark import Mark
from qufur.service.opening import check_epoch, check_mark, check_tables, next_epoch, query_of_epoch
from qufur.service.store_file import StoreFile
from qufur.service.wal import check_wal

AT_ONCE, FEW = 500, 25
"""Events that are read at once, in order and here and there."""


class StoreError(RuntimeError):
    """A store that cannot be read or written now."""


class Write(NamedTuple):
    """What is appended to one stream: events, and by the numbers of some the ids of their examples."""

    stream: int
    events: Sequence[Event]
    examples: Sequence[tuple[int, Sequence[str]]] = ()


class Store:
    """A log of events, by stream.

    Parameters
    ----------
    url
        `sqlite:///labels.db` or `postgresql://user@host/database`.
    writing
        Whether it may be appended to: one process may, at a time.
    takeover
        Whether to take over from another process that writes; that one is refused from then on.
    options
        Further arguments of SQLAlchemy's `create_engine`.
    """

    def __init__(self, url: str, *, writing: bool = True, takeover: bool = False, **options: Any) -> None:
        self.url = parsed(url)
        self._epoch: int | None = None
        self._appender: Appender | None = None
        self._hold: Hold | None = None
        self._file: StoreFile | None = None
        file = file_of(self.url)
        self._mark = None if file is None or not writing else Mark(file)
        if file is not None and not writing and not os.path.isfile(file):
            raise invalid("store", "qufur", "one that exists", repr(url), "`qufur serve` makes one.")
        with _complaining(self.url):
            self.engine = _engine(self.url, **options)
        try:
            self._open(writing, takeover)
        except BaseException:
            self.close()
            raise

    def _open(self, writing: bool, takeover: bool) -> None:
        if writing:
            with _complaining(self.url):
                self._hold = hold(self.engine, takeover=takeover)
                if not self._hold.from_another and (file := file_of(self.url)) is not None:
                    check_wal(file)
                with self.writing() as connection:
                    check_tables(connection)
                    tables.metadata.create_all(connection)
                    if self._mark is not None:
                        check_mark(connection, self._mark)
                    self._epoch = next_epoch(connection)
            self._appender = Appender(self.engine, self._epoch)
            if (file := file_of(self.url)) is not None:
                self._file = StoreFile(file)
        with _complaining(self.url), self.reading() as connection:
            version = _fact(connection, "version")
        if version != str(tables.VERSION):
            raise StoreError(f"The store is of version {version}; this qufur reads {tables.VERSION}.")

    @property
    def is_taken_over(self) -> bool:
        """Whether another process had the right to write until now."""
        return self._hold is not None and self._hold.from_another

    def close(self) -> None:
        """Let go of the store."""
        if self._appender is not None:
            self._appender.close()
        self.engine.dispose()
        if self._mark is not None:
            self._mark.close()
        if self._hold is not None:
            self._hold.release()

    @property
    def is_writing(self) -> bool:
        """Whether it was opened to be appended to."""
        return self._epoch is not None

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Open a transaction in which nobody else writes; it is fenced once there is an epoch."""
        with self.engine.connect().execution_options(writing=True) as connection, connection.begin():
            if self._epoch is not None:
                check_epoch(connection.exec_driver_sql(query_of_epoch(self.engine)).first(), self._epoch)
            yield connection
        self._checkpoint_if_possible()  # such a transaction is rare or large

    def check_file(self) -> None:
        """Raise `StoreFileError` if the file of a SQLite store was moved, deleted or overwritten."""
        if self._file is not None:
            self._file.check()

    def checkpoint(self, mode: str = "PASSIVE") -> bool:
        """Copy SQLite's write-ahead log to the database file; return False if a reader prevented a part."""
        if self._file is None:
            return True
        with closing(self.engine.raw_connection()) as connection:
            return self._file.checkpoint(connection.cursor(), mode)

    def _checkpoint_if_possible(self) -> None:
        with suppress(
            self.engine.dialect.loaded_dbapi.Error
        ):  # the commit stands, and the next one tries again
            self.checkpoint()

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Open a transaction that sees one state of the store."""
        with self.engine.connect() as connection, connection.begin():
            yield connection

    # Streams and their events

    def streams(self) -> dict[str, int]:
        """Return the numbers of streams by name, without those of deleted streams."""
        table = tables.streams
        with self.reading() as connection:
            rows = connection.execute(
                select(table.c.name, table.c.id).where(~table.c.name.startswith(tables.DELETED))
            )
            return {row.name: row.id for row in rows}

    def last_stream(self) -> int:
        """Return the largest number that a stream has or had, 0 if there was none."""
        with self.reading() as connection:
            return connection.execute(select(func.max(tables.streams.c.id))).scalar() or 0

    def append(self, writes: Sequence[Write], names: dict[int, str] | None = None) -> None:
        """Append to streams in one transaction; `names` are those of streams that are new."""
        events = [(write.stream, *one) for write in writes for one in write.events]
        examples = [(write.stream, *one) for write in writes for one in write.examples]
        streams = list((names or {}).items())
        if self._appender is None:
            raise StoreError("The store was opened to be read.")
        try:
            self._appender.append(streams, events, examples)
        except self.engine.dialect.loaded_dbapi.Error as error:
            raise StoreError(reason_of(error)) from error
        if self._file is not None and self._file.check_commit(sum(len(event[5]) for event in events)):
            self._checkpoint_if_possible()
        if self._mark is not None and events:
            stream, seq, *_, hash = events[-1]
            self._mark.note((stream, seq, hash))

    def events(self, stream: int, after: int = 0, limit: int | None = None) -> Iterator[Event]:
        """Yield events in order, from the one after a number on."""
        table = tables.events
        columns = [table.c[name] for name in Event._fields]
        left = limit
        while left is None or left > 0:
            count = AT_ONCE if left is None else min(left, AT_ONCE)
            query = select(*columns).where(table.c.stream == stream, table.c.seq > after)
            with self.reading() as connection:
                rows = connection.execute(query.order_by(table.c.seq).limit(count)).all()
            yield from map(_event, rows)
            if len(rows) < count:
                return
            after, left = rows[-1].seq, None if left is None else left - count

    def event(self, stream: int, seq: int) -> Event:
        """Return one event, which has to be there."""
        found = next(self.events(stream, seq - 1, 1), None)
        if found is None or found.seq != seq:
            raise DamagedError(f"The log is damaged: event {seq} is missing. Restore a backup.")
        return found

    def events_at(self, stream: int, seqs: Sequence[int]) -> Iterator[Event]:
        """Yield the events of some numbers in order, few of them in memory at a time."""
        table = tables.events
        columns = [table.c[name] for name in Event._fields]
        for start in range(0, len(seqs), FEW):
            some = table.c.seq.in_(seqs[start : start + FEW])
            with self.reading() as connection:
                query = select(*columns).where(table.c.stream == stream, some).order_by(table.c.seq)
                rows = connection.execute(query).all()
            yield from map(_event, rows)

    def last(self, stream: int) -> int:
        """Return the number of the last event, 0 if there is none."""
        table = tables.events
        with self.reading() as connection:
            return (
                connection.execute(select(func.max(table.c.seq)).where(table.c.stream == stream)).scalar()
                or 0
            )

    def find(self, stream: int, ids: Sequence[str]) -> dict[str, int]:
        """Return for each example that is known the number of its event."""
        table = tables.examples
        found: dict[str, int] = {}
        with self.reading() as connection:
            for start in range(0, len(ids), AT_ONCE):
                part = ids[start : start + AT_ONCE]
                query = select(table.c.id, table.c.seq).where(table.c.stream == stream, table.c.id.in_(part))
                found.update({row.id: row.seq for row in connection.execute(query)})
        return found

    def fact(self, name: str) -> str:
        """Return one of the facts."""
        with self.reading() as connection:
            return _fact(connection, name)


def parsed(url: str) -> URL:
    """Return the address of a store, or complain about it."""
    allowed = "such as sqlite:///labels.db or postgresql://user@host/database"
    try:
        found = make_url(url)
        known = found.get_backend_name() in ("sqlite", "postgresql")
    except (ArgumentError, NoSuchModuleError, ValueError):
        raise invalid("store", "qufur", allowed, repr(url)) from None
    if not known or (found.get_backend_name() == "sqlite" and found.database in (None, "", ":memory:")):
        raise invalid("store", "qufur", allowed, repr(url))
    if found.drivername == "postgresql":
        found = found.set(drivername="postgresql+psycopg")
    return found


def _engine(url: URL, **options: Any) -> Engine:
    if url.get_backend_name() != "sqlite":
        return create_engine(url, **options)
    engine = create_engine(url, **options)

    @event.listens_for(engine, "connect")
    def _prepare(connection: Any, record: Any) -> None:
        connection.isolation_level = None  # transactions begin where they are said to
        # Checkpoints are made by `StoreFile` alone, which has to know when the database file changes.
        safe = "journal_mode=WAL", "synchronous=FULL", "secure_delete=ON", "wal_autocheckpoint=0"
        for pragma in ("busy_timeout=10000", *safe):
            connection.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        writing = connection.get_execution_options().get("writing")
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writing else "BEGIN")

    return engine


def _event(row: Any) -> Event:
    seq, kind, at, actor, payload, digest, hash = row
    return Event(seq, kind, at, actor, bytes(payload), bytes(digest), bytes(hash))


def _fact(connection: Connection, name: str) -> str:
    return str(connection.execute(select(tables.facts.c.value).where(tables.facts.c.name == name)).scalar())


@contextmanager
def _complaining(url: URL) -> Iterator[None]:
    """Say in one sentence what is wrong with a store that cannot be opened."""
    try:
        yield
    except (DBAPIError, OSError) as error:
        shown = url.render_as_string(hide_password=True)
        raise StoreError(f"The store {shown} cannot be opened: {reason_of(error)}.") from None
    except ModuleNotFoundError as error:
        raise missing_extra(error.name or "psycopg", "postgres", "a store on PostgreSQL") from None


def reason_of(error: Exception) -> str:
    """Return what a driver says is wrong, without what is in the store."""
    said = getattr(error, "orig", None) or getattr(error, "strerror", None) or error
    return str(said).strip().splitlines()[0].partition(" with text ")[0].rstrip(".")


def file_of(url: URL) -> str | None:
    """Return the file of a SQLite store."""
    return os.path.abspath(url.database) if url.get_backend_name() == "sqlite" and url.database else None
