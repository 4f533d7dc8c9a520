"""Atomic operations: one at a time, and not interrupted by signals."""

from __future__ import annotations

import _signal  # the C module under `signal`: no enums, ten times as fast
import os
import signal
from collections.abc import Callable
from threading import get_ident, main_thread
from types import FrameType, TracebackType
from typing import Any

from qufur.errors import InvalidError, OutlierWarning, invalid

_NAMES = "SIGINT", "SIGTERM", "SIGALRM", "SIGUSR1", "SIGBREAK"
SIGNALS = [int(getattr(signal, name)) for name in _NAMES if hasattr(signal, name)]
"""Signals whose handlers commonly raise: Ctrl-C, time limits, schedulers."""
_main_thread = main_thread().ident


def _set_main_thread() -> None:
    global _main_thread  # noqa: PLW0603  (the forking thread is the main thread of the child)
    _main_thread = get_ident()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_set_main_thread)


class Operation:
    """Context manager for a change of an object that is either applied completely or not at all.

    A signal handler that raises, as that of Ctrl-C does, would leave a partial change. Its call is deferred
    until the change is complete; if the same signal arrives a second time, the handler runs immediately.
    An exception inside the context makes the object unusable, unless it is an `InvalidError` or a raised
    `OutlierWarning`: both guarantee that nothing was changed. Use by two threads at the same time raises.
    Entering and leaving costs about 1 µs.

    Examples
    --------
    >>> operation = Operation()
    >>> with operation, operation:
    ...     pass
    Traceback (most recent call last):
    qufur.errors.InvalidError: calls of Learner must be one at a time, got a call during another one. ...
    """

    def __init__(self) -> None:
        self._running: dict[str, object] = {}  # `setdefault` is atomic: exactly one thread enters
        self._broken = False
        self._handlers: dict[int, Callable[[int, FrameType | None], Any]] = {}
        self._deferred: dict[int, FrameType | None] = {}

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_handlers": {}, "_deferred": {}}  # handlers belong to the process

    def __enter__(self) -> None:
        token = object()
        try:
            if self._running.setdefault("operation", token) is not token:
                raise self._error()
            if get_ident() == _main_thread:  # Python runs signal handlers in the main thread only
                defer, self._handlers = self._defer, {}
                for number in SIGNALS:
                    handler = _signal.getsignal(number)
                    if callable(handler):
                        self._handlers[number] = handler
                        _signal.signal(number, defer)
        except BaseException:
            if self._running.get("operation") is token:
                self._deferred = {}
                self._restore_handlers()
                self._running.clear()
            raise

    def __exit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if error_type is None or issubclass(error_type, InvalidError | OutlierWarning):
            self._running.clear()
        else:
            self._broken = True
        if get_ident() == _main_thread:
            self._run_deferred()

    def check_idle(self) -> None:
        """Raise if a change is in progress or was interrupted."""
        if self._running:
            raise self._error()

    def _run_deferred(self) -> None:
        """Restore the handlers and call those whose signals were deferred."""
        try:
            self._restore_handlers()
        except BaseException:  # raised by a handler that is already restored
            self._deferred = {}
            self._restore_handlers()
            raise
        if self._deferred:
            deferred, self._deferred = self._deferred, {}
            for number, frame in deferred.items():
                self._handlers[number](number, frame)

    def _restore_handlers(self) -> None:
        for number, handler in self._handlers.items():
            _signal.signal(number, handler)

    def _defer(self, number: int, frame: FrameType | None) -> None:
        if number in self._deferred:
            self._handlers[number](number, frame)
        self._deferred[number] = frame

    def _error(self) -> InvalidError:
        if self._broken:
            return InvalidError(
                "Learner cannot be used: an exception interrupted its last operation. "
                "Load the last saved file or create a new learner."
            )
        remedy = "Use one learner per thread, or a lock."
        return invalid("calls", "Learner", "one at a time", "a call during another one", remedy)
