"""Request middleware: request ids, error responses, latency metrics, access log."""

from __future__ import annotations

import itertools
import re
import secrets
from time import perf_counter

from sqlalchemy.exc import DBAPIError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from qufur.errors import InvalidError
from qufur.service.errors import RequestError, UnavailableError
from qufur.service.http import error_response
from qufur.service.logs import EVENTS, JsonLogHandler
from qufur.service.metrics import Metrics
from qufur.service.store import FencedError, StoreError, StoreFileError, reason_of
from qufur.service.writer import TRY_AGAIN

CLIENT_CLOSED = 499
"""Logged status of a request whose client disconnected before the response."""
UNKNOWN = "unknown"
"""Logged route of paths without a route: metrics must not have one label per path."""
STORE_ERRORS = DBAPIError, StoreError, FencedError, StoreFileError
_REQUEST_ID = re.compile(rb"[A-Za-z0-9_.-]{1,64}")
_STREAM = re.compile(r"/v1/streams/([A-Za-z0-9_.-]{1,64})(?:/|$)")


class RequestMiddleware:
    """ASGI middleware that counts, times and logs requests; it takes a few microseconds each.

    A request keeps its `X-Request-Id` or gets a new one, and the response returns it. Exceptions become error
    responses.
    """

    def __init__(self, app: ASGIApp, metrics: Metrics, log: JsonLogHandler | None) -> None:
        self._app, self._metrics, self._log = app, metrics, log
        self._prefix, self._numbers = secrets.token_hex(4), itertools.count(1)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        start, status, id = perf_counter(), CLIENT_CLOSED, self._id_of(scope)

        async def send_with_id(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message["headers"], (b"x-request-id", id)]
            await send(message)

        try:
            await self._app(scope, receive, send_with_id)
        except ClientDisconnect:
            status = CLIENT_CLOSED
        except Exception as error:
            response = _response_to(error, scope["method"], id.decode())
            if status == CLIENT_CLOSED:
                await response(scope, receive, send_with_id)
        finally:
            self._record(scope, status, perf_counter() - start, id)

    def _id_of(self, scope: Scope) -> bytes:
        for name, value in scope["headers"]:
            if name == b"x-request-id" and _REQUEST_ID.fullmatch(value):
                return bytes(value)
        return f"{self._prefix}-{next(self._numbers)}".encode()

    def _record(self, scope: Scope, status: int, seconds: float, id: bytes) -> None:
        # A path template, such as `/v1/streams/{stream}`.
        template = str(scope.get("template") or getattr(scope.get("route"), "path", UNKNOWN))
        self._metrics.record(scope["method"], template, status, seconds)
        if self._log is not None:
            stream = _STREAM.match(scope["path"])
            self._log.write_batched(
                level="info",
                event="request",
                method=scope["method"],
                route=template,
                status=status,
                ms=round(1000 * seconds, 3),
                key=scope.get("qufur.key"),
                stream=stream and stream[1],
                request=id.decode(),
            )


def _response_to(error: Exception, method: str, id: str) -> Response:
    """Return the error response of a request. An unexpected exception is logged and has the status 500."""
    if isinstance(error, HTTPException):  # no such path, method or file
        messages = {
            404: "No such path. /docs lists all paths.",
            405: f"Method {method} is not allowed for this path. /docs lists the allowed methods.",
        }
        message = messages.get(error.status_code, str(error.detail))
        return error_response(error.status_code, message, error.headers)
    if isinstance(error, STORE_ERRORS):
        EVENTS.error("The store cannot be used: %s", reason_of(error))
        is_lasting = isinstance(error, (FencedError, StoreFileError))
        error = UnavailableError(str(error) if is_lasting else TRY_AGAIN)
    if isinstance(error, RequestError):
        return error_response(error.status, str(error), error.headers)
    if isinstance(error, InvalidError):
        return error_response(422, str(error))
    EVENTS.error("A request failed", exc_info=error, extra={"fields": {"request": id}})
    return error_response(500, "Internal server error. The server log has the details.")
