"""Requests on the fast path, compared with those of Starlette."""

import asyncio

import pytest
from starlette.requests import ClientDisconnect, Request

from qufur.service.fast_path import QuickRequest

SCOPE = {
    "type": "http",
    "method": "POST",
    "path": "/",
    "headers": [
        (b"authorization", b"Bearer first"),
        (b"cookie", b"one=1; two=2"),
        (b"authorization", b"Bearer second"),
    ],
}


def sending(*messages):
    """Return an ASGI `receive` that returns these messages in order."""
    left = list(messages)

    async def receive():
        return left.pop(0)

    return receive


def part(body, more):
    return {"type": "http.request", "body": body, "more_body": more}


@pytest.mark.parametrize(
    "messages",
    [
        [part(b"whole", False)],
        [part(b"in ", True), part(b"three ", True), part(b"pieces", False)],
        [part(b"", True), part(b"late", False)],
        [{"type": "http.request"}],
    ],
)
def test_body_is_read_to_its_end(messages):
    expected = asyncio.run(Request(SCOPE, sending(*messages)).body())
    assert asyncio.run(QuickRequest(SCOPE, sending(*messages)).body()) == expected


@pytest.mark.parametrize("before", [[], [part(b"half", True)]])
def test_disconnect_within_a_body_raises(before):
    with pytest.raises(ClientDisconnect):
        asyncio.run(QuickRequest(SCOPE, sending(*before, {"type": "http.disconnect"})).body())


def test_repeated_header_has_its_first_value():
    usual, quick = Request(SCOPE), QuickRequest(SCOPE, sending())
    assert quick.headers["authorization"] == usual.headers["authorization"] == "Bearer first"
    assert quick.cookies == usual.cookies == {"one": "1", "two": "2"}
