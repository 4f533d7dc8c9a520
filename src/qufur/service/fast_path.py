"""Fast path for the routes of examples and labels, which bypasses FastAPI's routing.

For these requests, FastAPI's routing takes longer than the handlers. All other requests, and the OpenAPI
document, use FastAPI. The handlers are the same.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Awaitable, Callable, Mapping

from sqlalchemy.exc import DBAPIError
from starlette.requests import ClientDisconnect, Request, cookie_parser
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from qufur.service.errors import CLIENT_ERRORS, RequestError, UnavailableError
from qufur.service.http import error_response
from qufur.service.routes import examples, labels
from qufur.service.store import StoreError
from qufur.service.store.fencing import FencedError
from qufur.service.store.integrity import StoreFileError
from qufur.service.store.store import reason_of
from qufur.service.writer import TRY_AGAIN

LOG = logging.getLogger("qufur.service")
STORE_ERRORS = DBAPIError, StoreError, FencedError, StoreFileError
Handler = Callable[..., Awaitable[Response]]
_STREAM = "/v1/streams/([A-Za-z0-9_.-]+)"
ROUTES: dict[str, list[tuple[re.Pattern[str], Handler, str]]] = {
    "POST": [
        (re.compile(f"{_STREAM}/examples"), examples.ask, "/v1/streams/{stream}/examples"),
        (re.compile(f"{_STREAM}/labels"), labels.tell_many, "/v1/streams/{stream}/labels"),
    ],
    "PUT": [
        (
            re.compile(f"{_STREAM}/examples/([A-Za-z0-9_.-]+)/label"),
            labels.tell,
            "/v1/streams/{stream}/examples/{id}/label",
        )
    ],
}
"""By method: pattern of the path, handler, and path template for the log and the metrics."""


class QuickRequest(Request):
    """Request with headers in a dictionary, and a fast path for bodies that arrive in one message."""

    headers: Mapping[str, str] = {}  # type: ignore[assignment]
    cookies: Mapping[str, str] = {}  # type: ignore[assignment]

    def __init__(self, scope: Scope, receive: Receive) -> None:
        super().__init__(scope, receive)
        headers = reversed(scope["headers"])  # of a repeated header the first value counts
        self.headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in headers}
        if "cookie" in self.headers:
            self.cookies = cookie_parser(self.headers["cookie"])

    async def body(self) -> bytes:
        """Return the whole body."""
        message = await self._receive()
        body: bytes = message.get("body", b"")
        if message["type"] == "http.request" and not message.get("more_body"):
            return body
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        return body + await super().body()


class FastPath:
    """ASGI middleware that handles the requests of `ROUTES` and passes on all others."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        for pattern, handler, template in ROUTES.get(scope.get("method", ""), ()):
            match = pattern.fullmatch(scope["path"])
            if match is not None:
                scope["template"] = template
                try:
                    response = await handler(QuickRequest(scope, receive), *match.groups())
                except (*CLIENT_ERRORS, *STORE_ERRORS) as error:
                    response = error_response_for(error)
                await response(scope, receive, send)
                return
        await self._app(scope, receive, send)


def error_response_for(error: Exception) -> Response:
    """Return the response for a rejected request or an unavailable store."""
    if isinstance(error, STORE_ERRORS):
        LOG.error("The store cannot be used: %s", reason_of(error))
        is_lasting = isinstance(error, (FencedError, StoreFileError))
        error = UnavailableError(str(error) if is_lasting else TRY_AGAIN)
    if isinstance(error, RequestError):
        return error_response(error.status, str(error), error.headers)
    return error_response(422, str(error))
