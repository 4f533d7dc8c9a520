"""The OpenAPI document of a list of routes."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable
from typing import Any

import msgspec
from starlette.responses import Response
from starlette.routing import BaseRoute

from qufur import __version__
from qufur.service.http import JSON
from qufur.service.responses import Refusal
from qufur.service.routing import NPY, Operation, Route

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
TEXT = {"description": "Successful Response", "content": {"text/plain": {"schema": {"type": "string"}}}}


def document(routes: Iterable[BaseRoute]) -> dict[str, Any]:
    """Return the OpenAPI document of the routes that have an `Operation`."""
    listed = [(route, route.operation) for route in routes if isinstance(route, Route) and route.operation]
    types = [Refusal, *(type_ for route, _ in listed for type_ in (route.result, route.body))]
    named = [type_ for type_ in types if type_ not in (None, Response)]
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
    success = TEXT
    if route.result is not Response:
        success = {"description": "success", "content": {JSON: {"schema": _schema(route.result)}}}
    described: dict[str, Any] = {
        "tags": [route.tag],
        "summary": re.split(r"[:;.] |[:;.]$", " ".join(text.split()))[0],
        "description": text,
        "operationId": re.sub(r"\W", "_", f"{route.name}{route.path_format}") + f"_{route.method.lower()}",
        "responses": {**dict.fromkeys(map(str, operation.statuses), success), **ERRORS},
    }
    parameters: list[dict[str, Any]] = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string", "title": name.title()}}
        for name in route.param_convertors
    ]
    parameters += [
        {"name": each.name, "in": place, "required": False, "schema": each.schema, "description": each.text}
        for place, listed in (("query", operation.parameters), ("header", operation.headers))
        for each in listed
    ]
    if parameters:
        described["parameters"] = parameters
    if route.body is not None:
        content: dict[str, Any] = {JSON: {"schema": _schema(route.body), "example": operation.example}}
        if operation.inputs is not None:
            content[NPY] = {"schema": {"type": "string", "format": "binary"}}
        described["requestBody"] = {"required": True, "content": content}
    return described


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
