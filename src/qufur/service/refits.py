"""Fits of experts, made beside the writer and installed between two groups of commands."""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from qufur.service.fitter import FitError, Fitter, StoppedError
from qufur.service.service import Service

if TYPE_CHECKING:
    from qufur.models.experts.fitting import Fitted, Fitting

LOG = logging.getLogger("qufur.service")
ACTOR = "server"


class Refits:
    """Fits that are under way, one for each stream, which one thread waits for.

    Parameters
    ----------
    submit
        Lets the writer do something, later.

    Attributes
    ----------
    fitter
        What makes them; it is there from the first stream with experts on.
    """

    def __init__(self, submit: Callable[[Callable[[Service], None]], None]) -> None:
        self._submit = submit
        self.fitter = Fitter()
        self._work: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        # By the number of a stream: a deleted stream and a later one may have the same name.
        self._under_way: set[int] = set()
        self._expected = False
        # For how many labels a fit failed, by stream: with as many it would fail again.
        self._failed: dict[int, int] = {}
        threading.Thread(target=self._run, name="qufur-refits", daemon=True).start()

    def start_due(self, service: Service) -> None:
        """Start the fits that are due; in the writer's thread."""
        for stream in service.loaded.values():
            if stream.number in self._under_way:
                continue
            learner = stream.book.learner
            if not self._expected and learner.model.weighs_purchases:  # as all do that have experts
                self._expected = True
                self._work.put(self.fitter.start)
            fitting = learner.due_fit()
            if fitting is not None and fitting.labels != self._failed.get(stream.number):
                self._under_way.add(stream.number)
                self._work.put(partial(self._make, stream.name, stream.number, fitting))

    def stop(self) -> None:
        """Begin no other fit, and leave one that is under way."""
        self._work.put(None)
        self.fitter.stop()

    def _run(self) -> None:
        try:
            while (work := self._work.get()) is not None:
                work()
        except StoppedError:
            return

    def _make(self, name: str, number: int, fitting: Fitting) -> None:
        try:
            fitted = self.fitter.run(fitting)
        except FitError as error:
            LOG.warning("Experts of stream %s could not be fitted: %s", name, error)
            self._submit(self._given_up(number, fitting))
        else:
            self._submit(self._installed(name, number, fitted))

    def _installed(self, name: str, number: int, fitted: Fitted) -> Callable[[Service], None]:
        def do(service: Service) -> None:
            self._under_way.discard(number)
            if service.numbers.get(name) == number:  # else the stream was deleted meanwhile
                service.install(name, fitted, ACTOR)

        return do

    def _given_up(self, number: int, fitting: Fitting) -> Callable[[Service], None]:
        def do(service: Service) -> None:
            self._under_way.discard(number)
            self._failed[number] = fitting.labels

        return do
