"""A digest of what a workbook has come to, for whoever rebuilds it from a log."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any

import numpy as np

from qufur.learner import Learner
from qufur.snapshot import encode
from qufur.workbook import Workbook

EXACT = "model", "rule", "dim", "rng", "next_id", "ids", "places"
"""Of what a file says of a learner: what does not depend on how it was computed."""
FOLLOWS = {"alpha", "base", "slope"}
"""Of spending: set by powers and exponentials, of which machines have the last bit as they like."""
NOTED = "examples", "answered", "retracted", "beyond", "uncertainty", "probability", "loss_seen"
"""Of the ledger: counts, and sums of numbers one by one."""


def state_digest(book: Workbook) -> str:
    """Return a BLAKE2b digest of all that follows from decisions and labels by elementwise arithmetic.

    It is the same after `Workbook.replay` of the same calls, whatever BLAS is there, with numba or without.
    In it are the encoding, the rule's spending and generator, the ids asked about, outstanding queries and
    the labels that came, each with what was decided and the row as the model takes it, in order; for
    committees what was said, weights and losses as well. The rows and labels imply M and Σ x y, whose
    computed forms are left out. So are estimates of the loss and of shifts, which go by logarithms, and what
    is watched beside the learner: no decision depends on them.
    """
    digest = hashlib.blake2b(digest_size=32)
    for part in (*_of_book(book), *_of_learner(book.learner)):
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return digest.hexdigest()


def _of_book(book: Workbook) -> Iterator[bytes]:
    yield _text([book.encoding.state(), book.id, book.target, book.rows, list(book.told)])
    yield _bits(book.told.numbers if book.told else np.empty(0))
    yield from (_bits(row) for rows in book.told.blocks() for row in rows)
    yield _bits(book.asked.digests())
    if book.closed:
        yield _text(list(book.closed.items()))


def _of_learner(learner: Learner) -> Iterator[bytes]:
    header, tensors = encode(learner)
    yield _text([header[name] for name in EXACT])
    yield _text({name: value for name, value in header["spending"].items() if name not in FOLLOWS})
    yield _text([header["ledger"][name] for name in NOTED])
    yield from (_bits(tensors[name]) for name in ("ledger.open", "ledger.errors", "charges"))
    yield from (_bits(learner.state.pending[id]) for id in learner.queries)
    for name, array in sorted(learner.state.recorded().items()):
        yield name.encode()
        yield _bits(array)


def _text(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True).encode()


def _bits(array: np.ndarray[Any, Any]) -> bytes:
    return f"{array.dtype.str}{array.shape}".encode() + np.ascontiguousarray(array).tobytes()
