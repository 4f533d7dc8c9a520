"""Large synthetic files, written while they are drawn."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.lib import format as npy

from qufur.arrays import Floats
from qufur.streams import Chunk, Stream

BLOCK = 2**13
NOISE = 0.1


class Drawn(Stream):
    """Ten domains one after the other: unit vectors in overlapping subspaces of half the dimension.

    Every block of rows has a separate random generator, so that any block can be drawn again.

    Parameters
    ----------
    horizon, dim
        Number of rows and of columns.
    """

    def __init__(self, horizon: int, dim: int) -> None:
        self.horizon, self.dim = horizon, dim
        rng = np.random.default_rng(dim)
        self._theta = rng.standard_normal(dim)
        self._theta /= np.linalg.norm(self._theta)
        self._coordinates = [rng.permutation(dim)[: (dim + 1) // 2] for _ in range(10)]

    def chunks(self, size: int) -> Iterator[Chunk]:
        """Yield blocks, cut if they are larger than `size`."""
        for block in range(-(-self.horizon // BLOCK)):
            X, y, truth = self._draw(block)
            for start in range(0, len(X), size):
                part = slice(start, start + size)
                yield Chunk(X[part], y[part], truth[part])

    def _draw(self, block: int) -> tuple[Floats, Floats, Floats]:
        start = block * BLOCK
        rng, count = np.random.default_rng([self.dim, block]), min(BLOCK, self.horizon - start)
        used = self._coordinates[10 * start // self.horizon]
        X = np.zeros((count, self.dim))
        X[:, used] = rng.standard_normal((count, len(used)))
        X /= np.linalg.norm(X, axis=1, keepdims=True)
        truth = X @ self._theta
        return X, truth + NOISE * rng.standard_normal(count), truth


def write_npy(path: Path, stream: Stream) -> str:
    """Write a matrix whose last column holds the labels; return the name of that column."""
    header = {"descr": "<f8", "fortran_order": False, "shape": (stream.horizon, stream.dim + 1)}
    with path.open("wb") as file:
        npy.write_array_header_1_0(file, header)
        for chunk in stream.chunks(BLOCK):
            np.column_stack([chunk.X, chunk.y]).tofile(file)
    return f"x{stream.dim}"


def write_parquet(path: Path, stream: Stream) -> str:
    """Write one row group per block; return the name of the column of labels."""
    import polars as pl
    from polars.io.plugins import register_io_source

    schema = {**{f"x{j}": pl.Float64 for j in range(stream.dim)}, "y": pl.Float64}

    def frames(*_: object) -> Iterator[pl.DataFrame]:
        for chunk in stream.chunks(BLOCK):
            yield pl.DataFrame(np.column_stack([chunk.X, chunk.y]), schema=schema)

    register_io_source(frames, schema=schema).sink_parquet(path, row_group_size=BLOCK)
    return "y"


def write_csv(path: Path, stream: Stream) -> str:
    """Write numbers with six decimals; return the name of the column of labels."""
    import polars as pl

    names = [*(f"x{j}" for j in range(stream.dim)), "y"]
    with path.open("wb") as file:
        for index, chunk in enumerate(stream.chunks(BLOCK)):
            frame = pl.DataFrame(np.column_stack([chunk.X, chunk.y]), schema=names)
            frame.write_csv(file, include_header=index == 0, float_precision=6)
    return "y"


WRITERS = {"npy": write_npy, "parquet": write_parquet, "csv": write_csv}
