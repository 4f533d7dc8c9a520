"""The guard in front of every route: foreign hosts, cross-site changes, and bodies over the limit."""

import asyncio
import re
import socket

import pytest
from starlette.responses import PlainTextResponse
from starlette.routing import Mount
from tests.service.conftest import opened, running
from tests.service.test_keys import routes_of
from tests.service.test_pages import TestClient, sign_in, token

from qufur.service import middleware
from qufur.service.app import create_app
from qufur.service.auth import Keys
from qufur.service.http import Limits
from qufur.service.middleware import RequestGuard, RequestMiddleware
from qufur.service.routes.monitoring import Metrics
from qufur.service.security import SAFE_METHODS
from qufur.service.store import StoreError

FOREIGN_HOSTS = ["evil.example", "evil.example:8000", "localhost.evil.example", "10.0.0.1:8000", "", "[::1"]
CROSS_SITE = [
    {"Origin": "https://evil.example"},
    {"Origin": "null"},
    {"Origin": "http://localhost:3000"},
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site", "Origin": "http://localhost"},
    {"Origin": "https://evil.example", "X-CSRF-Token": "guessed"},
]
LIMIT = 1000


@pytest.fixture
def app(tmp_path):
    store = opened(tmp_path)
    app = create_app(store, Limits(body=LIMIT))
    yield app
    store.close()


@pytest.fixture
def client(app):
    with TestClient(app, base_url="http://localhost") as client:
        yield client


def every_route(app):
    """Return method and path of every route, of a file of each mounted folder, and of a missing page."""
    mounted = {("GET", f"{route.path}/style.css") for route in app.routes if isinstance(route, Mount)}
    routes = {(verb, re.sub(r"\{\w+\}", "a", path)) for verb, path in routes_of(app)}
    assert len(routes) > 30
    assert mounted
    return sorted(routes | mounted | {("GET", "/no/such/page"), ("POST", "/no/such/page")})


def foreign_answers(client, app):
    """Return the status of every route for a foreign Host, and of every change for a foreign Origin."""
    headers = {"Host": "evil.example"}
    statuses = {route: client.request(*route, headers=headers).status_code for route in every_route(app)}
    changes = [route for route in every_route(app) if route[0] not in SAFE_METHODS]
    return statuses | {
        ("from evil.example", *route): client.request(*route, headers=CROSS_SITE[0]).status_code
        for route in changes
    }


def test_every_route_rejects_foreign_hosts_and_origins_without_keys(client, app):
    assert set(foreign_answers(client, app).values()) == {403}


def test_new_routes_are_guarded_without_code_of_their_own(app):
    async def new(request):
        return PlainTextResponse("reached")

    app.add_route("/new", new, methods=["GET", "POST"])
    app.mount("/mounted", PlainTextResponse("reached"))
    with TestClient(app, base_url="http://localhost") as client:
        statuses = foreign_answers(client, app)
        assert {("GET", "/new"), ("POST", "/new"), ("GET", "/mounted/style.css")} <= set(statuses)
        assert set(statuses.values()) == {403}
        assert client.get("/new").text == client.get("/mounted/x").text == "reached"


def test_routes_are_reached_when_the_guard_is_removed(app, monkeypatch):
    monkeypatch.setattr(RequestGuard, "_check", lambda *_: None)
    with TestClient(app, base_url="http://localhost") as client:
        statuses = foreign_answers(client, app)
    assert statuses["GET", "/"] == statuses["GET", "/healthz"] == statuses["GET", "/v1/streams"] == 200


@pytest.mark.parametrize("host", FOREIGN_HOSTS)
def test_foreign_hosts_are_rejected_without_keys(client, host):
    answer = client.get("/", headers={"Host": host})
    assert answer.status_code == 403
    assert "Host must be localhost, 127.0.0.1 or [::1], got" in answer.json()["error"]


def test_unreadable_keys_give_an_error_response(client, monkeypatch):
    def unreadable(keys):
        raise StoreError("gone")

    monkeypatch.setattr(Keys, "_refresh", unreadable)
    answer = client.get("/", headers={"Host": FOREIGN_HOSTS[0]})
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST:1", "127.0.0.1:8000", "127.8.8.8", "[::1]:8000", "[::1]"]
)
def test_loopback_hosts_are_accepted_without_keys(client, host):
    assert client.get("/", headers={"Host": host}).status_code == 200


def test_rebound_site_creates_no_key(client, app):
    page = client.get("/")
    form = {"name": "eve", "scopes": "admin"}
    evil = {"Host": "evil.example", "Origin": "http://evil.example", "X-CSRF-Token": token(page)}
    assert "csrf-token" not in client.get("/", headers={"Host": "evil.example"}).text
    assert client.post("/keys", data=form, headers=evil).status_code == 403
    assert app.state.keys.listed() == []


def test_every_host_is_accepted_with_keys(client, app):
    key = app.state.keys.add("ada", ["admin"])
    headers = {"Host": "labels.example"}
    assert client.get("/login", headers=headers).status_code == 200
    assert client.get("/v1/streams", headers=headers).status_code == 401
    assert client.get("/v1/streams", headers=headers | {"Authorization": f"Bearer {key}"}).status_code == 200


@pytest.mark.parametrize("headers", CROSS_SITE, ids=lambda headers: " ".join(map(str, headers.items())))
@pytest.mark.parametrize("signed_in", [False, True])
def test_every_change_from_another_site_is_rejected(client, app, headers, signed_in):
    if signed_in:
        sign_in(client, app.state.keys.add("ada", ["admin"]))
    keys = app.state.keys.listed()
    for verb, path in every_route(app):
        if verb not in SAFE_METHODS:
            answer = client.request(verb, path, headers=headers)
            assert answer.status_code == 403, (verb, path)
            assert "another site" in answer.json()["error"]
    assert app.state.keys.listed() == keys


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Origin": "http://localhost"},
        {"Sec-Fetch-Site": "same-origin", "Origin": "https://labels.example"},
        {"Origin": "https://labels.example", "Authorization": "Bearer"},
        {"Origin": "https://labels.example", "X-CSRF-Token": None},
    ],
    ids=str,
)
def test_changes_from_own_pages_and_programs_are_accepted(client, app, headers):
    key = app.state.keys.add("ada", ["admin"])
    sign_in(client, key)
    own = {"Authorization": f"Bearer {key}", "X-CSRF-Token": token(client.get("/"))}
    sent = {name: own.get(name, value) for name, value in headers.items()}
    if not headers:  # a program has no cookie
        client.cookies.clear()
        sent = {"Authorization": f"Bearer {key}"}
    answer = client.post("/v1/streams", json={"name": "a", "dim": 1}, headers=sent)
    assert answer.status_code == 201, answer.text


def guarded(headers, *messages, needed=False):
    """Run the middleware around an application that reads its body; return status and messages left."""
    left, sent = list(messages), []

    class Keys:
        pass

    async def receive():
        return left.pop(0)

    async def send(message):
        sent.append(message)

    async def app(scope, receive, send):
        while (await receive()).get("more_body"):
            pass
        await PlainTextResponse("read")(scope, receive, send)

    Keys.needed = needed
    scope = {"type": "http", "method": "POST", "path": "/", "headers": headers}
    guard = RequestGuard(app, Keys, Limits(body=LIMIT))
    asyncio.run(RequestMiddleware(guard, Metrics(), None)(scope, receive, send))
    return sent[0]["status"], left


OWN = b"host", b"localhost"


@pytest.mark.parametrize(
    "headers", [[], [OWN, OWN], [OWN, (b"host", b"evil.example")], [(b"host", b"evil.example"), OWN]]
)
def test_missing_or_repeated_host_is_rejected(headers):
    assert guarded(headers)[0] == 403


def part(size, more=True):
    return {"type": "http.request", "body": bytes(size), "more_body": more}


def test_stated_length_over_the_limit_is_rejected_before_the_body_is_read():
    parts = part(1), part(LIMIT)
    assert guarded([OWN, (b"content-length", b"1001")], *parts) == (413, list(parts))
    assert guarded([OWN, (b"content-length", b"1000")], part(LIMIT, more=False)) == (200, [])


@pytest.mark.parametrize(
    "length",
    [[], [(b"content-length", b"10"), (b"transfer-encoding", b"chunked")], [(b"content-length", b"x")]],
)
def test_body_of_unknown_length_is_read_up_to_the_limit(length):
    unread = part(1), part(1, more=False)
    assert guarded([OWN, *length], part(600), part(600), *unread) == (413, list(unread))
    assert guarded([OWN, *length], part(600), part(400, more=False)) == (200, [])


@pytest.fixture(scope="module")
def live(tmp_path_factory):
    """Service that accepts bodies of at most 1000 bytes."""
    with running(opened(tmp_path_factory.mktemp("store")), Limits(body=LIMIT)) as server:
        yield server


def status_of(server, request):
    """Return the status of the response to an incomplete request."""
    address = server.http.base_url.host, server.http.base_url.port
    with socket.create_connection(address, timeout=20) as connection:
        connection.sendall(request)
        return int(connection.recv(65536).split()[1])


def test_every_route_rejects_a_stated_length_over_the_limit(live):
    for verb, path in every_route(live.app):
        request = f"{verb} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 600000000\r\n\r\nkey="
        assert status_of(live, request.encode()) == 413, (verb, path)


@pytest.mark.parametrize("path", ["/login", "/logout", "/keys", "/v1/streams", "/v1/streams/a/examples"])
def test_chunked_body_over_the_limit_is_rejected_before_its_end(live, path):
    page = live.http.get("/login")
    head = (
        f"POST {path} HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n"
        f"Cookie: qufur_visitor={page.cookies['qufur_visitor']}\r\nX-CSRF-Token: {token(page)}\r\n\r\n"
    )
    assert status_of(live, head.encode() + b"300\r\n" + bytes(0x300) + b"\r\n300\r\n" + bytes(0x300)) == 413


def test_guard_reads_only_known_headers():
    scope = {"headers": [(b"host", b"a"), (b"x-other", b"b"), (b"origin", b"c"), (b"origin", b"d")]}
    assert middleware._headers(scope) == {b"host": b"a", b"origin": b""}
