"""Connections to a cluster: an unreachable address raises immediately."""

import socket
import time
from types import SimpleNamespace

import pytest
from tests.refusals import refusal

from qufur.cli._cluster import connected


class StandIn(SimpleNamespace):
    """Stand-in for the functions of Ray that a connection uses."""

    exceptions = SimpleNamespace(RayError=KeyError)

    def __init__(self, error=None):
        super().__init__(error=error, calls=[])

    def is_initialized(self):
        return False

    def init(self, **options):
        self.calls.append(options["address"])
        if self.error:
            raise self.error

    def shutdown(self):
        self.calls.append("shutdown")


def connection_error(address, error=None):
    def connect():
        with connected(StandIn(error), address):
            pass

    return refusal(connect)


@pytest.fixture
def port():
    """Yield a port with a listening server."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@pytest.mark.parametrize("address", ["127.0.0.1:1", "ray://127.0.0.1:1", "ray://[::1]:1", "ray://head"])
def test_unreachable_address_raises_immediately(address):
    start = time.monotonic()
    assert connection_error(address).startswith(
        "--cluster of qufur ask must be the address of a Ray cluster, or local"
    )
    assert time.monotonic() - start < 5


@pytest.mark.parametrize("error", [ConnectionError("none"), RuntimeError("old"), KeyError("token")])
def test_ray_errors_become_one_line(port, error):
    assert "If it asks for a token" in connection_error(f"ray://127.0.0.1:{port}", error)


@pytest.mark.parametrize("address", ["local", "auto", "127.0.0.1:{}", "ray://127.0.0.1:{}"])
def test_ray_is_initialized_with_the_address(port, address):
    ray = StandIn()
    with connected(ray, address.format(port)):
        assert ray.calls == [address.format(port)]
    assert ray.calls[-1] == "shutdown"
