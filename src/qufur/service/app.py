"""The ASGI application: the HTTP API under /v1, pages for people, health checks and metrics."""

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
from qufur.service.auth import Keys
from qufur.service.errors import CLIENT_ERRORS
from qufur.service.fast_path import STORE_ERRORS, FastPath, error_response_for
from qufur.service.http import Limits, error_response
from qufur.service.logs import JsonLogHandler, log_event
from qufur.service.metrics import Metrics
from qufur.service.middleware import RequestMiddleware, internal_error
from qufur.service.openapi import describe
from qufur.service.pages import add_pages
from qufur.service.request_guard import RequestGuard
from qufur.service.routes import examples, label_page, labels, monitoring, streams
from qufur.service.service import Service
from qufur.service.store import Store, StoreError
from qufur.service.store.events import DamagedError
from qufur.service.verification import check_at_start
from qufur.service.writer import Writer, resolve

LOG = logging.getLogger("qufur.service")
FASTAPI_OPTIONS: dict[str, Any] = {"docs_url": None, "redoc_url": None}
"""Disables FastAPI's documentation pages, which load scripts from a CDN."""
DESCRIPTION = (
    "Online learning from streams when labels cost money. "
    "Send examples; each response has a prediction and says whether to buy the label."
)


class App(FastAPI):
    """FastAPI behind `RequestMiddleware`, `RequestGuard` and `FastPath`."""

    def __init__(self, log: JsonLogHandler | None, **settings: Any) -> None:
        super().__init__(**settings)
        self._log = log
        self.state.metrics = Metrics()

    def build_middleware_stack(self) -> ASGIApp:
        guarded = RequestGuard(FastPath(super().build_middleware_stack()), self.state.keys, self.state.limits)
        return RequestMiddleware(guarded, self.state.metrics, self._log)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request without FastAPI's telemetry."""
        await Starlette.__call__(self, scope, receive, send)

    def openapi(self) -> dict[str, Any]:
        return describe(self)


def create_app(store: Store, limits: Limits | None = None, log: JsonLogHandler | None = None) -> FastAPI:
    """Create the application of a store. Its writer thread starts and stops with the application.

    Parameters
    ----------
    store
        Open for writing.
    limits
        Largest body and batch, and the request rate. Default: `Limits()`.
    log
        Receives one line per request. Default: requests are not logged.

    Raises
    ------
    DamagedError
        If the integrity check of the store fails.
    """
    check_rest = check_at_start(store)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        loop = asyncio.get_running_loop()

        def deliver(results: Sequence[tuple[Any, Any]]) -> None:
            loop.call_soon_threadsafe(resolve, results)

        service = Service(store)
        app.state.writer = Writer(service, deliver)
        app.state.writer.start()
        log_event("started", version=__version__, streams=len(service.numbers), takeover=store.is_taken_over)
        if check_rest is not None:
            threading.Thread(target=_check, args=(check_rest, app.state.writer), daemon=True).start()
        yield
        # The writer delivers results through the event loop, so the loop must keep running while it stops.
        await asyncio.to_thread(app.state.writer.stop)
        log_event("stopped")

    app = App(
        log, title="qufur", version=__version__, description=DESCRIPTION, lifespan=lifespan, **FASTAPI_OPTIONS
    )
    app.state.store, app.state.keys = store, Keys(store)
    app.state.limits = limits or Limits()
    app.state.leases, app.state.configs = {}, {}
    for routes in (monitoring, streams, examples, labels, label_page):
        app.include_router(routes.router)
    add_pages(app)
    _handle_errors(app)
    return app


def _check(check_rest: Callable[[], None], writer: Writer) -> None:
    """Finish the integrity check that the start left out. After damage the writer rejects all requests."""
    try:
        check_rest()
    except DamagedError as error:
        LOG.error("%s", error)
        writer.failure = str(error)
    except StoreError as error:
        LOG.warning("The integrity check of the store did not finish: %s", error)


def _handle_errors(app: FastAPI) -> None:
    async def _rejected(request: Request, error: Exception) -> Response:
        return error_response_for(error)

    for error_type in (*CLIENT_ERRORS, *STORE_ERRORS):
        app.add_exception_handler(error_type, _rejected)

    @app.exception_handler(RequestValidationError)
    async def _invalid(request: Request, error: RequestValidationError) -> Response:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"][1:])) or "the request"
        return error_response(422, f"{where}: {first['msg']}.")

    @app.exception_handler(HTTPException)
    async def _http_error(request: Request, error: HTTPException) -> Response:
        messages = {
            404: "No such path. /docs lists all paths.",
            405: f"Method {request.method} is not allowed for this path. /docs lists the allowed methods.",
        }
        message = messages.get(error.status_code, str(error.detail))
        return error_response(error.status_code, message, error.headers)

    @app.exception_handler(Exception)
    async def _internal_error(request: Request, error: Exception) -> Response:
        return internal_error()
