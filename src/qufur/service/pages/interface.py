"""The page that describes the HTTP interface, made of the description for programs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from fastapi import APIRouter, Request
from fastapi.responses import Response

from qufur.service.pages.routes import page

router = APIRouter(include_in_schema=False)
JSON = "application/json"


class Operation(NamedTuple):
    """One verb of one address.

    Attributes
    ----------
    schemas
        What it takes and returns, each with a title and as text.
    """

    verb: str
    path: str
    about: str
    schemas: list[tuple[str, str]]


@router.get("/docs")
def interface(request: Request) -> Response:
    """Every route, with what it takes and returns."""
    return page(request, "docs.html", operations=list(operations(request.app.openapi())))


def operations(document: dict[str, Any]) -> Iterator[Operation]:
    """Yield the operations of an OpenAPI document."""
    known = document.get("components", {}).get("schemas", {})
    for path, verbs in document["paths"].items():
        for verb, operation in verbs.items():
            good: dict[str, Any] = next(iter(operation["responses"].values()), {})
            contents = {"Takes": operation.get("requestBody", {}), "Returns": good}
            schemas = [
                (title, json.dumps(_opened(content["content"][JSON]["schema"], known), indent=2))
                for title, content in contents.items()
                if JSON in content.get("content", {})
            ]
            yield Operation(verb.upper(), path, operation.get("description", ""), schemas)


def _opened(schema: Any, known: dict[str, Any], depth: int = 3) -> Any:
    """Return a schema with what it refers to in its place, to some depth."""
    if isinstance(schema, list):
        return [_opened(one, known, depth) for one in schema]
    if not isinstance(schema, dict):
        return schema
    name = schema.get("$ref", "").rpartition("/")[2]
    if name in known and depth:
        return _opened(known[name], known, depth - 1)
    return {key: _opened(value, known, depth) for key, value in schema.items()}
