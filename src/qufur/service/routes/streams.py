"""Streams: create them, and see how they stand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
from fastapi import APIRouter, Request
from starlette.responses import Response

from qufur.errors import invalid
from qufur.service import answers, documented, state
from qufur.service.access import Scope
from qufur.service.copies import copy_for_reports
from qufur.service.deletion import delete_stream
from qufur.service.description import Description
from qufur.service.documented import route
from qufur.service.events import Payload
from qufur.service.replies import reply
from qufur.service.requests import body_of, decoder, flag, key_of, known_key, number, perform, read
from qufur.service.service import Service
from qufur.service.store import Store
from qufur.service.stream import Stream

router = APIRouter(prefix="/v1/streams", tags=["streams"])
MOST_EVENTS, MOST_SEQ = 1000, 10**15


class Budget(msgspec.Struct, forbid_unknown_fields=True):
    """Labels to be added, over so many rows from now on for rules that have a horizon."""

    labels: int
    rows: int | None = None


_description: Any = decoder(Description)
_budget: Any = decoder(Budget)


@router.post(
    "",
    **route(
        answers.State,
        Description,
        example={"name": "bikes", "columns": {"temp": "number", "sky": "category"}, "budget": "5%"},
        status=201,
        known=True,
    ),
)
async def create(request: Request) -> Response:
    """Create a stream; the same body again changes nothing, another one of the same name is refused."""
    key = key_of(request, Scope.admin)
    description: Description = _description(await body_of(request))

    def do(service: Service) -> tuple[dict[str, Any], bool]:
        stream, new = service.create(description, key.name)
        return state.state_of(stream), new

    found, new = await perform(request, do)
    return reply(found, 201 if new else 200)


@router.get("", **route(answers.States))
async def listed(request: Request) -> Response:
    """List the streams that the key is for."""
    key = known_key(request)
    key.check(Scope.label if Scope.label in key.scopes else Scope.read, key.stream)

    def do(service: Service) -> list[dict[str, Any]]:
        names = [name for name in sorted(service.numbers) if key.stream in (None, name)]
        return [state.state_of(service.stream(name)) for name in names]

    return reply({"streams": await perform(request, do)})


@router.get(
    "/{stream}",
    **route(answers.State, parameters=[documented.flag("digest", "Add the digest of its state.")]),
)
async def one(request: Request, stream: str) -> Response:
    """Say how a stream stands; `?digest=true` adds the digest of its state."""
    key_of(request, Scope.read, stream, Scope.label)
    digest = flag(request, "digest")
    return reply(
        await perform(request, lambda service: state.state_of(service.stream(stream), digest=digest))
    )


@router.delete("/{stream}", **route(answers.Deleted))
async def delete(request: Request, stream: str) -> Response:
    """Delete a stream with its rows, labels and model; keys for this stream alone are revoked.

    The log keeps one event, which says what was deleted, when and by whom.
    """
    key, state = key_of(request, Scope.admin, stream), request.app.state

    def do(service: Service) -> tuple[int, int]:
        try:
            return delete_stream(service, stream, key.name)
        finally:
            if stream not in service.numbers:  # before the writer may create another of this name
                state.descriptions.pop(stream, None)
                state.leases.pop(stream, None)
                state.keys.reread()

    events, keys = await perform(request, do)
    return reply({"name": stream, "events": events, "keys": keys})


@router.get("/{stream}/series", **route(answers.Series))
async def series(request: Request, stream: str) -> Response:
    """Return how the work went: labels bought, errors, weights, shifts."""
    key_of(request, Scope.read, stream)
    return reply(await _from_copy(request, stream, state.series_of))


@router.get("/{stream}/report", **route(answers.Report))
async def report(request: Request, stream: str) -> Response:
    """Say how it is going, in sentences."""
    key_of(request, Scope.read, stream)
    return reply(await _from_copy(request, stream, state.report_of))


@router.get("/{stream}/model", **route(answers.Model))
async def model(request: Request, stream: str) -> Response:
    """Say what predicts."""
    key_of(request, Scope.read, stream)

    def do(found: Stream) -> dict[str, Any]:
        learner = found.book.learner
        named = {"model": type(learner.model).__name__, "inputs": found.book.encoding.dim}
        return named | {"labels": len(found.book.told), "experts": state.experts_of(found)}

    return reply(await _from_copy(request, stream, do))


async def _from_copy(request: Request, stream: str, do: Callable[[Stream], dict[str, Any]]) -> dict[str, Any]:
    """Compute something from a copy of a stream: the writer only makes the copy."""
    copy = await perform(request, lambda service: copy_for_reports(service.stream(stream)))
    return await read(request, lambda store: do(copy))


@router.get(
    "/{stream}/events",
    **route(
        answers.Events,
        parameters=[
            documented.count("after", 0, MOST_SEQ, "The number of the event after which to begin."),
            documented.count("limit", 100, MOST_EVENTS, "How many to list."),
        ],
    ),
)
async def events(request: Request, stream: str) -> Response:
    """List what happened, without inputs and labels: `?after=0&limit=100`."""
    key_of(request, Scope.read, stream)
    after, limit = number(request, "after", 0, MOST_SEQ), number(request, "limit", 100, MOST_EVENTS)

    def do(store: Store) -> list[dict[str, Any]]:
        return [
            {
                "seq": event.seq,
                "kind": event.kind,
                "at": event.at / 1e6,
                "actor": event.actor,
                "count": len(Payload.unpacked(event.payload).parts),
                "hash": event.hash.hex(),
            }
            for event in store.events(place, after, limit)
        ]

    place = await perform(request, lambda service: service.stream(stream).number)
    found = await read(request, do)
    return reply({"events": found, "next": found[-1]["seq"] if found else after})


@router.post("/{stream}/budget", **route(answers.State, Budget, example={"labels": 100}))
async def add_budget(request: Request, stream: str) -> Response:
    """Let more labels be bought."""
    key = key_of(request, Scope.admin, stream)
    more: Budget = _budget(await body_of(request))
    for name, value in (("labels", more.labels), ("rows", more.rows)):
        if value is not None and not 1 <= value <= 10**12:
            raise invalid(name, "the request", "from 1 to 10¹²", value)

    def do(service: Service) -> dict[str, Any]:
        return state.state_of(service.add_budget(stream, more.labels, more.rows, key.name))

    return reply(await perform(request, do))
