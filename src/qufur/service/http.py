"""Request handling shared by all routes: limits, keys, bodies, JSON responses, and calls of the writer."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, ClassVar, TypeVar

import msgspec
from sqlalchemy.exc import DBAPIError
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from qufur.errors import invalid
from qufur.service.auth import Key, Scope
from qufur.service.config import StreamConfig
from qufur.service.errors import NotFoundError, RequestError, UnavailableError
from qufur.service.leases import Leases
from qufur.service.security import KEY_COOKIE, CrossSiteError, lacks_token
from qufur.service.service import Service
from qufur.service.store import Store, StoreError
from qufur.service.store.store import reason_of
from qufur.service.writer import Ask, Call, Tell, Writer

LOG = logging.getLogger("qufur.service")
JSON = "application/json"
_CONTENT_TYPE = b"content-type", JSON.encode()
_encode = msgspec.json.Encoder().encode
_decoder: Callable[[Any], msgspec.json.Decoder[Any]] = cache(msgspec.json.Decoder)
Body = TypeVar("Body")
Result = TypeVar("Result")


class MalformedError(RequestError):
    """The body cannot be parsed."""

    status = 422


class TooLargeError(RequestError):
    """The body or the batch exceeds its limit."""

    status = 413


class TooManyRequestsError(RequestError):
    """A key exceeds its request rate."""

    status = 429
    headers: ClassVar[Mapping[str, str]] = {"Retry-After": "1"}


@dataclass
class Limits:
    """Largest body and batch, and the request rate.

    Parameters
    ----------
    body
        Bytes in a request body.
    batch
        Examples or labels in a request.
    rate
        Requests per second from one key, on average; a burst may have twice as many. None: unlimited.
    """

    body: int = 16 * 2**20
    batch: int = 10_000
    rate: float | None = None
    _buckets: dict[str, tuple[float, float]] = field(default_factory=dict, repr=False)

    def check_body(self, size: int) -> None:
        """Raise `TooLargeError` if a body has more bytes than allowed."""
        if size > self.body:
            raise TooLargeError(f"A request body can have at most {self.body} bytes.")

    def check_batch(self, count: int) -> None:
        """Raise `TooLargeError` if a request has more examples or labels than allowed."""
        if count > self.batch:
            raise TooLargeError(f"A request can have at most {self.batch} examples or labels, got {count}.")

    def check_rate(self, key: str) -> None:
        """Count a request of a key. Raise `TooManyRequestsError` if the key exceeds its rate."""
        if self.rate is None:
            return
        now = time.monotonic()
        tokens, updated = self._buckets.get(key, (2 * self.rate, now))
        tokens = min(2 * self.rate, tokens + (now - updated) * self.rate)
        self._buckets[key] = tokens - 1 if tokens >= 1 else tokens, now
        if tokens < 1:
            raise TooManyRequestsError(f"A key can send at most {self.rate:g} requests per second.")


class Json(Response):
    """JSON response that sets its two headers directly; Starlette's generic code takes longer."""

    media_type = JSON

    def init_headers(self, headers: Mapping[str, str] | None = None) -> None:
        """Set Content-Length and Content-Type."""
        if headers is not None:
            super().init_headers(headers)
            return
        self.raw_headers = [(b"content-length", b"%d" % len(self.body)), _CONTENT_TYPE]


def json_response(values: Any, status: int = 200) -> Response:
    """Return values as JSON. NaN and infinity become null."""
    return Json(_encode(values), status)


def error_response(status: int, message: str, headers: Mapping[str, str] | None = None) -> Response:
    """Return an error response, `{"error": message}`."""
    return Json(_encode({"error": message}), status, headers=None if headers is None else dict(headers))


def authorize(request: Request, scope: Scope, stream: str | None = None, *alternatives: Scope) -> Key:
    """Return the key of a request; raise `ForbiddenError` if it has none of these scopes on the stream.

    The error names `scope`; a key with one of the `alternatives` has access as well.
    """
    key = authenticate(request)
    for alternative in alternatives:
        if alternative in key.scopes:
            scope = alternative
    key.check(scope, stream)
    return key


def authenticate(request: Request) -> Key:
    """Return the key of a request, from its Authorization header or its session cookie."""
    header, keys = request.headers.get("authorization"), request.app.state.keys
    # Without keys, a cookie belongs to another service on this machine.
    cookie = request.cookies.get(KEY_COOKIE) if keys.needed else None
    key: Key = keys.find(cookie if header is None else _bearer(header))
    if header is None and lacks_token(request):
        raise CrossSiteError("The CSRF token is missing or outdated. Reload the page.")
    request.scope["qufur.key"] = key.name
    limits: Limits = request.app.state.limits
    limits.check_rate(key.id)
    return key


def _bearer(header: str) -> str:
    scheme, _, key = header.partition(" ")
    return key.strip() if scheme.lower() == "bearer" else ""


def decode(body: bytes, body_type: type[Body]) -> Body:
    """Decode a JSON body of a type. Raise `MalformedError` for others."""
    try:
        decoded: Body = _decoder(body_type).decode(body)
    except msgspec.DecodeError as error:
        raise MalformedError(f"The body cannot be decoded: {error}.") from None
    except (UnicodeDecodeError, RecursionError, ValueError):
        raise MalformedError("The body is not valid JSON.") from None
    return decoded


async def read_body(request: Request) -> bytes:
    """Return the body of a request, which does not keep it, so that its memory is free once it is decoded."""
    parts = []
    while True:
        message = await request.receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        parts.append(message.get("body", b""))
        if not message.get("more_body"):
            return b"".join(parts)


def writer_of(request: Request) -> Writer:
    """Return the writer of the application."""
    writer: Writer = request.app.state.writer
    return writer


async def in_writer(request: Request, function: Callable[[Service], Result]) -> Result:
    """Run a function in the writer thread and wait until its changes are committed."""
    future = asyncio.get_running_loop().create_future()
    result: Result = await writer_of(request).submit(Call(function, future))
    return result


async def read(request: Request, function: Callable[[Store], Result]) -> Result:
    """Run a function on the store in another thread, so that the writer does not wait for it."""
    try:
        return await asyncio.to_thread(function, request.app.state.store)
    except (DBAPIError, StoreError, OSError) as error:
        LOG.error("The store could not be read: %s", reason_of(error))
        raise UnavailableError("The store cannot be read at the moment. Retry the request.") from None


async def answer(request: Request, stream: str, rows: Any, actor: str) -> Any:
    """Predict and decide on examples in the writer thread. Wait until the answers are committed."""
    future = asyncio.get_running_loop().create_future()
    return await writer_of(request).submit(Ask(stream, rows, actor, future))


async def learn(request: Request, tell: Tell) -> dict[str, bool]:
    """Learn labels in the writer thread. Return which were new, once they are committed."""
    future = asyncio.get_running_loop().create_future()
    new: dict[str, bool] = await writer_of(request).submit(replace(tell, future=future))
    return new


async def config_of(request: Request, stream: str) -> StreamConfig:
    """Return the configuration of a stream. It never changes, so it is cached."""
    configs: dict[str, StreamConfig] = request.app.state.configs
    if stream not in configs:
        if len(stream) > 64:  # longer than any name
            raise NotFoundError(f"There is no stream {ascii(stream)[:80]}.")
        configs[stream] = await in_writer(request, lambda service: service.stream(stream).config)
    return configs[stream]


def leases_of(request: Request, stream: str) -> Leases:
    """Return the leases of a stream."""
    leases: Leases = request.app.state.leases.setdefault(stream, Leases())
    return leases


def flag(request: Request, name: str) -> bool:
    """Return a query parameter that is true or false."""
    value = request.query_params.get(name, "false")
    if value not in ("true", "false"):
        raise invalid(name, "the request", "'true' or 'false'", ascii(value)[:80])
    return value == "true"


def number(request: Request, name: str, default: int, maximum: int) -> int:
    """Return a query parameter that is a whole number."""
    value = request.query_params.get(name, str(default))
    if not (value.isascii() and value.isdecimal() and len(value) < 19 and int(value) <= maximum):
        raise invalid(name, "the request", f"a whole number from 0 to {maximum}", ascii(value)[:80])
    return int(value)
