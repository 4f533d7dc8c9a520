"""The only loop: a learner meets a stream."""

from __future__ import annotations

import heapq
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from qufur.arrays import Floats, Ints, as_count, as_inputs, as_labels
from qufur.blocks import Block, BlockSize
from qufur.errors import invalid
from qufur.learner import Learner
from qufur.models.base import Id
from qufur.models.lookahead import NO_ARRIVALS, Arrivals
from qufur.streams.base import Chunk, Stream
from qufur.tensors import is_tensor
from qufur.threads import one_thread
from qufur.trace import RECORD, FileRecorder, MemoryRecorder, Records, Trace

if TYPE_CHECKING:
    from qufur.streams.staging import Coming

NEVER = 2**62
"""A delay that no stream is long enough for, and that can be added to."""


def rows_at_once(dim: int) -> int:
    """Return how many rows of a stream to hold: 8 MB of them, but enough for the largest block."""
    return max(1024, min(4096, 2**20 // dim))


def run(
    learner: Learner,
    stream: Stream,
    *,
    block: int | None = None,
    delay: int | Sequence[int] | Ints = 0,
    out: str | os.PathLike[str] | None = None,
) -> Trace:
    """Play a stream to a learner and record what happens.

    Parameters
    ----------
    learner
        It goes on from the state it is in, and is left in the state after the stream.
    stream
        The examples; only the labels that the learner queries reach it.
    block
        How many inputs to look ahead over: speed only, never results. By default chosen on the way.
    delay
        After how many further examples a label arrives: 0 is before the next one. One number, or one per
        example. Labels on their way when the stream ends are delivered then.
    out
        A `.npy` file for the records, written under another name as the run goes, and in its place at the
        end, also if that is an error. By default records are kept in memory.

    Returns
    -------
    Trace
        One record per example, and totals.

    Examples
    --------
    >>> from qufur import Learner, QuFUR, Ridge, run, streams
    >>> stream = streams.HiddenDomains([50, 100], [6, 3], seed=1)
    >>> trace = run(Learner(Ridge(stream.dim), QuFUR(alpha=1.0), seed=2), stream)
    >>> trace.queries, round(trace.total_regret, 2)
    (44, 2.49)
    """
    if learner.dim not in (None, stream.dim):
        raise invalid("dim", "stream", f"{learner.dim}, that of the learner's model", stream.dim)
    delayed = _DelayedLabels(_as_delays(delay, stream))
    size = learner.block_size(None if block is None else as_count(block, "block", "run"))
    recorder = MemoryRecorder() if out is None else FileRecorder(out)
    with one_thread(), recorder:
        loop = _Loop(learner, size, delayed, recorder)
        for chunk, coming in _chunks(learner, stream, size):
            loop.play(_checked(chunk, stream.dim, learner), coming)
        delayed.deliver_rest(learner)
    return recorder.trace()


def _chunks(learner: Learner, stream: Stream, size: BlockSize) -> Iterator[tuple[Chunk, Coming | None]]:
    """Read the stream; where a device decides, ahead of it, unless the stream looks at the learner."""
    met = stream.against(learner)
    if learner.device is None or met is not stream:
        return ((chunk, None) for chunk in met.chunks(max(rows_at_once(stream.dim), size.largest)))
    from qufur.streams.staging import staged

    return staged(stream.chunks(size.largest), learner.device, stream.dim)


def _checked(chunk: Chunk, dim: int, learner: Learner) -> Chunk:
    """Refuse what a stream should not have sent, before the learner meets any of it."""
    staged = learner.device is not None and is_tensor(chunk.X)  # then its inputs are checked
    X = chunk.X if staged else as_inputs(chunk.X, dim, "the stream")
    y = as_labels(learner.model.encode_labels(chunk.y), len(X), "the stream")
    learner.model.check_labels(y)
    return replace(chunk, X=X, y=y)


class _Loop:
    """Plays one chunk after the other, block by block."""

    def __init__(
        self,
        learner: Learner,
        size: BlockSize,
        delayed: _DelayedLabels,
        recorder: MemoryRecorder | FileRecorder,
    ) -> None:
        self._learner, self._size, self._delayed, self._recorder = learner, size, delayed, recorder
        self._next: Any = None  # inputs that the learner was told to expect

    def play(self, chunk: Chunk, coming: Coming | None) -> None:
        """Play a chunk; another one may be on its way."""
        start = 0
        while start < len(chunk):
            X = chunk.X[start : start + self._size.value] if self._next is None else self._next
            part = slice(start, start + len(X))
            block, prediction = self._learner.play(
                X,
                None if chunk.domain is None else chunk.domain[part],
                partial(self._delayed.exchange, labels=chunk.y[part]),
                partial(self._ahead, chunk, start, coming),
            )
            part = slice(start, start + len(block))
            self._recorder.write(_records(self._learner, block, prediction, chunk, part))
            start = part.stop

    def _ahead(self, chunk: Chunk, start: int, coming: Coming | None, block: Block) -> Any:
        """Return the inputs that are next on the device, as far as they are there."""
        self._size.update(block.effort)
        stop = start + len(block)
        rest = chunk.X[stop:] if stop < len(chunk) else _arrived(coming)
        self._next = rest[: self._size.value] if is_tensor(rest) and len(rest) else None
        return self._next


def _arrived(coming: Coming | None) -> Any:
    """Return the inputs of a chunk that is on its way, if that is at its end; this never waits."""
    there = coming is not None and coming.done() and coming.exception() is None
    chunk = coming.result() if coming is not None and there else None
    return None if chunk is None else chunk.X


def _records(learner: Learner, block: Block, prediction: Floats, chunk: Chunk, part: slice) -> Records:
    records = np.empty(len(block), RECORD)
    loss = learner.model.loss
    records["prediction"] = prediction
    records["uncertainty"] = block.uncertainty
    records["probability"] = block.probability
    records["query"] = block.query
    records["loss"] = loss(prediction, chunk.y[part])
    records["regret"] = records["excess"] = np.nan
    if chunk.truth is not None:
        records["regret"] = loss(prediction, chunk.truth[part])
        records["excess"] = records["loss"] - loss(chunk.truth[part], chunk.y[part])
    records["domain"] = -1 if chunk.domain is None else chunk.domain[part]
    return records


class _DelayedLabels:
    """Labels on their way: when each is due, the place of its example, its id and the label itself."""

    def __init__(self, delays: int | Ints) -> None:
        self._delays = delays
        self._time = 0
        self._pending: list[tuple[int, int, Id, float]] = []

    def exchange(self, block: Block, labels: Floats) -> Arrivals:
        """Take in the block's queries and hand out the labels that arrive by its end."""
        rows = np.flatnonzero(block.query)
        start, end = self._time, self._time + len(block)
        self._time = end
        if isinstance(self._delays, int) and self._delays == 0:
            return Arrivals(block.queried, labels[rows], rows + 1) if len(rows) else NO_ARRIVALS
        delays = self._delays if isinstance(self._delays, int) else self._delays[start + rows]
        due = start + rows + 1 + delays
        columns = due.tolist(), (start + rows).tolist(), block.queried, labels[rows].tolist()
        for pending in zip(*columns, strict=True):
            heapq.heappush(self._pending, pending)
        return self._collect(start, end)

    def deliver_rest(self, learner: Learner) -> None:
        """Hand out what is still on its way."""
        rest = self._collect(self._time, None)
        if rest.ids:
            learner.tell_many(rest.ids, rest.labels)

    def _collect(self, start: int, end: int | None) -> Arrivals:
        arrived = []
        while self._pending and (end is None or self._pending[0][0] <= end):
            arrived.append(heapq.heappop(self._pending))
        if not arrived:
            return NO_ARRIVALS
        due, _, ids, labels = zip(*arrived, strict=True)
        return Arrivals(ids, np.array(labels), np.array(due) - start)


def _as_delays(delay: int | Sequence[int] | Ints, stream: Stream) -> int | Ints:
    delays = np.asarray(delay)
    if delays.ndim > 1 or delays.dtype.kind not in "iu" or (delays.size and delays.min() < 0):
        raise invalid("delay", "run", "an integer of at least 0, or an array of them", repr(delay))
    if delays.ndim and len(delays) < stream.horizon:
        received = f"{len(delays)} numbers for a longer stream"
        raise invalid("delay", "run", "one number, or one for every example", received)
    delays = np.minimum(delays, NEVER).astype(np.int64)
    return int(delays) if delays.ndim == 0 else delays
