"""How many labels another rule needs for the same error."""

from __future__ import annotations

import numpy as np

from qufur.arrays import Floats

LEAST = 0.5, float(np.finfo(float).tiny)
"""Labels and error that stand for none, which have no logarithm."""


def labels_ratio(runs: Floats) -> float:
    """Return log(n′/n): with n labels one rule has the error that another has with n′.

    Parameters
    ----------
    runs
        Labels and errors, of shape (seeds, points, 2). The first point is that of the one rule; the others
        are of the other, at several budgets. Their means over seeds make its curve, straight between points
        on logarithmic axes. More labels do no harm: where it rises, it stays at its lowest. Beyond its ends
        it has the number of labels of the end.

    Examples
    --------
    >>> runs = np.array([[[10, 0.2], [5, 0.8], [10, 0.4], [40, 0.1]]])
    >>> round(float(np.exp(labels_ratio(runs))), 6)
    2.0
    """
    points = np.log(np.maximum(runs.mean(axis=0), LEAST))
    labels, error = points[0]
    n, errors = points[1:][points[1:, 0].argsort()].T
    return float(np.interp(-error, -np.minimum.accumulate(errors), n) - labels)


def reaches(runs: Floats) -> bool:
    """Return whether the other rule's curve has the error of the one: `labels_ratio` is then no bound."""
    error, *others = runs.mean(axis=0)[:, 1]
    fewest = runs.mean(axis=0)[1:, 0].argmin()
    return bool(min(others) <= error <= others[fewest])
