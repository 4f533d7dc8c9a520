"""A shorter way to the two routes that every example takes: the framework's own takes longer than the answer.

Everything else goes through the framework, and so does the description of the interface; the functions that
answer are the same.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from typing import Any

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from qufur.errors import InvalidError
from qufur.service.refusals import RefusalError
from qufur.service.replies import complaint
from qufur.service.routes import examples, work

Answer = Callable[..., Awaitable[Response]]

_EXAMPLES = re.compile(r"/v1/streams/([A-Za-z0-9_.-]+)/examples")
_LABEL = re.compile(r"/v1/streams/([A-Za-z0-9_.-]+)/examples/([A-Za-z0-9_.-]+)/label")
ROUTES: dict[str, tuple[re.Pattern[str], Answer, str]] = {
    "POST": (_EXAMPLES, examples.ask, "/v1/streams/{stream}/examples"),
    "PUT": (_LABEL, work.tell, "/v1/streams/{stream}/examples/{id}/label"),
}
"""By verb: which addresses, what answers, and what the route is called."""


class Shortcut:
    """Answers what goes by the short way, and hands everything else on."""

    def __init__(self, app: ASGIApp, framework: FastAPI) -> None:
        self._app, self._framework = app, framework

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        verb, answer, template = ROUTES.get(scope.get("method", ""), (None, None, ""))
        found = None if verb is None else verb.fullmatch(scope["path"])
        if found is None or answer is None:
            await self._app(scope, receive, send)
            return
        scope["app"], scope["template"] = self._framework, template
        response = await _response(answer, Request(scope, receive), found.groups())
        await response(scope, receive, send)


async def _response(answer: Answer, request: Request, arguments: tuple[Any, ...]) -> Response:
    try:
        return await answer(request, *arguments)
    except Exception as error:
        return refusal(error)


def refusal(error: Exception) -> Response:
    """Return what is said when something is refused; what is nobody's fault but ours goes on."""
    if isinstance(error, RefusalError):
        return complaint(error.status, str(error), error.headers)
    if isinstance(error, InvalidError):
        return complaint(422, str(error))
    raise error
