"""Routes: a method, a path, a handler, and the description for the OpenAPI document."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from starlette import routing
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.types import Receive, Scope, Send

Handler = TypeVar("Handler", bound=Callable[..., Any])


@dataclass(frozen=True)
class Operation:
    """Description of a route in the OpenAPI document.

    Parameters
    ----------
    result
        Type of the JSON response; or the response itself, as OpenAPI describes it.
    body
        Type of the JSON body. None: the route reads no body.
    example
        A valid body.
    binary
        Whether the route also accepts a matrix in NumPy's format.
    parameters
        Results of `openapi.flag`, `openapi.count` and `openapi.header`.
    statuses
        Status codes of success.
    """

    result: Any
    body: Any = None
    example: Any = None
    binary: bool = False
    parameters: Sequence[Mapping[str, Any]] = ()
    statuses: Sequence[int] = (200,)


class Route(routing.Route):
    """Route of one method. Its handler takes the request and the path parameters by name.

    The docstring of the handler is its text in the OpenAPI document. A route without an `operation` is not in
    the document. Handlers that are not coroutines run in another thread.
    """

    def __init__(
        self, method: str, path: str, handler: Callable[..., Any], operation: Operation | None, tag: str
    ) -> None:
        super().__init__(path, handler)
        self.methods = {method}  # without HEAD, which Starlette adds to GET
        self.method, self.operation, self.tag = method, operation, tag
        self._is_async = inspect.iscoroutinefunction(handler)

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request to this path."""
        scope["template"] = self.path_format  # for the log and the metrics
        if scope["method"] != self.method:
            raise HTTPException(405, headers={"Allow": self.method})
        request = Request(scope, receive)
        if self._is_async:
            response = await self.endpoint(request, **request.path_params)
        else:
            response = await run_in_threadpool(self.endpoint, request, **request.path_params)
        await response(scope, receive, send)


class Routes(list[Route]):
    """Routes whose paths start with the same prefix.

    Parameters
    ----------
    prefix
        Start of every path.
    tag
        Section of the OpenAPI document.
    """

    def __init__(self, prefix: str = "", tag: str = "") -> None:
        super().__init__()
        self.prefix, self.tag = prefix, tag

    def add(self, route: str, operation: Operation | None = None) -> Callable[[Handler], Handler]:
        """Return a decorator that adds a handler for a method and the rest of a path, as in `GET /queue`."""
        method, _, path = route.partition(" ")

        def decorate(handler: Handler) -> Handler:
            self.append(Route(method, self.prefix + path, handler, operation, self.tag))
            return handler

        return decorate
