"""Handwritten digits that are turned without notice: data that scikit-learn carries."""

from __future__ import annotations

import numpy as np

from qufur.arrays import Floats
from qufur.estimates.input_blocks import InputBlocks
from qufur.estimates.input_shifts import input_shifts
from qufur.streams import Arrays
from qufur.streams.real.mnist import rotated

CLASSES = 4
"""The digits 0 to 3: a minute is too short for all ten."""
SIDE = 8
STRETCHES = {"upright": 0.0, "turned left": 90.0, "upright again": 0.0, "turned right": -90.0}
SHIFTS = (288, 432, 576)
"""Pictures before each turn."""
BLOCK = 36
"""Pictures that a point in time stands for; turns are between blocks."""


def turning_digits(seed: int = 0) -> Arrays:
    """Return the pictures in an order that the seed decides, turned stretch by stretch."""
    from sklearn.datasets import load_digits

    X, y = load_digits(n_class=CLASSES, return_X_y=True)
    order = np.random.default_rng([seed, 5]).permutation(len(y))
    parts = np.split(X[order].reshape(-1, SIDE, SIDE), SHIFTS)
    turned = [rotated(part, angle) for part, angle in zip(parts, STRETCHES.values(), strict=True)]
    domain = np.searchsorted(SHIFTS, np.arange(len(y)), side="right")
    return Arrays(np.concatenate(turned).reshape(len(y), -1), y[order].astype(np.float64), domain=domain)


def alarms(X: Floats) -> list[int]:
    """Return where `qufur status` would say that the inputs have shifted: it sees no label.

    >>> alarms(turning_digits().X)
    [288, 432, 576]
    """
    blocks = InputBlocks()
    blocks.update(X)
    names = [f"pixel {number}" for number in range(X.shape[1])]
    return sorted(shift.row for shift in input_shifts(blocks, names))
