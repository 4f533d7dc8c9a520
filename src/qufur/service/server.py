"""The process: a store, the application, and uvicorn around it."""

from __future__ import annotations

import gc
import os
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import uvicorn

from qufur.errors import invalid
from qufur.service.access import Keys, Scope
from qufur.service.app import create_app
from qufur.service.connections import server_config
from qufur.service.limits import Limits
from qufur.service.logs import log_to
from qufur.service.pages.security import is_loopback
from qufur.service.store import Store, StoreError
from qufur.service.warming import warm_up
from qufur.threads import one_thread

WAIT = 1
"""Seconds that requests have to finish when the server ends."""
IDLE = 75
"""Seconds that a connection stays open without requests."""
FIRST_KEY = "first"
GARBAGE = 100_000
"""Objects between two looks for garbage that holds itself."""


class Door(NamedTuple):
    """Where requests come in.

    Attributes
    ----------
    is_own
        Whether it is reached from this machine alone.
    """

    listener: socket.socket
    is_own: bool


@contextmanager
def listening(host: str, port: int) -> Iterator[Door]:
    """Listen on an address; requests wait until somebody serves."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError):
        raise invalid("--host", "qufur serve", "an address of this machine", repr(host)) from None
    family, _, _, _, address = found[0]
    try:
        listener = socket.create_server(address, family=family, backlog=2048)
    except OSError as error:
        remedy = "--port 0 takes any that is free."
        received = f"{host}:{port}: {os.strerror(error.errno or 0)}"
        allowed = "free on an address of this machine"
        raise invalid("--port", "qufur serve", allowed, received, remedy) from None
    with listener:
        yield Door(listener, all(is_loopback(str(one[0])) for *_, one in found))


def serve(store: Store, door: Door, limits: Limits, *, demo: bool = False) -> None:
    """Serve until somebody ends it; whoever can be reached from elsewhere has a key made, and says it."""
    # Read where OpenMP is loaded, which comes with the first experts; it keeps a number for each thread.
    os.environ["OMP_NUM_THREADS"] = "1"
    app = create_app(store, limits, log_to())
    key = None if door.is_own else first_key(app.state.keys)
    if demo:
        from qufur.service.demonstration import attach

        attach(app)
    config = server_config(app, proxy_headers=False, timeout_graceful_shutdown=WAIT, timeout_keep_alive=IDLE)
    server = _Server(config)
    if key is not None:
        print(f"The first key, which is for everything and is shown this once: {key}", flush=True)
    # One writer decides, a few rows at a time: more threads would wait for each other.
    # What is there by now stays: looking for garbage among it takes longer than most requests. Nor are there
    # circles in what a batch of examples is made of, by the thousand.
    gc.collect()
    gc.freeze()
    gc.set_threshold(GARBAGE, *gc.get_threshold()[1:])
    with one_thread():
        server.run(sockets=[door.listener])
    if not server.started:
        raise StoreError("The server could not start: what it logged says why.")


def first_key(keys: Keys) -> str | None:
    """Return a new key for everything, if there is none yet."""
    return None if keys.needed else keys.add(FIRST_KEY, [Scope.admin.value])


class _Server(uvicorn.Server):
    """Says where it listens, once it does, and leaves what follows its end to who called it."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            host, port, *_ = (sockets or self.servers[0].sockets)[0].getsockname()
            shown = f"[{host}]" if ":" in host else host
            print(f"qufur serves at http://{shown}:{port}", flush=True)
            warm_up(self.config.app.state.writer)  # type: ignore[union-attr]

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        ends = signal.SIGINT, signal.SIGTERM
        before = {one: signal.signal(one, self.handle_exit) for one in ends}
        try:
            yield
        finally:
            for one, handler in before.items():
                signal.signal(one, handler)
