"""Background fits of experts in a worker process, so that they take no time from requests.

`FitQueue` starts the fits that are due. The writer installs their results between two batches of commands.
`FitWorker` sends jobs through a pipe. `main` is the worker, which ends with its parent. Frames on the pipe
hold a pickled object and its arrays, which are not copied.
"""

from __future__ import annotations

import contextlib
import io
import logging
import os
import pickle
import queue
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, BinaryIO, TypeAlias, cast

from qufur.models.ensemble.fits import ExpertSet, FitJob, FitResult

if TYPE_CHECKING:
    from qufur.service.service import Service

Frame = Sequence[bytearray]
"""Pickled object, followed by its arrays."""
LOG = logging.getLogger("qufur.service")
ACTOR = "server"
MAX_CRASHES = 3
"""Consecutive crashes after which fits run in the server; 0 means no worker process."""
Process: TypeAlias = "subprocess.Popen[bytes]"
# The worker has the import path of the server, without the current directory.
START = "import sys; sys.path[:] = sys.argv[1:]; from qufur.service.fits import main; main()"
ONE_THREAD = dict.fromkeys(["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"], "1")
# Ctrl-C reaches the server only, which then stops the worker.
CREATION_FLAGS = getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0) | getattr(
    subprocess, "BELOW_NORMAL_PRIORITY_CLASS", 0
)
NICE = 5
"""Niceness of the worker, on systems that have it."""


def write_frame(out: BinaryIO, value: Any) -> None:
    """Write an object; its arrays are not copied, and other threads keep running."""
    buffers: list[pickle.PickleBuffer] = []
    pickled = pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
    parts = [memoryview(pickled), *(buffer.raw() for buffer in buffers)]
    out.write(struct.pack(f"<{1 + len(parts)}Q", len(parts), *map(len, parts)))
    for part in parts:
        out.write(part)
    out.flush()


def read_frame(source: BinaryIO) -> Frame:
    """Read the next frame; raise EOFError if the other process has ended."""
    (count,) = struct.unpack("<Q", _exactly(source, 8))
    sizes = struct.unpack(f"<{count}Q", _exactly(source, 8 * count))
    return [_exactly(source, size) for size in sizes]


def unpickle_frame(frame: Frame) -> Any:
    """Return the object of a frame; other threads run meanwhile.

    It uses Python's unpickler: the C unpickler holds the GIL for 3 to 27 ms per forest.
    """
    return pickle._Unpickler(io.BytesIO(frame[0]), buffers=frame[1:]).load()


class FitError(Exception):
    """An estimator could not be fitted; the message is the name of its exception."""


class StoppedError(Exception):
    """The worker was stopped."""


class FitWorker:
    """Client of the worker process: one fit at a time; a process that crashes is restarted.

    After `MAX_CRASHES` crashes in a row, fits run in the calling thread.
    """

    def __init__(self) -> None:
        self._process: Process | None = None
        self._crashes = 0
        self._stopped = False
        self._lock = threading.Lock()

    @property
    def pid(self) -> int | None:
        """Process id of the worker; None if it is not running."""
        return None if self._process is None else self._process.pid

    def start(self) -> None:
        """Start the process unless it is running: its imports take a second or two."""
        if self._crashes < MAX_CRASHES:
            with contextlib.suppress(OSError, StoppedError):  # the first fit reports the error
                self._running()

    def stop(self) -> None:
        """Kill the process."""
        with self._lock:
            self._stopped = True
            self._end()

    def run(self, job: FitJob) -> FitResult:
        """Run a fit and return its result; raise `FitError` if an estimator fails."""
        while self._crashes < MAX_CRASHES:
            try:
                process = self._running()
                write_frame(cast(BinaryIO, process.stdin), job.for_worker())
                frame = read_frame(cast(BinaryIO, process.stdout))
            except Exception as error:  # the process or its pipes may fail in any way
                self._lose(error)
            else:
                self._crashes = 0
                result: ExpertSet | str = unpickle_frame(frame)
                if isinstance(result, str):
                    raise FitError(result)
                return FitResult(job, result)
        try:
            return job.run()
        except Exception as error:  # third-party estimators may raise anything
            raise FitError(type(error).__name__) from error

    def _running(self) -> Process:
        with self._lock:
            if self._stopped:
                raise StoppedError
            if self._process is None:
                self._process = _start_process()
            return self._process

    def _lose(self, error: Exception) -> None:
        with self._lock:
            if self._stopped:
                raise StoppedError from error
            self._end()
        self._crashes += 1
        then = "restarting it" if self._crashes < MAX_CRASHES else "fits run in the server"
        LOG.warning("The process that fits experts crashed (%s): %s.", type(error).__name__, then)

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            with contextlib.suppress(OSError), process:  # part of a job may not have been written yet
                process.kill()


class FitQueue:
    """Queue of background fits, at most one per stream. One thread waits for their results.

    Parameters
    ----------
    submit
        Function that queues a call for the writer thread.

    Attributes
    ----------
    worker
        Process that fits; it starts with the first stream that has experts.
    """

    def __init__(self, submit: Callable[[Callable[[Service], None]], None]) -> None:
        self._submit = submit
        self.worker = FitWorker()
        self._work: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        # By stream number: a deleted stream and a later one may have the same name.
        self._under_way: set[int] = set()
        self._is_warm = False
        # Number of labels of the last failed fit, by stream: with the same labels it would fail again.
        self._failed: dict[int, int] = {}
        threading.Thread(target=self._run, name="qufur-refits", daemon=True).start()

    def start_due(self, service: Service) -> None:
        """Start the fits that are due; called in the writer thread."""
        for stream in service.loaded.values():
            if stream.number in self._under_way:
                continue
            learner = stream.workbook.learner
            if not self._is_warm and learner.model.tags.uses_purchases:  # true of all models with experts
                self._is_warm = True
                self._work.put(self.worker.start)
            fits = learner.background_fits
            job = None if fits is None else fits.next_job()
            if job is not None and job.labels != self._failed.get(stream.number):
                self._under_way.add(stream.number)
                self._work.put(partial(self._fit, stream.name, stream.number, job))

    def stop(self) -> None:
        """Start no further fit and abandon a running one."""
        self._work.put(None)
        self.worker.stop()

    def _run(self) -> None:
        try:
            while (work := self._work.get()) is not None:
                work()
        except StoppedError:
            return

    def _fit(self, name: str, number: int, job: FitJob) -> None:
        result = None
        try:
            result = self.worker.run(job)
        except FitError as error:
            LOG.warning("Experts of stream %s could not be fitted: %s", name, error)
        self._submit(partial(self._finish, name, number, job, result))

    def _finish(
        self, name: str, number: int, job: FitJob, result: FitResult | None, service: Service
    ) -> None:
        self._under_way.discard(number)
        if result is None:
            self._failed[number] = job.labels
        elif service.numbers.get(name) == number:  # otherwise the stream was deleted meanwhile
            service.stream(name).install(result, ACTOR)


def main() -> None:
    """Run fits until the parent ends."""
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # output of estimators must not mix with the results
    if hasattr(os, "nice"):
        os.nice(NICE)
    fits: queue.SimpleQueue[Frame] = queue.SimpleQueue()
    threading.Thread(target=_read_jobs, args=(sys.stdin.buffer, fits), daemon=True).start()
    import sklearn.ensemble  # noqa: F401  (takes a second, so not during the first job)

    while True:
        write_frame(out, _run_job(fits.get()))


def _exactly(source: BinaryIO, size: int) -> bytearray:
    buffer = bytearray(size)
    if source.readinto(buffer) < size:  # type: ignore[attr-defined]
        raise EOFError
    return buffer


def _start_process() -> Process:
    return subprocess.Popen(
        [sys.executable, "-c", START, *filter(None, sys.path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=os.environ | ONE_THREAD,
        start_new_session=True,
        creationflags=CREATION_FLAGS,
    )


def _read_jobs(source: BinaryIO, fits: queue.SimpleQueue[Frame]) -> None:
    """Queue jobs, also during a fit, so that this thread notices the end of the parent immediately."""
    try:
        while True:
            fits.put(read_frame(source))
    finally:
        os._exit(0)


def _run_job(frame: Frame) -> ExpertSet | str:
    """Return the fitted experts, or the name of the exception."""
    try:
        job: FitJob = unpickle_frame(frame)
        return job.run().experts
    except Exception as error:  # third-party estimators may raise anything
        return type(error).__name__
