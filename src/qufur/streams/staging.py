"""Rows of a stream on their way to a device: the next are read and copied while the last are decided."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import replace
from importlib import import_module
from typing import Any

import numpy as np

from qufur.arrays import LARGEST, as_inputs
from qufur.streams.base import Chunk
from qufur.tensors import is_tensor

COPIERS = 4
"""Threads that copy rows to where a device can read them: one alone is slower than the way to the device."""
PARTS = 16
"""A chunk goes in so many parts: one is on its way while the next is copied."""


Coming = Future[Chunk | None]
"""A chunk that is on its way; None is the end."""


def staged(chunks: Iterator[Chunk], device: Any, dim: int) -> Iterator[tuple[Chunk, Coming]]:
    """Yield chunks with their inputs as float64 tensors on a device, checked, each with the one after it.

    Parameters
    ----------
    chunks
        Read in a thread of their own, one after the other; inputs are arrays or tensors.
    device
        Of torch.
    dim
        How many columns there must be.
    """
    with ThreadPoolExecutor(1) as reader, ThreadPoolExecutor(COPIERS) as copiers:
        staging = Staging(device, dim, copiers)
        coming = reader.submit(staging.next_of, chunks)
        while (chunk := coming.result()) is not None:
            coming = reader.submit(staging.next_of, chunks)
            yield chunk, coming


class Staging:
    """Copies rows to a device: first to memory that it can read by itself, then on a stream of its own."""

    def __init__(self, device: Any, dim: int, copiers: ThreadPoolExecutor) -> None:
        torch: Any = import_module("torch")  # parts of it have no types
        self._device, self._dim, self._copiers = device, dim, copiers
        self._room: Any = None
        self._stream = torch.cuda.Stream(device) if device.type == "cuda" else None
        if self._stream is not None:  # tensors that somebody has yet to fill
            self._stream.wait_stream(torch.cuda.default_stream(device))

    def next_of(self, chunks: Iterator[Chunk]) -> Chunk | None:
        """Return the next chunk, on the device."""
        chunk = next(chunks, None)
        return None if chunk is None else replace(chunk, X=self._checked(chunk.X))

    def _checked(self, X: Any) -> Any:
        import torch

        if X.ndim != 2 or X.shape[1] != self._dim:
            return as_inputs(X, self._dim, "the stream")  # which says what is wrong
        with nullcontext() if self._stream is None else torch.cuda.stream(self._stream):
            rows = self._moved(X)
            if self._stream is not None and rows is not X:
                rows.record_stream(torch.cuda.default_stream(self._device))
            size = float(torch.linalg.vector_norm(rows))  # here the thread waits until the rows are there
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
        """Copy rows by way of pinned memory, which the next may write over once these have arrived."""
        import torch

        kind = torch.float32 if X.dtype == np.float32 else torch.float64
        if self._room is None or len(self._room) < len(X) or self._room.dtype != kind:
            self._room = torch.empty((len(X), self._dim), dtype=kind, pin_memory=True)
        rows, room = torch.empty(X.shape, dtype=kind, device=self._device), self._room.numpy()
        step = max(1, -(-len(X) // PARTS))
        parts = [slice(start, min(start + step, len(X))) for start in range(0, len(X), step)]
        copies = self._copiers.map(lambda part: np.copyto(room[part], X[part]), parts)
        for part, _ in zip(parts, copies, strict=True):
            rows[part].copy_(self._room[part], non_blocking=True)
        return rows
