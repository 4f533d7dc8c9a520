"""HTTP transport of the client: request bodies, retries and errors."""

from __future__ import annotations

import io
import math
import random
import time
import weakref
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from uuid import uuid4

import httpx
import numpy as np
from numpy.typing import ArrayLike

from qufur.arrays import Floats
from qufur.errors import InvalidError, invalid
from qufur.ids import Id

MAX_ROWS, MAX_CELLS = 5000, 2**19
"""Examples and cells per request, at most."""
NPY = {"Content-Type": "application/x-npy"}
Record = Mapping[str, Any]
FIRST_DELAY, MAX_DELAY = 0.05, 2.0
"""Seconds before the second attempt, and at most before any attempt."""
NOT_SENT = httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout
"""Errors before the request was sent: every request can be repeated."""
BUSY, DOWN = 429, 503


def as_id(id: Id) -> str | int:
    """Return an id as a JSON value; NumPy integers become int."""
    return id if isinstance(id, str) else int(id)


def ids_of(ids: Sequence[Id] | None, rows: Sequence[Any]) -> list[str | int]:
    """Return the ids of rows as JSON values; unique ones by default."""
    return [uuid4().hex for _ in rows] if ids is None else list(map(as_id, ids))


def example(x: ArrayLike | Record) -> dict[str, Any]:
    """Return the JSON fields of an input."""
    if isinstance(x, Mapping):
        return {"record": {name: _cell(cell) for name, cell in x.items()}}
    return {"x": np.asarray(x, dtype=float).tolist()}


def _cell(cell: Any) -> Any:
    """Return a cell as a JSON value: NumPy scalars become Python numbers, NaN becomes None."""
    value = cell.item() if isinstance(cell, np.generic) else cell
    return None if isinstance(value, float) and math.isnan(value) else value


def rows_of(X: Any) -> Any:
    """Return one or several inputs as a list of records, or as a matrix of unchanged precision."""
    if isinstance(X, Mapping):
        return [X]
    if isinstance(X, Sequence) and len(X) and isinstance(X[0], Mapping):
        return X
    rows = np.atleast_2d(np.asarray(X))
    if rows.ndim != 2 or rows.dtype.kind not in "biuf":
        received = f"{rows.dtype} of shape {rows.shape}"
        raise invalid("X", "Client", "a matrix of numbers, or records, one for each input", received)
    return rows if rows.dtype == np.float32 else rows.astype(float)


def npy(rows: Floats) -> bytes:
    """Encode a matrix in the NPY format."""
    file = io.BytesIO()
    np.save(file, np.ascontiguousarray(rows), allow_pickle=False)
    return file.getvalue()


def parts(rows: Any) -> Iterator[slice]:
    """Yield the slice of rows of each request."""
    columns = max(1, len(rows[0])) if len(rows) else 1
    size = max(1, min(MAX_ROWS, MAX_CELLS // columns))
    return (slice(start, start + size) for start in range(0, len(rows), size))


class RefusedError(InvalidError):
    """The service rejected a request, which changed nothing.

    Attributes
    ----------
    status
        HTTP status: 404 for an unknown stream or id, 409 for a conflict with stored data, 413 for a request
        that is too large, 422 for an invalid value.
    """

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class Connection:
    """Pool of persistent connections to a service; several threads may share it.

    Parameters
    ----------
    url, key
        Address of the service, and key.
    timeout
        Seconds per attempt.
    patience
        Seconds for which a request is retried; afterwards its error is raised.
    """

    def __init__(self, url: str, key: str | None, timeout: float, patience: float) -> None:
        headers = {} if key is None else {"Authorization": f"Bearer {key}"}
        try:
            self._http = httpx.Client(base_url=_parse_url(url), headers=headers, timeout=timeout)
        except UnicodeError:
            raise invalid("key", "Client", "a key that `qufur key add` printed", "other text") from None
        self._patience = patience
        # Close the sockets also if the caller forgets to.
        weakref.finalize(self, self._http.close)

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def send(self, verb: str, path: str, *, repeatable: bool = True, **content: Any) -> Any:
        """Send a request and return the decoded response.

        Requests to an unreachable or busy service are retried. After a lost response, only `repeatable`
        (idempotent) requests are retried.
        """
        deadline = time.monotonic() + self._patience
        delay = FIRST_DELAY
        while True:
            response, error = self._attempt(verb, path, content)
            if not _may_retry(response, error, repeatable):
                return _decode(response, error)
            pause = max(random.uniform(0.5, 1.0) * delay, _retry_after(response))
            if time.monotonic() + pause > deadline:
                return _decode(response, error)
            time.sleep(pause)
            delay = min(2 * delay, MAX_DELAY)

    def _attempt(
        self, verb: str, path: str, content: dict[str, Any]
    ) -> tuple[httpx.Response | None, httpx.TransportError | None]:
        try:
            return self._http.request(verb, path, **content), None
        except httpx.TransportError as error:
            return None, error


def _parse_url(url: str) -> httpx.URL:
    try:
        address = httpx.URL(url)
        is_valid = address.scheme in ("http", "https") and bool(address.host)
    except httpx.InvalidURL:
        is_valid = False
    if not is_valid:
        raise invalid("url", "Client", "such as http://127.0.0.1:8000", repr(url))
    return address


def _may_retry(response: httpx.Response | None, error: httpx.TransportError | None, repeatable: bool) -> bool:
    """Return whether a retry may succeed and is safe."""
    if response is not None:
        return response.status_code == BUSY or (repeatable and response.status_code == DOWN)
    return repeatable or isinstance(error, NOT_SENT)


def _retry_after(response: httpx.Response | None) -> float:
    """Return the seconds of the Retry-After header, 0 without one."""
    value = "" if response is None else response.headers.get("retry-after", "")
    return float(value) if value.isdecimal() and len(value) < 6 else 0.0


def _decode(response: httpx.Response | None, error: httpx.TransportError | None) -> Any:
    """Return the content of a response, or raise the error of a failed request."""
    if response is None:
        error_type = TimeoutError if isinstance(error, httpx.TimeoutException) else ConnectionError
        raise error_type(f"The service does not answer: {error}") from error
    if response.is_success:
        return response.json()
    status, message = response.status_code, _message(response)
    if status in (401, 403):
        raise PermissionError(message)
    if status in (BUSY, DOWN):
        raise ConnectionError(message)
    if status < 500:
        raise RefusedError(status, message)
    raise RuntimeError(f"The service failed with status {status}: {message}")


def _message(response: httpx.Response) -> str:
    try:
        return str(response.json()["error"])
    except (ValueError, KeyError, TypeError):  # a proxy responded, not the service
        return f"Status {response.status_code} {response.reason_phrase}."
