"""Routes of streams: create, inspect and delete streams, add budget, erase examples."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from qufur.errors import invalid
from qufur.service import openapi, views
from qufur.service.auth import Scope
from qufur.service.config import StreamConfig
from qufur.service.erasure import delete_stream
from qufur.service.erasure import erase as erase_examples
from qufur.service.examples import as_id
from qufur.service.http import (
    authenticate,
    authorize,
    decode,
    flag,
    in_writer,
    json_response,
    leases_of,
    number,
    read,
    read_body,
)
from qufur.service.openapi import Erased
from qufur.service.routing import Operation, Routes
from qufur.service.service import Service
from qufur.service.store import Store
from qufur.service.store.events import Payload
from qufur.service.stream import Stream
from qufur.service.views import copy_for_reports

routes = Routes(prefix="/v1/streams", tag="streams")
MAX_EVENTS, MAX_SEQ = 1000, 10**15


class Budget(msgspec.Struct, forbid_unknown_fields=True):
    """Labels to add. Rules with a horizon spend them over the next `rows` rows."""

    labels: int
    rows: int | None = None


class Erasure(msgspec.Struct, forbid_unknown_fields=True):
    """Ids of the examples to erase."""

    ids: list[str | int]


@routes.add(
    "POST",
    Operation(
        openapi.State,
        StreamConfig,
        example={"name": "bikes", "columns": {"temp": "number", "sky": "category"}, "budget": "5%"},
        statuses=(201, 200),
    ),
)
async def create(request: Request) -> Response:
    """Create a stream and return its status.

    Repeating the request with the same body returns 200 and changes nothing. Another body with the name of
    an existing stream returns 409.
    """
    key = authorize(request, Scope.admin)
    config = decode(await read_body(request), StreamConfig)

    def do(service: Service) -> tuple[dict[str, Any], bool]:
        stream, new = service.create(config, key.name)
        return views.status(stream), new

    status, new = await in_writer(request, do)
    return json_response(status, 201 if new else 200)


@routes.add("GET", Operation(openapi.States))
async def listed(request: Request) -> Response:
    """List the streams that the key can access, with their status."""
    key = authenticate(request)
    key.check(Scope.label if Scope.label in key.scopes else Scope.read, key.stream)

    def do(service: Service) -> list[dict[str, Any]]:
        names = [name for name in sorted(service.numbers) if key.stream in (None, name)]
        return [views.status(service.stream(name)) for name in names]

    return json_response({"streams": await in_writer(request, do)})


@routes.add(
    "GET /{stream}",
    Operation(openapi.State, parameters=[openapi.flag("digest", "Add the digest of the state.")]),
)
async def one(request: Request, stream: str) -> Response:
    """Return the status of a stream in numbers. `?digest=true` adds the digest of its state."""
    authorize(request, Scope.read, stream, Scope.label)
    digest = flag(request, "digest")
    return json_response(
        await in_writer(request, lambda service: views.status(service.stream(stream), digest=digest))
    )


@routes.add("DELETE /{stream}", Operation(openapi.Deleted))
async def delete(request: Request, stream: str) -> Response:
    """Delete a stream with its rows, labels and model. Revokes the keys that are limited to this stream.

    The event log keeps one event that records what was deleted, when and by which key.
    """
    key, app_state = authorize(request, Scope.admin, stream), request.app.state

    def do(service: Service) -> tuple[int, int]:
        try:
            return delete_stream(service, stream, key.name)
        finally:
            if stream not in service.numbers:  # before the writer can create another stream with this name
                app_state.configs.pop(stream, None)
                app_state.leases.pop(stream, None)
                app_state.keys.reread()

    events, keys = await in_writer(request, do)
    return json_response({"name": stream, "events": events, "keys": keys})


@routes.add("GET /{stream}/series", Operation(openapi.Series))
async def series(request: Request, stream: str) -> Response:
    """Return the progress of a stream by row: labels bought, error with interval, weights, shifts."""
    authorize(request, Scope.read, stream)
    return json_response(await _from_copy(request, stream, views.series_of))


@routes.add("GET /{stream}/report", Operation(openapi.Report))
async def report(request: Request, stream: str) -> Response:
    """Return the progress of a stream as text, and the headline error in numbers."""
    authorize(request, Scope.read, stream)
    return json_response(await _from_copy(request, stream, views.report_of))


@routes.add("GET /{stream}/model", Operation(openapi.Model))
async def model(request: Request, stream: str) -> Response:
    """Return the model of a stream: its type, number of inputs and labels, and its experts."""
    authorize(request, Scope.read, stream)

    def do(copy: Stream) -> dict[str, Any]:
        workbook = copy.workbook
        return {
            "model": type(workbook.learner.model).__name__,
            "inputs": workbook.encoding.dim,
            "labels": len(workbook.labels),
            "experts": views.experts_of(copy),
        }

    return json_response(await _from_copy(request, stream, do))


async def _from_copy(request: Request, stream: str, do: Callable[[Stream], dict[str, Any]]) -> dict[str, Any]:
    """Compute a result from a copy of a stream. The writer thread only makes the copy."""
    copy = await in_writer(request, lambda service: copy_for_reports(service.stream(stream)))
    return await read(request, lambda store: do(copy))


@routes.add(
    "GET /{stream}/events",
    Operation(
        openapi.Events,
        parameters=[
            openapi.count("after", 0, MAX_SEQ, "Number of the event before the first returned event."),
            openapi.count("limit", 100, MAX_EVENTS, "Maximum number of events."),
        ],
    ),
)
async def events(request: Request, stream: str) -> Response:
    """Return a page of the event log, without inputs and labels: `?after=0&limit=100`."""
    authorize(request, Scope.read, stream)
    after, limit = number(request, "after", 0, MAX_SEQ), number(request, "limit", 100, MAX_EVENTS)

    def do(store: Store) -> list[dict[str, Any]]:
        return [
            {
                "seq": event.seq,
                "kind": event.kind,
                "at": event.at / 1e6,
                "actor": event.actor,
                "count": len(Payload.from_bytes(event.payload).parts),
                "hash": event.hash.hex(),
            }
            for event in store.events(stream_number, after, limit)
        ]

    stream_number = await in_writer(request, lambda service: service.stream(stream).number)
    page = await read(request, do)
    return json_response({"events": page, "next": page[-1]["seq"] if page else after})


@routes.add("POST /{stream}/budget", Operation(openapi.State, Budget, example={"labels": 100}))
async def add_budget(request: Request, stream: str) -> Response:
    """Add labels to the budget of a stream and return its status."""
    key = authorize(request, Scope.admin, stream)
    added = decode(await read_body(request), Budget)
    for name, value in (("labels", added.labels), ("rows", added.rows)):
        if value is not None and not 1 <= value <= 10**12:
            raise invalid(name, "the request", "from 1 to 10¹²", value)

    def do(service: Service) -> dict[str, Any]:
        return views.status(service.add_budget(stream, added.labels, added.rows, key.name))

    return json_response(await in_writer(request, do))


@routes.add("POST /{stream}/erase", Operation(Erased, Erasure, example={"ids": ["a7"]}))
async def erase(request: Request, stream: str) -> Response:
    """Erase the rows and labels of examples from the log, and rebuild the model without them.

    Requests to the stream wait until the rebuild is finished.
    """
    key = authorize(request, Scope.admin, stream)
    body = decode(await read_body(request), Erasure)
    request.app.state.limits.check_batch(len(body.ids))
    ids = [as_id(id) for id in body.ids]

    def do(service: Service) -> int:
        return erase_examples(service, stream, ids, key.name)

    parts = await in_writer(request, do)
    leases_of(request, stream).close(ids)
    return json_response({"erased": len(ids), "parts": parts})
