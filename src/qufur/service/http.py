"""Request handling shared by all routes: limits, keys, bodies, JSON responses, and calls of the writer."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, ClassVar, TypeVar

import msgspec
from sqlalchemy.exc import DBAPIError
from starlette.requests import Request
from starlette.responses import Response

from qufur.service.auth import Key
from qufur.service.config import StreamConfig
from qufur.service.errors import NotFoundError, RequestError, UnavailableError
from qufur.service.leases import Leases
from qufur.service.security import KEY_COOKIE, CrossSiteError, lacks_token
from qufur.service.service import Service
from qufur.service.store import Store, StoreError, reason_of
from qufur.service.writer import Call, Command, Writer

LOG = logging.getLogger("qufur.service")
JSON = "application/json"
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


def json_response(values: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Return values as JSON. NaN and infinity become null."""
    return Response(_encode(values), status, headers, JSON)


def error_response(status: int, message: str, headers: Mapping[str, str] | None = None) -> Response:
    """Return an error response, `{"error": message}`."""
    return json_response({"error": message}, status, headers)


def decode(body: bytes, body_type: type[Body]) -> Body:
    """Decode a JSON body of a type. Raise `MalformedError` for others."""
    try:
        decoded: Body = _decoder(body_type).decode(body)
    except msgspec.DecodeError as error:
        raise MalformedError(f"The body cannot be decoded: {error}.") from None
    except (UnicodeDecodeError, RecursionError, ValueError):
        raise MalformedError("The body is not valid JSON.") from None
    return decoded


class ApiRequest(Request):
    """Request to the HTTP API, with access to the streams and the store.

    Attributes
    ----------
    status
        Status code of the response, unless an error is raised.
    """

    status = 200

    @property
    def actor(self) -> str:
        """Name of the key, as the event log records it."""
        return str(self.scope["qufur.key"])

    @property
    def limits(self) -> Limits:
        """Limits of the application."""
        limits: Limits = self.app.state.limits
        return limits

    @property
    def writer(self) -> Writer:
        """Writer of the application."""
        writer: Writer = self.app.state.writer
        return writer

    def authenticate(self) -> Key:
        """Return the key of the request, from its Authorization header or its session cookie."""
        header, keys = self.headers.get("authorization"), self.app.state.keys
        if header is not None:
            scheme, _, text = header.partition(" ")
            key: Key = keys.find(text.strip() if scheme.lower() == "bearer" else "")
        else:  # without keys, a cookie belongs to another service on this machine
            key = keys.find(self.cookies.get(KEY_COOKIE) if keys.needed else None)
            if lacks_token(self):
                raise CrossSiteError("The CSRF token is missing or outdated. Reload the page.")
        self.scope["qufur.key"] = key.name
        self.limits.check_rate(key.id)
        return key

    async def content(self) -> bytes:
        """Return the body. The request does not keep it, so its memory is free once it is decoded."""
        return b"".join([part async for part in self.stream()])

    async def execute(self, command: Command) -> Any:
        """Return the result of a command of the writer once it is committed."""
        return await self.writer.submit(command, asyncio.get_running_loop().create_future())

    async def in_writer(self, function: Callable[[Service], Result]) -> Result:
        """Run a function in the writer thread and wait until its changes are committed."""
        result: Result = await self.execute(Call(function))
        return result

    async def read(self, function: Callable[[Store], Result]) -> Result:
        """Run a function on the store in another thread, so that the writer does not wait for it."""
        try:
            return await asyncio.to_thread(function, self.app.state.store)
        except (DBAPIError, StoreError, OSError) as error:
            LOG.error("The store could not be read: %s", reason_of(error))
            raise UnavailableError("The store cannot be read at the moment. Retry the request.") from None

    async def config(self, stream: str) -> StreamConfig:
        """Return the configuration of a stream. It never changes, so it is cached."""
        configs: dict[str, StreamConfig] = self.app.state.configs
        if stream not in configs:
            if len(stream) > 64:  # longer than any name
                raise NotFoundError(f"There is no stream {ascii(stream)[:80]}.")
            configs[stream] = await self.in_writer(lambda service: service.stream(stream).config)
        return configs[stream]

    def leases(self, stream: str) -> Leases:
        """Return the leases of a stream."""
        leases: Leases = self.app.state.leases.setdefault(stream, Leases())
        return leases
