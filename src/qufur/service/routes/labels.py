"""Routes of the label page: a typed number, and rows named in the body instead of the address.

Browsers resolve `.` and `..` in an address, also percent-encoded, so a row with such an id cannot be named
there.
"""

from __future__ import annotations

from typing import Any

import msgspec
from fastapi import APIRouter, Request
from starlette.responses import Response

from qufur.errors import invalid
from qufur.service import answers
from qufur.service.access import Scope
from qufur.service.documented import route
from qufur.service.replies import reply
from qufur.service.requests import body_of, decoder, description_of, key_of
from qufur.service.routes.work import decline_row, remove_label
from qufur.tables.typed_numbers import readings

router = APIRouter(prefix="/v1/streams/{stream}/labels", tags=["labels"])
LONGEST = 100
"""Characters of a typed number."""


class Typed(msgspec.Struct, forbid_unknown_fields=True):
    """The text that a person typed."""

    text: str


class Row(msgspec.Struct, forbid_unknown_fields=True):
    """The id of an example."""

    id: str | int


_typed: Any = decoder(Typed)
_row: Any = decoder(Row)


@router.post("/parse", **route(answers.Readings, Typed, example={"text": "1,500"}))
async def parse(request: Request, stream: str) -> Response:
    """Read a typed number by the rules for tables; nothing is stored.

    The answer has no reading for a text that is not a number, and two where the decimal mark decides: `1,500`
    is 1500 with a point as decimal mark, and 1.5 with a comma.
    """
    key_of(request, Scope.label, stream)
    typed: Typed = _typed(await body_of(request))
    if (await description_of(request, stream)).classes is not None:
        raise invalid("text", "the request", "sent to a stream whose labels are numbers", "one with classes")
    found = readings(typed.text) if len(typed.text) <= LONGEST else {}
    return reply({"readings": [{"label": label, "decimal": mark} for mark, label in found.items()]})


@router.post("/decline", **route(answers.Named, Row, example={"id": "a7"}))
async def decline(request: Request, stream: str) -> Response:
    """Decline a row: its label will never come, and costs nothing."""
    key = key_of(request, Scope.label, stream)
    row: Row = _row(await body_of(request))
    return await decline_row(request, stream, row.id, key)


@router.post("/remove", **route(answers.Named, Row, example={"id": "a7"}))
async def remove(request: Request, stream: str) -> Response:
    """Remove a label: the row waits for one again, and costs nothing more."""
    key = key_of(request, Scope.label, stream)
    row: Row = _row(await body_of(request))
    return await remove_label(request, stream, row.id, key)
