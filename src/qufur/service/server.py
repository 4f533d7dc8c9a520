"""The process: a store, the application, and uvicorn around it."""

from __future__ import annotations

import ipaddress
import socket

import uvicorn
from threadpoolctl import threadpool_limits

from qufur.errors import invalid
from qufur.service.app import create_app
from qufur.service.limits import Limits
from qufur.service.logs import log_to
from qufur.service.store import Store


def serve(store: Store, host: str, port: int, limits: Limits) -> None:
    """Serve until somebody ends it; a server without keys is for this machine alone."""
    app = create_app(store, limits, log_to())
    if not app.state.keys.needed and not is_loopback(host):
        remedy = "`qufur key add` makes a key; then it may be any."
        raise invalid(
            "--host", "qufur serve", "this machine's own, such as 127.0.0.1, without keys", host, remedy
        )
    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        log_config=None,
        access_log=False,
        proxy_headers=False,
        timeout_graceful_shutdown=1,
        backlog=2048,
    )
    # One writer decides, a few rows at a time: more threads would wait for each other.
    with threadpool_limits(1):
        _Server(config).run()


class _Server(uvicorn.Server):
    """Says where it listens, once it does."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            host, port, *_ = self.servers[0].sockets[0].getsockname()
            print(f"qufur serves at http://{host}:{port}", flush=True)


def is_loopback(host: str) -> bool:
    """Return whether an address is reached from this machine alone."""
    try:
        found = socket.getaddrinfo(host, None)
    except OSError:
        return False
    return all(ipaddress.ip_address(str(address[0]).split("%")[0]).is_loopback for *_, address in found)
