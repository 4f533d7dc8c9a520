"""Resumable downloads that deliver only checked files."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from qufur._internal.progress import track
from qufur.data.files import is_private

_BLOCK_BYTES = 2**16
_TIMEOUT_SECONDS = 30


def download(url: str, target: Path, check: Callable[[Path], None], *, verified: bool) -> None:
    """Download a file, resuming an interrupted transfer.

    An interrupted transfer leaves a .part file. Its name contains a digest of the URL, so two sources are
    never mixed. The download resumes if the server confirms, by ETag or date, that its file has not changed,
    and restarts otherwise.

    Parameters
    ----------
    url, target
        URL and path of the complete file; the .part file is stored beside it.
    check
        Function that is called with the complete download and raises ValueError to reject it. A rejected
        file is deleted.
    verified
        Whether the check knows the expected digest. If not, every URL, also after redirects, must be https or
        refer to this machine.
    """
    source = hashlib.sha256(url.encode()).hexdigest()[:8]
    part = target.with_name(f"{target.name}.{source}.part")
    target.parent.mkdir(parents=True, exist_ok=True)
    _complete(url, part, verified)
    try:
        check(part)
    except ValueError:
        part.unlink()
        raise
    finally:
        _version(part).unlink(missing_ok=True)
    os.replace(part, target)


def transfer_errors() -> tuple[type[Exception], ...]:
    """Return the exceptions that a failing network, server or disk may raise."""
    from urllib3.exceptions import HTTPError

    return (OSError, HTTPError)


def _complete(url: str, part: Path, verified: bool) -> None:
    """Repeat the request as long as every response adds bytes to the file."""
    while True:
        before = _size(part)
        try:
            return _continue(url, part, verified)
        except transfer_errors():
            if _size(part) <= before:
                raise


def _continue(url: str, part: Path, verified: bool) -> None:
    """Request the bytes after those in `part`, or all bytes if the server cannot resume."""
    import requests

    headers = {"Accept-Encoding": "identity", **_range(part)}
    with requests.get(url, headers=headers, stream=True, timeout=_TIMEOUT_SECONDS) as response:
        if not (verified or all(is_private(step.url) for step in (*response.history, response))):
            raise ConnectionError(f"redirected to {response.url}, which is not https")
        if response.status_code == requests.codes.requested_range_not_satisfiable:
            part.unlink()  # nothing is left to send: the part is complete, or belongs to another file
            _continue(url, part, verified)
            return
        response.raise_for_status()
        resumed = response.status_code == requests.codes.partial_content
        start = _size(part) if resumed else 0
        if resumed and not response.headers.get("Content-Range", "").startswith(f"bytes {start}-"):
            raise ConnectionError("the server sent another range than requested")
        _version(part).write_text(_strong_version(response.headers))
        length = int(response.headers.get("Content-Length", 0))
        blocks = response.raw.stream(_BLOCK_BYTES, decode_content=False)
        with part.open("ab" if resumed else "wb") as file:
            for block in track(blocks, -(-length // _BLOCK_BYTES), f"Downloading {url.rpartition('/')[2]}"):
                file.write(block)
    if length and _size(part) != start + length:
        raise ConnectionError(f"the transfer ended after {_size(part)} of {start + length} bytes")


def _range(part: Path) -> dict[str, str]:
    version = _version(part).read_text() if _version(part).is_file() else ""
    return {"Range": f"bytes={_size(part)}-", "If-Range": version} if version and _size(part) else {}


def _strong_version(headers: Any) -> str:
    """Return the ETag, or the date if the ETag is weak: equal weak ETags do not imply equal bytes."""
    tag = str(headers.get("ETag", ""))
    return tag if tag and not tag.startswith("W/") else str(headers.get("Last-Modified", ""))


def _version(part: Path) -> Path:
    return part.with_name(f"{part.name}.version")


def _size(part: Path) -> int:
    return part.stat().st_size if part.is_file() else 0
