"""Middleware: request ids, error responses, metrics and log; checks of Host, Origin and size of the body."""

from __future__ import annotations

import itertools
import re
import secrets
from collections.abc import Mapping
from time import perf_counter

from sqlalchemy.exc import DBAPIError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from qufur.errors import InvalidError
from qufur.service.auth import Keys
from qufur.service.errors import RequestError, UnavailableError
from qufur.service.http import Limits, error_response
from qufur.service.logs import EVENTS, JsonLogHandler
from qufur.service.routes.monitoring import Metrics
from qufur.service.security import SAFE_METHODS, CrossSiteError, has_token, is_loopback_host
from qufur.service.store import FencedError, StoreError, StoreFileError, reason_of
from qufur.service.writer import TRY_AGAIN

CLIENT_CLOSED = 499
"""Logged status of a request whose client disconnected before the response."""
UNKNOWN = "unknown"
"""Logged route of paths without a route: metrics must not have one label per path."""
STORE_ERRORS = DBAPIError, StoreError, FencedError, StoreFileError
CHECKED_HEADERS = frozenset(
    {b"host", b"origin", b"sec-fetch-site", b"authorization", b"content-length", b"transfer-encoding"}
)
SAME_SITE = frozenset({b"same-origin", b"none"})
"""Values of Sec-Fetch-Site for requests from pages of this service or typed by the user."""
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


class RequestGuard:
    """ASGI middleware that rejects foreign hosts, cross-site changes and bodies over the limit.

    The guard runs before routing, so a new route is protected without code of its own.

    A site can point its own name at 127.0.0.1 after a browser has loaded it (DNS rebinding). The browser then
    treats this service as part of that site, and only the Host header tells the two apart. A service without
    keys listens on loopback alone and accepts loopback names alone. A service with keys accepts every name,
    because a proxy may give it one; a rebound site has neither a key nor the session cookie of the real name.
    """

    def __init__(self, app: ASGIApp, keys: Keys, limits: Limits) -> None:
        self._app, self._keys, self._limits = app, keys, limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check one request and pass it on."""
        if scope["type"] == "http":
            headers = _headers(scope)
            self._check(scope, headers)
            receive = self._bounded(headers, receive)
        await self._app(scope, receive, send)

    def _check(self, scope: Scope, headers: Mapping[bytes, bytes]) -> None:
        host = headers.get(b"host", b"")
        if not is_loopback_host(host) and not self._keys.needed:
            allowed = "localhost, 127.0.0.1 or [::1]"
            received = ascii(host.decode("latin-1"))[:80]
            remedy = "Once `qufur key add` has created a key, any name is accepted."
            raise CrossSiteError(f"Without keys, Host must be {allowed}, got {received}. {remedy}")
        # A browser adds Authorization to a cross-site request only after a preflight, which gets no consent.
        if scope["method"] in SAFE_METHODS or b"authorization" in headers:
            return
        if is_cross_site(headers) and not has_token(Request(scope)):
            remedy = "Reload the page. A proxy must pass on the Host header."
            raise CrossSiteError(f"The request comes from a page of another site. {remedy}")

    def _bounded(self, headers: Mapping[bytes, bytes], receive: Receive) -> Receive:
        """Return a `receive` that raises `TooLargeError` as soon as the body exceeds the limit."""
        length = headers.get(b"content-length", b"")
        if length.isdigit() and b"transfer-encoding" not in headers:
            self._limits.check_body(int(length))  # the parser reads exactly this many bytes
            return receive
        size = 0

        async def counted() -> Message:
            nonlocal size
            message = await receive()
            size += len(message.get("body", b""))
            self._limits.check_body(size)
            return message

        return counted


def is_cross_site(headers: Mapping[bytes, bytes]) -> bool:
    """Return whether a browser names another site as the origin of a request.

    Sec-Fetch-Site is what the browser itself compared, so it also holds behind a proxy that changes Host.
    Browsers send it over TLS and to loopback; elsewhere Origin is compared with Host. Programs send neither.

    >>> is_cross_site({b"host": b"labels.example", b"origin": b"https://other.example"})
    True
    >>> is_cross_site({b"host": b"127.0.0.1", b"sec-fetch-site": b"same-origin"})
    False
    """
    site, origin = headers.get(b"sec-fetch-site"), headers.get(b"origin")
    if site is not None:
        return site not in SAME_SITE
    return origin is not None and origin.partition(b"://")[2] != headers.get(b"host")


def _headers(scope: Scope) -> dict[bytes, bytes]:
    """Return the headers that the guard reads. A repeated header becomes empty, which no check accepts."""
    headers: dict[bytes, bytes] = {}
    for name, value in scope["headers"]:
        if name in CHECKED_HEADERS:
            headers[name] = b"" if name in headers else value
    return headers
