"""What every route does first: who sends it, how much, and what is in it; and how work reaches the writer."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

import msgspec
from sqlalchemy.exc import DBAPIError
from starlette.requests import Request

from qufur.errors import invalid
from qufur.service.access import Key, Scope
from qufur.service.commands import Ask, Call, Tell
from qufur.service.description import Description
from qufur.service.leases import Leases
from qufur.service.limits import Limits
from qufur.service.pages.security import KEY_COOKIE, ForgedError, lacks_token
from qufur.service.refusals import NotFoundError, RefusalError, UnavailableError
from qufur.service.service import Service
from qufur.service.store import Store, StoreError, reason_of
from qufur.service.writer import Writer

LOG = logging.getLogger("qufur.service")
Body = TypeVar("Body")
Result = TypeVar("Result")


class MalformedError(RefusalError):
    """A body that cannot be read."""

    status = 422


def key_of(request: Request, scope: Scope, stream: str | None = None, *others: Scope) -> Key:
    """Return the key that a request came with, if it may do this; others are refused.

    Keys of `others` scopes may do it as well.
    """
    key = known_key(request)
    for other in others:
        scope = other if other in key.scopes else scope
    key.check(scope, stream)
    return key


def known_key(request: Request) -> Key:
    """Return the key that a request came with."""
    header, keys = request.headers.get("authorization"), request.app.state.keys
    needed = keys.needed
    # A cookie may be left from another service on this machine.
    cookie = request.cookies.get(KEY_COOKIE) if needed else None
    key: Key = keys.find(cookie if header is None else _bearer(header))
    if header is None and lacks_token(request):
        raise ForgedError("This comes from another site, or from a page that is too old: load it again.")
    request.scope["qufur.key"] = key.name
    limits: Limits = request.app.state.limits
    limits.check_rate(key.id)
    return key


def _bearer(header: str) -> str:
    scheme, _, given = header.partition(" ")
    return given.strip() if scheme.lower() == "bearer" else ""


async def body_of(request: Request) -> bytes:
    """Return the body, which `RequestGuard` bounds while it is read."""
    return await request.body()


def decoder(kind: type[Body] | Any) -> Callable[[bytes], Body]:
    """Return what reads a body of this kind; what cannot be read is refused in one sentence."""
    read = msgspec.json.Decoder(kind).decode

    def decode(body: bytes) -> Body:
        try:
            found: Body = read(body)
        except msgspec.DecodeError as error:
            raise MalformedError(f"The body cannot be read: {error}.") from None
        except (UnicodeDecodeError, RecursionError, ValueError):
            raise MalformedError("The body cannot be read: it is not JSON.") from None
        return found

    return decode


def writer_of(request: Request) -> Writer:
    """Return the writer."""
    writer: Writer = request.app.state.writer
    return writer


async def perform(request: Request, do: Callable[[Service], Result]) -> Result:
    """Let the writer do something, and wait until it is written."""
    waiter = asyncio.get_running_loop().create_future()
    result: Result = await writer_of(request).submit(Call(do, waiter))
    return result


async def read(request: Request, do: Callable[[Store], Result]) -> Result:
    """Read from the store in a thread of its own, so that the writer need not wait for it."""
    try:
        return await asyncio.to_thread(do, request.app.state.store)
    except (DBAPIError, StoreError, OSError) as error:
        LOG.error("The store could not be read: %s", reason_of(error))
        raise UnavailableError("The store cannot be read now. Send this request again.") from None


async def answer(request: Request, stream: str, rows: Any, actor: str) -> Any:
    """Let examples be answered, and wait until that is written."""
    waiter = asyncio.get_running_loop().create_future()
    return await writer_of(request).submit(Ask(stream, rows, actor, waiter))


async def learn(request: Request, tell: Tell) -> dict[str, bool]:
    """Let labels be learned, and wait until that is written; return which were new."""
    waiter = asyncio.get_running_loop().create_future()
    new: dict[str, bool] = await writer_of(request).submit(replace(tell, waiter=waiter))
    return new


async def description_of(request: Request, stream: str) -> Description:
    """Return what a stream was created with, which never changes."""
    known: dict[str, Description] = request.app.state.descriptions
    if stream not in known:
        if len(stream) > 64:
            raise NotFoundError(f"There is no stream {ascii(stream)[:80]}.")
        known[stream] = await perform(request, lambda service: service.stream(stream).description)
    return known[stream]


def leases_of(request: Request, stream: str) -> Leases:
    """Return who has which rows of a stream."""
    found: Leases = request.app.state.leases.setdefault(stream, Leases())
    return found


def flag(request: Request, name: str) -> bool:
    """Return a parameter of the address that is true or false."""
    given = request.query_params.get(name, "false")
    if given not in ("true", "false"):
        raise invalid(name, "the request", "'true' or 'false'", ascii(given)[:80])
    return given == "true"


def number(request: Request, name: str, default: int, most: int) -> int:
    """Return a parameter of the address that is a number."""
    given = request.query_params.get(name, str(default))
    if not (given.isascii() and given.isdecimal() and len(given) < 19 and int(given) <= most):
        raise invalid(name, "the request", f"a whole number from 0 to {most}", ascii(given)[:80])
    return int(given)
