"""The cluster that `--cluster` names."""

from __future__ import annotations

import logging
import socket
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from qufur.errors import invalid
from qufur.storage import container

HERE = "local"
"""What Ray calls a cluster of this machine alone, which it starts and ends with the command."""
OUTSIDE = "ray://"
SECONDS = 5.0
"""That an address has to answer: Ray itself would wait for minutes."""


@contextmanager
def connected(ray: Any, address: str) -> Iterator[None]:
    """Be connected to a cluster, unless this process is already; complain if none answers."""
    logging.getLogger("ray.data").setLevel(logging.CRITICAL)
    quiet = {"logging_level": logging.ERROR, "log_to_driver": False}
    where = {"address": address} | ({"include_dashboard": False} if address == HERE else {})
    already = ray.is_initialized()
    if not already:
        with _refused(ray, address):
            _knock(address)
        token = "If it asks for a token, set RAY_AUTH_MODE=token and RAY_AUTH_TOKEN."
        with warnings.catch_warnings(), _refused(ray, address, token):
            warnings.simplefilter("ignore")  # the error says the same
            ray.init(**where, **quiet)
    try:
        yield
    finally:
        if not already:
            ray.shutdown()


@contextmanager
def _refused(ray: Any, address: str, remedy: str = "") -> Iterator[None]:
    try:
        yield
    except (OSError, RuntimeError, ValueError, ray.exceptions.RayError) as error:
        allowed = f"the address of a Ray cluster, or {HERE}"
        received = f"{address!r} ({container.reason(error)})"
        raise invalid("--cluster", "qufur ask", allowed, received, remedy) from None


def _knock(address: str) -> None:
    """Fail if nobody listens at an address; one that has no host, such as auto, is left to Ray."""
    place = address.removeprefix(OUTSIDE)
    parts = urlsplit(f"//{place}")
    if parts.port is not None and "://" not in place:
        socket.create_connection((parts.hostname, parts.port), SECONDS).close()
    elif address != place:
        raise ValueError(f"it has no port, such as {OUTSIDE}head:10001")
