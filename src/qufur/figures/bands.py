"""Error against labels for two or more ways, with bands for what seeds leave open."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qufur.figures.style import LOOKS

Floats = NDArray[np.float64]


def draw_bands(panel: Any, curves: Mapping[str, tuple[Floats, Floats]], names: Mapping[str, str]) -> None:
    """Draw means over seeds, and bands of 95 % intervals of them.

    Parameters
    ----------
    panel
        Where to draw.
    curves
        By rule, the labels of each budget, and errors of shape (seeds, budgets).
    names
        What to call each rule.
    """
    for rule, (labels, errors) in curves.items():
        mean, margin = errors.mean(axis=0), margins(errors)
        look = LOOKS[rule]
        panel.fill_between(labels, mean - margin, mean + margin, color=look["color"], alpha=0.18, lw=0)
        panel.plot(labels, mean, label=names[rule], lw=1.8, ms=5, **look)
    panel.set(xscale="log", xlabel="labels bought")
    budgets = sorted({round(float(count)) for labels, _ in curves.values() for count in labels})
    panel.set_xticks(budgets, list(map(str, budgets)))
    panel.set_xticks([], minor=True)


def margins(samples: Floats) -> Floats:
    """Return the half width of a 95 % interval of each mean over seeds; 0 for one seed, which tells nothing.

    >>> margins(np.array([[1.0, 5.0], [3.0, 5.0]])).round(1).tolist()
    [12.7, 0.0]
    """
    from scipy.special import stdtrit

    n = len(samples)
    if n == 1:
        return np.zeros(samples.shape[1])
    return np.asarray(stdtrit(n - 1, 0.975) * samples.std(axis=0, ddof=1) / np.sqrt(n))
