"""Browser security: content security policy, session cookies and CSRF tokens.

A session is the key itself, in a cookie that is hidden from scripts and never sent by other sites. A revoked
key is rejected within seconds. A form or call that changes something also carries a CSRF token, derived from
a second cookie, which another site cannot read.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import secrets
from collections.abc import Mapping
from functools import lru_cache
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import Response

from qufur.service.errors import RequestError

KEY_COOKIE = "qufur_key"
VISITOR_COOKIE = "qufur_visitor"
"""Holds a random value per browser, also before sign-in and on services without keys."""
TOKEN_HEADER = "x-csrf-token"
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
"""Methods that change nothing."""
COOKIE_SECONDS = 30 * 24 * 3600
POLICY: Mapping[str, str] = {
    "default-src": "'self'",
    "img-src": "'self'",
    "object-src": "'none'",
    "base-uri": "'none'",
    "form-action": "'self'",
    "frame-ancestors": "'none'",
}
IMAGES_ANYWHERE = {"img-src": "'self' http: https:"}
"""Policy of the label page, which shows images by their URLs."""


class CrossSiteError(RequestError):
    """The request may come from a page of another site (CSRF, DNS rebinding)."""

    status = 403


def headers(images_anywhere: bool = False) -> dict[str, str]:
    """Return the security headers of a page.

    >>> headers()["Content-Security-Policy"].partition(";")[0]
    "default-src 'self'"
    """
    policy = {**POLICY, **(IMAGES_ANYWHERE if images_anywhere else {})}
    return {
        "Content-Security-Policy": "; ".join(f"{name} {sources}" for name, sources in policy.items()),
        "Referrer-Policy": "same-origin",
        "X-Content-Type-Options": "nosniff",
        "Cache-Control": "no-store",
    }


def visitor_of(request: Request) -> str:
    """Return the visitor cookie of a browser, or a new value."""
    return request.cookies.get(VISITOR_COOKIE) or secrets.token_urlsafe(24)


def csrf_token(visitor: str) -> str:
    """Return the CSRF token of a visitor."""
    return hmac.new(visitor.encode(), b"csrf", hashlib.sha256).hexdigest()


def has_token(request: Request, sent: str | None = None) -> bool:
    """Return whether a request has a valid CSRF token: `sent` by a form, else from the header."""
    visitor = request.cookies.get(VISITOR_COOKIE)
    token = sent if sent is not None else request.headers.get(TOKEN_HEADER, "")
    return bool(visitor) and hmac.compare_digest(csrf_token(visitor or "").encode(), token.encode())


@lru_cache(maxsize=64)
def is_loopback_host(host: bytes) -> bool:
    """Return whether a Host header names this machine, with or without a port.

    >>> [is_loopback_host(host) for host in (b"localhost:8000", b"[::1]:8000", b"elsewhere:8000")]
    [True, True, False]
    """
    try:
        name = urlsplit(f"//{host.decode('latin-1')}").hostname or ""
    except ValueError:
        return False
    return name == "localhost" or is_loopback(name)


def is_loopback(address: str) -> bool:
    """Return whether an address is reachable from this machine only.

    >>> [is_loopback(address) for address in ("127.0.0.1", "::1", "10.0.0.1", "elsewhere")]
    [True, True, False, False]
    """
    try:
        return ipaddress.ip_address(address.split("%", maxsplit=1)[0]).is_loopback
    except ValueError:
        return False


def lacks_token(request: Request) -> bool:
    """Return whether a change authorized by a session cookie needs a CSRF token and has none.

    `RequestGuard` has checked the Origin header that browsers send with changes. Without this header, a token
    is needed.
    """
    if request.method in SAFE_METHODS or "origin" in request.headers:
        return False
    return KEY_COOKIE in request.cookies and not has_token(request)


def set_cookie(response: Response, request: Request, name: str, value: str) -> None:
    """Set a cookie that is hidden from scripts and never sent by other sites."""
    secure = request.url.scheme == "https"
    response.set_cookie(name, value, max_age=COOKIE_SECONDS, httponly=True, samesite="strict", secure=secure)
