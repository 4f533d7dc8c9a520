"""Checks in front of every route: Host and Origin headers, and the size of the body.

The guard runs before routing, so a new route is protected without code of its own.

A site can point its own name at 127.0.0.1 after a browser has loaded it (DNS rebinding). The browser then
treats this service as part of that site, and only the Host header tells the two apart. A service without
keys listens on loopback alone and accepts loopback names alone. A service with keys accepts every name,
because a proxy may give it one; a rebound site has neither a key nor the session cookie of the real name.
"""

from __future__ import annotations

from collections.abc import Mapping

from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from qufur.service.auth import Keys
from qufur.service.http import Limits
from qufur.service.security import SAFE_METHODS, CrossSiteError, has_token, is_loopback_host

CHECKED_HEADERS = frozenset(
    {b"host", b"origin", b"sec-fetch-site", b"authorization", b"content-length", b"transfer-encoding"}
)
SAME_SITE = frozenset({b"same-origin", b"none"})
"""Values of Sec-Fetch-Site for requests from pages of this service or typed by the user."""


class RequestGuard:
    """ASGI middleware that rejects foreign hosts, cross-site changes and bodies over the limit."""

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
