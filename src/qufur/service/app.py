"""The ASGI application: the HTTP API under /v1, pages for people, health checks and metrics."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from qufur import __version__
from qufur.service.auth import Keys
from qufur.service.http import Limits, json_response
from qufur.service.logs import JsonLogHandler, log_event
from qufur.service.middleware import RequestGuard, RequestMiddleware
from qufur.service.openapi import document
from qufur.service.pages import routes as pages
from qufur.service.routes import examples, label_page, labels, monitoring, streams
from qufur.service.service import Service
from qufur.service.store import DamagedError, Store, StoreError
from qufur.service.verification import check_at_start
from qufur.service.writer import Writer, resolve

LOG = logging.getLogger("qufur.service")


def create_app(store: Store, limits: Limits | None = None, log: JsonLogHandler | None = None) -> Starlette:
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
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        service, loop = Service(store), asyncio.get_running_loop()
        app.state.writer = Writer(service, lambda results: loop.call_soon_threadsafe(resolve, results))
        app.state.writer.start()
        log_event("started", version=__version__, streams=len(service.numbers), takeover=store.is_taken_over)
        if check_rest is not None:
            threading.Thread(target=_check, args=(check_rest, app.state.writer), daemon=True).start()
        yield
        # The writer delivers results through the event loop, so the loop must keep running while it stops.
        await asyncio.to_thread(app.state.writer.stop)
        log_event("stopped")

    keys, limits, metrics = Keys(store), limits or Limits(), monitoring.Metrics()
    app = Starlette(
        routes=[
            *examples.routes,  # most frequent first, because routes are tried in order
            *labels.routes,
            *label_page.routes,
            *streams.routes,
            *monitoring.routes,
            Route("/openapi.json", _openapi),
            *pages.routes,
            pages.STATIC,
        ],
        lifespan=lifespan,
    )
    app.state.store, app.state.keys, app.state.limits, app.state.metrics = store, keys, limits, metrics
    app.state.leases, app.state.configs = {}, {}
    # Starlette's own two middlewares for errors would add 3 µs to each request.
    app.middleware_stack = RequestMiddleware(RequestGuard(app.router, keys, limits), metrics, log)
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


async def _openapi(request: Request) -> Response:
    return json_response(document(request.app.routes))
