"""Two regression datasets of the LIBSVM collection."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from qufur.data import Dataset, Edition, File
from qufur.errors import invalid
from qufur.streams.base import independent_seeds
from qufur.streams.real.recorded import Recorded, frozen

_SITE = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/regression/"


def _libsvm(name: str, title: str, rebuilt: str) -> Dataset:
    file = File(f"libsvm/{name}_scale", (f"{_SITE}{name}_scale",))
    edition = Edition((file,), variants={rebuilt: "original up to a rebuilt scaling"})
    return Dataset(name, title, "the LIBSVM collection, www.csie.ntu.edu.tw/~cjlin", (edition,))


class Libsvm(Recorded):
    """Stream of one dataset in a single domain, shuffled by the seed.

    Attributes
    ----------
    label_range
        Smallest and largest label.
    """

    shape: ClassVar[tuple[int, int]]

    def __init__(self, *, seed: int = 0) -> None:
        (shuffle,) = independent_seeds(seed, 1, type(self).__name__)
        copy = self.dataset.get()
        X, y = _read(copy.paths[0], self.shape)
        order = np.random.default_rng(shuffle).permutation(len(y))
        super().__init__(X[order], y[order], np.zeros(len(y), dtype=np.int64), durations=[len(y)], copy=copy)
        self.label_range = float(y.min()), float(y.max())


class Abalone(Libsvm):
    """The age of 4177 abalones, in rings, from 8 measurements.

    Parameters
    ----------
    seed
        Seed of the order of the rows, an integer of at least 0.
    """

    dataset = _libsvm(
        "abalone", "Abalone", "d7866083874334dab7c6a61621ba772631ea44a2faf310625eb132b5ad15004b"
    )
    shape = (4177, 8)


class CpuSmall(Libsvm):
    """User-mode CPU time in percent, from 12 measures of system activity (8192 rows).

    Parameters
    ----------
    seed
        Seed of the order of the rows, an integer of at least 0.
    """

    dataset = _libsvm(
        "cpusmall", "Cpusmall", "6ac0a79423de80705e0f6709eae7865bf89f792ae4f9d29d476e44b47c315404"
    )
    shape = (8192, 12)


@cache
def _read(path: Path, shape: tuple[int, int]) -> tuple[NDArray[Any], NDArray[Any]]:
    from sklearn.datasets import load_svmlight_file

    allowed = f"{shape[0]} lines of a label and up to {shape[1]} features, such as 1:-0.5"
    try:
        X, y = load_svmlight_file(str(path), n_features=shape[1])
    except ValueError as error:
        raise invalid("content", str(path), allowed, f"an unreadable file ({error})") from None
    if X.shape != shape:
        raise invalid("content", str(path), allowed, f"{X.shape[0]} lines")
    return frozen(X.toarray()), frozen(y)
