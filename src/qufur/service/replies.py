"""What is sent back: JSON, and one sentence where something is refused."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from starlette.responses import Response

JSON = "application/json"
_encode = msgspec.json.Encoder().encode


class Json(Response):
    """JSON, with the headers that every answer has, which are made for each of them."""

    media_type = JSON

    def init_headers(self, headers: Mapping[str, str] | None = None) -> None:
        """Set the length and the type of the body."""
        if headers is not None:
            super().init_headers(headers)
            return
        self.raw_headers = [(b"content-length", b"%d" % len(self.body)), _TYPE]


_TYPE = b"content-type", JSON.encode()


def reply(values: Any, status: int = 200) -> Response:
    """Return values as JSON; numbers that JSON does not have become null."""
    return Json(_encode(values), status)


def complaint(status: int, sentence: str, headers: Mapping[str, str] | None = None) -> Response:
    """Return what is wrong."""
    return Json(_encode({"error": sentence}), status, headers=None if headers is None else dict(headers))
