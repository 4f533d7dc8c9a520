"""Search for files on this machine, and verified downloads of missing ones."""

from __future__ import annotations

import logging
from pathlib import Path

from qufur.data import files
from qufur.data.download import download, transfer_errors
from qufur.data.files import CACHE, OWN, File, Found, MissingDataError

_log = logging.getLogger("qufur")


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
        except transfer_errors() as error:
            failures.append(f"{url} ({_reason(error)})")
    raise missing(file, failures)


def _download_from(url: str, file: File, target: Path) -> Found:
    record = files.record_of(target)

    def check(part: Path) -> None:
        digest = files.content_digest(part, packed=file.packed)
        if mismatch := files.damage(file, digest, record):
            remedy = "" if file.sha256 else f" If the source has changed, delete {record}."
            raise ValueError(f"{file.name} from {url} was discarded: {mismatch}.{remedy}")
        if not file.sha256:
            record.write_text(f"{digest}\n")

    download(url, target, check, verified=file.sha256 is not None)
    return Found(file, target, CACHE, files.content_digest(target, packed=file.packed))


def _reason(error: Exception) -> str:
    """Return in a few words why a transfer failed; the errors of the network libraries are deeply nested."""
    import requests

    if isinstance(error, requests.HTTPError) and error.response is not None:
        return f"{error.response.status_code} {error.response.reason}"
    if isinstance(error, requests.Timeout):
        return "no response"
    return "no connection" if isinstance(error, requests.ConnectionError) else str(error)
