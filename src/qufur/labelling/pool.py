"""A table without order: the rows whose labels say most about all the others, chosen at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from qufur.arrays import Floats, Ints, as_inputs
from qufur.labelling.integrated_variance import greedy, squared_distances
from qufur.rules.from_budget import labels_within

CANDIDATES = 2000
"""Rows that are looked at, drawn from a larger pool; they stand for all of it."""
MOST = 2000
"""Rows beyond which further ones are drawn at random; known ones beyond are left out."""


@dataclass(frozen=True)
class Choice:
    """Rows to label, the best first, and what speaks for each.

    Attributes
    ----------
    rows
        Their places in X.
    uncertainty
        The mean variance of the pool before the first row, and after each that was not drawn at random; 1
        where no label is known.
    share
        Share of the pool that is more like this row than like any other that is chosen or known.
    like
        The place in `rows` of the most similar row of those before; −1 if that is a known one, or none.
    difference
        From that row, or from the mean of the pool if there is none: scaled inputs, (budget, dim).
    """

    rows: Ints
    uncertainty: Floats
    share: Floats
    like: Ints
    difference: Floats


def candidates_for(budget: int) -> int:
    """Return how many rows of a pool are looked at for so many labels.

    >>> candidates_for(50), candidates_for(1500), candidates_for(5000)
    (2000, 3000, 5000)
    """
    return max(CANDIDATES, 2 * min(budget, MOST), budget)


def choose(X: ArrayLike, budget: Any, *, known: ArrayLike | None = None, seed: int = 0) -> Choice:
    """Choose the rows of a pool whose labels leave the least uncertainty about all of it.

    Labels are taken for a Gaussian process with an RBF kernel of length 1 and noise of variance 0.1, on
    inputs scaled as `Experts` scales them: squares sum up to about 1. A partial Cholesky factorisation of its
    covariance takes as its next pivot the row whose label lowers the *mean* variance of the pool most. The
    usual pivot, the row of greatest variance (greedy log-determinant), takes outliers: the page on pools has
    both, and says where neither helps. Labels play no part, so all rows are known before one is bought.

    Of a pool of more than 2000 rows, that many are drawn, or twice the budget if that is more. Beyond 2000
    chosen rows, further ones are drawn at random; of more than 2000 known rows, that many count. Cost
    O(budget · m²) for m rows that are looked at.

    Parameters
    ----------
    X
        The pool, (n, dim).
    budget
        How many rows, or a share of them such as 0.05.
    known
        Rows that have labels already, (k, dim).
    seed
        Of what is drawn.

    Examples
    --------
    >>> X = np.repeat([[0.0], [1.0], [9.0]], [90, 9, 1], axis=0)
    >>> choice = choose(X, 2)
    >>> X[choice.rows, 0], choice.share
    (array([0., 1.]), array([0.9, 0.1]))
    """
    from qufur.models.experts.scaling import units_of  # with it comes scipy

    X = as_inputs(X, None, "choose")
    labelled = np.empty((0, X.shape[1])) if known is None else as_inputs(known, X.shape[1], "choose")
    budget = labels_within(budget, len(X), "choose")
    rng, units = np.random.default_rng(seed), units_of(X)
    places = rng.permutation(len(X))[: candidates_for(budget)]
    pool = units.transform(X[places])
    some = units.transform(labelled[rng.permutation(len(labelled))[:MOST]])
    chosen, uncertainty = greedy(pool, some, min(budget, MOST), references=CANDIDATES)
    at_random = np.setdiff1d(np.arange(len(pool)), chosen)[: budget - len(chosen)]
    chosen = np.concatenate([chosen, at_random])
    described = _share(pool, some, chosen), *_like(pool, some, chosen)
    return Choice(places[chosen], uncertainty, *described)


def _share(pool: Floats, known: Floats, chosen: Ints) -> Floats:
    labelled = np.vstack([pool[chosen], known])
    nearest = squared_distances(pool[:CANDIDATES], labelled).argmin(axis=1)
    counts = np.bincount(nearest, minlength=len(labelled))[: len(chosen)]
    return np.asarray(counts / len(pool[:CANDIDATES]))


def _like(pool: Floats, known: Floats, chosen: Ints) -> tuple[Ints, Floats]:
    """Return which row before is most similar to each chosen one, and how they differ."""
    rows, labelled = pool[chosen], np.vstack([known, pool[chosen]])
    like, difference = np.full(len(rows), -1), rows.copy()
    for place, row in enumerate(rows):
        before = labelled[: len(known) + place]
        if len(before):
            nearest = int(((before - row) ** 2).sum(axis=1).argmin())
            like[place], difference[place] = max(nearest - len(known), -1), row - before[nearest]
    return like, difference
