"""Downloads that go on where they were cut off. pooch itself starts again from nothing."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from qufur.data.files import is_private
from qufur.progress import track

_BLOCK = 2**16
_SECONDS = 30


class Resuming:
    """A downloader for pooch that keeps what has come, and hands over only what was checked.

    A broken transfer leaves a .part file, named after the address too, so that two sources are never mixed.
    It is continued if the server can tell, by its ETag or date, that its file is still the same, and begun
    anew otherwise.

    Parameters
    ----------
    target
        Where the whole file is to lie in the end; the .part file is kept beside it.
    check
        Called with the complete download; raises for one that must not be used, which is then deleted.
    verified
        Whether the check knows what has to come. If not, the way must be private, also where the server sends
        one on to another address.
    """

    def __init__(self, target: Path, check: Callable[[Path], None], *, verified: bool) -> None:
        self.target, self.check, self.verified = target, check, verified

    def __call__(self, url: str, output_file: str, pooch: Any) -> None:
        """Bring the file at `url` to `output_file`."""
        source = hashlib.sha256(url.encode()).hexdigest()[:8]
        part = self.target.with_name(f"{self.target.name}.{source}.part")
        _complete(url, part, self.verified)
        try:
            self.check(part)
        except ValueError:
            part.unlink()
            raise
        finally:
            _version(part).unlink(missing_ok=True)
        os.replace(part, output_file)


def transfer_errors() -> tuple[type[Exception], ...]:
    """Return what a failing network, server or disk may raise."""
    from urllib3.exceptions import HTTPError

    return (OSError, HTTPError)


def _complete(url: str, part: Path, verified: bool) -> None:
    """Ask again as long as every answer brings more of the file."""
    while True:
        before = _size(part)
        try:
            return _continue(url, part, verified)
        except transfer_errors():
            if _size(part) <= before:
                raise


def _continue(url: str, part: Path, verified: bool) -> None:
    import requests

    headers = {"Accept-Encoding": "identity", **_range(part)}
    with requests.get(url, headers=headers, stream=True, timeout=_SECONDS) as response:
        if not (verified or all(is_private(step.url) for step in (*response.history, response))):
            raise ConnectionError(f"sent on to {response.url}, which is not https")
        if response.status_code == requests.codes.requested_range_not_satisfiable:
            part.unlink()  # nothing is left to send: the part is complete, or of another file
            _continue(url, part, verified)
            return
        response.raise_for_status()
        resumed = response.status_code == requests.codes.partial_content
        start = _size(part) if resumed else 0
        if resumed and not response.headers.get("Content-Range", "").startswith(f"bytes {start}-"):
            raise ConnectionError("the server sent another range than was asked for")
        _version(part).write_text(_strong_version(response.headers))
        length = int(response.headers.get("Content-Length", 0))
        blocks = response.raw.stream(_BLOCK, decode_content=False)
        with part.open("ab" if resumed else "wb") as file:
            for block in track(blocks, -(-length // _BLOCK), f"Downloading {url.rpartition('/')[2]}"):
                file.write(block)
    if length and _size(part) != start + length:
        raise ConnectionError(f"the transfer broke off after {_size(part)} of {start + length} bytes")


def _range(part: Path) -> dict[str, str]:
    version = _version(part).read_text() if _version(part).is_file() else ""
    return {"Range": f"bytes={_size(part)}-", "If-Range": version} if version and _size(part) else {}


def _strong_version(headers: Any) -> str:
    tag = str(headers.get("ETag", ""))
    return tag if tag and not tag.startswith("W/") else str(headers.get("Last-Modified", ""))


def _version(part: Path) -> Path:
    return part.with_name(f"{part.name}.version")


def _size(part: Path) -> int:
    return part.stat().st_size if part.is_file() else 0
