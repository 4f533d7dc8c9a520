"""Routes: a method, a path, a handler, and what the HTTP API documents and checks before the handler."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, NamedTuple, TypeVar, get_type_hints

from starlette import routing
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from qufur.errors import invalid
from qufur.service import auth
from qufur.service.http import ApiRequest, decode, json_response

Handler = TypeVar("Handler", bound=Callable[..., Any])
NPY = "application/x-npy"


@dataclass(frozen=True)
class Flag:
    """Query parameter that is true or false, by default false."""

    name: str
    text: str
    schema: ClassVar = {"type": "boolean", "default": False}

    def read(self, request: ApiRequest) -> bool:
        """Return the value of a request."""
        value = request.query_params.get(self.name, "false")
        if value not in ("true", "false"):
            raise invalid(self.name, "the request", "'true' or 'false'", ascii(value)[:80])
        return value == "true"


@dataclass(frozen=True)
class Count:
    """Query parameter that is a whole number from 0 to `maximum`."""

    name: str
    default: int
    maximum: int
    text: str

    @property
    def schema(self) -> dict[str, Any]:
        """Schema in the OpenAPI document."""
        return {"type": "integer", "minimum": 0, "maximum": self.maximum, "default": self.default}

    def read(self, request: ApiRequest) -> int:
        """Return the value of a request."""
        value = request.query_params.get(self.name, str(self.default))
        if not (value.isascii() and value.isdecimal() and len(value) < 19 and int(value) <= self.maximum):
            allowed = f"a whole number from 0 to {self.maximum}"
            raise invalid(self.name, "the request", allowed, ascii(value)[:80])
        return int(value)


class Header(NamedTuple):
    """Header that a handler reads."""

    name: str
    schema: dict[str, Any]
    text: str


@dataclass(frozen=True)
class Operation:
    """Route of the HTTP API. The annotations of its handler are the types of the response and of `body`.

    Parameters
    ----------
    scope
        Scope that a key needs. None must be explicit: the handler then checks the key, or needs none.
    stream
        Stream that the scope refers to, if the path does not name it.
    example
        A valid body.
    inputs
        Type of the JSON body of a handler that reads it itself and also accepts a matrix in NumPy's format.
    parameters
        Query parameters, which the handler takes by name.
    headers
        Headers that the handler reads.
    statuses
        Status codes of success.
    """

    scope: auth.Scope | None
    stream: str | None = None
    example: Any = None
    inputs: Any = None
    parameters: Sequence[Flag | Count] = ()
    headers: Sequence[Header] = ()
    statuses: Sequence[int] = (200,)


class Route(routing.Route):
    """Route of one method. Its handler takes the request and the path parameters by name.

    With an `operation`, the handler also takes the query parameters and the decoded `body`, and returns the
    content of the JSON response. Its docstring is its text in the OpenAPI document. Other routes are not in
    the document, and their handlers return a response. Handlers that are not coroutines run in a thread.
    """

    def __init__(
        self, method: str, path: str, handler: Callable[..., Any], operation: Operation | None, tag: str
    ) -> None:
        super().__init__(path, handler)
        self.methods = {method}  # without HEAD, which Starlette adds to GET
        self.method, self.operation, self.tag = method, operation, tag
        is_async = inspect.iscoroutinefunction(handler)
        self._handler = handler if is_async else partial(run_in_threadpool, handler)
        if operation is not None:
            hints = get_type_hints(handler)
            self.result, self._decoded = hints["return"], hints.get("body")
            self.body = operation.inputs or self._decoded

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request to this path."""
        scope["template"] = self.path_format  # for the log and the metrics
        if scope["method"] != self.method:
            raise HTTPException(405, headers={"Allow": self.method})
        request = ApiRequest(scope, receive)
        result = await self._handler(request, **await self._arguments(request))
        response = result if isinstance(result, Response) else json_response(result, request.status)
        await response(scope, receive, send)

    async def _arguments(self, request: ApiRequest) -> dict[str, Any]:
        """Authorize a request to the HTTP API; return the arguments of the handler."""
        arguments = dict(request.path_params)
        operation = self.operation
        if operation is None:
            return arguments
        if operation.scope is not None:
            request.authenticate().check(operation.scope, arguments.get("stream", operation.stream))
        for parameter in operation.parameters:
            arguments[parameter.name] = parameter.read(request)
        if self._decoded is not None:
            arguments["body"] = decode(await request.content(), self._decoded)
        return arguments


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
