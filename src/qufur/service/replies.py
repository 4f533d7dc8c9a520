"""What is sent back: JSON, and one sentence where something is refused."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from starlette.responses import Response

JSON = "application/json"
_encode = msgspec.json.Encoder().encode


def reply(values: Any, status: int = 200) -> Response:
    """Return values as JSON; numbers that JSON does not have become null."""
    return Response(_encode(values), status, media_type=JSON)


def complaint(status: int, sentence: str, headers: Mapping[str, str] | None = None) -> Response:
    """Return what is wrong."""
    body = _encode({"error": sentence})
    return Response(body, status, media_type=JSON, headers=None if headers is None else dict(headers))
