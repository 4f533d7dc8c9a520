"""Streams for `gpu`: on a device, in the memory of the host, and in files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.installed import importable
from qufur.streams import Arrays, Stream

LARGEST_PARQUET = 10**9
"""Maximum numbers in a columnar file: more take minutes to write."""
NOISE = 0.1
PIECE = 2**16
"""Rows per draw."""


class Data:
    """Unit vectors on a device, with variances of the coordinates that fall like those of embeddings.

    In the second half of the stream the order of the variances is reversed, as in a new domain.
    """

    def __init__(self, rows: int, dim: int, device: Any) -> None:
        import torch

        generator = torch.Generator(device=device).manual_seed(dim)
        options: dict[str, Any] = {"dtype": torch.float64, "device": device}
        self.X = torch.empty((rows, dim), **options)
        theta = torch.randn(dim, generator=generator, **options)
        theta /= theta.norm()
        scales = torch.arange(1, dim + 1, **options) ** -0.25
        y = torch.empty(rows, **options)
        for start in range(0, rows, PIECE):
            part = self.X[start : start + PIECE]
            part.normal_(generator=generator)
            part *= scales if start < rows // 2 else scales.flip(0)
            part /= part.norm(dim=1, keepdim=True)
            noise = torch.randn(len(part), generator=generator, **options)
            y[start : start + PIECE] = part @ theta * 2 + NOISE * noise
        self.y = y.cpu().numpy()
        self.rows, self.dim = rows, dim
        self._host: Any = None

    def card(self) -> Stream:
        """Return the stream from the device."""
        return Arrays(self.X, self.y)

    def host(self) -> Stream:
        """Return the stream from the host's memory."""
        import torch

        if self._host is None:
            self._host = np.empty(self.X.shape)
            for start in range(0, self.rows, PIECE):
                torch.from_numpy(self._host[start : start + PIECE]).copy_(self.X[start : start + PIECE])
        return Arrays(self._host, self.y)

    def npy(self, folder: Path) -> Stream:
        """Return the stream from a single-precision file that is not in the page cache."""
        path = folder / f"{self.rows}x{self.dim}.npy"
        if not path.exists():
            out = np.lib.format.open_memmap(path, "w+", np.float32, (self.rows, self.dim))
            for start in range(0, self.rows, PIECE):
                out[start : start + PIECE] = self.X[start : start + PIECE].float().cpu().numpy()
            out.flush()
            del out
        _forget(path)
        return Arrays(np.load(path, mmap_mode="r"), self.y)

    def parquet(self, folder: Path) -> Stream:
        """Return the stream from a columnar file that is not in the page cache."""
        from benchmarks.large import write_parquet
        from qufur.streams import Table as TableStream

        if not importable("polars"):
            raise ModuleNotFoundError("polars is not installed")
        if self.rows * self.dim > LARGEST_PARQUET:
            raise ValueError("too large to be written in time")
        path = folder / f"{self.rows}x{self.dim}.parquet"
        target = write_parquet(path, self.host())
        _forget(path)
        return TableStream(path, target)


def _forget(path: Path) -> None:
    """Drop a file from the cache of the operating system, so that it is read from the disk."""
    with path.open("rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
