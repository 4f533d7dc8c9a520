"""Writer thread: batches of commands, one transaction per batch, results after the commit."""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import Future
from itertools import chain, islice
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
from sqlalchemy.exc import DBAPIError

from qufur.service.errors import CLIENT_ERRORS, UnavailableError
from qufur.service.examples import Rows
from qufur.service.fits import FitQueue
from qufur.service.recorded_answers import AnswerBody
from qufur.service.service import Service
from qufur.service.store import DamagedError, FencedError, StoreError, StoreFileError, reason_of

Result = tuple[Any, Any]
"""Future of a command, and its result or exception."""
LOG = logging.getLogger("qufur.service")
MAX_BATCH = 256
"""Commands per transaction, at most."""
LINGER_SECONDS, MAX_LINGER_SECONDS = 0.0003, 0.01
"""Wait for further commands, per round and in total: switching between threads per command costs more."""
IDLE_SECONDS = 0.02
"""Time without commands after which the writer records points of series; under load, snapshots do."""
MAX_QUEUE = 20_000
"""Commands in the queue, at most."""
TRY_AGAIN = "The store cannot be written. Nothing of this request was stored; send it again."
BatchKey = tuple[int, Hashable]
"""Rank of a command in its batch, and what commands that can be merged share."""
Deliver = Callable[[Sequence[Result]], object]
"""Function that passes results to the futures of their commands."""


class Call(NamedTuple):
    """Function to call with the service, never merged with other commands."""

    execute: Callable[[Service], Any]

    @property
    def batch_key(self) -> BatchKey:
        """Key that no other command has: calls are never merged."""
        return 2, id(self)


class Ask(NamedTuple):
    """Examples to answer."""

    stream: str
    rows: Rows
    actor: str

    @property
    def batch_key(self) -> BatchKey:
        """Key of commands that are merged: same stream and actor."""
        return 0, (self.stream, self.actor)

    def execute(self, service: Service) -> list[AnswerBody]:
        """Answer the examples."""
        return service.ask(self.stream, self.rows, self.actor)

    @staticmethod
    def merge(asks: Sequence[Ask]) -> Ask:
        """Return one command with the examples of all."""
        ids, parts, X = zip(*(ask.rows for ask in asks), strict=True)
        numbers = None if X[0] is None else np.concatenate(X)
        return asks[0]._replace(rows=Rows(list(chain(*ids)), list(chain(*parts)), numbers))

    @staticmethod
    def split(asks: Sequence[Ask], answers: list[AnswerBody]) -> list[list[AnswerBody]]:
        """Return the answers of each command from those of the merged command."""
        remaining = iter(answers)
        return [list(islice(remaining, len(ask.rows))) for ask in asks]


class Tell(NamedTuple):
    """Labels to learn."""

    stream: str
    labels: dict[str, float]
    actor: str
    replace: bool = False
    accept_outliers: bool = False

    @property
    def batch_key(self) -> BatchKey:
        """Key of commands that are merged: same stream, actor and options."""
        return 1, (self.stream, self.actor, self.replace, self.accept_outliers)

    def execute(self, service: Service) -> dict[str, bool]:
        """Learn all labels or none; return which were new."""
        options = {"replace": self.replace, "accept_outliers": self.accept_outliers}
        return service.tell(self.stream, self.labels, self.actor, **options)

    @staticmethod
    def merge(tells: Sequence[Tell]) -> Tell | None:
        """Return one command with the labels of all; None if two label the same example."""
        labels = {id: label for tell in tells for id, label in tell.labels.items()}
        is_unique = len(labels) == sum(len(tell.labels) for tell in tells)
        return tells[0]._replace(labels=labels) if is_unique else None

    @staticmethod
    def split(tells: Sequence[Tell], new: dict[str, bool]) -> list[dict[str, bool]]:
        """Return for each command which of its labels were new."""
        return [{id: new[id] for id in tell.labels} for tell in tells]


Command = Call | Ask | Tell


class Queued(NamedTuple):
    """Command and the future of its result."""

    command: Command
    future: Any


class Writer:
    """Thread that executes commands in batches. Each batch is one transaction; results follow its commit.

    Parameters
    ----------
    service
        The streams, which only this thread may use.
    deliver
        Function that passes on results; by default `resolve`.
    """

    def __init__(self, service: Service, deliver: Deliver | None = None) -> None:
        self._service = service
        self._deliver = deliver or resolve
        self._commands: queue.SimpleQueue[Queued | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="qufur-writer", daemon=True)
        self._fits = FitQueue(lambda function: self._put(Call(function)))
        self.failure: str | None = None
        self._loaded = self._is_busy = False
        self.groups = self.commits = self.failures = 0
        self.commit_seconds = 0.0

    def start(self) -> None:
        """Start the thread: it loads the streams, and then executes the commands queued meanwhile."""
        self._thread.start()

    def _load(self) -> None:
        try:
            self._service.load_all()
        except Exception as error:
            LOG.exception("The streams could not be loaded")
            is_damaged = isinstance(error, DamagedError)
            self.failure = str(error) if is_damaged else "The streams could not be loaded; see the log."
        self._loaded = True

    def submit(self, command: Command, future: Any = None) -> Any:
        """Queue a command and return its future; raise `UnavailableError` if the writer cannot execute it."""
        if self.failure is not None or not self._thread.is_alive():
            raise UnavailableError(self.unavailable_reason)
        if self._commands.qsize() > MAX_QUEUE:
            raise UnavailableError("Too many requests are queued. Send this one again later.")
        return self._put(command, future)

    def _put(self, command: Command, future: Any = None) -> Any:
        future = future or Future()
        self._commands.put(Queued(command, future))
        return future

    def call(self, function: Callable[[Service], Any]) -> Any:
        """Call a function with the service in the writer thread; return its result after the commit."""
        return self.submit(Call(function)).result()

    def stop(self) -> None:
        """Execute the queued commands, save snapshots, and end the thread."""
        self._commands.put(None)
        self._thread.join()
        self._fits.stop()

    @property
    def is_ready(self) -> bool:
        """Whether commands are executed immediately."""
        return self._loaded and self.failure is None and self._thread.is_alive()

    @property
    def unavailable_reason(self) -> str:
        """Why the writer is not ready."""
        return self.failure or (
            "The service is stopping." if self._loaded else "The streams are being loaded."
        )

    @property
    def waiting(self) -> int:
        """Number of queued commands."""
        return self._commands.qsize()

    def _run(self) -> None:
        self._load()
        if self.failure is None:
            self._fits.start_due(self._service)
        is_running = True
        while is_running:
            batch = self._next_batch()
            is_running = batch[-1] is not None
            queued = [each for each in batch if each is not None]
            if queued:
                self._deliver(self._results(queued))
                self._fits.start_due(self._service)
            self._save_snapshots(last=not is_running)

    def _next_batch(self) -> list[Queued | None]:
        """Wait for a command; return it and the queued ones, up to the None that ends the thread."""
        try:
            batch = [self._commands.get(timeout=IDLE_SECONDS)]
        except queue.Empty:
            self._service.record_points()
            batch = [self._commands.get()]
        self._linger()
        while batch[-1] is not None and len(batch) < MAX_BATCH:
            try:
                batch.append(self._commands.get_nowait())
            except queue.Empty:
                break
        self._is_busy = len(batch) > 1
        return batch

    def _linger(self) -> None:
        """Give the HTTP thread time to queue more commands, if the last batch had more than one."""
        queued, end = -1, time.perf_counter() + MAX_LINGER_SECONDS
        while self._is_busy and queued < self._commands.qsize() < MAX_BATCH and time.perf_counter() < end:
            queued = self._commands.qsize()
            time.sleep(LINGER_SECONDS)

    def _results(self, batch: Sequence[Queued]) -> list[Result]:
        """Execute and commit a batch: asks before tells. Their clients cannot observe which came first."""
        groups: dict[BatchKey, list[Queued]] = {}
        for queued in batch:
            groups.setdefault(queued.command.batch_key, []).append(queued)
        ranked = sorted(groups, key=itemgetter(0))
        results = [result for key in ranked for result in self._execute_merged(groups[key])]
        self.groups += 1
        if any(
            isinstance(result, Exception) and not isinstance(result, CLIENT_ERRORS) for _, result in results
        ):
            aborted = self._roll_back()
            return [
                (future, result if isinstance(result, Exception) else aborted) for future, result in results
            ]
        failure = self._commit()
        return results if failure is None else [(future, failure) for future, _ in results]

    def _execute_merged(self, group: Sequence[Queued]) -> list[Result]:
        """Execute commands as one; if they cannot be merged or that is rejected, one by one."""
        commands: list[Any] = [queued.command for queued in group]
        merged = commands[0].merge(commands) if len(commands) > 1 else None
        result = None if merged is None else self._attempt(merged.execute)
        if merged is None or isinstance(result, CLIENT_ERRORS):
            results = [self._attempt(command.execute) for command in commands]
        elif isinstance(result, Exception):
            results = [result] * len(commands)
        else:
            results = merged.split(commands, result)
        return [(queued.future, result) for queued, result in zip(group, results, strict=True)]

    def _attempt(self, execute: Callable[[Service], Any]) -> Any:
        """Run one command; return its result or exception. An unexpected exception aborts the batch."""
        try:
            return execute(self._service)
        except CLIENT_ERRORS as error:
            return error
        except Exception as error:
            LOG.exception("A command failed")
            return error

    def _commit(self) -> UnavailableError | None:
        start = time.perf_counter()
        try:
            self._service.commit()
        except FencedError as error:
            self.failure = str(error)
            LOG.error("Fenced: %s", error)
        except StoreFileError as error:
            self.failure = str(error)
            LOG.error("%s", error)
        except (DBAPIError, StoreError, OSError) as error:
            LOG.error("The store could not be written: %s", reason_of(error))
        except Exception:
            LOG.exception("The store could not be written")
        else:
            self.commits += 1
            self.commit_seconds += time.perf_counter() - start
            return None
        self.failures += 1
        return self._roll_back()

    def _roll_back(self) -> UnavailableError:
        self._service.roll_back()
        return UnavailableError(self.failure or TRY_AGAIN)

    def _save_snapshots(self, *, last: bool) -> None:
        try:
            self._service.save_snapshots(all_changed=last)
        except Exception as error:  # snapshots are caches: without one the next start takes longer
            LOG.warning("A snapshot could not be saved: %s", reason_of(error))


def resolve(results: Sequence[Result]) -> None:
    """Set the results of futures, of threads or of an event loop in its own thread."""
    for future, result in results:
        if future.done():  # the client has disconnected
            continue
        if isinstance(result, Exception):
            future.set_exception(result)
        else:
            future.set_result(result)
