"""Routes of the label page: read a typed number; decline a row or remove a label with the id in the body.

Browsers resolve `.` and `..` in a URL, also percent-encoded, so such an id cannot be part of a path.
"""

from __future__ import annotations

import msgspec

from qufur.errors import invalid
from qufur.service.auth import Scope
from qufur.service.http import ApiRequest
from qufur.service.responses import ExampleId, Reading, Readings
from qufur.service.routes import labels
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


@routes.add("POST /parse", Operation(Scope.label, example={"text": "1,500"}))
async def parse(request: ApiRequest, stream: str, body: Typed) -> Readings:
    """Read a typed number by the rules for tables. Stores nothing.

    Returns no reading for a text that is not a number, and two readings if the result depends on the decimal
    mark: `1,500` is 1500 with a decimal point, and 1.5 with a decimal comma.
    """
    if (await request.config(stream)).classes is not None:
        raise invalid("text", "the request", "sent to a stream whose labels are numbers", "one with classes")
    numbers = readings(body.text) if len(body.text) <= MAX_TEXT else {}
    return Readings([Reading(label, mark) for mark, label in numbers.items()])


@routes.add("POST /decline", Operation(Scope.label, example={"id": "a7"}))
async def decline(request: ApiRequest, stream: str, body: Row) -> ExampleId:
    """Decline a row. Its label will never arrive, and its cost is refunded."""
    return await labels.decline(request, stream, str(body.id))


@routes.add("POST /remove", Operation(Scope.label, example={"id": "a7"}))
async def remove(request: ApiRequest, stream: str, body: Row) -> ExampleId:
    """Remove a label. The row is pending again and costs nothing more."""
    return await labels.untell(request, stream, str(body.id))
