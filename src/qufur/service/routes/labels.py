"""Routes of labels: store, remove and decline labels; list and lease pending rows."""

from __future__ import annotations

import time
from itertools import islice

import msgspec
import numpy as np

from qufur.errors import invalid
from qufur.models.base import Model
from qufur.service import responses
from qufur.service.auth import Scope
from qufur.service.config import StreamConfig, check_text
from qufur.service.examples import Label, as_id, read_label
from qufur.service.http import ApiRequest
from qufur.service.recorded_answers import StoredExample, look_up
from qufur.service.responses import ExampleId, Learned, Leased, Waiting
from qufur.service.routing import Count, Flag, Operation, Routes
from qufur.service.service import Service
from qufur.service.writer import Tell

routes = Routes(prefix="/v1/streams/{stream}", tag="labels")
MAX_LEASED, MAX_LISTED = 100, 10_000
LABEL_FLAGS = (
    Flag("replace", "Replace the label of a row that already has one."),
    Flag("accept_outliers", "Accept a label that is far from all others."),
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
    Operation(Scope.label, example={"label": 3.5}, parameters=LABEL_FLAGS),
)
async def tell(
    request: ApiRequest, stream: str, id: str, replace: bool, accept_outliers: bool, body: OneLabel
) -> responses.Labelled:
    """Store the label of a row.

    The same label again changes nothing. Another label returns 409, unless `?replace=true`. A label
    far out of range returns 422, unless `?accept_outliers=true`.
    """
    new = await _tell(request, stream, [Label(id, body.label)], replace, accept_outliers)
    return responses.Labelled(id, body.label, new[id])


@routes.add(
    "POST /labels",
    Operation(Scope.label, example=[{"id": "a7", "label": 3.5}], parameters=LABEL_FLAGS),
)
async def tell_many(
    request: ApiRequest, stream: str, replace: bool, accept_outliers: bool, body: list[Label]
) -> Learned:
    """Store several labels: all of them, or none if one is rejected.

    Returns the number of new labels, and of labels that were already stored.
    """
    request.limits.check_batch(len(body))
    new = await _tell(request, stream, body, replace, accept_outliers)
    return Learned(sum(new.values()), len(new) - sum(new.values()))


async def _tell(
    request: ApiRequest, stream: str, labels: list[Label], replace: bool, accept_outliers: bool
) -> dict[str, bool]:
    config = await request.config(stream)
    values: dict[str, float] = {}
    for label in labels:
        id = as_id(label.id)
        if id in values:
            raise invalid("id", "the request", "unique", f"{ascii(id)[:80]} more than once")
        values[id] = read_label(config, label.label, id)

    new: dict[str, bool] = {}
    if values:
        new = await request.execute(Tell(stream, values, request.actor, replace, accept_outliers))
    request.leases(stream).close(list(values))
    return new


@routes.add("DELETE /examples/{id:path}/label", Operation(Scope.label))
async def untell(request: ApiRequest, stream: str, id: str) -> ExampleId:
    """Remove a label. The row is pending again and costs nothing more."""
    row = as_id(id)
    await request.in_writer(lambda service: service.remove_label(stream, row, request.actor))
    return ExampleId(row)


@routes.add("POST /examples/{id:path}/decline", Operation(Scope.label))
async def decline(request: ApiRequest, stream: str, id: str) -> ExampleId:
    """Decline a row. Its label will never arrive, and its cost is refunded."""
    row = as_id(id)
    await request.in_writer(lambda service: service.decline(stream, row, request.actor))
    request.leases(stream).close([row])
    return ExampleId(row)


@routes.add(
    "GET /queue",
    Operation(Scope.label, parameters=[Count("limit", 50, MAX_LISTED, "Maximum number of rows.")]),
)
async def queue(request: ApiRequest, stream: str, limit: int) -> responses.Queue:
    """List the pending rows, oldest first."""
    await request.config(stream)
    leases = request.leases(stream)

    def do(service: Service) -> tuple[int, int | None, dict[str, int], dict[str, str]]:
        state = service.stream(stream)
        asked_at = {id: state.asked_at(id) for id in islice(state.waiting, limit)}
        held = {id: person for id, person in leases.holders().items() if id in state.waiting}
        return len(state.waiting), state.oldest, asked_at, held

    pending, oldest, asked_at, held = await request.in_writer(do)
    rows = [Waiting(id, at / 1e6, held.get(id)) for id, at in asked_at.items()]
    age = None if oldest is None else max(0.0, time.time() - oldest / 1e6)
    return responses.Queue(pending, len(held), age, rows)


@routes.add("POST /queue/lease", Operation(Scope.label, example={"person": "ada", "count": 1, "minutes": 5}))
async def lease(request: ApiRequest, stream: str, body: LeaseRequest) -> responses.Lease:
    """Lease the next pending rows to one annotator for some minutes.

    No other annotator gets them meanwhile. Returns the rows, and the number of pending rows.
    """
    check_text("person", body.person)
    if not 1 <= body.count <= MAX_LEASED:
        raise invalid("count", "the request", f"from 1 to {MAX_LEASED}", body.count)
    if not 0 < body.minutes <= 24 * 60:
        raise invalid("minutes", "the request", "above 0 and at most 1440", body.minutes)
    config = await request.config(stream)
    leases, preferred = request.leases(stream), [as_id(id) for id in body.ids[:MAX_LEASED]]

    def do(service: Service) -> tuple[int, Model, dict[str, int], int]:
        state = service.stream(stream)
        leased = leases.take(body.person, state.waiting, body.count, 60 * body.minutes, preferred)
        asked_at = {id: state.asked_at(id) for id in leased}
        return state.number, state.workbook.learner.model, asked_at, len(state.waiting)

    stream_number, model, asked_at, pending = await request.in_writer(do)
    stored = await request.read(lambda store: look_up(store, stream_number, asked_at, model))
    # A row may have been erased in the meantime.
    rows = [_leased(config, id, stored[id], at) for id, at in asked_at.items() if id in stored]
    return responses.Lease(rows, pending)


def _leased(config: StreamConfig, id: str, stored: StoredExample, asked_at: int) -> Leased:
    """Return a row for an annotator, with its columns in the order of the stream."""
    row, answer = stored.row, stored.answer
    prediction, why = (None, None) if answer is None else (answer.prediction, answer.why)
    leased = Leased(id, prediction, why, asked_at / 1e6)
    if config.columns is None:
        leased.x = np.frombuffer(row, "<f8").tolist()
    else:
        leased.record = {name: row[name] for name in config.columns if name in row}
    return leased


@routes.add("POST /queue/release", Operation(Scope.label, example={"person": "ada", "ids": ["a7"]}))
async def release(request: ApiRequest, stream: str, body: Release) -> responses.Released:
    """Release leased rows. This annotator gets them again last."""
    check_text("person", body.person)
    await request.config(stream)
    ids = [as_id(id) for id in body.ids[:MAX_LEASED]]
    request.leases(stream).release(body.person, ids)
    return responses.Released(len(ids))
