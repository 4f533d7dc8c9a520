"""Operations that are whole: one at a time, and never cut in two by an interrupt."""

from __future__ import annotations

import _signal  # what `signal` wraps: without enums, and ten times as fast
import os
import signal
from collections.abc import Callable
from threading import get_ident, main_thread
from types import FrameType, TracebackType
from typing import Any

from qufur.errors import InvalidError, OutlierWarning, invalid

_NAMES = "SIGINT", "SIGTERM", "SIGALRM", "SIGUSR1", "SIGBREAK"
SIGNALS = [int(getattr(signal, name)) for name in _NAMES if hasattr(signal, name)]
"""Signals whose handlers are known to raise exceptions: of Ctrl-C, of time limits, of schedulers."""
_main_thread = main_thread().ident


def _note_main_thread() -> None:
    global _main_thread  # noqa: PLW0603  (a fork makes its thread the main one)
    _main_thread = get_ident()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_note_main_thread)


class Operation:
    """A context for whatever changes an object, so that it is found before or after the change.

    A handler of signals that raises an exception, as that of Ctrl-C does, would leave a half of the change
    behind: it is called when the change is complete, or at once if the signal comes a second time. After an
    exception inside the context, except for `InvalidError` and an `OutlierWarning` that is raised, which say
    that nothing was changed, the object cannot be used any more. Nor can it be used by two threads at the
    same time. A use costs about 1 µs.

    Examples
    --------
    >>> operation = Operation()
    >>> with operation, operation:
    ...     pass
    Traceback (most recent call last):
    qufur.errors.InvalidError: calls of Learner must be one at a time, got one while another is at work. ...
    """

    def __init__(self) -> None:
        self._at_work: dict[str, object] = {}  # whose `setdefault` lets one of several threads be the first
        self._broken = False
        self._handlers: dict[int, Callable[[int, FrameType | None], Any]] = {}
        self._caught: dict[int, FrameType | None] = {}

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_handlers": {}, "_caught": {}}  # those are the process's

    def __enter__(self) -> None:
        mine = object()
        try:
            if self._at_work.setdefault("operation", mine) is not mine:
                raise self._refusal()
            if get_ident() == _main_thread:  # no other is ever interrupted
                catch, self._handlers = self._catch, {}
                for number in SIGNALS:
                    handler = _signal.getsignal(number)
                    if callable(handler):
                        self._handlers[number] = handler
                        _signal.signal(number, catch)
        except BaseException:
            if self._at_work.get("operation") is mine:
                self._caught = {}
                self._restore()
                self._at_work.clear()
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        if kind is None or issubclass(kind, InvalidError | OutlierWarning):
            self._at_work.clear()
        else:
            self._broken = True
        if get_ident() == _main_thread:
            self._let_signals_go()

    def check_idle(self) -> None:
        """Refuse to look at the object in the middle of a change."""
        if self._at_work:
            raise self._refusal()

    def _let_signals_go(self) -> None:
        """Put the handlers back, and call those whose signals have come."""
        try:
            for number, handler in self._handlers.items():
                _signal.signal(number, handler)
        except BaseException:  # one that is back already
            self._caught = {}
            self._restore()
            raise
        if self._caught:
            caught, self._caught = self._caught, {}
            for number, frame in caught.items():
                self._handlers[number](number, frame)

    def _restore(self) -> None:
        for number, handler in self._handlers.items():
            _signal.signal(number, handler)

    def _catch(self, number: int, frame: FrameType | None) -> None:
        if number in self._caught:
            self._handlers[number](number, frame)
        self._caught[number] = frame

    def _refusal(self) -> InvalidError:
        if self._broken:
            received = "one that an error ended halfway"
            remedy = "Load its last file, or make a new one."
            return invalid("the last operation", "Learner", "complete", received, remedy)
        remedy = "Give each thread a learner of its own, or lock this one."
        return invalid("calls", "Learner", "one at a time", "one while another is at work", remedy)
