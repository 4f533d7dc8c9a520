"""What a browser is told and asked: which sources a page may use, and that a request comes from a page.

A session is the key itself, in a cookie that no script and no other site can use; a key that is revoked is
refused soon after. A form or call that changes something also carries a token made from another cookie,
which another site cannot know.
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

from qufur.service.refusals import RefusalError

KEY_COOKIE = "qufur_key"
VISITOR_COOKIE = "qufur_visitor"
"""A random value, for everybody: also before they sign in, and where no key is asked for."""
TOKEN_HEADER = "x-csrf-token"
SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
"""Methods that change nothing."""
MONTH = 30 * 24 * 3600


class ForgedError(RefusalError):
    """A browser sent this, and no page of this service asked it to."""

    status = 403


POLICY: Mapping[str, str] = {
    "default-src": "'self'",
    "img-src": "'self'",
    "object-src": "'none'",
    "base-uri": "'none'",
    "form-action": "'self'",
    "frame-ancestors": "'none'",
}
IMAGES_ANYWHERE = {"img-src": "'self' http: https:"}
"""For the page that shows images by their addresses."""


def headers(images_anywhere: bool = False) -> dict[str, str]:
    """Return the headers of a page.

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
    """Return the value of a browser's cookie, or one for a browser that has none."""
    return request.cookies.get(VISITOR_COOKIE) or secrets.token_urlsafe(24)


def csrf_token(visitor: str) -> str:
    """Return the token for the pages of a visitor."""
    return hmac.new(visitor.encode(), b"csrf", hashlib.sha256).hexdigest()


def has_token(request: Request, sent: str | None = None) -> bool:
    """Whether a request that changes something comes from a page of this service.

    Parameters
    ----------
    sent
        The token of a form; that of the header if there is none.
    """
    visitor = request.cookies.get(VISITOR_COOKIE)
    given = sent if sent is not None else request.headers.get(TOKEN_HEADER, "")
    return bool(visitor) and hmac.compare_digest(csrf_token(visitor or "").encode(), given.encode())


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
    """Return whether an address is reached from this machine alone.

    >>> [is_loopback(address) for address in ("127.0.0.1", "::1", "10.0.0.1", "elsewhere")]
    [True, True, False, False]
    """
    try:
        return ipaddress.ip_address(address.split("%", maxsplit=1)[0]).is_loopback
    except ValueError:
        return False


def lacks_token(request: Request) -> bool:
    """Return whether a change that a session cookie authorizes needs a token and has none.

    The guard has compared the Origin that browsers send with every change. Without one, a token is needed.
    """
    if request.method in SAFE or "origin" in request.headers:
        return False
    return KEY_COOKIE in request.cookies and not has_token(request)


def set_cookie(response: Response, request: Request, name: str, value: str) -> None:
    """Give a browser a cookie that no script and no other site can use."""
    secure = request.url.scheme == "https"
    response.set_cookie(name, value, max_age=MONTH, httponly=True, samesite="strict", secure=secure)
