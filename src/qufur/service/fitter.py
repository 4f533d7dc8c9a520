"""Fits in a process of their own, which takes no time from requests."""

from __future__ import annotations

import contextlib
import logging
import os
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, BinaryIO, TypeAlias, cast

from qufur.models.experts.fitting import Fitted, Fitting
from qufur.service import frames

if TYPE_CHECKING:
    from qufur.models.experts.panel import Panel

LOG = logging.getLogger("qufur.service")
MOST_LOST = 3
"""Processes in a row that may be lost; with 0 there is none."""
Process: TypeAlias = "subprocess.Popen[bytes]"
# Modules are found as here; the folder that somebody happens to be in does not count.
START = "import sys; sys.path[:] = sys.argv[1:]; from qufur.service.fitter_process import main; main()"
ONE_THREAD = dict.fromkeys(["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"], "1")
# Ctrl-C is for the server, which then ends it.
APART = getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0) | getattr(
    subprocess, "BELOW_NORMAL_PRIORITY_CLASS", 0
)


class FitError(Exception):
    """An estimator could not be fitted; the name of its own error."""


class StoppedError(Exception):
    """Nobody wants a fit any more."""


class Fitter:
    """Makes one fit at a time in another process, which is started again where it ends.

    If that happens too often, or there can be none, fits are made here.
    """

    def __init__(self) -> None:
        self._process: Process | None = None
        self._lost = 0
        self._stopped = False
        self._lock = threading.Lock()

    @property
    def pid(self) -> int | None:
        """The number of the process, if there is one."""
        return None if self._process is None else self._process.pid

    def start(self) -> None:
        """Start the process, unless there is one: what it imports takes a second or two."""
        if self._lost < MOST_LOST:
            with contextlib.suppress(OSError, StoppedError):  # the first fit will say what is wrong
                self._running()

    def stop(self) -> None:
        """End the process, whatever it does."""
        with self._lock:
            self._stopped = True
            self._end()

    def run(self, fitting: Fitting) -> Fitted:
        """Return what came of a fit."""
        while self._lost < MOST_LOST:
            try:
                frame = self._exchange(self._running(), fitting)
            except Exception as error:  # whatever became of the process and the pipes to it
                self._lose(error)
            else:
                self._lost = 0
                return Fitted(fitting, _panel(frames.opened(frame)))
        try:
            return fitting.run()
        except Exception as error:  # whatever an estimator does not like
            raise FitError(type(error).__name__) from error

    def _running(self) -> Process:
        with self._lock:
            if self._stopped:
                raise StoppedError
            if self._process is None:
                self._process = _started()
            return self._process

    def _exchange(self, process: Process, fitting: Fitting) -> frames.Frame:
        frames.write(cast(BinaryIO, process.stdin), fitting.alone())
        return frames.read(cast(BinaryIO, process.stdout))

    def _lose(self, error: Exception) -> None:
        with self._lock:
            if self._stopped:
                raise StoppedError from error
            self._end()
        self._lost += 1
        then = "is started again" if self._lost < MOST_LOST else "is done without: a thread makes fits now"
        LOG.warning("The process that fits experts was lost (%s), and %s.", type(error).__name__, then)

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            with contextlib.suppress(OSError), process:  # some of a fit may not have been written yet
                process.kill()


def _started() -> Process:
    return subprocess.Popen(
        [sys.executable, "-c", START, *filter(None, sys.path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=os.environ | ONE_THREAD,
        start_new_session=True,
        creationflags=APART,
    )


def _panel(made: Panel | str) -> Panel:
    if isinstance(made, str):
        raise FitError(made)
    return made
