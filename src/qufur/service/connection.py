"""Requests to a service: sent again where that is safe, and refused as Python refuses."""

from __future__ import annotations

import random
import time
import weakref
from typing import Any

import httpx

from qufur.errors import InvalidError, invalid

FIRST, LONGEST = 0.05, 2.0
"""Seconds to wait before the second attempt, and before any."""
NOT_SENT = httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout
BUSY, DOWN = 429, 503


class RefusedError(InvalidError):
    """What a service does not take: it changed nothing.

    Attributes
    ----------
    status
        That of HTTP: 404 where a stream or an id is not known, 409 where something else is known of it,
        413 where it is too large, 422 where something in it is wrong.
    """

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


class Connection:
    """Connections to a service, kept open; several threads may use them.

    Parameters
    ----------
    url, key
        Where it is, and what lets one in.
    timeout
        Seconds that one attempt may take.
    patience
        Seconds after which no further attempt is made.
    """

    def __init__(self, url: str, key: str | None, timeout: float, patience: float) -> None:
        headers = {} if key is None else {"Authorization": f"Bearer {key}"}
        try:
            self._http = httpx.Client(base_url=_checked(url), headers=headers, timeout=timeout)
        except UnicodeError:
            raise invalid("key", "Client", "one that `qufur key add` printed", "another") from None
        self._patience = patience
        # Whoever forgets to close it leaves no open sockets behind.
        weakref.finalize(self, self._http.close)

    def close(self) -> None:
        """Let go of the connections."""
        self._http.close()

    def send(self, verb: str, path: str, *, repeatable: bool = True, **content: Any) -> Any:
        """Return what a service answers.

        One that is not reached, or has too much to do, is tried again. Where an answer is lost, only what is
        repeatable is sent again: that is what does nothing a second time.
        """
        last = time.monotonic() + self._patience
        wait = FIRST
        while True:
            answer, error = self._attempt(verb, path, content)
            if not _may_pass(answer, error, repeatable):
                return _opened(answer, error)
            pause = max(random.uniform(0.5, 1.0) * wait, _asked_for(answer))
            if time.monotonic() + pause > last:
                return _opened(answer, error)
            time.sleep(pause)
            wait = min(2 * wait, LONGEST)

    def _attempt(
        self, verb: str, path: str, content: dict[str, Any]
    ) -> tuple[httpx.Response | None, httpx.TransportError | None]:
        try:
            return self._http.request(verb, path, **content), None
        except httpx.TransportError as error:
            return None, error


def _checked(url: str) -> httpx.URL:
    try:
        found = httpx.URL(url)
        sound = found.scheme in ("http", "https") and bool(found.host)
    except httpx.InvalidURL:
        sound = False
    if not sound:
        raise invalid("url", "Client", "such as http://127.0.0.1:8000", repr(url))
    return found


def _may_pass(answer: httpx.Response | None, error: httpx.TransportError | None, repeatable: bool) -> bool:
    """Return whether the same request may have more luck later, and does no harm."""
    if answer is not None:
        return answer.status_code == BUSY or (repeatable and answer.status_code == DOWN)
    return repeatable or isinstance(error, NOT_SENT)


def _asked_for(answer: httpx.Response | None) -> float:
    """Return how many seconds the service asks to wait."""
    given = "" if answer is None else answer.headers.get("retry-after", "")
    return float(given) if given.isdecimal() and len(given) < 6 else 0.0


def _opened(answer: httpx.Response | None, error: httpx.TransportError | None) -> Any:
    """Return what is in an answer, or raise what is wrong."""
    if answer is None:
        kind = TimeoutError if isinstance(error, httpx.TimeoutException) else ConnectionError
        raise kind(f"The service does not answer: {error}") from error
    if answer.is_success:
        return answer.json()
    status, sentence = answer.status_code, _sentence(answer)
    if status in (401, 403):
        raise PermissionError(sentence)
    if status in (BUSY, DOWN):
        raise ConnectionError(sentence)
    if status < 500:
        raise RefusedError(status, sentence)
    raise RuntimeError(f"The service failed with status {status}: {sentence}")


def _sentence(answer: httpx.Response) -> str:
    try:
        return str(answer.json()["error"])
    except (ValueError, KeyError, TypeError):  # something in between answered, and not the service
        return f"Status {answer.status_code} {answer.reason_phrase}."
