"""What happened in a run, example by example, in memory or in a file."""

from __future__ import annotations

import os
from dataclasses import dataclass
from types import TracebackType
from typing import Any

import numpy as np
from numpy.lib import format as npy

from qufur.arrays import Bools, Floats, Ints, as_number
from qufur.errors import invalid
from qufur.storage.atomic import replacing

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
    """Sums over some examples of a run; NaN where f* is unknown."""

    examples: int
    queries: int
    loss: float
    regret: float
    excess: float


@dataclass(frozen=True)
class Trace:
    """One record per example.

    `loss` is on the noisy labels, `regret` is the paper's (ŷ − f*(x))², `excess` is the appendix's other
    regret, the loss minus that of f*; the last two agree in expectation. For classes all three are 0-1
    losses. `domain` is −1 where unknown.
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
        """The chance with which the label was going to be queried."""
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
        """Return the total cost cR + Q of the appendix's cost model; QuFUR(α = c) nearly minimises it."""
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
        """Open a trace that `run(..., out=path)` wrote, without reading it into memory."""
        return cls(np.load(path, mmap_mode="r"))


def _totals(records: Records) -> Totals:
    sums = (float(records[name].sum()) for name in ("loss", "regret", "excess"))
    return Totals(len(records), int(records["query"].sum()), *sums)


class MemoryRecorder:
    """Keeps the records in memory."""

    def __init__(self) -> None:
        self._parts: list[Records] = []

    def __enter__(self) -> MemoryRecorder:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def write(self, records: Records) -> None:
        """Add records."""
        self._parts.append(records)

    def trace(self) -> Trace:
        """Return everything written."""
        records, start = np.empty(sum(map(len, self._parts)), RECORD), 0
        for part in self._parts:  # `concatenate` would look for a type common to all, field by field
            records[start : start + len(part)] = part
            start += len(part)
        return Trace(records)


class FileRecorder:
    """Writes the records to a `.npy` file as they come, so that a run of any length takes no memory.

    It is a new file, which takes the place of an earlier one when the run ends: a trace that looks at that
    goes on seeing it. If the run fails, the file holds what was recorded; if that is nothing, or the process
    is killed, the earlier file stays.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = path
        self._count = 0

    def __enter__(self) -> FileRecorder:
        if os.path.exists(self._path) and not os.path.isfile(self._path):
            raise invalid("out", "run", "a file, new or to be replaced", repr(os.fspath(self._path)))
        self._place = replacing(self._path)
        self._file = self._place.__enter__()
        self._write_header()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        if self._count:
            self._place.__exit__(None, None, None)
        else:
            self._place.__exit__(kind, error, at)

    def write(self, records: Records) -> None:
        """Add records."""
        self._file.seek(0, os.SEEK_END)
        self._file.write(records.tobytes())
        self._count += len(records)
        self._write_header()
        self._file.flush()  # also what a kill leaves behind can be read

    def trace(self) -> Trace:
        """Return everything written, as a view of the file."""
        return Trace.load(self._path)

    def _write_header(self) -> None:
        # NumPy leaves room in the header for the length to grow, so it can be written over in place.
        self._file.seek(0)
        header = {"descr": npy.dtype_to_descr(RECORD), "fortran_order": False, "shape": (self._count,)}
        npy.write_array_header_1_0(self._file, header)
