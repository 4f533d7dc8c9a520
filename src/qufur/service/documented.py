"""What the description of the interface says about bodies, which routes read by themselves."""

from __future__ import annotations

from typing import Any

import msgspec
from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

_REF = "#/components/schemas/{name}"
_components: dict[str, Any] = {}
REFUSED = {
    status: {
        "description": words,
        "content": {"application/json": {"schema": {"$ref": _REF.format(name="Refusal")}}},
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
    result: Any, body: Any = None, *, more: dict[str, Any] | None = None, status: int = 200
) -> dict[str, Any]:
    """Return the arguments of a route that say what it takes and returns."""
    good = {"description": "done", "content": {"application/json": {"schema": _schema(result)}}}
    extra: dict[str, Any] = {}
    if body is not None:
        content = {"application/json": {"schema": _schema(body)}, **(more or {})}
        extra["requestBody"] = {"required": True, "content": content}
    return {
        "responses": {status: good, **REFUSED},
        "openapi_extra": extra,
        "status_code": status,
        "response_model": None,
    }


def query(name: str, schema: dict[str, Any], words: str) -> dict[str, Any]:
    """Return the description of a parameter in the address."""
    return {"name": name, "in": "query", "required": False, "schema": schema, "description": words}


def describe(app: FastAPI) -> dict[str, Any]:
    """Return the OpenAPI document."""
    if app.openapi_schema is None:
        _schema(Refusal)
        found = get_openapi(
            title=app.title, version=app.version, description=app.description, routes=app.routes
        )
        found.setdefault("components", {}).setdefault("schemas", {}).update(_components)
        found["components"]["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
        found["security"] = [{"key": []}, {}]
        app.openapi_schema = found
    return app.openapi_schema


def _schema(kind: Any) -> dict[str, Any]:
    if isinstance(kind, dict):
        return kind
    (schema,), components = msgspec.json.schema_components([kind], ref_template=_REF)
    _components.update(components)
    return schema
