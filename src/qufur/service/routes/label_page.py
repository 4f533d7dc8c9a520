"""Routes of the label page: read a typed number; decline a row or remove a label with the id in the body.

Browsers resolve `.` and `..` in a URL, also percent-encoded, so such an id cannot be part of a path.
"""

from __future__ import annotations

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from qufur.errors import invalid
from qufur.service import openapi
from qufur.service.auth import Scope
from qufur.service.http import authorize, config_of, decode, json_response, read_body
from qufur.service.routes.labels import decline_row, remove_label
from qufur.service.routing import Operation, Routes
from qufur.tables.number_formats import readings

routes = Routes(prefix="/v1/streams/{stream}/labels", tag="labels")
MAX_TEXT = 100
"""Characters of a typed number."""


class Typed(msgspec.Struct, forbid_unknown_fields=True):
    """Text typed by an annotator."""

    text: str


class Row(msgspec.Struct, forbid_unknown_fields=True):
    """Id of an example."""

    id: str | int


@routes.add("POST /parse", Operation(openapi.Readings, Typed, example={"text": "1,500"}))
async def parse(request: Request, stream: str) -> Response:
    """Read a typed number by the rules for tables. Stores nothing.

    Returns no reading for a text that is not a number, and two readings if the result depends on the decimal
    mark: `1,500` is 1500 with a decimal point, and 1.5 with a decimal comma.
    """
    authorize(request, Scope.label, stream)
    typed = decode(await read_body(request), Typed)
    if (await config_of(request, stream)).classes is not None:
        raise invalid("text", "the request", "sent to a stream whose labels are numbers", "one with classes")
    numbers = readings(typed.text) if len(typed.text) <= MAX_TEXT else {}
    return json_response({"readings": [{"label": label, "decimal": mark} for mark, label in numbers.items()]})


@routes.add("POST /decline", Operation(openapi.ExampleId, Row, example={"id": "a7"}))
async def decline(request: Request, stream: str) -> Response:
    """Decline a row. Its label will never arrive, and its cost is refunded."""
    key = authorize(request, Scope.label, stream)
    row = decode(await read_body(request), Row)
    return await decline_row(request, stream, row.id, key)


@routes.add("POST /remove", Operation(openapi.ExampleId, Row, example={"id": "a7"}))
async def remove(request: Request, stream: str) -> Response:
    """Remove a label. The row is pending again and costs nothing more."""
    key = authorize(request, Scope.label, stream)
    row = decode(await read_body(request), Row)
    return await remove_label(request, stream, row.id, key)
