"""The work of people: rows that wait for labels, and labels."""

from __future__ import annotations

import time
from itertools import islice
from typing import Any

import msgspec
import numpy as np
from fastapi import APIRouter, Request
from starlette.responses import Response

from qufur.errors import invalid
from qufur.models.base import Model
from qufur.service import answers, documented
from qufur.service.access import Key, Scope
from qufur.service.commands import Tell
from qufur.service.description import Description, check_text
from qufur.service.documented import route
from qufur.service.examples import Label, as_id, read_label
from qufur.service.logged import Logged, look_up
from qufur.service.replies import reply
from qufur.service.requests import (
    body_of,
    decoder,
    description_of,
    flag,
    key_of,
    learn,
    leases_of,
    number,
    perform,
    read,
)
from qufur.service.service import Service

router = APIRouter(prefix="/v1/streams/{stream}", tags=["labels"])
MOST_LEASED, MOST_LISTED = 100, 10_000
HOW = (
    documented.flag("replace", "Take another label for a row that has one."),
    documented.flag("accept_outliers", "Take a label that is far from all others."),
)


class OneLabel(msgspec.Struct, forbid_unknown_fields=True):
    """A number, or the name of a class."""

    label: float | str


class LeaseRequest(msgspec.Struct, forbid_unknown_fields=True):
    """Who wants rows, how many, for how long, and which of those that nobody has before others."""

    person: str
    count: int = 1
    minutes: float = 5.0
    ids: list[str | int] = []


class Release(msgspec.Struct, forbid_unknown_fields=True):
    """Who gives rows back."""

    person: str
    ids: list[str | int]


_label: Any = decoder(OneLabel)
_labels: Any = decoder(list[Label])
_lease: Any = decoder(LeaseRequest)
_release: Any = decoder(Release)


@router.put(
    "/examples/{id:path}/label",
    **route(answers.Labelled, OneLabel, example={"label": 3.5}, parameters=HOW),
)
async def tell(request: Request, stream: str, id: str) -> Response:
    """Give a label that was asked for; `?replace=true` takes another one for a row that has one."""
    key = key_of(request, Scope.label, stream)
    found: OneLabel = _label(await body_of(request))
    new = await _tell(request, stream, [Label(id, found.label)], key)
    return reply({"id": id, "label": found.label, "new": new[id]})


@router.post(
    "/labels",
    **route(answers.Learned, list[Label], example=[{"id": "a7", "label": 3.5}], parameters=HOW),
)
async def tell_many(request: Request, stream: str) -> Response:
    """Give several labels: all of them are learned, or none."""
    key = key_of(request, Scope.label, stream)
    labels: list[Label] = _labels(await body_of(request))
    request.app.state.limits.check_batch(len(labels))
    new = await _tell(request, stream, labels, key)
    return reply({"new": sum(new.values()), "known": len(new) - sum(new.values())})


async def _tell(request: Request, stream: str, labels: list[Label], key: Key) -> dict[str, bool]:
    replace, accept = flag(request, "replace"), flag(request, "accept_outliers")
    description = await description_of(request, stream)
    found: dict[str, float] = {}
    for one in labels:
        id = as_id(one.id)
        if id in found:
            raise invalid("id", "the request", "there once", f"{ascii(id)[:80]} more than once")
        found[id] = read_label(description, one.label, id)

    new = await learn(request, Tell(stream, found, key.name, replace, accept)) if found else {}
    leases_of(request, stream).close(list(found))
    return new


@router.delete("/examples/{id:path}/label", **route(answers.Named))
async def untell(request: Request, stream: str, id: str) -> Response:
    """Take a label back; the row waits for one again, and costs nothing more."""
    return await remove_label(request, stream, id, key_of(request, Scope.label, stream))


async def remove_label(request: Request, stream: str, id: str | int, key: Key) -> Response:
    """Remove a label, and wait until that is written."""
    row = as_id(id)
    await perform(request, lambda service: service.untell(stream, row, key.name))
    return reply({"id": row})


@router.post("/examples/{id:path}/decline", **route(answers.Named))
async def decline(request: Request, stream: str, id: str) -> Response:
    """Say that a label will never come: it costs nothing."""
    return await decline_row(request, stream, id, key_of(request, Scope.label, stream))


async def decline_row(request: Request, stream: str, id: str | int, key: Key) -> Response:
    """Decline a row, and wait until that is written."""
    row = as_id(id)
    await perform(request, lambda service: service.decline(stream, row, key.name))
    leases_of(request, stream).close([row])
    return reply({"id": row})


@router.get(
    "/queue",
    **route(answers.Queue, parameters=[documented.count("limit", 50, MOST_LISTED, "How many to list.")]),
)
async def queue(request: Request, stream: str) -> Response:
    """List the rows that wait, the oldest first."""
    key_of(request, Scope.label, stream)
    limit = number(request, "limit", 50, MOST_LISTED)

    await description_of(request, stream)
    leases = leases_of(request, stream)

    def do(service: Service) -> tuple[int, int | None, dict[str, int], dict[str, str]]:
        found = service.stream(stream)
        asked_at = {id: found.asked_at.get(id, 0) for id in islice(found.waiting, limit)}
        held = {id: person for id, person in leases.holders().items() if id in found.waiting}
        return len(found.waiting), next(iter(found.asked_at.values()), None), asked_at, held

    waiting, oldest, asked_at, held = await perform(request, do)
    rows = [{"id": id, "asked_at": at / 1e6, "leased_to": held.get(id)} for id, at in asked_at.items()]
    return reply(
        {
            "waiting": waiting,
            "leased": len(held),
            "oldest_seconds": None if oldest is None else max(0.0, time.time() - oldest / 1e6),
            "rows": rows,
        }
    )


@router.post(
    "/queue/lease", **route(answers.Lease, LeaseRequest, example={"person": "ada", "count": 1, "minutes": 5})
)
async def lease(request: Request, stream: str) -> Response:
    """Give the next rows to one person for some minutes; nobody else gets them meanwhile."""
    key_of(request, Scope.label, stream)
    wanted: LeaseRequest = _lease(await body_of(request))
    check_text("person", wanted.person)
    if not 1 <= wanted.count <= MOST_LEASED:
        raise invalid("count", "the request", f"from 1 to {MOST_LEASED}", wanted.count)
    if not 0 < wanted.minutes <= 24 * 60:
        raise invalid("minutes", "the request", "above 0 and at most 1440", wanted.minutes)
    description = await description_of(request, stream)
    leases, first = leases_of(request, stream), [as_id(id) for id in wanted.ids[:MOST_LEASED]]

    def do(service: Service) -> tuple[int, Model, dict[str, int], int]:
        found = service.stream(stream)
        taken = leases.take(wanted.person, found.waiting, wanted.count, 60 * wanted.minutes, first)
        asked_at = {id: found.asked_at.get(id, 0) for id in taken}
        return found.number, found.book.learner.model, asked_at, len(found.waiting)

    place, model, asked_at, waiting = await perform(request, do)
    logged = await read(request, lambda store: look_up(store, place, asked_at, model))
    # A row that was erased since then is not shown.
    rows = [_row(description, id, logged[id], at) for id, at in asked_at.items() if id in logged]
    return reply({"rows": rows, "waiting": waiting})


@router.post("/queue/release", **route(answers.Released, Release, example={"person": "ada", "ids": ["a7"]}))
async def release(request: Request, stream: str) -> Response:
    """Give rows back; they come last for this person from now on."""
    key_of(request, Scope.label, stream)
    given: Release = _release(await body_of(request))
    check_text("person", given.person)
    await description_of(request, stream)
    leases_of(request, stream).release(given.person, [as_id(id) for id in given.ids[:MOST_LEASED]])
    return reply({"released": len(given.ids[:MOST_LEASED])})


def _row(description: Description, id: str, logged: Logged, asked_at: int) -> dict[str, Any]:
    """Return a row as the person who labels it sees it, its columns in the order of the stream's."""
    row, said = logged.row, logged.said
    if description.dim is None:
        shown = {"record": {name: row[name] for name in description.columns or {} if name in row}}
    else:
        shown = {"x": np.frombuffer(row, "<f8").tolist()}
    return {
        "id": id,
        **shown,
        "prediction": None if said is None else said.prediction,
        "why": None if said is None else said.why,
        "asked_at": asked_at / 1e6,
    }
