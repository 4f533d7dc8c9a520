"""Streams drawn bit for bit as in the authors' scripts."""

from __future__ import annotations

import numpy as np

from qufur.arrays import Floats
from qufur.streams.arrays import Arrays
from qufur.streams.real.mnist import PAPER_LABELS, first_images, rotated_segments


def published_draw(seed: int) -> Arrays:
    """Reproduce the scripts' draw bit for bit, to compare results with published numbers.

    `HiddenDomains.scripts` draws the same setting with this package's generators.

    The order of the draws: 20 values k ∈ {1, 2} with T_u = 50k and d_u = 3(3 − k), the inputs domain by
    domain, θ* uniform on the unit sphere, and noise of standard deviation 0.1. The scripts have a last
    coordinate that no input uses, so that d = Σ d_u + 1; it takes its share of ‖θ*‖ = 1.

    Examples
    --------
    >>> stream = published_draw(3)
    >>> stream.X.shape, stream.domain[-1].item(), round(stream.y.sum().item(), 8)
    ((1500, 91), 19, -2.86844086)
    """
    rng = np.random.RandomState(seed)
    k = np.array([rng.randint(2) + 1 for _ in range(20)])
    durations, dims = 50 * k, 3 * (3 - k)
    domain = np.repeat(np.arange(20), durations)
    X = np.zeros((len(domain), dims.sum() + 1))
    first = np.cumsum(dims) - dims
    for x, u in zip(X, domain, strict=True):
        x[first[u] : first[u] + dims[u]] = _unit(rng.normal(0, 1, dims[u]))
    truth = X @ _unit(rng.normal(0, 1, X.shape[1]))
    return Arrays(X, truth + rng.normal(0, 0.1, len(X)), truth=truth, domain=domain)


def published_digits(seed: int) -> tuple[Arrays, np.random.Generator]:
    """Reproduce the draw behind Figure 3 bit for bit, to compare results with published numbers.

    `RotatedMNIST.reversed` draws the same setting with this package's generators.

    The scripts shuffle the first 875 images and draw an unused number per image. The query draws follow, one
    per example, for α = 0.25, 0.5 and 1 in turn; they come from the returned generator. The figure uses
    seed 0. Pixels are single precision.
    """
    bits = np.random.MT19937()
    rng = np.random.RandomState(bits)
    rng.seed(seed)
    images, labels, _ = first_images(len(PAPER_LABELS))
    order = np.argsort(PAPER_LABELS, kind="stable").argsort()  # from digit order to file order
    rng.shuffle(order)
    rng.random_sample(len(order))
    durations = (125, 250, 500)
    X = rotated_segments(images[order].astype(np.float32) / 255, durations, (60.0, 30.0, 0.0))
    domain = np.repeat(np.arange(3), durations)
    return Arrays(X, labels[order], domain=domain), np.random.Generator(bits)


def _unit(x: Floats) -> Floats:
    return x / np.linalg.norm(x)
