"""Fits of experts, made beside the writer and installed between two groups of commands."""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from qufur.service.service import Service

if TYPE_CHECKING:
    from qufur.models.experts.fitting import Fitted, Fitting

LOG = logging.getLogger("qufur.service")
ACTOR = "server"


class Refits:
    """Fits that are under way, one for each stream, made by one thread.

    Parameters
    ----------
    submit
        Lets the writer do something, later.
    """

    def __init__(self, submit: Callable[[Callable[[Service], None]], None]) -> None:
        self._submit = submit
        self._due: queue.SimpleQueue[tuple[str, Fitting] | None] = queue.SimpleQueue()
        self._under_way: set[str] = set()
        # For how many labels a fit failed, by stream: with as many it would fail again.
        self._failed: dict[str, int] = {}
        threading.Thread(target=self._run, name="qufur-refits", daemon=True).start()

    def start_due(self, service: Service) -> None:
        """Start the fits that are due; in the writer's thread."""
        for name, stream in service.loaded.items():
            if name in self._under_way:
                continue
            fitting = stream.book.learner.due_fit()
            if fitting is not None and fitting.labels != self._failed.get(name):
                self._under_way.add(name)
                self._due.put((name, fitting))

    def stop(self) -> None:
        """Begin no other fit."""
        self._due.put(None)

    def _run(self) -> None:
        while (due := self._due.get()) is not None:
            name, fitting = due
            try:
                fitted = fitting.run()
            except Exception as error:  # whatever an estimator does not like
                LOG.warning("Experts of stream %s could not be fitted: %s", name, type(error).__name__)
                self._submit(self._given_up(name, fitting))
            else:
                self._submit(self._installed(name, fitted))

    def _installed(self, name: str, fitted: Fitted) -> Callable[[Service], None]:
        def do(service: Service) -> None:
            self._under_way.discard(name)
            service.install(name, fitted, ACTOR)

        return do

    def _given_up(self, name: str, fitting: Fitting) -> Callable[[Service], None]:
        def do(service: Service) -> None:
            self._under_way.discard(name)
            self._failed[name] = fitting.labels

        return do
