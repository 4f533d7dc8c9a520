"""Routes of streams: create, inspect and delete streams, add budget, erase examples."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from qufur.errors import invalid
from qufur.service import erasure, responses, views
from qufur.service.auth import Key, Scope
from qufur.service.config import StreamConfig
from qufur.service.examples import as_id
from qufur.service.http import ApiRequest, Result
from qufur.service.rebuild import load
from qufur.service.responses import Deleted, Erased, EventInfo, State, States
from qufur.service.routing import Count, Flag, Operation, Routes
from qufur.service.service import Service
from qufur.service.store.events import Event, Payload
from qufur.service.stream import Stream

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
        Scope.admin,
        example={"name": "bikes", "columns": {"temp": "number", "sky": "category"}, "budget": "5%"},
        statuses=(201, 200),
    ),
)
async def create(request: ApiRequest, body: StreamConfig) -> State:
    """Create a stream and return its status.

    Repeating the request with the same body returns 200 and changes nothing. Another body with the name of
    an existing stream returns 409.
    """

    def do(service: Service) -> tuple[State, bool]:
        stream, is_new = service.create(body, request.actor)
        return views.status(stream), is_new

    status, is_new = await request.in_writer(do)
    request.status = 201 if is_new else 200
    return status


@routes.add("GET", Operation(None))
async def listed(request: ApiRequest) -> States:
    """List the streams that the key can access, with their status."""
    key = request.authenticate()
    _check_viewer(key, key.stream)

    def do(service: Service) -> list[State]:
        names = [name for name in sorted(service.numbers) if key.stream in (None, name)]
        return [views.status(service.stream(name)) for name in names]

    return States(await request.in_writer(do))


def _check_viewer(key: Key, stream: str | None) -> None:
    """Raise `ForbiddenError` unless the key has the scope `read` or `label` on the stream."""
    key.check(Scope.label if Scope.label in key.scopes else Scope.read, stream)


@routes.add("GET /{stream}", Operation(None, parameters=[Flag("digest", "Add the digest of the state.")]))
async def one(request: ApiRequest, stream: str, digest: bool) -> State:
    """Return the status of a stream in numbers. `?digest=true` adds the digest of its state."""
    _check_viewer(request.authenticate(), stream)
    if not digest:
        return await request.in_writer(lambda service: views.status(service.stream(stream)))
    number = await request.in_writer(lambda service: service.stream(stream).number)
    # A stream rebuilt from the log: the digest covers all labels, and the writer would wait for it.
    return await request.read(lambda store: views.status(load(store, number), digest=True))


@routes.add("DELETE /{stream}", Operation(Scope.admin))
async def delete(request: ApiRequest, stream: str) -> Deleted:
    """Delete a stream with its rows, labels and model. Revokes the keys that are limited to this stream.

    The event log keeps one event that records what was deleted, when and by which key.
    """
    app_state = request.app.state

    def do(service: Service) -> tuple[int, int]:
        try:
            return erasure.delete_stream(service, stream, request.actor)
        finally:
            if stream not in service.numbers:  # before the writer can create another stream with this name
                app_state.configs.pop(stream, None)
                app_state.leases.pop(stream, None)
                app_state.keys.reread()

    return Deleted(stream, *await request.in_writer(do))


@routes.add("GET /{stream}/series", Operation(Scope.read))
async def series(request: ApiRequest, stream: str) -> responses.Series:
    """Return the progress of a stream by row: labels bought, error with interval, weights, shifts."""
    return await _from_copy(request, stream, views.series_of)


@routes.add("GET /{stream}/report", Operation(Scope.read))
async def report(request: ApiRequest, stream: str) -> responses.Report:
    """Return the progress of a stream as text, and the headline error in numbers."""
    return await _from_copy(request, stream, views.report_of)


@routes.add("GET /{stream}/model", Operation(Scope.read))
async def model(request: ApiRequest, stream: str) -> responses.Model:
    """Return the model of a stream: its type, number of inputs and labels, and its experts."""
    return await _from_copy(request, stream, views.model_of)


async def _from_copy(request: ApiRequest, stream: str, view: Callable[[Stream], Result]) -> Result:
    """Compute a view from a copy of a stream. The writer thread only makes the copy."""
    copy = await request.in_writer(lambda service: views.copy_for_reports(service.stream(stream)))
    return await request.read(lambda store: view(copy))


@routes.add(
    "GET /{stream}/events",
    Operation(
        Scope.read,
        parameters=[
            Count("after", 0, MAX_SEQ, "Number of the event before the first returned event."),
            Count("limit", 100, MAX_EVENTS, "Maximum number of events."),
        ],
    ),
)
async def events(request: ApiRequest, stream: str, after: int, limit: int) -> responses.Events:
    """Return a page of the event log, without inputs and labels: `?after=0&limit=100`."""
    number = await request.in_writer(lambda service: service.stream(stream).number)
    page = await request.read(
        lambda store: [_described(event) for event in store.events(number, after, limit)]
    )
    return responses.Events(page, page[-1].seq if page else after)


def _described(event: Event) -> EventInfo:
    count = len(Payload.from_bytes(event.payload).parts)
    return EventInfo(event.seq, event.kind, event.at / 1e6, event.actor, count, event.hash.hex())


@routes.add("POST /{stream}/budget", Operation(Scope.admin, example={"labels": 100}))
async def add_budget(request: ApiRequest, stream: str, body: Budget) -> State:
    """Add labels to the budget of a stream and return its status."""
    for name, value in (("labels", body.labels), ("rows", body.rows)):
        if value is not None and not 1 <= value <= 10**12:
            raise invalid(name, "the request", "from 1 to 10¹²", value)

    def do(service: Service) -> State:
        service.stream(stream).add_budget(body.labels, body.rows, request.actor)
        return views.status(service.stream(stream))

    return await request.in_writer(do)


@routes.add("POST /{stream}/erase", Operation(Scope.admin, example={"ids": ["a7"]}))
async def erase(request: ApiRequest, stream: str, body: Erasure) -> Erased:
    """Erase the rows and labels of examples from the log, and rebuild the model without them.

    Requests to the stream wait until the rebuild is finished.
    """
    request.limits.check_batch(len(body.ids))
    ids = [as_id(id) for id in body.ids]
    parts = await request.in_writer(lambda service: erasure.erase(service, stream, ids, request.actor))
    request.leases(stream).close(ids)
    return Erased(len(ids), parts)
