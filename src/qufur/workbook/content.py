"""Digest of a workbook's state, to verify a rebuild from a log."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from qufur.learner import Learner
from qufur.models.capabilities import Relabels, Replayable
from qufur.pending import Pending, decisions, feature_rows, purchase_terms
from qufur.snapshot import encode
from qufur.workbook.workbook import Workbook

HEADER_FIELDS = "model", "rule", "dim", "rng", "next_id", "ids", "places"
"""Header fields of a learner that do not depend on floating-point details."""
INEXACT_SPENDING_FIELDS = {"alpha", "base", "slope"}
"""Fields of spending outside the digest: powers and exponentials, whose last bit may differ by machine."""
LEDGER_FIELDS = "examples", "answered", "retracted", "beyond", "uncertainty", "probability", "loss_seen"
"""Fields of the ledger in the digest: counts, and sums accumulated one number at a time."""


def state_digest(workbook: Workbook) -> str:
    """Return a BLAKE2b digest of all state that follows from decisions and labels by elementwise arithmetic.

    It is the same after `Workbook.replay` of the same calls, with any BLAS, with numba or without. It covers
    the encoding, the rule's spending and generator, the ids processed, and outstanding queries and received
    labels in order, each with its decision and the row as the model uses it; for ensembles also expert
    outputs, weights and losses. Rows and labels imply M and Σ x y, whose computed forms are excluded, as are
    estimates of loss and shifts, which use logarithms, and the monitor: no decision depends on them.
    """
    digest = hashlib.blake2b(digest_size=32)
    for content in (*_of_workbook(workbook), *_of_learner(workbook.learner)):
        digest.update(len(content).to_bytes(8, "little"))
        digest.update(content)
    return digest.hexdigest()


def _of_workbook(workbook: Workbook) -> Iterator[bytes]:
    yield _text(
        [workbook.encoding.state(), workbook.id, workbook.target, workbook.rows, list(workbook.labels)]
    )
    yield _bits(workbook.labels.numbers if workbook.labels else np.empty(0))
    yield from (_bits(row) for rows in workbook.labels.blocks() for row in rows)
    yield _bits(workbook.seen_ids.digests())
    if workbook.closed:
        yield _text([[id, _closed_terms(query)] for id, query in workbook.closed.items()])


def _of_learner(learner: Learner) -> Iterator[bytes]:
    header, tensors = encode(learner)
    state, queries = learner.state, list(learner.pending.values())
    yield _text([header[name] for name in HEADER_FIELDS])
    spending = header["spending"].items()
    yield _text({name: value for name, value in spending if name not in INEXACT_SPENDING_FIELDS})
    yield _text([header["ledger"][name] for name in LEDGER_FIELDS])
    yield from map(_bits, (decisions(queries), tensors["ledger.errors"], tensors["pending.charges"]))
    rows = state.queried_rows(queries) if isinstance(state, Relabels) and queries else feature_rows(queries)
    yield from map(_bits, rows)
    arrays = state.replayable_arrays() | _ensemble_queries(queries) if isinstance(state, Replayable) else {}
    for name, array in sorted(arrays.items()):
        yield name.encode()
        yield _bits(array)


def _closed_terms(query: Pending) -> list[float]:
    decision = [query.prediction, query.probability, query.largest_loss]
    return [*decision, query.mean_probability, query.at_random]


def _ensemble_queries(queries: Sequence[Pending]) -> dict[str, np.ndarray[Any, Any]]:
    """Return the queries of an ensemble as arrays with the names of version 0.1.0: digests stay the same."""
    outputs = [np.asarray(query.expert_outputs) for query in queries]
    count, width = len(queries), -1 if queries else 0  # NumPy infers no width for an empty array
    return {
        "pending.X": feature_rows(queries),
        "pending.said": np.array([rows[:-1] for rows in outputs]).reshape(count, width),
        "pending.outputs": np.array([rows[-1] for rows in outputs]).reshape(count, width),
        "pending.terms": purchase_terms(queries),
        "pending.labels": np.array([query.labels_seen for query in queries], dtype=np.float64),
    }


def _text(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True).encode()


def _bits(array: np.ndarray[Any, Any]) -> bytes:
    return f"{array.dtype.str}{array.shape}".encode() + np.ascontiguousarray(array).tobytes()
