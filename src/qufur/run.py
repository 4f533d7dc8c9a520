"""The loop that runs a learner on a stream."""

from __future__ import annotations

import heapq
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from qufur._internal.tensors import is_tensor
from qufur.arrays import Floats, Ints, as_count, as_inputs, as_labels
from qufur.blocks import Block, BlockSize
from qufur.errors import invalid
from qufur.learner import Learner
from qufur.models.lookahead import NO_ARRIVALS, Arrivals
from qufur.pending import Pending
from qufur.trace import RECORD, FileRecorder, MemoryRecorder, Records, Trace

if TYPE_CHECKING:
    from qufur.streams.base import Chunk, Stream
    from qufur.streams.staging import StagedChunk

NEVER = 2**62
"""A delay longer than any stream; adding to it does not overflow."""


def rows_at_once(dim: int) -> int:
    """Return the number of rows per chunk of a stream: about 8 MB, and enough for the largest block."""
    return max(1024, min(4096, 2**20 // dim))


def run(
    learner: Learner,
    stream: Stream,
    *,
    block: int | None = None,
    delay: int | Sequence[int] | Ints = 0,
    out: str | os.PathLike[str] | None = None,
) -> Trace:
    """Run a learner on a stream and record every example.

    Parameters
    ----------
    learner
        The learner. It continues from its current state and is modified in place.
    stream
        The examples. The learner receives only the labels that it queries.
    block
        The number of inputs per look-ahead; it affects speed, never results. By default adaptive.
    delay
        The number of further examples after which a label arrives; 0 means before the next example. One
        number, or one per example. Labels still pending at the end of the stream are delivered then.
    out
        A `.npy` file for the records. It is written under a temporary name and moved into place at the end,
        also after an error. By default records are stored in memory.

    Returns
    -------
    Trace
        One record per example, and totals.

    Raises
    ------
    InvalidError
        If stream and learner differ in `dim`, or an argument or an example is invalid. Examples before the
        invalid chunk are processed and recorded.

    Examples
    --------
    >>> from qufur import Learner, QuFUR, Ridge, run, streams
    >>> stream = streams.HiddenDomains([50, 100], [6, 3], seed=1)
    >>> trace = run(Learner(Ridge(stream.dim), QuFUR(alpha=1.0), seed=2), stream)
    >>> trace.queries, round(trace.total_regret, 2)
    (44, 2.49)
    """
    from qufur._internal.threads import single_blas_thread

    if learner.dim not in (None, stream.dim):
        raise invalid("dim", "stream", f"{learner.dim}, that of the learner's model", stream.dim)
    delayed = _DelayedLabels(_as_delays(delay, stream))
    size = learner._block_size(None if block is None else as_count(block, "block", "run"))
    recorder = MemoryRecorder() if out is None else FileRecorder(out)
    with single_blas_thread(), recorder:
        loop = _Loop(learner, size, delayed, recorder)
        for chunk, coming in _chunks(learner, stream, size):
            loop.run_chunk(_validate(chunk, stream.dim, learner), coming)
        delayed.deliver_rest(learner)
    return recorder.trace()


def _chunks(learner: Learner, stream: Stream, size: BlockSize) -> Iterator[tuple[Chunk, StagedChunk | None]]:
    """Yield the chunks of the stream, each with the future of the next one if a device prefetches it.

    A stream that depends on the learner cannot be read ahead, so its chunks are not prefetched.
    """
    source = stream.against(learner)
    if learner.device is None or source is not stream:
        return ((chunk, None) for chunk in source.chunks(max(rows_at_once(stream.dim), size.largest)))
    from qufur.streams.staging import staged

    return staged(stream.chunks(size.largest), learner.device, stream.dim)


def _validate(chunk: Chunk, dim: int, learner: Learner) -> Chunk:
    """Validate a chunk before the learner processes any of it."""
    is_staged = learner.device is not None and is_tensor(chunk.X)  # staging validates the inputs
    X = chunk.X if is_staged else as_inputs(chunk.X, dim, "the stream")
    y = as_labels(learner.model.label_codec.encode(chunk.y), len(X), "the stream")
    learner.model.label_codec.check(y)
    return replace(chunk, X=X, y=y)


@dataclass
class _Loop:
    """Loop over the blocks of consecutive chunks; `prefetched` are the inputs of the next block, or None."""

    learner: Learner
    size: BlockSize
    delayed: _DelayedLabels
    recorder: MemoryRecorder | FileRecorder
    prefetched: Any = None

    def run_chunk(self, chunk: Chunk, coming: StagedChunk | None) -> None:
        """Run the learner on a chunk; `coming` is the future of the next one, None without a device."""
        start = 0
        while start < len(chunk):
            X = chunk.X[start : start + self.size.value] if self.prefetched is None else self.prefetched
            offered = slice(start, start + len(X))
            block, prediction = self.learner._run_block(
                X,
                None if chunk.domain is None else chunk.domain[offered],
                partial(self.delayed.exchange, labels=chunk.y[offered]),
                partial(self._ahead, chunk, start, coming),
            )
            decided = slice(start, start + len(block))
            self.recorder.write(_records(self.learner, block, prediction, chunk, decided))
            start = decided.stop

    def _ahead(self, chunk: Chunk, start: int, coming: StagedChunk | None, block: Block) -> Any:
        """Return the inputs of the next block if they are already on the device."""
        self.size.update(block.effort)
        stop = start + len(block)
        rest = chunk.X[stop:] if stop < len(chunk) else _finished_inputs(coming)
        self.prefetched = rest[: self.size.value] if is_tensor(rest) and len(rest) else None
        return self.prefetched


def _finished_inputs(coming: StagedChunk | None) -> Any:
    """Return the inputs of the next chunk if its transfer is finished, without blocking."""
    if coming is None or not coming.done() or coming.exception() is not None:
        return None
    chunk = coming.result()
    return None if chunk is None else chunk.X


def _records(learner: Learner, block: Block, prediction: Floats, chunk: Chunk, rows: slice) -> Records:
    records = np.empty(len(block), RECORD)
    loss = learner.model.loss
    records["prediction"] = prediction
    records["uncertainty"] = block.uncertainty
    records["probability"] = block.probability
    records["query"] = block.query
    records["loss"] = loss(prediction, chunk.y[rows])
    records["regret"] = records["excess"] = np.nan
    if chunk.truth is not None:
        records["regret"] = loss(prediction, chunk.truth[rows])
        records["excess"] = records["loss"] - loss(chunk.truth[rows], chunk.y[rows])
    records["domain"] = -1 if chunk.domain is None else chunk.domain[rows]
    return records


class _DelayedLabels:
    """Queue of pending labels: due time, index of the example, query and label."""

    def __init__(self, delays: int | Ints) -> None:
        self._delays = delays
        self._time = 0
        self._pending: list[tuple[int, int, Pending, float]] = []

    def exchange(self, block: Block, labels: Floats) -> Arrivals:
        """Enqueue the labels of the block's queries and return the labels due by its end."""
        rows = np.flatnonzero(block.query)
        start, end = self._time, self._time + len(block)
        self._time = end
        if isinstance(self._delays, int) and self._delays == 0:
            return Arrivals(block.queries, labels[rows], rows + 1) if len(rows) else NO_ARRIVALS
        delays = self._delays if isinstance(self._delays, int) else self._delays[start + rows]
        due = start + rows + 1 + delays
        columns = due.tolist(), (start + rows).tolist(), block.queries, labels[rows].tolist()
        for item in zip(*columns, strict=True):
            heapq.heappush(self._pending, item)
        return self._collect(start, end)

    def deliver_rest(self, learner: Learner) -> None:
        """Deliver all pending labels."""
        rest = self._collect(self._time, None)
        if rest.queries:
            learner.tell_many([query.id for query in rest.queries], rest.labels)

    def _collect(self, start: int, end: int | None) -> Arrivals:
        arrived = []
        while self._pending and (end is None or self._pending[0][0] <= end):
            arrived.append(heapq.heappop(self._pending))
        if not arrived:
            return NO_ARRIVALS
        due, _, queries, labels = zip(*arrived, strict=True)
        return Arrivals(queries, np.array(labels), np.array(due) - start)


def _as_delays(delay: int | Sequence[int] | Ints, stream: Stream) -> int | Ints:
    delays = np.asarray(delay)
    if delays.ndim > 1 or delays.dtype.kind not in "iu" or (delays.size and delays.min() < 0):
        raise invalid("delay", "run", "an integer of at least 0, or an array of them", repr(delay))
    if delays.ndim and len(delays) < stream.horizon:
        received = f"{len(delays)} numbers for a longer stream"
        raise invalid("delay", "run", "one number, or one for every example", received)
    delays = np.minimum(delays, NEVER).astype(np.int64)
    return int(delays) if delays.ndim == 0 else delays
