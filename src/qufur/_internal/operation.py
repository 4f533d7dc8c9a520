"""Atomic operations: one at a time, and not interrupted by Ctrl-C."""

from __future__ import annotations

import _signal  # the C module under `signal`: no enums, ten times as fast
import os
from signal import default_int_handler
from threading import get_ident, main_thread
from types import FrameType, TracebackType

from qufur.errors import InvalidError, OutlierWarning, invalid

_SIGINT = _signal.SIGINT
_main_thread = main_thread().ident


def _set_main_thread() -> None:
    global _main_thread  # noqa: PLW0603  (the forking thread is the main thread of the child)
    _main_thread = get_ident()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_set_main_thread)


class Operation:
    """Context manager for a change of an object that is either applied completely or not at all.

    Ctrl-C would leave a partial change, so it is deferred until the change is complete; a second Ctrl-C
    is not. This applies in the main thread, where Python handles signals, while Python's own handler is
    installed: other handlers and other signals belong to the host process. An exception inside the
    context makes the object unusable, unless it is an `InvalidError` or a raised `OutlierWarning`: both
    guarantee that nothing was changed. Use by two threads at the same time raises. Entering and leaving
    costs about 1 µs.

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
        self._interrupted = False

    def __enter__(self) -> None:
        token = object()
        try:
            if self._running.setdefault("operation", token) is not token:
                raise self._error()
            self._interrupted = False
            if get_ident() == _main_thread and _signal.getsignal(_SIGINT) is default_int_handler:
                _signal.signal(_SIGINT, self._defer)
        except BaseException:
            if self._running.get("operation") is token:
                self._restore_handler()
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
            self._restore_handler()
            if self._interrupted:
                self._interrupted = False
                raise KeyboardInterrupt

    def check_idle(self) -> None:
        """Raise if a change is in progress or was interrupted."""
        if self._running:
            raise self._error()

    def _restore_handler(self) -> None:
        """Install Python's handler again, unless the host has installed another one meanwhile."""
        if _signal.getsignal(_SIGINT) == self._defer:
            _signal.signal(_SIGINT, default_int_handler)

    def _defer(self, number: int, frame: FrameType | None) -> None:
        if not self._interrupted:
            self._interrupted = True
            return
        _signal.signal(_SIGINT, default_int_handler)
        self._interrupted, self._broken = False, bool(self._running)
        raise KeyboardInterrupt

    def _error(self) -> InvalidError:
        if self._broken:
            return InvalidError(
                "Learner cannot be used: an exception interrupted its last operation. "
                "Load the last saved file or create a new learner."
            )
        remedy = "Use one learner per thread, or a lock."
        return invalid("calls", "Learner", "one at a time", "a call during another one", remedy)
