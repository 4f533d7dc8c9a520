"""The one thread that changes streams: it takes what has come, writes it at once, and answers after that."""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable, Hashable, Sequence
from typing import Any, cast

from sqlalchemy.exc import DBAPIError

from qufur.service.commands import Call, Command, OverlapError, Result
from qufur.service.events import DamagedError
from qufur.service.fence import FencedError
from qufur.service.refits import Refits
from qufur.service.refusals import REFUSALS, UnavailableError
from qufur.service.service import Service
from qufur.service.store import StoreError, reason_of
from qufur.service.store_file import StoreFileError

LOG = logging.getLogger("qufur.service")
AT_ONCE = 256
"""Commands that share a transaction."""
LINGER, LONGEST = 0.0003, 0.01
"""Seconds to wait for others as long as they come, and in all: taking turns at the interpreter costs more."""
MOST_WAITING = 20_000
"""Commands that may wait."""
TRY_AGAIN = "The store cannot be written now. Nothing of this request was kept; send it again."

Deliver = Callable[[Sequence[Result]], None]
"""Takes pairs of who waits and a result, which is an exception where something went wrong."""


class Writer:
    """Takes commands, in groups: each group is one transaction, and nobody is answered before its end.

    Parameters
    ----------
    service
        The streams, which belong to this thread from now on.
    deliver
        Hands results to those who wait; by default to futures.
    """

    def __init__(self, service: Service, deliver: Deliver | None = None) -> None:
        self._service = service
        self._deliver = deliver or settle
        self._commands: queue.SimpleQueue[Command | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="qufur-writer", daemon=True)
        self._refits = Refits(lambda do: self._commands.put(Call(do)))
        self.fault: str | None = None
        self._loaded = self._is_busy = False
        self.groups = self.commits = self.failures = 0
        self.commit_seconds = 0.0

    def start(self) -> None:
        """Load the streams, then take commands; those that come before wait."""
        self._thread.start()

    def _load(self) -> None:
        try:
            self._service.load_all()
        except Exception as error:
            LOG.exception("The streams could not be loaded")
            known = isinstance(error, DamagedError)
            self.fault = str(error) if known else "The streams could not be loaded; the log says why."
        self._loaded = True

    def submit(self, command: Command) -> Any:
        """Take a command; return who waits for it."""
        if self.fault is not None or not self._thread.is_alive():
            raise UnavailableError(self.excuse)
        if self._commands.qsize() > MOST_WAITING:
            raise UnavailableError("Too many requests wait. Send this one again, later.")
        self._commands.put(command)
        return command.waiter

    def call(self, do: Callable[[Service], Any]) -> Any:
        """Do something with the service, and wait for it; for threads that may wait."""
        return self.submit(Call(do)).result()

    def stop(self) -> None:
        """Finish what has come, keep snapshots, and end."""
        self._commands.put(None)
        self._thread.join()
        self._refits.stop()

    @property
    def is_ready(self) -> bool:
        """Whether commands are taken, and done at once."""
        return self._loaded and self.fault is None and self._thread.is_alive()

    @property
    def excuse(self) -> str:
        """Why it is not ready."""
        return self.fault or ("The service is stopping." if self._loaded else "The streams are being loaded.")

    @property
    def waiting(self) -> int:
        """How many commands wait."""
        return self._commands.qsize()

    def _run(self) -> None:
        self._load()
        if self.fault is None:
            self._refits.start_due(self._service)
        going = True
        while going:
            group = self._next_group()
            going = group[-1] is not None
            commands = [command for command in group if command is not None]
            if commands:
                self._deliver(self._results(commands))
                self._refits.start_due(self._service)
            self._keep_snapshots(last=not going)

    def _next_group(self) -> list[Command | None]:
        """Wait for a command; take those that came meanwhile with it, up to the one that ends it all."""
        group = [self._commands.get()]
        self._await_others()
        while group[-1] is not None and len(group) < AT_ONCE:
            try:
                group.append(self._commands.get_nowait())
            except queue.Empty:
                break
        self._is_busy = len(group) > 1
        return group

    def _await_others(self) -> None:
        """Let the other thread read what has been sent, if there was more than one the last time."""
        waiting, end = -1, time.perf_counter() + LONGEST
        while self._is_busy and waiting < self._commands.qsize() < AT_ONCE and time.perf_counter() < end:
            waiting = self._commands.qsize()
            time.sleep(LINGER)

    def _results(self, commands: Sequence[Command]) -> list[Result]:
        """Do commands, first those that ask, then those that tell; nobody knows which of them came first."""
        alike: dict[Hashable, list[Any]] = {}
        for command in sorted(commands, key=lambda command: command.turn):
            alike.setdefault(command.alike, []).append(command)
        results = [result for few in alike.values() for result in self._together(few)]
        self.groups += 1
        if any(isinstance(result, Exception) and not isinstance(result, REFUSALS) for _, result in results):
            spoiled = self._undo()
            return [
                (waiter, result if isinstance(result, Exception) else spoiled) for waiter, result in results
            ]
        fault = self._commit()
        return results if fault is None else [(waiter, fault) for waiter, _ in results]

    def _together(self, commands: Sequence[Any]) -> list[Result]:
        """Do commands that are alike as one; if that is refused, one by one."""
        first = commands[0]
        if len(commands) == 1:
            return [(first.waiter, self._attempt(first.do))]
        try:
            done = self._attempt(type(first).joined(commands).do)
        except OverlapError:
            return self._one_by_one(commands)
        if isinstance(done, REFUSALS):
            return self._one_by_one(commands)
        if isinstance(done, Exception):
            return [(command.waiter, done) for command in commands]
        return cast(list[Result], type(first).split(commands, done))

    def _one_by_one(self, commands: Sequence[Command]) -> list[Result]:
        return [(command.waiter, self._attempt(command.do)) for command in commands]

    def _attempt(self, do: Callable[[Service], Any]) -> Any:
        """Return what comes of it, or the exception; one that is nobody's fault but ours spoils the group."""
        try:
            return do(self._service)
        except REFUSALS as refused:
            return refused
        except Exception as error:
            LOG.exception("A command failed")
            return error

    def _commit(self) -> UnavailableError | None:
        start = time.perf_counter()
        try:
            self._service.commit()
        except FencedError as error:
            self.fault = str(error)
            LOG.error("Fenced: %s", error)
        except StoreFileError as error:
            self.fault = str(error)
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
        return self._undo()

    def _undo(self) -> UnavailableError:
        self._service.forget()
        return UnavailableError(self.fault or TRY_AGAIN)

    def _keep_snapshots(self, *, last: bool) -> None:
        try:
            self._service.keep_snapshots(all_changed=last)
        except Exception as error:  # they are caches: without one the next start takes longer
            LOG.warning("A snapshot could not be kept: %s", reason_of(error))


def settle(results: Sequence[Result]) -> None:
    """Hand results to futures, of threads or of a loop in its own thread."""
    for waiter, result in results:
        if waiter.done():  # whoever asked is gone
            continue
        if isinstance(result, Exception):
            waiter.set_exception(result)
        else:
            waiter.set_result(result)
