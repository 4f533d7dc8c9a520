"""`qufur serve --demo`: a stream at work, and somebody who answers its questions until a person does."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
from fastapi import APIRouter, FastAPI, Request
from starlette.responses import Response

from qufur.service.access import Scope
from qufur.service.commands import Ask
from qufur.service.demonstrated import Material, material
from qufur.service.documented import route
from qufur.service.examples import read_examples
from qufur.service.refusals import RefusalError
from qufur.service.replies import reply
from qufur.service.requests import body_of, decoder, key_of
from qufur.service.service import Service
from qufur.service.writer import Writer

LOG = logging.getLogger("qufur.service")
PACE = 0.25
"""Seconds between rows, a few at a time."""
FEW = 2
HEAD_START = 400
"""Rows that come at once at the beginning, so that there is something to see."""
PATIENCE = 40
"""Rows after which a question is answered."""
FEEDER, ANNOTATOR = "demo", "simulated annotator"


class Switch(msgspec.Struct, forbid_unknown_fields=True):
    """Whether questions are answered by themselves."""

    on: bool


_switch: Any = decoder(Switch)


class Demonstration:
    """Sends rows and answers questions through the writer, as anybody would.

    Time is counted in rows and everything follows from the seed, so that it goes the same way each time, and
    after a restart goes on where it was.
    """

    def __init__(self, found: Material, pace: float = PACE) -> None:
        self.material, self.pace = found, pace
        self.annotates = True
        self.sent = 0
        self._end = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self, writer: Writer) -> None:
        """Begin, in a thread of its own."""
        self._thread = threading.Thread(target=self._run, args=(writer,), name="qufur-demo", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End, between two rows."""
        self._end.set()
        if self._thread is not None:
            self._thread.join()

    def state(self) -> dict[str, Any]:
        """Return how far it is."""
        name, rows = self.material.description.name, len(self.material)
        return {
            "stream": name,
            "data": self.material.title,
            "annotator": self.annotates,
            "rows": self.sent,
            "of": rows,
        }

    def _run(self, writer: Writer) -> None:
        try:
            self.sent = writer.call(self._begin)
            while not self._end.wait(self.pace if self.sent >= HEAD_START else 0.0):
                self.step(writer)
        except RefusalError as refused:
            LOG.warning("The demonstration ended: %s", refused)
        except Exception:
            LOG.exception("The demonstration ended")

    def _begin(self, service: Service) -> int:
        """Return how many rows came before."""
        stream, _ = service.create(self.material.description, FEEDER)
        return stream.book.rows

    def step(self, writer: Writer) -> None:
        """Send a few rows, and answer the questions that have waited long enough."""
        few = FEW if self.sent >= HEAD_START else PATIENCE
        examples = self.material.examples(self.sent, self.sent + few)
        if examples:
            rows = read_examples(self.material.description, examples)
            writer.submit(Ask(self.material.description.name, rows, FEEDER)).result()
            self.sent += len(examples)
        if self.annotates:
            writer.call(self._annotate)

    def _annotate(self, service: Service) -> None:
        name, last = self.material.description.name, self.sent - PATIENCE
        over = self.sent >= len(self.material)
        labels = {
            id: self.material.label(id)
            for id in service.stream(name).waiting
            if self.material.place(id) is not None and (over or (self.material.place(id) or 0) < last)
        }
        if labels:
            service.tell(name, labels, ANNOTATOR, replace=False, accept_outliers=True)


def attach(app: FastAPI, pace: float = PACE) -> Demonstration:
    """Let an application show itself at work: it begins and ends with it."""
    demonstration = Demonstration(material(), pace)
    before = app.router.lifespan_context

    @asynccontextmanager
    async def life(app: Any) -> AsyncIterator[Any]:
        async with before(app) as state:
            demonstration.start(app.state.writer)
            yield state
            # What it waits for comes by way of the loop, which has to turn.
            await asyncio.to_thread(demonstration.stop)

    app.router.lifespan_context = life
    app.include_router(_routes(demonstration))
    return demonstration


def _routes(demonstration: Demonstration) -> APIRouter:
    router = APIRouter(prefix="/demo", tags=["demonstration"])
    name = demonstration.material.description.name

    @router.get("", **route({"type": "object"}))
    async def state(request: Request) -> Response:
        """Say how far the demonstration is, and whether questions are answered by themselves."""
        key_of(request, Scope.read, name)
        return reply(demonstration.state())

    @router.post("/annotator", **route({"type": "object"}, Switch))
    async def switch(request: Request) -> Response:
        """Let questions be answered by themselves, or leave them to people."""
        key_of(request, Scope.label, name)
        wanted: Switch = _switch(await body_of(request))
        demonstration.annotates = wanted.on
        return reply(demonstration.state())

    return router
