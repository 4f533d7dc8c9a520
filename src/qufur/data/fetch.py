"""Search for files on this machine, and verified downloads of missing ones."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from qufur.data.download import Resuming, transfer_errors
from qufur.data.files import File, Found, MissingDataError, content_digest
from qufur.data.places import CACHE, OWN, cache_folder, damage, look, own_folder, record_of

_log = logging.getLogger("qufur")


def find(file: File) -> Found | None:
    """Return an undamaged copy of a file on this machine, or None.

    A damaged file in the cache or in a package is ignored, since it can be replaced by a download.

    Raises
    ------
    ValueError
        If the file in $QUFUR_DATA is damaged: qufur does not modify that folder.
    """
    copy = look(file)
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
    looked = f"{OWN} ({own_folder() or 'not set'}) and the cache ({cache_folder()})"
    reason = f"; download failed from {' and '.join(failures)}" if failures else ""
    remedy = file.remedy or "Download it on a machine with network access."
    return MissingDataError(
        f"{file.name} is missing: not in {looked}{reason}. {remedy} "
        f"Set {OWN} to the folder that contains {file.name}."
    )


def _download(file: File) -> Found:
    target = cache_folder() / file.name
    if (copy := look(file)) and copy.place == CACHE:
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
    import pooch

    def check(part: Path) -> None:
        digest = content_digest(part, packed=file.packed)
        if mismatch := damage(file, digest, record_of(target)):
            remedy = "" if file.sha256 else f" If the source has changed, delete {record_of(target)}."
            raise ValueError(f"{file.name} from {url} was discarded: {mismatch}.{remedy}")
        if not file.sha256:
            record_of(target).write_text(f"{digest}\n")

    downloader = Resuming(target, check, verified=file.sha256 is not None)
    with _quiet(pooch.get_logger()):
        pooch.retrieve(url, None, fname=target.name, path=target.parent, downloader=downloader)
    return Found(file, target, CACHE, content_digest(target, packed=file.packed))


@contextmanager
def _quiet(logger: logging.Logger) -> Iterator[None]:
    # pooch logs every download to stderr and recommends digests, which `check` verifies.
    level = logger.level
    logger.setLevel(logging.WARNING)
    try:
        yield
    finally:
        logger.setLevel(level)


def _reason(error: Exception) -> str:
    """Return in a few words why a transfer failed; the errors of the network libraries are deeply nested."""
    import requests

    if isinstance(error, requests.HTTPError) and error.response is not None:
        return f"{error.response.status_code} {error.response.reason}"
    if isinstance(error, requests.Timeout):
        return "no response"
    return "no connection" if isinstance(error, requests.ConnectionError) else str(error)
