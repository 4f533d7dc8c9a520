"""The application: routes under /v1, pages, and what the machine around it asks."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from qufur import __version__
from qufur.service.access import Keys
from qufur.service.documented import describe
from qufur.service.events import DamagedError
from qufur.service.limits import Limits
from qufur.service.logs import Lines, log_event
from qufur.service.metrics import Metrics
from qufur.service.observation import Observed, failure
from qufur.service.pages import add_pages
from qufur.service.refusals import REFUSALS
from qufur.service.replies import complaint
from qufur.service.request_guard import RequestGuard
from qufur.service.routes import erasure, examples, labels, machine, streams, work
from qufur.service.service import Service
from qufur.service.shortcut import STORE_ERRORS, Shortcut, refusal
from qufur.service.store import Store, StoreError
from qufur.service.verification import check_at_start
from qufur.service.writer import Writer, settle

LOG = logging.getLogger("qufur.service")
WITHOUT: dict[str, Any] = {"docs_url": None, "redoc_url": None}
"""The framework's own pages, which load scripts from elsewhere."""
ABOUT = "Learn online from streams when labels cost money: send examples, get predictions and questions."


class App(FastAPI):
    """The framework, with a shorter way through it; every request is noted."""

    def __init__(self, lines: Lines | None, **settings: Any) -> None:
        super().__init__(**settings)
        self._lines = lines
        self.state.metrics = Metrics()

    def build_middleware_stack(self) -> ASGIApp:
        guarded = RequestGuard(Shortcut(super().build_middleware_stack()), self.state.keys, self.state.limits)
        return Observed(guarded, self.state.metrics, self._lines)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, without the framework's own measurements of it."""
        await Starlette.__call__(self, scope, receive, send)

    def openapi(self) -> dict[str, Any]:
        return describe(self)


def create_app(store: Store, limits: Limits | None = None, lines: Lines | None = None) -> FastAPI:
    """Return the application over a store, whose writer starts and stops with it, and which logs to lines.

    One that is damaged is refused.
    """
    unchecked = check_at_start(store)

    @asynccontextmanager
    async def life(app: FastAPI) -> AsyncIterator[None]:
        loop = asyncio.get_running_loop()

        def deliver(results: Sequence[tuple[Any, Any]]) -> None:
            loop.call_soon_threadsafe(settle, results)

        service = Service(store)
        app.state.writer = Writer(service, deliver)
        app.state.writer.start()
        log_event("started", version=__version__, streams=len(service.numbers), takeover=store.is_taken_over)
        if unchecked is not None:
            threading.Thread(target=_check, args=(unchecked, app.state.writer), daemon=True).start()
        yield
        # Results still go to the loop: it has to turn while the writer finishes.
        await asyncio.to_thread(app.state.writer.stop)
        log_event("stopped")

    app = App(lines, title="qufur", version=__version__, description=ABOUT, lifespan=life, **WITHOUT)
    app.state.store, app.state.keys = store, Keys(store)
    app.state.limits = limits or Limits()
    app.state.leases, app.state.descriptions = {}, {}
    for routes in (machine, streams, examples, work, labels, erasure):
        app.include_router(routes.router)
    add_pages(app)
    _handle_errors(app)
    return app


def _check(unchecked: Callable[[], None], writer: Writer) -> None:
    """Check what was not at the start; nothing more is answered from a store that is damaged."""
    try:
        unchecked()
    except DamagedError as error:
        LOG.error("%s", error)
        writer.fault = str(error)
    except StoreError as error:
        LOG.warning("The store was not checked to its end: %s", error)


def _handle_errors(app: FastAPI) -> None:
    async def _refused(request: Request, error: Exception) -> Response:
        return refusal(error)

    for kind in (*REFUSALS, *STORE_ERRORS):
        app.add_exception_handler(kind, _refused)

    @app.exception_handler(RequestValidationError)
    async def _malformed(request: Request, error: RequestValidationError) -> Response:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"][1:])) or "the request"
        return complaint(422, f"{where}: {first['msg']}.")

    @app.exception_handler(HTTPException)
    async def _unknown(request: Request, error: HTTPException) -> Response:
        words = {404: "There is no such address; /docs lists them.", 405: "This address has other verbs."}
        return complaint(error.status_code, words.get(error.status_code, str(error.detail)), error.headers)

    @app.exception_handler(Exception)
    async def _failed(request: Request, error: Exception) -> Response:
        return failure()
