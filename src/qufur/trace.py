"""Records of a run, one per example, in memory or in a file."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.lib import format as npy

from qufur.arrays import Bools, Floats, Ints, as_number
from qufur.errors import invalid

Records = np.ndarray[Any, np.dtype[np.void]]

RECORD = np.dtype(
    [
        ("prediction", "f8"),
        ("uncertainty", "f8"),
        ("probability", "f8"),
        ("query", "?"),
        ("loss", "f8"),
        ("regret", "f8"),
        ("excess", "f8"),
        ("domain", "i8"),
    ]
)


@dataclass(frozen=True)
class Totals:
    """Sums over examples of a run; `regret` and `excess` are NaN if f* is unknown."""

    examples: int
    queries: int
    loss: float
    regret: float
    excess: float


@dataclass(frozen=True)
class Trace:
    """Trace of a run, with one record per example.

    `loss` is computed on the noisy labels. `regret` is the paper's (ŷ − f*(x))². `excess` is the other regret
    of the appendix, the loss minus that of f*; the two agree in expectation. For classes all three are 0-1
    losses. `domain` is −1 if unknown.
    """

    records: Records

    def __len__(self) -> int:
        return len(self.records)

    @property
    def prediction(self) -> Floats:
        """ŷ, in the user's units."""
        return self.records["prediction"]

    @property
    def uncertainty(self) -> Floats:
        """Δ."""
        return self.records["uncertainty"]

    @property
    def probability(self) -> Floats:
        """The query probability."""
        return self.records["probability"]

    @property
    def query(self) -> Bools:
        """Whether the label was queried."""
        return self.records["query"]

    @property
    def loss(self) -> Floats:
        """(ŷ − y)², in the user's units; 0-1 for classes."""
        return self.records["loss"]

    @property
    def regret(self) -> Floats:
        """(ŷ − f*(x))², NaN where f* is unknown."""
        return self.records["regret"]

    @property
    def excess(self) -> Floats:
        """(ŷ − y)² − (f*(x) − y)², NaN where f* is unknown."""
        return self.records["excess"]

    @property
    def domain(self) -> Ints:
        """The hidden domain, −1 where unknown."""
        return self.records["domain"]

    @property
    def queries(self) -> int:
        """Q, the number of labels bought."""
        return self.totals.queries

    @property
    def total_loss(self) -> float:
        """Σ loss."""
        return self.totals.loss

    @property
    def total_regret(self) -> float:
        """R = Σ regret."""
        return self.totals.regret

    @property
    def total_excess(self) -> float:
        """Reg = Σ excess, the appendix's other regret."""
        return self.totals.excess

    def cost(self, cost_ratio: float) -> float:
        """Return the total cost cR + Q of the appendix's cost model; QuFUR(α = c) nearly minimises it.

        Parameters
        ----------
        cost_ratio
            c > 0, the cost of one unit of regret relative to that of one label.
        """
        return as_number(cost_ratio, "cost_ratio", "Trace", low=0) * self.total_regret + self.queries

    @property
    def totals(self) -> Totals:
        """Sums over the whole run."""
        return _totals(self.records)

    def by_domain(self) -> dict[int, Totals]:
        """Return the sums over each domain."""
        return {int(u): _totals(self.records[self.domain == u]) for u in np.unique(self.domain)}

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Trace:
        """Open a trace written by `run(..., out=path)` as a memory map."""
        return cls(np.load(path, mmap_mode="r"))


def _totals(records: Records) -> Totals:
    sums = (float(records[name].sum()) for name in ("loss", "regret", "excess"))
    return Totals(len(records), int(records["query"].sum()), *sums)


class MemoryRecorder:
    """Recorder that stores the records in memory."""

    def __init__(self) -> None:
        self._chunks: list[Records] = []

    def __enter__(self) -> MemoryRecorder:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def write(self, records: Records) -> None:
        """Append records."""
        self._chunks.append(records)

    def trace(self) -> Trace:
        """Return all records."""
        records, start = np.empty(sum(map(len, self._chunks)), RECORD), 0
        for chunk in self._chunks:  # `np.concatenate` would derive a common dtype, field by field
            records[start : start + len(chunk)] = chunk
            start += len(chunk)
        return Trace(records)


class FileRecorder:
    """Recorder that appends the records to a `.npy` file, so that memory does not grow with the run.

    It writes a new file that replaces an existing one when the run ends; an open trace of the old file stays
    valid. If the run fails, the file contains the records so far. If there are none, or the process is
    killed, the old file stays.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = path
        self._count = 0

    def __enter__(self) -> FileRecorder:
        from qufur.storage.atomic import replacing

        if os.path.exists(self._path) and not os.path.isfile(self._path):
            raise invalid("out", "run", "a file, new or to be replaced", repr(os.fspath(self._path)))
        self._replacement = replacing(self._path)
        self._file = self._replacement.__enter__()
        self._write_header()
        return self

    def __exit__(self, *error: Any) -> None:
        self._replacement.__exit__(*((None, None, None) if self._count else error))

    def write(self, records: Records) -> None:
        """Append records."""
        self._file.seek(0, os.SEEK_END)
        self._file.write(records.tobytes())
        self._count += len(records)
        self._write_header()
        self._file.flush()  # so that the file is readable even after a kill

    def trace(self) -> Trace:
        """Return all records as a memory map of the file."""
        return Trace.load(self._path)

    def _write_header(self) -> None:
        # NumPy pads the header so that the length can grow, which allows overwriting it in place.
        self._file.seek(0)
        header = {"descr": npy.dtype_to_descr(RECORD), "fortran_order": False, "shape": (self._count,)}
        npy.write_array_header_1_0(self._file, header)
