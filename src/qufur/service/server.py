"""The server process: listener, uvicorn, warm-up; and `serving`, a server in a thread of this process."""

from __future__ import annotations

import gc
import logging
import os
import signal
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import uvicorn
from starlette.applications import Starlette

from qufur._internal.threads import single_blas_thread
from qufur.errors import invalid
from qufur.service.app import create_app
from qufur.service.auth import Keys, Scope
from qufur.service.config import StreamConfig
from qufur.service.connections import server_config
from qufur.service.http import Limits
from qufur.service.logs import log_event, log_to
from qufur.service.security import is_loopback
from qufur.service.store import Store, StoreError
from qufur.service.writer import Writer

POLL_SECONDS = 0.005
"""Seconds between two checks whether the server has started."""
LOG = logging.getLogger("qufur.service")
WARM_UP_DIMS, WARM_UP_ROWS, WARM_UP_BATCHES = (8, 88, 300), 64, 4
"""Batches that together run every compiled loop."""
SHUTDOWN_SECONDS = 1
"""Seconds for requests to finish when the server stops."""
IDLE_SECONDS = 75
"""Seconds before an idle connection is closed."""
FIRST_KEY = "first"
"""Name of the key that `serve` creates."""
GC_THRESHOLD = 100_000
"""Allocations between two runs of the cyclic garbage collector."""


@contextmanager
def serving(app: Starlette) -> Iterator[str]:
    """Serve an application on a free loopback port in a thread. Yield its URL; stop after the block."""
    server = uvicorn.Server(server_config(app, host="127.0.0.1", port=0))
    thread = threading.Thread(target=server.run, name="qufur-server", daemon=True)
    thread.start()
    while not server.started:
        if not thread.is_alive():
            raise RuntimeError("The service did not start. Its log has the reason.")
        time.sleep(POLL_SECONDS)
    host, port = server.servers[0].sockets[0].getsockname()[:2]
    try:
        yield f"http://{host}:{port}"
    finally:
        server.should_exit = True
        thread.join()


@contextmanager
def listening(host: str, port: int) -> Iterator[socket.socket]:
    """Listen on an address. Connections queue until `serve` accepts them."""
    try:
        addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError):
        raise invalid("host", "listening", "an address of this machine", repr(host)) from None
    family, *_, address = addresses[0]
    try:
        listener = socket.create_server(address, family=family, backlog=2048)
    except OSError as error:
        remedy = "`port=0` picks a free port."
        received = f"{host}:{port}: {os.strerror(error.errno or 0)}"
        allowed = "free on an address of this machine"
        raise invalid("port", "listening", allowed, received, remedy) from None
    with listener:
        yield listener


def serve(store: Store, listener: socket.socket, limits: Limits, *, demo: bool = False) -> None:
    """Run until interrupted. On a non-loopback address without keys, create an admin key and print it."""
    # OpenMP reads this when the first experts load it. Each thread keeps its own limit.
    os.environ["OMP_NUM_THREADS"] = "1"
    app = create_app(store, limits, log_to())
    key = None if is_loopback(listener.getsockname()[0]) else first_key(app.state.keys)
    if demo:
        from qufur.service.demo import attach

        attach(app)
    config = server_config(
        app, proxy_headers=False, timeout_graceful_shutdown=SHUTDOWN_SECONDS, timeout_keep_alive=IDLE_SECONDS
    )
    server = _Server(config)
    if key is not None:
        print(f"Admin key (shown only once): {key}", flush=True)
    # Objects that exist now are permanent: collecting them again takes longer than most requests. A batch of
    # examples allocates thousands of objects without reference cycles, hence the high threshold.
    gc.collect()
    gc.freeze()
    gc.set_threshold(GC_THRESHOLD, *gc.get_threshold()[1:])
    with single_blas_thread():  # one writer decides on few rows: more threads would only wait for each other
        server.run(sockets=[listener])
    if not server.started:
        raise StoreError("The server could not start. Its log has the reason.")


def first_key(keys: Keys) -> str | None:
    """Create and return an admin key if the store has no keys."""
    return None if keys.needed else keys.add(FIRST_KEY, [Scope.admin.value])


def warm_up(writer: Writer) -> None:
    """Import and compile what the first requests would wait for, once the streams are loaded."""
    try:
        writer.call(lambda service: None)
        start = time.perf_counter()
        for dim in WARM_UP_DIMS:
            for model in ("ridge", "experts"):
                config = StreamConfig("warm", dim=dim, model=model, label_range=(0, 1), budget="50%")
                workbook, X = config.workbook(), np.random.default_rng(0).normal(size=(WARM_UP_ROWS, dim))
                for batch in range(WARM_UP_BATCHES):
                    workbook.ask_rows(X / dim**0.5, [f"{batch} {row}" for row in range(WARM_UP_ROWS)])
        log_event("warm", seconds=round(time.perf_counter() - start, 1))
    except Exception:  # then the first request does the work, or reports the error
        LOG.warning("The warm-up of the service failed", exc_info=True)


class _Server(uvicorn.Server):
    """uvicorn server that prints its URL and returns to its caller after a signal."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            host, port, *_ = (sockets or self.servers[0].sockets)[0].getsockname()
            url_host = f"[{host}]" if ":" in host else host
            print(f"qufur serves at http://{url_host}:{port}", flush=True)
            writer = self.config.app.state.writer  # type: ignore[union-attr]
            threading.Thread(target=warm_up, args=(writer,), name="qufur-warm-up", daemon=True).start()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        signals = signal.SIGINT, signal.SIGTERM
        handlers = {number: signal.signal(number, self.handle_exit) for number in signals}
        try:
            yield
        finally:
            for number, handler in handlers.items():
                signal.signal(number, handler)
