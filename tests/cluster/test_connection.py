"""The address of a cluster: where nobody answers, that is said at once."""

import socket
import time
from types import SimpleNamespace

import pytest
from tests.refusals import refusal

from qufur.cli.connection import connected


class StandIn(SimpleNamespace):
    """Ray, as far as a connection needs it."""

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


def refused(address, error=None):
    def connect():
        with connected(StandIn(error), address):
            pass

    return refusal(connect)


@pytest.fixture
def port():
    """A port where somebody listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@pytest.mark.parametrize("address", ["127.0.0.1:1", "ray://127.0.0.1:1", "ray://[::1]:1", "ray://head"])
def test_an_address_where_nobody_answers_is_refused_at_once(address):
    began = time.monotonic()
    assert refused(address).startswith(
        "--cluster of qufur ask must be the address of a Ray cluster, or local"
    )
    assert time.monotonic() - began < 5


@pytest.mark.parametrize("error", [ConnectionError("none"), RuntimeError("old"), KeyError("token")])
def test_what_ray_says_is_one_line(port, error):
    assert "If it asks for a token" in refused(f"ray://127.0.0.1:{port}", error)


@pytest.mark.parametrize("address", ["local", "auto", "127.0.0.1:{}", "ray://127.0.0.1:{}"])
def test_ray_gets_the_address(port, address):
    ray = StandIn()
    with connected(ray, address.format(port)):
        assert ray.calls == [address.format(port)]
    assert ray.calls[-1] == "shutdown"
