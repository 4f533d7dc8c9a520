"""Search for files on this machine, and resumable, verified downloads of missing ones."""

from __future__ import annotations

import hashlib
import logging
import os
from pathlib import Path
from typing import Any

from qufur._internal.progress import track
from qufur.data import files
from qufur.data.files import CACHE, OWN, File, Found, MissingDataError, is_private

_log = logging.getLogger("qufur")
_BLOCK_BYTES = 2**16
_TIMEOUT_SECONDS = 30


def find(file: File) -> Found | None:
    """Return an undamaged copy of a file on this machine, or None.

    A damaged file in the cache or in a package is ignored, since it can be replaced by a download.

    Raises
    ------
    ValueError
        If the file in $QUFUR_DATA is damaged: qufur does not modify that folder.
    """
    copy = files.look(file)
    if copy and copy.damage and copy.place == OWN:
        remedy = "Replace it by an undamaged copy, or remove it."
        raise ValueError(f"{copy.path} is damaged: {copy.damage}. {remedy}")
    return None if copy and copy.damage else copy


def fetch(file: File) -> Found:
    """Return an undamaged copy of a file, and download it if there is none on this machine.

    Raises
    ------
    MissingDataError
        If there is no copy and no URL delivers one.
    """
    return find(file) or _download(file)


def missing(file: File, failures: list[str]) -> MissingDataError:
    """Build the error for an unavailable file: folders searched, failed downloads, remedy."""
    looked = f"{OWN} ({files.own_folder() or 'not set'}) and the cache ({files.cache_folder()})"
    reason = f"; download failed from {' and '.join(failures)}" if failures else ""
    remedy = file.remedy or "Download it on a machine with network access."
    return MissingDataError(
        f"{file.name} is missing: not in {looked}{reason}. {remedy} "
        f"Set {OWN} to the folder that contains {file.name}."
    )


def _download(file: File) -> Found:
    target = files.cache_folder() / file.name
    if (copy := files.look(file)) and copy.place == CACHE:
        _log.warning("%s is damaged: %s. It is downloaded again.", target, copy.damage)
        target.unlink()
    failures = []
    for url in file.urls:
        try:
            return _download_from(url, file, target)
        except _transfer_errors() as error:
            failures.append(f"{url} ({_reason(error)})")
    raise missing(file, failures)


def _download_from(url: str, file: File, target: Path) -> Found:
    """Download a file, resuming an interrupted transfer, and deliver it only if it has the known digest.

    An interrupted transfer leaves a .part file. Its name contains a digest of the URL, so two sources are
    never mixed. The download resumes if the server confirms, by ETag or date, that its file has not changed,
    and restarts otherwise.
    """
    source = hashlib.sha256(url.encode()).hexdigest()[:8]
    part, record = target.with_name(f"{target.name}.{source}.part"), files.record_of(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    _complete(url, part, verified=file.sha256 is not None)
    _version(part).unlink(missing_ok=True)
    digest = files.content_digest(part, packed=file.packed)
    if mismatch := files.damage(file, digest, record):
        part.unlink()
        remedy = "" if file.sha256 else f" If the source has changed, delete {record}."
        raise ValueError(f"{file.name} from {url} was discarded: {mismatch}.{remedy}")
    if not file.sha256:
        record.write_text(f"{digest}\n")
    os.replace(part, target)
    return Found(file, target, CACHE, digest)


def _reason(error: Exception) -> str:
    """Return in a few words why a transfer failed; the errors of the network libraries are deeply nested."""
    import requests

    if isinstance(error, requests.HTTPError) and error.response is not None:
        return f"{error.response.status_code} {error.response.reason}"
    if isinstance(error, requests.Timeout):
        return "no response"
    return "no connection" if isinstance(error, requests.ConnectionError) else str(error)


def _transfer_errors() -> tuple[type[Exception], ...]:
    """Return the exceptions that a failing network, server or disk may raise."""
    from urllib3.exceptions import HTTPError

    return (OSError, HTTPError)


def _complete(url: str, part: Path, verified: bool) -> None:
    """Repeat the request as long as every response adds bytes to the file.

    Unless the digest is `verified`, every URL, also after redirects, must be https or refer to this machine.
    """
    while True:
        before = _size(part)
        try:
            return _continue(url, part, verified)
        except _transfer_errors():
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
