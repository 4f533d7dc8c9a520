"""The short way to the routes that every example takes reads requests as the framework does."""

import asyncio

import pytest
from starlette.requests import ClientDisconnect, Request

from qufur.service.shortcut import QuickRequest

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
    """Return what hands over messages, one at a time."""
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
def test_a_body_is_read_to_its_end(messages):
    expected = asyncio.run(Request(SCOPE, sending(*messages)).body())
    assert asyncio.run(QuickRequest(SCOPE, sending(*messages)).body()) == expected


@pytest.mark.parametrize("before", [[], [part(b"half", True)]])
def test_who_goes_in_the_middle_is_noticed(before):
    with pytest.raises(ClientDisconnect):
        asyncio.run(QuickRequest(SCOPE, sending(*before, {"type": "http.disconnect"})).body())


def test_of_headers_of_the_same_name_the_first_counts():
    usual, quick = Request(SCOPE), QuickRequest(SCOPE, sending())
    assert quick.headers["authorization"] == usual.headers["authorization"] == "Bearer first"
    assert quick.cookies == usual.cookies == {"one": "1", "two": "2"}
