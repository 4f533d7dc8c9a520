"""A shorter way to the routes that every example and label takes: the framework's takes longer than they do.

Everything else goes through the framework, and so does the description of the interface; the functions that
answer are the same.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Awaitable, Callable, Mapping

from sqlalchemy.exc import DBAPIError
from starlette.requests import ClientDisconnect, Request, cookie_parser
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from qufur.service.fence import FencedError
from qufur.service.refusals import REFUSALS, RefusalError, UnavailableError
from qufur.service.replies import complaint
from qufur.service.routes import examples, work
from qufur.service.store import StoreError, reason_of
from qufur.service.store_file import StoreFileError
from qufur.service.writer import TRY_AGAIN

LOG = logging.getLogger("qufur.service")
STORE_ERRORS = DBAPIError, StoreError, FencedError, StoreFileError
Answer = Callable[..., Awaitable[Response]]


_STREAM = "/v1/streams/([A-Za-z0-9_.-]+)"
ROUTES: dict[str, list[tuple[re.Pattern[str], Answer, str]]] = {
    "POST": [
        (re.compile(f"{_STREAM}/examples"), examples.ask, "/v1/streams/{stream}/examples"),
        (re.compile(f"{_STREAM}/labels"), work.tell_many, "/v1/streams/{stream}/labels"),
    ],
    "PUT": [
        (
            re.compile(f"{_STREAM}/examples/([A-Za-z0-9_.-]+)/label"),
            work.tell,
            "/v1/streams/{stream}/examples/{id}/label",
        )
    ],
}
"""By verb: which addresses, what answers, and what the route is called."""


class QuickRequest(Request):
    """A request whose headers are looked up, not searched, and whose body mostly comes in one piece."""

    headers: Mapping[str, str] = {}  # type: ignore[assignment]
    cookies: Mapping[str, str] = {}  # type: ignore[assignment]

    def __init__(self, scope: Scope, receive: Receive) -> None:
        super().__init__(scope, receive)
        first = reversed(scope["headers"])  # of those of the same name
        self.headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in first}
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


class Shortcut:
    """Answers what goes by the short way, and hands everything else on."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        for pattern, answer, template in ROUTES.get(scope.get("method", ""), ()):
            found = pattern.fullmatch(scope["path"])
            if found is not None:
                scope["template"] = template
                try:
                    response = await answer(QuickRequest(scope, receive), *found.groups())
                except (*REFUSALS, *STORE_ERRORS) as error:
                    response = refusal(error)
                await response(scope, receive, send)
                return
        await self._app(scope, receive, send)


def refusal(error: Exception) -> Response:
    """Return the response for a rejected request, or for a store that cannot be used now."""
    if isinstance(error, STORE_ERRORS):
        LOG.error("The store cannot be used: %s", reason_of(error))
        is_lasting = isinstance(error, (FencedError, StoreFileError))
        error = UnavailableError(str(error) if is_lasting else TRY_AGAIN)
    if isinstance(error, RefusalError):
        return complaint(error.status, str(error), error.headers)
    return complaint(422, str(error))
