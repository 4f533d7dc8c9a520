"""What is noted of every request: how long it took, how it ended, and a line in the log."""

from __future__ import annotations

import itertools
import re
import secrets
from time import perf_counter

from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from qufur.service.logs import EVENTS, Lines
from qufur.service.metrics import Metrics
from qufur.service.replies import complaint

GONE = 499
"""Stands for a status where nobody waited for the answer."""
UNKNOWN = "unknown"
"""Stands for addresses that are none: there is no end to them."""
_SOUND = re.compile(rb"[A-Za-z0-9_.-]{1,64}")
_STREAM = re.compile(r"/v1/streams/([A-Za-z0-9_.-]{1,64})(?:/|$)")


class Observed:
    """Notes every request on its way through; it takes some microseconds. What fails is answered here.

    Each has an id, its own `X-Request-Id` or a new one, which the answer has as well.
    """

    def __init__(self, app: ASGIApp, metrics: Metrics, lines: Lines | None) -> None:
        self._app, self._metrics, self._lines = app, metrics, lines
        self._prefix, self._numbers = secrets.token_hex(4), itertools.count(1)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        start, status, id = perf_counter(), GONE, self._id_of(scope)

        async def noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message["headers"], (b"x-request-id", id)]
            await send(message)

        try:
            await self._app(scope, receive, noted)
        except ClientDisconnect:
            status = GONE
        except Exception:
            EVENTS.exception("A request failed", extra={"fields": {"request": id.decode()}})
            if status == GONE:
                await failure()(scope, receive, noted)
        finally:
            self._note(scope, status, perf_counter() - start, id)

    def _id_of(self, scope: Scope) -> bytes:
        for name, value in scope["headers"]:
            if name == b"x-request-id" and _SOUND.fullmatch(value):
                return bytes(value)
        return f"{self._prefix}-{next(self._numbers)}".encode()

    def _note(self, scope: Scope, status: int, seconds: float, id: bytes) -> None:
        template = _template(scope)
        self._metrics.note(scope["method"], template, status, seconds)
        if self._lines is not None:
            stream = _STREAM.match(scope["path"])
            self._lines.write_soon(
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


def failure() -> Response:
    """Return what is said where something is nobody's fault but ours."""
    return complaint(500, "Something went wrong on the server, and is in its log.")


def _template(scope: Scope) -> str:
    """Return the address with names for what varies in it."""
    found: str | None = scope.get("template")
    if found is None:
        found = getattr(scope.get("route"), "path", None) or UNKNOWN
    return found.replace(":path}", "}")
