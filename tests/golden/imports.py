"""Internal names that the golden tests use, in one place.

Everything else that these tests import is public: `qufur`, `qufur.__main__`, `qufur.cli.app` and
`qufur.workbook`. When an internal module moves or a name changes, adapt this file alone.
"""

from contextlib import contextmanager
from unittest.mock import patch

import httpx

from qufur.service.app import create_app
from qufur.service.fits import FitQueue
from qufur.service.openapi import document
from qufur.service.rebuild import from_snapshot
from qufur.service.server import serving
from qufur.service.store import Store
from qufur.service.verification import verify
from qufur.tables import Batch, Encoding
from qufur.workbook import Workbook
from qufur.workbook.content import state_digest
from qufur.workbook.corrections import forget_labels, retract

__all__ = [
    "ask_rows",
    "digest_of",
    "digest_of_file",
    "forget",
    "new_workbook",
    "open_service",
    "openapi_document",
    "outstanding_of_file",
    "retract_rows",
    "small_bundles",
    "snapshots",
    "tell",
    "verified_streams",
]


# Workbooks


def new_workbook(learner, dim):
    """Return a workbook whose rows have `dim` numbers, with the ids in `id` and the labels in `y`."""
    columns = {f"x{place}": ["0", "1"] for place in range(dim)}
    return Workbook(learner, Encoding.of([Batch(columns)]), "id", "y")


def ask_rows(workbook, X, ids):
    """Decide rows; return the answers."""
    return workbook.ask_rows(X, ids)


def tell(workbook, ids, labels, *, replace=False):
    """Give labels as encoded numbers: classes by index."""
    return workbook.tell(ids, labels, "labels.csv", replace=replace)


def retract_rows(workbook, ids):
    """Retract pending rows."""
    return retract(workbook, ids)


def forget(workbook, ids):
    """Remove labels that a workbook has learned."""
    return forget_labels(workbook, ids)


def digest_of(workbook):
    """Return the state digest of a workbook."""
    return state_digest(workbook)


def digest_of_file(path):
    """Return the state digest of the workbook in a state file."""
    return state_digest(Workbook.load(path))


def outstanding_of_file(path):
    """Return the ids of a state file whose labels are pending, oldest first."""
    return list(Workbook.load(path).learner.outstanding)


# Service


def openapi_document(folder):
    """Return the OpenAPI document of the service over an empty store in a folder."""
    store = Store(f"sqlite:///{folder / 'labels.db'}")
    try:
        return document(create_app(store).routes)
    finally:
        store.close()


@contextmanager
def open_service(path, *, fits=False):
    """Run the service over a SQLite file; yield an HTTP client and a function that tells if fits are done.

    Without `fits`, no expert is fitted in the background. Answers then do not depend on timing.
    """
    store = Store(f"sqlite:///{path}")
    app = create_app(store)
    start_fits = FitQueue.start_due if fits else lambda self, service: None
    try:
        with (
            patch.object(FitQueue, "start_due", start_fits),
            serving(app) as url,
            httpx.Client(base_url=url, timeout=60, trust_env=False) as http,
        ):
            yield http, lambda: app.state.writer.call(_has_no_due_fit)
    finally:
        store.close()


def small_bundles():
    """Return a patch with which snapshots store ids in bundles of a few, as those of large streams do."""
    return patch("qufur.service.snapshots.BUNDLE", 7)


def _has_no_due_fit(service):
    fits = [stream.workbook.learner.background_fits for stream in service.loaded.values()]
    return all(each is None or each.next_job() is None for each in fits)


def verified_streams(path):
    """Check a store; return the name, number of events, digest and number of repairs of each stream."""
    store = Store(f"sqlite:///{path}")
    try:
        return [
            [stream.stream, stream.events, stream.digest, len(stream.remarks)] for stream in verify(store)
        ]
    finally:
        store.close()


def snapshots(path):
    """Return for each stream the number of the last event in its snapshot, and the digest of the snapshot.

    The service silently replays the log where a snapshot cannot be read; here that is None.
    """
    store = Store(f"sqlite:///{path}", writing=False)
    try:
        streams = {name: from_snapshot(store, number) for name, number in sorted(store.streams().items())}
        return {
            name: None if stream is None else [stream.seq, stream.digest()]
            for name, stream in streams.items()
        }
    finally:
        store.close()
