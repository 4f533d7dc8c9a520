"""Background fits of experts, installed by the writer between two batches of commands."""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from qufur.service.fit_worker import FitError, FitWorker, StoppedError
from qufur.service.service import Service

if TYPE_CHECKING:
    from qufur.models.ensemble.fits import FitJob, FitResult

LOG = logging.getLogger("qufur.service")
ACTOR = "server"


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
