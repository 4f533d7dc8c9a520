"""Append-only event log on SQLite or PostgreSQL, written by one process."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, Engine, create_engine, event, func, select, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError

from qufur.errors import invalid, missing_extra
from qufur.service.store import fencing, schema
from qufur.service.store.append import Appender
from qufur.service.store.events import DamagedError, Event
from qufur.service.store.integrity import HighWaterMark, StoreFile, check_wal

SCAN_PAGE, LOOKUP_PAGE = 500, 25
"""Events per query: sequential scan, lookup by number."""


class StoreError(RuntimeError):
    """The store cannot be read or written."""


class Write(NamedTuple):
    """Events to append to one stream, and the ids of their examples by event number."""

    stream: int
    events: Sequence[Event]
    examples: Sequence[tuple[int, Sequence[str]]] = ()


class Store:
    """Event log of all streams.

    Parameters
    ----------
    url
        `sqlite:///labels.db` or `postgresql://user@host/database`.
    writing
        Whether to open the store for appending. Only one process may do so at a time.
    takeover
        Whether to take over from another process that writes; its later writes raise `FencedError`.
    **options
        Further arguments of SQLAlchemy's `create_engine`.

    Attributes
    ----------
    is_writing
        Whether the store is open for appending.
    is_taken_over
        Whether this process took over from another one that held the write lock.

    Raises
    ------
    StoreError
        If the store cannot be opened or has another version.
    FencedError
        If another process writes to the store and `takeover` is False.
    DamagedError
        If a check on opening fails.
    """

    def __init__(self, url: str, *, writing: bool = True, takeover: bool = False, **options: Any) -> None:
        self.url = parsed(url)
        self.is_writing = writing
        self._epoch: int | None = None
        self._appender: Appender | None = None
        self._release: Callable[[], None] | None = None
        self.is_taken_over = False
        self._file: StoreFile | None = None
        file = file_of(self.url)
        self._mark = None if file is None or not writing else HighWaterMark(file)
        if file is not None and not writing and not os.path.isfile(file):
            raise invalid("store", "qufur", "an existing store", repr(url), "`qufur serve` creates one.")
        with _opening(self.url):
            self.engine = _engine(self.url, **options)
            try:
                if writing:
                    self._open_for_writing(file, takeover)
                version = self.fact("version")
                if version != str(schema.VERSION):
                    supported = f"this qufur reads version {schema.VERSION}"
                    raise StoreError(f"The store has version {version}; {supported}.")
            except BaseException:
                self.close()
                raise

    def _open_for_writing(self, file: str | None, takeover: bool) -> None:
        self._release = fencing.acquire_write_lock(self.engine, takeover=takeover)
        self.is_taken_over = self._release is None
        if file is not None and not self.is_taken_over:
            check_wal(file)
        with self.writing() as connection:
            fencing.check_tables(connection)
            schema.metadata.create_all(connection)
            if self._mark is not None:
                fencing.check_mark(connection, self._mark)
            self._epoch = fencing.next_epoch(connection)
        self._appender = Appender(self.engine, self._epoch)
        self._file = None if file is None else StoreFile(file)

    def close(self) -> None:
        """Close the connections and files, and release the write lock."""
        if self._appender is not None:
            self._appender.close()
        self.engine.dispose()
        if self._mark is not None:
            self._mark.close()
        if self._release is not None:
            self._release()

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Open an exclusive write transaction; once this process has an epoch, check it first."""
        with self.engine.connect().execution_options(writing=True) as connection, connection.begin():
            if self._epoch is not None:
                fencing.check_epoch(
                    connection.exec_driver_sql(fencing.epoch_query(self.engine)).first(), self._epoch
                )
            yield connection
        self._checkpoint_if_possible()  # such a transaction is rare or large

    def check_file(self) -> None:
        """Raise `StoreFileError` if the file of a SQLite store was moved, deleted or overwritten."""
        if self._file is not None:
            self._file.check()

    def checkpoint(self, mode: str = "PASSIVE") -> bool:
        """Copy the write-ahead log to the database file; return False if a reader prevented part of it."""
        if self._file is None:
            return True
        with closing(self.engine.raw_connection()) as connection:
            return self._file.checkpoint(connection.cursor(), mode)

    def _checkpoint_if_possible(self) -> None:
        with suppress(self.engine.dialect.loaded_dbapi.Error):  # committed anyway; the next commit retries
            self.checkpoint()

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Open a transaction that sees one state of the store."""
        with self.engine.connect() as connection, connection.begin():
            yield connection

    # Streams and their events

    def streams(self) -> dict[str, int]:
        """Return the numbers of streams by name, without deleted streams."""
        table = schema.streams
        query = select(table.c.name, table.c.id).where(~table.c.name.startswith(schema.DELETED))
        with self.reading() as connection:
            return dict(connection.execute(query).all())

    def last_stream(self) -> int:
        """Return the largest stream number ever assigned, 0 if there is none."""
        with self.reading() as connection:
            return connection.scalar(select(func.max(schema.streams.c.id))) or 0

    def append(self, writes: Sequence[Write], names: dict[int, str] | None = None) -> None:
        """Append to streams in one transaction; `names` holds the names of new streams by number.

        Raises
        ------
        StoreError
            If the store is open for reading only, or the database cannot write. Nothing was appended.
        FencedError
            If another process has taken over the store. Nothing was appended.
        StoreFileError
            If the file was moved, deleted or overwritten, so that the commit may be lost.
        """
        events = [(write.stream, *event) for write in writes for event in write.events]
        examples = [(write.stream, *entry) for write in writes for entry in write.examples]
        streams = list((names or {}).items())
        if self._appender is None:
            raise StoreError("The store is open for reading only.")
        try:
            self._appender.append(streams, events, examples)
        except self.engine.dialect.loaded_dbapi.Error as error:
            raise StoreError(reason_of(error)) from error
        if self._file is not None and self._file.check_commit(sum(len(event[5]) for event in events)):
            self._checkpoint_if_possible()
        if self._mark is not None and events:
            stream, seq, *_, hash = events[-1]
            self._mark.write((stream, seq, hash))

    def events(self, stream: int, after: int = 0, limit: float = math.inf) -> Iterator[Event]:
        """Yield the events after the one with this number, in order, at most `limit` of them."""
        while limit > 0:
            count = int(min(limit, SCAN_PAGE))
            page = self._page(stream, schema.events.c.seq > after, count)
            yield from page
            if len(page) < count:
                return
            after, limit = page[-1].seq, limit - count

    def _page(self, stream: int, condition: ColumnElement[bool], count: int | None = None) -> list[Event]:
        """Return the first events of a stream that meet a condition, in order."""
        table = schema.events
        columns = [table.c[name] for name in Event._fields]
        query = select(*columns).where(table.c.stream == stream, condition).order_by(table.c.seq).limit(count)
        with self.reading() as connection:
            return list(map(Event._make, connection.execute(query)))

    def event(self, stream: int, seq: int) -> Event:
        """Return one event; raise `DamagedError` if it is missing."""
        event = next(self.events(stream, seq - 1, 1), None)
        if event is None or event.seq != seq:
            raise DamagedError(f"The log is damaged: event {seq} is missing. Restore a backup.")
        return event

    def events_at(self, stream: int, seqs: Sequence[int]) -> Iterator[Event]:
        """Yield the events with these numbers in order, at most `LOOKUP_PAGE` in memory at a time."""
        for start in range(0, len(seqs), LOOKUP_PAGE):
            yield from self._page(stream, schema.events.c.seq.in_(seqs[start : start + LOOKUP_PAGE]))

    def last(self, stream: int) -> int:
        """Return the number of the last event, 0 if there is none."""
        query = select(func.max(schema.events.c.seq)).where(schema.events.c.stream == stream)
        with self.reading() as connection:
            return connection.scalar(query) or 0

    def find(self, stream: int, ids: Sequence[str]) -> dict[str, int]:
        """Return the number of the event of each example, without unknown ids."""
        table = schema.examples
        seqs: dict[str, int] = {}
        with self.reading() as connection:
            for start in range(0, len(ids), SCAN_PAGE):
                page = ids[start : start + SCAN_PAGE]
                query = select(table.c.id, table.c.seq).where(table.c.stream == stream, table.c.id.in_(page))
                seqs.update(connection.execute(query).all())
        return seqs

    def fact(self, name: str) -> str:
        """Return the value of a fact."""
        with self.reading() as connection:
            return str(connection.scalar(select(schema.facts.c.value).where(schema.facts.c.name == name)))


def parsed(url: str) -> URL:
    """Parse the address of a store; raise `InvalidError` if it is not one."""
    allowed = "such as sqlite:///labels.db or postgresql://user@host/database"
    try:
        address = make_url(url)
        backend = address.get_backend_name()
    except (ArgumentError, NoSuchModuleError, ValueError):
        raise invalid("store", "qufur", allowed, repr(url)) from None
    has_no_file = backend == "sqlite" and address.database in (None, "", ":memory:")
    if backend not in ("sqlite", "postgresql") or has_no_file:
        raise invalid("store", "qufur", allowed, repr(url))
    if address.drivername == "postgresql":
        address = address.set(drivername="postgresql+psycopg")
    return address


def _engine(url: URL, **options: Any) -> Engine:
    engine = create_engine(url, **options)
    if url.get_backend_name() != "sqlite":
        return engine

    @event.listens_for(engine, "connect")
    def _prepare(connection: Any, record: Any) -> None:
        connection.isolation_level = None  # transactions begin explicitly
        connection.execute("PRAGMA busy_timeout=10000")
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute("PRAGMA secure_delete=ON")
        # Only `StoreFile` makes checkpoints: it has to know when the database file changes.
        connection.execute("PRAGMA wal_autocheckpoint=0")

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        writing = connection.get_execution_options().get("writing")
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writing else "BEGIN")

    return engine


@contextmanager
def _opening(url: URL) -> Iterator[None]:
    """Translate errors on opening a store to one `StoreError`."""
    try:
        yield
    except (DBAPIError, OSError) as error:
        address = url.render_as_string(hide_password=True)
        raise StoreError(f"The store {address} cannot be opened: {reason_of(error)}.") from None
    except ModuleNotFoundError as error:
        raise missing_extra(error.name or "psycopg", "postgres", "a store on PostgreSQL") from None


def reason_of(error: Exception) -> str:
    """Return the first line of a driver's message, without content of the store."""
    message = getattr(error, "orig", None) or getattr(error, "strerror", None) or error
    return str(message).strip().splitlines()[0].partition(" with text ")[0].rstrip(".")


def file_of(url: URL) -> str | None:
    """Return the path of a SQLite store, None for PostgreSQL."""
    return os.path.abspath(url.database) if url.get_backend_name() == "sqlite" and url.database else None


def compact(store: Store) -> None:
    """Remove deleted content from the files, O(size of the store); PostgreSQL may keep it in its own log."""
    if store.engine.dialect.name != "sqlite":
        with store.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.execute(text("VACUUM (FULL, ANALYZE) events, examples, snapshots"))
        return
    with closing(store.engine.raw_connection()) as connection:
        # At driver level: VACUUM must run outside the transaction that SQLAlchemy would begin.
        raw: Any = connection.driver_connection
        try:
            raw.execute("VACUUM")
            is_complete = store.checkpoint("TRUNCATE")
        except store.engine.dialect.loaded_dbapi.Error as error:
            raise StoreError(f"Could not vacuum the store: {error}.") from None
    if not is_complete:
        raise StoreError("Could not vacuum the store: another connection is reading it.")
