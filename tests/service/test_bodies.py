"""Bodies that cannot be decoded or are out of range: the status and the message of the response."""

import asyncio

import pytest
from starlette.requests import ClientDisconnect
from tests.service.conftest import opened

from qufur.service.app import create_app
from qufur.service.http import ApiRequest
from qufur.service.store import StoreError

ONE, LABEL, LEASE = "examples", "examples/a/label", "queue/lease"
REJECTED = [
    (ONE, b"", "decoded: Input data was truncated."),
    (ONE, b'{"x":[1,2]', "decoded: Input data was truncated."),
    (ONE, b'{"id":"a","x":[1,2]} x', "decoded: JSON is malformed"),
    (ONE, b'{"x":[1,2],"id":"\xff"}', "The body is not valid JSON."),
    (ONE, b'{"id":"a","y":' + b"[" * 100_000, "The body is not valid JSON."),
    (ONE, b'{"x":[1,NaN]}', "decoded: JSON is malformed"),
    (ONE, b'{"id":"a","x":[1,1e999]}', "decoded: Number out of range - at `$.x[1]`."),
    (ONE, b'{"id":"a","x":[1,"2"]}', "decoded: Expected `float`, got `str` - at `$.x[1]`."),
    (ONE, b'{"id":"a","x":[1,true]}', "decoded: Expected `float`, got `bool` - at `$.x[1]`."),
    (ONE, b'{"id":"a","x":[1,1e99]}', "x of example 'a' must be finite numbers below 1e+50 in size"),
    (LABEL, b'{"label":0,"y":1}', "decoded: Object contains unknown field `y`."),
    (LABEL, b'{"label":-Infinity}', "decoded: JSON is malformed"),
    (LABEL, b'{"label":"NaN"}', "label of example 'a' must be a finite number, got 'NaN'."),
    (LABEL, b'{"label":null}', "decoded: Expected `float | str`, got `null` - at `$.label`."),
    (LEASE, b"{}", "decoded: Object missing required field `person`."),
    (LEASE, b'{"person":"a","count":99999999999999999999}', "count of the request must be from 1 to 100"),
]


@pytest.mark.parametrize(("path", "body", "message"), REJECTED)
def test_body_is_rejected_with_its_message(server, stream, path, body, message):
    name = stream()
    before = server.digest(name)
    method = "PUT" if path == LABEL else "POST"
    answer = server.http.request(method, f"/v1/streams/{name}/{path}", content=body)
    assert answer.status_code == 422
    assert message in answer.json()["error"]
    assert server.digest(name) == before


@pytest.mark.parametrize(
    "path", ["/", "/v1/streams/a/examples", "/v1/streams/a/examples/b/c/label", "/healthz", "/docs"]
)
def test_wrong_method_names_the_method(server, path):
    answer = server.http.patch(path)
    message = "Method PATCH is not allowed for this path. /docs lists the allowed methods."
    assert (answer.status_code, answer.json()) == (405, {"error": message})
    assert answer.headers["allow"] in {"GET", "POST", "PUT"}


@pytest.mark.parametrize("path", ["/no", "/v1/streams//examples", "/static/no.css", "/v1/streams/a/label"])
def test_path_without_a_route_is_not_found(server, path):
    answer = server.http.post(path) if path.startswith("/v1") else server.http.get(path)
    assert (answer.status_code, answer.json()) == (404, {"error": "No such path. /docs lists all paths."})


def test_failed_start_raises_its_error(tmp_path, monkeypatch):
    def fail(store):
        raise StoreError("the disk is full")

    monkeypatch.setattr("qufur.service.app.Service", fail)
    store, sent = opened(tmp_path), []

    async def receive():
        return {"type": "lifespan.startup"}

    async def send(message):
        sent.append(message["type"])

    with pytest.raises(StoreError, match="the disk is full"):
        asyncio.run(create_app(store)({"type": "lifespan", "state": {}}, receive, send))
    assert sent == ["lifespan.startup.failed"]
    store.close()


def request_with(*messages):
    """Return a request whose body arrives in these messages."""
    left = list(messages)

    async def receive():
        return left.pop(0)

    return ApiRequest({"type": "http", "method": "POST", "path": "/", "headers": []}, receive)


def part(body, more):
    return {"type": "http.request", "body": body, "more_body": more}


@pytest.mark.parametrize(
    ("messages", "body"),
    [
        ([part(b"whole", False)], b"whole"),
        ([part(b"in ", True), part(b"two", False)], b"in two"),
        ([part(b"", True), part(b"late", False)], b"late"),
        ([{"type": "http.request"}], b""),
    ],
)
def test_body_is_read_to_its_end(messages, body):
    assert asyncio.run(request_with(*messages).content()) == body


@pytest.mark.parametrize("before", [[], [part(b"half", True)]])
def test_disconnect_within_a_body_raises(before):
    with pytest.raises(ClientDisconnect):
        asyncio.run(request_with(*before, {"type": "http.disconnect"}).content())
