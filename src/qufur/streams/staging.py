"""Asynchronous copies of a stream to a device: the next chunk is read and copied during decisions."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import replace
from importlib import import_module
from typing import Any

import numpy as np

from qufur._internal.tensors import is_tensor
from qufur.arrays import LARGEST, as_inputs
from qufur.streams.base import Chunk

COPIERS = 4
"""Threads that copy rows to pinned memory: one thread is slower than the transfer to the device."""
PARTS = 16
"""Slices per chunk: one is transferred while the next is copied."""


StagedChunk = Future[Chunk | None]
"""Chunk in transfer; None at the end of the stream."""


def staged(chunks: Iterator[Chunk], device: Any, dim: int) -> Iterator[tuple[Chunk, StagedChunk]]:
    """Yield validated chunks as float64 tensors on a device, each with the future of its successor.

    Parameters
    ----------
    chunks
        Chunks whose inputs are arrays or tensors; a background thread reads them in order.
    device
        Torch device.
    dim
        Required number of columns.
    """
    with ThreadPoolExecutor(1) as reader, ThreadPoolExecutor(COPIERS) as copiers:
        staging = Staging(device, dim, copiers)
        upcoming = reader.submit(staging.stage_next, chunks)
        while (chunk := upcoming.result()) is not None:
            upcoming = reader.submit(staging.stage_next, chunks)
            yield chunk, upcoming


class Staging:
    """Copies rows to a device: first to pinned memory, then on a separate CUDA stream."""

    def __init__(self, device: Any, dim: int, copiers: ThreadPoolExecutor) -> None:
        torch: Any = import_module("torch")  # partly untyped
        self._device, self._dim, self._copiers = device, dim, copiers
        self._pinned: Any = None
        self._stream = torch.cuda.Stream(device) if device.type == "cuda" else None
        if self._stream is not None:  # earlier kernels may still write the tensors
            self._stream.wait_stream(torch.cuda.default_stream(device))

    def stage_next(self, chunks: Iterator[Chunk]) -> Chunk | None:
        """Return the next chunk on the device, None at the end."""
        chunk = next(chunks, None)
        return None if chunk is None else replace(chunk, X=self._checked(chunk.X))

    def _checked(self, X: Any) -> Any:
        import torch

        if X.ndim != 2 or X.shape[1] != self._dim:
            return as_inputs(X, self._dim, "the stream")  # raises with a description
        with nullcontext() if self._stream is None else torch.cuda.stream(self._stream):
            rows = self._moved(X)
            if self._stream is not None and rows is not X:
                rows.record_stream(torch.cuda.default_stream(self._device))
            size = float(torch.linalg.vector_norm(rows))  # blocks until the rows have arrived
        if not size <= LARGEST:
            as_inputs(X, self._dim, "the stream")
        return rows

    def _moved(self, X: Any) -> Any:
        import torch

        if is_tensor(X):
            return X.detach().to(self._device, torch.float64)
        if self._stream is None:
            return torch.tensor(X, dtype=torch.float64, device=self._device)
        if X.dtype not in (np.float64, np.float32):
            X = np.asarray(X, dtype=np.float64)
        return self._copied(X).to(torch.float64)

    def _copied(self, X: Any) -> Any:
        """Copy rows through pinned memory; the next call overwrites it once these have arrived."""
        import torch

        dtype = torch.float32 if X.dtype == np.float32 else torch.float64
        if self._pinned is None or len(self._pinned) < len(X) or self._pinned.dtype != dtype:
            self._pinned = torch.empty((len(X), self._dim), dtype=dtype, pin_memory=True)
        rows, buffer = torch.empty(X.shape, dtype=dtype, device=self._device), self._pinned.numpy()
        step = max(1, -(-len(X) // PARTS))
        slices = [slice(start, min(start + step, len(X))) for start in range(0, len(X), step)]
        copies = self._copiers.map(lambda rows_slice: np.copyto(buffer[rows_slice], X[rows_slice]), slices)
        for rows_slice, _ in zip(slices, copies, strict=True):
            rows[rows_slice].copy_(self._pinned[rows_slice], non_blocking=True)
        return rows
