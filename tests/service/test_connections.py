"""Time, size and number limits of connections."""

import asyncio
import math
import resource
import socket
import time
from contextlib import ExitStack

import pytest
from starlette.responses import PlainTextResponse
from tests.service.conftest import opened, running

from qufur.service import connections
from qufur.service.http import Limits

HEAD = b"POST /v1/streams HTTP/1.1\r\nHost: localhost\r\n"


@pytest.fixture
def impatient(monkeypatch):
    """Close incomplete requests after some hundredths of a second."""
    monkeypatch.setattr(connections, "TICK_SECONDS", 0.01)
    monkeypatch.setattr(connections, "REQUEST_SECONDS", 0.05)


@pytest.fixture
def server(tmp_path, impatient):
    with running(opened(tmp_path), Limits(body=10_000)) as service:
        yield service


def connected(server):
    return socket.create_connection((server.http.base_url.host, server.http.base_url.port), timeout=20)


def read_to_end(connection):
    """Return what the server sends until it closes the connection."""
    received = b""
    while block := connection.recv(65536):
        received += block
    return received


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"\r\n",
        b"POST /v1/str",
        HEAD,
        HEAD + b"Content-Length: 20\r\n\r\n",
        HEAD + b"Content-Length: 20\r\n\r\n{",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n5\r\n{",
    ],
)
def test_incomplete_request_is_dropped(server, sent):
    with connected(server) as connection:
        connection.sendall(sent)
        assert read_to_end(connection) == b""
    assert server.http.get("/readyz").status_code == 200


def test_incomplete_request_after_a_complete_one_is_dropped(server):
    with connected(server) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n" + HEAD)
        assert b"alive" in read_to_end(connection)


def test_body_that_continues_after_an_early_response_is_dropped(server, monkeypatch):
    monkeypatch.setattr(connections, "MIN_RATE", 1)
    with connected(server) as connection:
        connection.sendall(HEAD + b"Content-Length: 600000000\r\n\r\n" + bytes(1000))
        assert read_to_end(connection).startswith(b"HTTP/1.1 413")


def test_slow_body_that_keeps_the_rate_is_read(server, monkeypatch):
    monkeypatch.setattr(connections, "MIN_RATE", 10)
    body = b'{"name": "slow", "dim": 1}' + b" " * 100
    with connected(server) as connection:
        connection.sendall(HEAD + b"Connection: close\r\nContent-Length: %d\r\n\r\n" % len(body))
        connection.sendall(body[:-1])
        time.sleep(0.3)
        connection.sendall(body[-1:])
        assert read_to_end(connection).startswith(b"HTTP/1.1 201")


def test_slow_response_and_idle_connection_are_kept(tmp_path, impatient):
    service = running(opened(tmp_path))

    async def slow(request):
        await asyncio.sleep(0.3)
        return PlainTextResponse("done")

    service.app.add_route("/slow", slow)
    with service as server, connected(server) as connection:
        for _ in range(2):
            connection.sendall(b"GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert connection.recv(65536).endswith(b"done")
            time.sleep(0.2)


@pytest.mark.parametrize(
    "sent",
    [
        b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * 70_000,
        b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n" + b"X: a\r\n" * 12_000,
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n1\r\n1\r\n0\r\n" + b"X: a\r\n" * 12_000,
    ],
    ids=["value", "headers", "trailers"],
)
def test_header_over_the_limit_is_rejected(server, sent):
    with connected(server) as connection:
        connection.sendall(sent)
        assert b"at most 65536 bytes" in read_to_end(connection)


def test_body_of_many_small_chunks_is_read(server):
    body = b'{"name": "chunked", "dim": 1}' + b" " * 9_000
    chunks = (body[start : start + 2] for start in range(0, len(body), 2))
    assert server.http.post("/v1/streams", content=chunks).status_code == 201


def is_open(connection):
    """Return whether a connection is still open, after reading what the server sent."""
    connection.setblocking(False)
    try:
        while connection.recv(65536):
            pass
        return False
    except BlockingIOError:
        return True
    except ConnectionResetError:
        return False


@pytest.mark.parametrize("sent", [HEAD, b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"])
def test_half_open_and_idle_connections_give_way_to_new_clients(tmp_path, monkeypatch, sent):
    monkeypatch.setattr(connections, "_max_connections", lambda: 5)
    with running(opened(tmp_path)) as server, ExitStack() as stack:
        others = []
        for _ in range(20):
            others.append(stack.enter_context(connected(server)))
            others[-1].sendall(sent)
        for number in range(3):
            body = {"name": f"stream{number}", "dim": 1}
            assert server.http.post("/v1/streams", json=body, headers={"Connection": "close"}).is_success
        assert sum(map(is_open, others)) <= 5


@pytest.mark.parametrize(
    ("files", "most"), [(256, 256 - connections.RESERVED_FILES), (10, 1), (resource.RLIM_INFINITY, math.inf)]
)
def test_connections_leave_file_descriptors_to_the_store(monkeypatch, files, most):
    monkeypatch.setattr(resource, "getrlimit", lambda _: (files, files))
    assert connections._max_connections() == most
