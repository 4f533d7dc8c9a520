"""A service in a thread of this process, for programs and tests that want one for a while."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn
from fastapi import FastAPI

from qufur.service.connections import server_config

WAIT = 0.005


@contextmanager
def serving(app: FastAPI, port: int = 0) -> Iterator[str]:
    """Serve an application on this machine and yield its address; it has stopped at the end of the block."""
    server = uvicorn.Server(server_config(app, host="127.0.0.1", port=port))
    thread = threading.Thread(target=server.run, name="qufur-server", daemon=True)
    thread.start()
    while not server.started:
        if not thread.is_alive():
            raise RuntimeError("The service did not start; its log says why.")
        time.sleep(WAIT)
    host, found = server.servers[0].sockets[0].getsockname()[:2]
    try:
        yield f"http://{host}:{found}"
    finally:
        server.should_exit = True
        thread.join()
