"""The OpenAPI document: types of responses, parameters, and the document of a list of routes."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec import Struct
from starlette.routing import BaseRoute

from qufur import __version__
from qufur.service.routing import Operation, Route

JSON, NPY = "application/json", "application/x-npy"
_REF = "#/components/schemas/{name}"
DESCRIPTION = (
    "Online learning from streams when labels cost money. "
    "Send examples; each response has a prediction and says whether to buy the label."
)
SCHEMA_NAMES = {
    "AnswerBody": "Said",
    "EventInfo": "Happened",
    "ExampleId": "Named",
    "LabelledExample": "Lesson",
    "PredictionRequest": "Question",
    "StreamConfig": "Description",
}
"""Schema names that differ from the class names. Generated clients use them, so they stay."""
ERRORS: dict[str, dict[str, Any]] = {
    str(status): {
        "description": text,
        "content": {JSON: {"schema": {"$ref": _REF.format(name="Refusal")}}},
    }
    for status, text in {
        401: "the key is missing or invalid",
        403: "the key lacks the scope or is limited to another stream",
        404: "no such stream or example",
        409: "the request conflicts with stored data",
        410: "the example was erased",
        413: "the request is too large",
        422: "the request is invalid",
        429: "the rate limit is exceeded",
        503: "temporarily unavailable; retry the request",
    }.items()
}
"""Error responses of every route."""


class State(Struct):
    """Status of a stream. `digest` identifies its state; null unless requested."""

    name: str
    dim: int | None
    columns: dict[str, str] | None
    classes: list[str] | None
    label_range: tuple[float, float] | None
    model: str
    rule: str
    budget: float | None
    rows: int
    spent: int
    left: int | None
    outstanding: int
    told: int
    events: int
    digest: str | None


class States(Struct):
    """List of streams, sorted by name."""

    streams: list[State]


class Series(Struct):
    """Progress of a stream: labels bought at `rows`; errors, weights and baselines at the rows `at`."""

    rows: list[int]
    spent: list[int]
    plan: list[float] | None
    at: list[int]
    error: list[float | None]
    low: list[float | None]
    high: list[float | None]
    at_random: list[float | None]
    constant: list[float | None]
    weights: list[dict[str, float]]
    shifts: list[int]
    unit: str


class Expert(Struct):
    """Expert of an ensemble."""

    name: str
    weight: float
    error: float | None


class Headline(Struct):
    """Error of all predictions so far and its interval. `covered` is the share of rows it applies to.

    `at_random` is the error with the same number of random labels; null unless the difference is clear.
    """

    error: float | None
    low: float | None
    high: float | None
    covered: float
    at_random: float | None
    confidence: float
    unit: str


class Report(Struct):
    """Progress as text, and the headline error in numbers."""

    spent: list[str]
    error: list[str]
    shifts: list[str]
    next: list[str]
    headline: Headline
    experts: list[Expert] | None


class Model(Struct):
    """Model of a stream."""

    model: str
    inputs: int
    labels: int
    experts: list[Expert] | None


class EventInfo(Struct):
    """Event without its inputs and labels. `at` is in seconds since 1970."""

    seq: int
    kind: str
    at: float
    actor: str
    count: int
    hash: str


class Events(Struct):
    """Page of events in order. `next` is the value of `after` for the next page."""

    events: list[EventInfo]
    next: int


class Prediction(Struct):
    """Prediction and uncertainty; null before the first example of a stream with columns."""

    prediction: float | str | None
    uncertainty: float | None


class Learned(Struct):
    """Number of new labels, and of labels that were already stored."""

    new: int
    known: int


class Labelled(Struct):
    """Label, and whether it was new."""

    id: str
    label: float | str
    new: bool


class Reading(Struct):
    """Number that a text can mean, with the decimal mark of this reading."""

    label: float
    decimal: str


class Readings(Struct):
    """Numbers that a text can mean."""

    readings: list[Reading]


class ExampleId(Struct):
    """Id of an example."""

    id: str


class Waiting(Struct):
    """Pending row: when its label was asked for, in seconds since 1970, and who has leased it."""

    id: str
    asked_at: float
    leased_to: str | None


class Queue(Struct):
    """Number of pending rows, number of leased rows, and the oldest pending rows."""

    waiting: int
    leased: int
    oldest_seconds: float | None
    rows: list[Waiting]


class Leased(Struct):
    """Leased row with its numbers or its record."""

    id: str
    prediction: float | str | None
    why: str | None
    asked_at: float
    x: list[float] | None = None
    record: dict[str, Any] | None = None


class Lease(Struct):
    """Rows leased to one annotator, and the number of pending rows."""

    rows: list[Leased]
    waiting: int


class Erased(Struct):
    """Number of erased examples, and of parts of the event log that contained them."""

    erased: int
    parts: int


class Deleted(Struct):
    """Deleted stream, its number of events, and the number of revoked keys."""

    name: str
    events: int
    keys: int


class Released(Struct):
    """Number of released rows."""

    released: int


class Status(Struct):
    """Status in one word."""

    status: str


class Refusal(Struct):
    """Error message."""

    error: str


def query(name: str, schema: dict[str, Any], text: str) -> dict[str, Any]:
    """Describe a query parameter."""
    return {"name": name, "in": "query", "required": False, "schema": schema, "description": text}


def flag(name: str, text: str) -> dict[str, Any]:
    """Describe a query parameter that is true or false."""
    return query(name, {"type": "boolean", "default": False}, text)


def count(name: str, default: int, maximum: int, text: str) -> dict[str, Any]:
    """Describe a query parameter that is a whole number from 0 to `maximum`."""
    return query(name, {"type": "integer", "minimum": 0, "maximum": maximum, "default": default}, text)


def header(name: str, schema: dict[str, Any], text: str) -> dict[str, Any]:
    """Describe a header."""
    return query(name, schema, text) | {"in": "header"}


def document(routes: Iterable[BaseRoute]) -> dict[str, Any]:
    """Return the OpenAPI document of the routes that have an `Operation`."""
    listed = [(route, route.operation) for route in routes if isinstance(route, Route) and route.operation]
    types = [Refusal, *(type_ for _, operation in listed for type_ in (operation.result, operation.body))]
    named = [type_ for type_ in types if type_ is not None and not isinstance(type_, dict)]
    _, components = msgspec.json.schema_components(named, ref_template=_REF)
    paths: dict[str, dict[str, Any]] = {}
    for route, operation in listed:
        paths.setdefault(route.path_format, {})[route.method.lower()] = _described(route, operation)
    return {
        "openapi": "3.1.0",
        "info": {"title": "qufur", "version": __version__, "description": DESCRIPTION},
        "paths": paths,
        "components": {
            "schemas": {SCHEMA_NAMES.get(name, name): _plain(schema) for name, schema in components.items()},
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"key": []}, {}],
    }


def _described(route: Route, operation: Operation) -> dict[str, Any]:
    text = inspect.getdoc(route.endpoint) or ""
    success = operation.result if isinstance(operation.result, dict) else _json("success", operation.result)
    described: dict[str, Any] = {
        "tags": [route.tag],
        "summary": re.split(r"[:;.] |[:;.]$", " ".join(text.split()))[0],
        "description": text,
        "operationId": re.sub(r"\W", "_", f"{route.name}{route.path_format}") + f"_{route.method.lower()}",
        "responses": {**{str(status): success for status in operation.statuses}, **ERRORS},
    }
    parameters = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string", "title": name.title()}}
        for name in route.param_convertors
    ] + list(operation.parameters)
    if parameters:
        described["parameters"] = parameters
    if operation.body is not None:
        content: dict[str, Any] = {JSON: {"schema": _schema(operation.body)}}
        if operation.example is not None:
            content[JSON]["example"] = operation.example
        if operation.binary:
            content[NPY] = {"schema": {"type": "string", "format": "binary"}}
        described["requestBody"] = {"required": True, "content": content}
    return described


def _json(description: str, type_: Any) -> dict[str, Any]:
    return {"description": description, "content": {JSON: {"schema": _schema(type_)}}}


def _schema(type_: Any) -> Any:
    (schema,), _ = msgspec.json.schema_components([type_], ref_template=_REF)
    return _plain(schema)


def _plain(schema: Any) -> Any:
    """Rename schemas by `SCHEMA_NAMES` and turn tuples into arrays, which more tools support."""
    if isinstance(schema, list):
        return [_plain(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    converted = {name: _plain(part) for name, part in schema.items() if name != "prefixItems"}
    for key in ("$ref", "title"):
        if isinstance(schema.get(key), str):
            prefix, slash, name = schema[key].rpartition("/")
            converted[key] = f"{prefix}{slash}{SCHEMA_NAMES.get(name, name)}"
    return converted | ({"items": _plain(schema["prefixItems"][0])} if "prefixItems" in schema else {})
