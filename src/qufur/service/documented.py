"""What the description of the interface says about bodies, which routes read by themselves."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import msgspec
from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

JSON, NPY = "application/json", "application/x-npy"
_REF = "#/components/schemas/{name}"
_components: dict[str, Any] = {}
REFUSED: dict[int | str, dict[str, Any]] = {
    status: {
        "description": words,
        "content": {JSON: {"schema": {"$ref": _REF.format(name="Refusal")}}},
    }
    for status, words in {
        401: "no key, or one that is not known",
        403: "a key that is for something else",
        404: "no such stream or example",
        409: "it does not agree with what is known",
        410: "it was erased",
        413: "too large",
        422: "something in it is wrong",
        429: "too many requests",
        503: "not now; the same request may be sent again",
    }.items()
}
"""The answers of every route besides the good one."""


class Refusal(msgspec.Struct):
    """What is wrong, in one sentence."""

    error: str


def route(
    result: Any,
    body: Any = None,
    *,
    example: Any = None,
    binary: bool = False,
    parameters: Sequence[dict[str, Any]] = (),
    status: int = 200,
    known: bool = False,
) -> dict[str, Any]:
    """Return the arguments of a route that say what it takes and returns.

    Parameters
    ----------
    result, body
        Types of what is sent, as JSON.
    example
        A body that is taken.
    binary
        Whether a matrix in NumPy's format is taken as well.
    parameters
        Made by `query` and `header`.
    status, known
        That of what is new, and whether what is known already has 200.
    """
    good = {"description": "done", "content": {JSON: {"schema": _schema(result)}}}
    extra: dict[str, Any] = {"parameters": list(parameters)} if parameters else {}
    if body is not None:
        shown = {} if example is None else {"example": example}
        content: dict[str, Any] = {JSON: {"schema": _schema(body), **shown}}
        if binary:
            content[NPY] = {"schema": {"type": "string", "format": "binary"}}
        extra["requestBody"] = {"required": True, "content": content}
    return {
        "responses": {status: good, **({200: good} if known else {}), **REFUSED},
        "openapi_extra": extra,
        "status_code": status,
        "response_model": None,
    }


def query(name: str, schema: dict[str, Any], words: str) -> dict[str, Any]:
    """Return the description of a parameter in the address."""
    return {"name": name, "in": "query", "required": False, "schema": schema, "description": words}


def flag(name: str, words: str) -> dict[str, Any]:
    """Return the description of one that is true or false."""
    return query(name, {"type": "boolean", "default": False}, words)


def count(name: str, default: int, most: int, words: str) -> dict[str, Any]:
    """Return the description of one that is a whole number."""
    return query(name, {"type": "integer", "minimum": 0, "maximum": most, "default": default}, words)


def header(name: str, schema: dict[str, Any], words: str) -> dict[str, Any]:
    """Return the description of a header."""
    return query(name, schema, words) | {"in": "header"}


def describe(app: FastAPI) -> dict[str, Any]:
    """Return the OpenAPI document."""
    if app.openapi_schema is None:
        _schema(Refusal)
        found = get_openapi(
            title=app.title, version=app.version, description=app.description, routes=app.routes
        )
        found.setdefault("components", {}).setdefault("schemas", {}).update(_components)
        _summarize(found["paths"])
        found["components"]["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
        found["security"] = [{"key": []}, {}]
        app.openapi_schema = found
    return app.openapi_schema


def _summarize(paths: dict[str, Any]) -> None:
    """Let the first words of what a route says of itself stand for it."""
    for operations in paths.values():
        for operation in operations.values():
            words = " ".join(operation.get("description", operation["summary"]).split())
            operation["summary"] = re.split(r"[:;.] |[:;.]$", words)[0]


def _schema(kind: Any) -> dict[str, Any]:
    if isinstance(kind, dict):
        return kind
    (schema,), components = msgspec.json.schema_components([kind], ref_template=_REF)
    _components.update(_plain(components))
    found: dict[str, Any] = _plain(schema)
    return found


def _plain(schema: Any) -> Any:
    """Return a schema in which tuples are lists of so many: not all tools read them otherwise."""
    if isinstance(schema, list):
        return [_plain(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    found = {name: _plain(one) for name, one in schema.items() if name != "prefixItems"}
    return found | ({"items": _plain(schema["prefixItems"][0])} if "prefixItems" in schema else {})
