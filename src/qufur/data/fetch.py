"""Files on demand: here already, or downloaded, checked and kept."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from qufur.data.digest import content_digest
from qufur.data.download import Resuming, transfer_errors
from qufur.data.files import File, Found, MissingDataError
from qufur.data.places import CACHE, OWN, cache_folder, damage, look, own_folder, record_of

_log = logging.getLogger("qufur")


def find(file: File) -> Found | None:
    """Return a copy of a file that is whole, None where there is none.

    A damaged file in the cache or in a package counts as none: it can be had elsewhere. One in the user's own
    folder is an error, since nobody else may replace it.
    """
    found = look(file)
    if found and found.damage and found.place == OWN:
        remedy = "Put a whole copy in its place, or take it away."
        raise ValueError(f"{found.path} is damaged: {found.damage}. {remedy}")
    return None if found and found.damage else found


def fetch(file: File) -> Found:
    """Return a whole copy of a file, from this machine if it is here, downloaded otherwise."""
    return find(file) or _download(file)


def missing(file: File, failures: list[str]) -> MissingDataError:
    """Build the error for a file that cannot be had: where it was sought, what failed, what to do."""
    looked = f"{OWN} ({own_folder() or 'not set'}) and the cache ({cache_folder()})"
    reason = f"; not to be had from {' or '.join(failures)}" if failures else ""
    remedy = file.remedy or "Download it where there is a network."
    return MissingDataError(
        f"{file.name} is missing: not in {looked}{reason}. {remedy} "
        f"Set {OWN} to the folder in which it lies as {file.name}."
    )


def _download(file: File) -> Found:
    target = cache_folder() / file.name
    if (found := look(file)) and found.place == CACHE:
        _log.warning("%s is damaged: %s. It is fetched again.", target, found.damage)
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
        if wrong := damage(file, digest, record_of(target)):
            remedy = "" if file.sha256 else f" If the source has changed, delete {record_of(target)}."
            raise ValueError(f"{file.name} from {url} was not kept: {wrong}.{remedy}")
        if not file.sha256:
            record_of(target).write_text(f"{digest}\n")

    downloader = Resuming(target, check, verified=file.sha256 is not None)
    with _quiet(pooch.get_logger()):
        pooch.retrieve(url, None, fname=target.name, path=target.parent, downloader=downloader)
    return Found(file, target, CACHE, content_digest(target, packed=file.packed))


@contextmanager
def _quiet(logger: logging.Logger) -> Iterator[None]:
    # pooch announces every download on stderr, and advises to check digests, which is done here.
    level = logger.level
    logger.setLevel(logging.WARNING)
    try:
        yield
    finally:
        logger.setLevel(level)


def _reason(error: Exception) -> str:
    """Say in a few words why a transfer failed; the network libraries nest theirs several deep."""
    import requests

    if isinstance(error, requests.HTTPError) and error.response is not None:
        return f"{error.response.status_code} {error.response.reason}"
    if isinstance(error, requests.Timeout):
        return "no answer"
    return "no connection" if isinstance(error, requests.ConnectionError) else str(error)
