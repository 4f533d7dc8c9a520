"""Portraits: yearbook photographs whose domains are periods of the twentieth century."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qufur.arrays import Floats, Ints
from qufur.data import Dataset, Edition, File
from qufur.errors import invalid
from qufur.streams.base import independent_seeds
from qufur.streams.real.recorded import Recorded, as_durations, frozen

_SOURCE = (
    "Prepare the photographs of Ginosar et al. with github.com/p-lambda/gradual_domain_adaptation, "
    "which creates dataset_32x32.mat."
)
PUBLISHED = Edition((File("portraits/dataset_32x32.mat", remedy=_SOURCE),))
SAMPLE = Edition(
    (
        File(
            "portraits/portraits_32x32.npz",
            sha256="a51fb10e9a6cc2a753daed41a547265696bfe092c211e11d08567b51d988d089",
            remedy=_SOURCE,
        ),
    ),
    "original photographs, not in the published order inside a year",
)
_PERIODS, _PERIOD = 5, 8000


class Portraits(Recorded):
    """Faces of high-school seniors in two classes, one period after the other (section "Experiments").

    As in the authors' scripts: photographs in chronological order, a period per 8000 photographs, the first
    T_u of each period, shuffled inside their domain by the seed, pixels in [0, 1]. Class 1 is male. Only
    37,921 photographs exist, so the last period is shorter than in the paper's text; and sizes are two
    classes, where the scripts have ten outputs.

    The user provides the data: `dataset_32x32.mat` as prepared by the project gradual_domain_adaptation, or
    a sample of it.

    Parameters
    ----------
    durations
        T_u, one for each of the five periods.
    seed
        Seed of the order inside the domains, an integer of at least 0.
    """

    dataset = Dataset(
        "portraits",
        "Yearbook portraits",
        "Ginosar et al., prepared by github.com/p-lambda/gradual_domain_adaptation",
        (PUBLISHED, SAMPLE),
    )
    classes = 2

    def __init__(self, durations: Sequence[int] = (512, 256, 128, 64, 32), *, seed: int = 0) -> None:
        lengths = as_durations(durations, "Portraits")
        (shuffle,) = independent_seeds(seed, 1, "Portraits")
        copy = self.dataset.get()
        album = _read(copy.paths[0])
        sizes = np.diff(album.starts).tolist()
        if len(lengths) != _PERIODS or any(T_u > n for T_u, n in zip(lengths, sizes, strict=True)):
            allowed = f"{_PERIODS} numbers, at most {', '.join(map(str, sizes))}"
            raise invalid("durations", "Portraits", allowed, lengths)
        rng = np.random.default_rng(shuffle)
        periods = zip(album.starts, lengths, strict=False)
        rows = np.concatenate([start + rng.permutation(T_u) for start, T_u in periods])
        domain = np.repeat(np.arange(_PERIODS), lengths)
        super().__init__(
            album.images[rows].reshape(len(rows), -1) / album.white,
            album.male[rows],
            domain,
            durations=lengths,
            copy=copy,
        )
        self.years = None if album.years is None else album.years[rows]

    @classmethod
    def main(cls, seed: int = 0) -> Portraits:
        """Return the stream of Figures 1 and 2: 512, 256, 128, 64, 32 photographs."""
        return cls(seed=seed)

    @classmethod
    def reversed(cls, seed: int = 0) -> Portraits:
        """Return the durations in reverse: 32, 64, 128, 256, 512 photographs."""
        return cls((32, 64, 128, 256, 512), seed=seed)

    @classmethod
    def equal(cls, seed: int = 0) -> Portraits:
        """Return domains of the same length: 200 photographs of each period."""
        return cls((200,) * _PERIODS, seed=seed)

    @property
    def images(self) -> Floats:
        """Inputs as images (T, 32, 32), for drawing."""
        return self.X.reshape(-1, 32, 32)


@dataclass(frozen=True)
class _Album:
    images: NDArray[Any]
    male: NDArray[Any]
    starts: Ints
    """First row of every period, and the end of the last."""
    white: float
    years: NDArray[Any] | None = None


@cache
def _read(path: Path) -> _Album:
    if path.suffix == ".mat":
        return _read_published(path)
    with np.load(path) as content:
        starts = np.searchsorted(content["period"], np.arange(_PERIODS + 1))
        return _Album(frozen(content["images"]), content["male"], starts, 255.0, content["year"])


def _read_published(path: Path) -> _Album:
    from scipy.io import loadmat

    try:
        content = loadmat(path, variable_names=["Xs", "Ys"])
        images, male = np.squeeze(content["Xs"]), np.ravel(content["Ys"])
    except Exception as error:  # scipy's reader raises many exception types
        reason = str(error).partition("\n")[0]
        raise invalid("content", str(path), "arrays Xs and Ys", f"an unreadable file ({reason})") from None
    starts = _PERIOD * np.arange(_PERIODS + 1)
    if images.shape != (len(male), 32, 32) or not starts[-2] < len(male) <= starts[-1]:
        allowed = f"{starts[-2] + 1} to {starts[-1]} images of 32 × 32 pixels with one label each"
        raise invalid("content", str(path), allowed, f"Xs {images.shape} and Ys {male.shape}")
    return _Album(frozen(images), male, np.minimum(starts, len(male)), 1.0)
