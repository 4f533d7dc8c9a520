"""Routes of labels: store, remove and decline labels; list and lease pending rows."""

from __future__ import annotations

import time
from itertools import islice
from typing import Any

import msgspec
import numpy as np
from starlette.requests import Request
from starlette.responses import Response

from qufur.errors import invalid
from qufur.models.base import Model
from qufur.service import openapi
from qufur.service.auth import Key, Scope
from qufur.service.config import StreamConfig, check_text
from qufur.service.examples import Label, as_id, read_label
from qufur.service.http import (
    authorize,
    config_of,
    decode,
    flag,
    in_writer,
    json_response,
    learn,
    leases_of,
    number,
    read,
    read_body,
)
from qufur.service.recorded_answers import StoredExample, look_up
from qufur.service.routing import Operation, Routes
from qufur.service.service import Service
from qufur.service.writer import Tell

routes = Routes(prefix="/v1/streams/{stream}", tag="labels")
MAX_LEASED, MAX_LISTED = 100, 10_000
LABEL_FLAGS = (
    openapi.flag("replace", "Replace the label of a row that already has one."),
    openapi.flag("accept_outliers", "Accept a label that is far from all others."),
)


class OneLabel(msgspec.Struct, forbid_unknown_fields=True):
    """Label: a number or the name of a class."""

    label: float | str


class LeaseRequest(msgspec.Struct, forbid_unknown_fields=True):
    """Annotator, number of rows, duration in minutes, and ids of rows to lease first if they are free."""

    person: str
    count: int = 1
    minutes: float = 5.0
    ids: list[str | int] = []


class Release(msgspec.Struct, forbid_unknown_fields=True):
    """Annotator, and ids of the rows to release."""

    person: str
    ids: list[str | int]


@routes.add(
    "PUT /examples/{id:path}/label",
    Operation(openapi.Labelled, OneLabel, example={"label": 3.5}, parameters=LABEL_FLAGS),
)
async def tell(request: Request, stream: str, id: str) -> Response:
    """Store the label of a row.

    The same label again changes nothing. Another label returns 409, unless `?replace=true`. A label
    far out of range returns 422, unless `?accept_outliers=true`.
    """
    key = authorize(request, Scope.label, stream)
    body = decode(await read_body(request), OneLabel)
    new = await _tell(request, stream, [Label(id, body.label)], key)
    return json_response({"id": id, "label": body.label, "new": new[id]})


@routes.add(
    "POST /labels",
    Operation(openapi.Learned, list[Label], example=[{"id": "a7", "label": 3.5}], parameters=LABEL_FLAGS),
)
async def tell_many(request: Request, stream: str) -> Response:
    """Store several labels: all of them, or none if one is rejected.

    Returns the number of new labels, and of labels that were already stored.
    """
    key = authorize(request, Scope.label, stream)
    labels = decode(await read_body(request), list[Label])
    request.app.state.limits.check_batch(len(labels))
    new = await _tell(request, stream, labels, key)
    return json_response({"new": sum(new.values()), "known": len(new) - sum(new.values())})


async def _tell(request: Request, stream: str, labels: list[Label], key: Key) -> dict[str, bool]:
    replace, accept = flag(request, "replace"), flag(request, "accept_outliers")
    config = await config_of(request, stream)
    values: dict[str, float] = {}
    for label in labels:
        id = as_id(label.id)
        if id in values:
            raise invalid("id", "the request", "unique", f"{ascii(id)[:80]} more than once")
        values[id] = read_label(config, label.label, id)

    new = await learn(request, Tell(stream, values, key.name, replace, accept)) if values else {}
    leases_of(request, stream).close(list(values))
    return new


@routes.add("DELETE /examples/{id:path}/label", Operation(openapi.ExampleId))
async def untell(request: Request, stream: str, id: str) -> Response:
    """Remove a label. The row is pending again and costs nothing more."""
    return await remove_label(request, stream, id, authorize(request, Scope.label, stream))


async def remove_label(request: Request, stream: str, id: str | int, key: Key) -> Response:
    """Remove a label and wait until that is committed."""
    row = as_id(id)
    await in_writer(request, lambda service: service.remove_label(stream, row, key.name))
    return json_response({"id": row})


@routes.add("POST /examples/{id:path}/decline", Operation(openapi.ExampleId))
async def decline(request: Request, stream: str, id: str) -> Response:
    """Decline a row. Its label will never arrive, and its cost is refunded."""
    return await decline_row(request, stream, id, authorize(request, Scope.label, stream))


async def decline_row(request: Request, stream: str, id: str | int, key: Key) -> Response:
    """Decline a row and wait until that is committed."""
    row = as_id(id)
    await in_writer(request, lambda service: service.decline(stream, row, key.name))
    leases_of(request, stream).close([row])
    return json_response({"id": row})


@routes.add(
    "GET /queue",
    Operation(openapi.Queue, parameters=[openapi.count("limit", 50, MAX_LISTED, "Maximum number of rows.")]),
)
async def queue(request: Request, stream: str) -> Response:
    """List the pending rows, oldest first."""
    authorize(request, Scope.label, stream)
    limit = number(request, "limit", 50, MAX_LISTED)

    await config_of(request, stream)
    leases = leases_of(request, stream)

    def do(service: Service) -> tuple[int, int | None, dict[str, int], dict[str, str]]:
        state = service.stream(stream)
        asked_at = {id: state.asked_at(id) for id in islice(state.waiting, limit)}
        held = {id: person for id, person in leases.holders().items() if id in state.waiting}
        return len(state.waiting), state.oldest, asked_at, held

    pending, oldest, asked_at, held = await in_writer(request, do)
    rows = [{"id": id, "asked_at": at / 1e6, "leased_to": held.get(id)} for id, at in asked_at.items()]
    return json_response(
        {
            "waiting": pending,
            "leased": len(held),
            "oldest_seconds": None if oldest is None else max(0.0, time.time() - oldest / 1e6),
            "rows": rows,
        }
    )


@routes.add(
    "POST /queue/lease",
    Operation(openapi.Lease, LeaseRequest, example={"person": "ada", "count": 1, "minutes": 5}),
)
async def lease(request: Request, stream: str) -> Response:
    """Lease the next pending rows to one annotator for some minutes.

    No other annotator gets them meanwhile. Returns the rows, and the number of pending rows.
    """
    authorize(request, Scope.label, stream)
    body = decode(await read_body(request), LeaseRequest)
    check_text("person", body.person)
    if not 1 <= body.count <= MAX_LEASED:
        raise invalid("count", "the request", f"from 1 to {MAX_LEASED}", body.count)
    if not 0 < body.minutes <= 24 * 60:
        raise invalid("minutes", "the request", "above 0 and at most 1440", body.minutes)
    config = await config_of(request, stream)
    leases, preferred = leases_of(request, stream), [as_id(id) for id in body.ids[:MAX_LEASED]]

    def do(service: Service) -> tuple[int, Model, dict[str, int], int]:
        state = service.stream(stream)
        leased = leases.take(body.person, state.waiting, body.count, 60 * body.minutes, preferred)
        asked_at = {id: state.asked_at(id) for id in leased}
        return state.number, state.workbook.learner.model, asked_at, len(state.waiting)

    stream_number, model, asked_at, pending = await in_writer(request, do)
    stored = await read(request, lambda store: look_up(store, stream_number, asked_at, model))
    # A row may have been erased in the meantime.
    rows = [_row(config, id, stored[id], at) for id, at in asked_at.items() if id in stored]
    return json_response({"rows": rows, "waiting": pending})


@routes.add(
    "POST /queue/release", Operation(openapi.Released, Release, example={"person": "ada", "ids": ["a7"]})
)
async def release(request: Request, stream: str) -> Response:
    """Release leased rows. This annotator gets them again last."""
    authorize(request, Scope.label, stream)
    body = decode(await read_body(request), Release)
    check_text("person", body.person)
    await config_of(request, stream)
    leases_of(request, stream).release(body.person, [as_id(id) for id in body.ids[:MAX_LEASED]])
    return json_response({"released": len(body.ids[:MAX_LEASED])})


def _row(config: StreamConfig, id: str, stored: StoredExample, asked_at: int) -> dict[str, Any]:
    """Return a row for an annotator, with its columns in the order of the stream."""
    row, answer = stored.row, stored.answer
    if config.dim is None:
        content = {"record": {name: row[name] for name in config.columns or {} if name in row}}
    else:
        content = {"x": np.frombuffer(row, "<f8").tolist()}
    return {
        "id": id,
        **content,
        "prediction": None if answer is None else answer.prediction,
        "why": None if answer is None else answer.why,
        "asked_at": asked_at / 1e6,
    }
