"""Selection of the most informative rows of a pool, all in one batch.

`choose` selects rows by a pivoted Cholesky factorisation of a Gaussian-process covariance (`greedy`).
`Candidates` samples the unlabelled and the labelled rows of a table in one pass. `reasons` explains in text
why each row was chosen.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from qufur.arrays import Bools, Floats, Ints, as_inputs
from qufur.errors import invalid
from qufur.ids import Id
from qufur.rules.from_budget import labels_within
from qufur.tables import Batch, ids
from qufur.tables.cells import is_missing
from qufur.tables.labels import check_once
from qufur.tables.sample import Sample
from qufur.workbook.seen_ids import SeenIds

NOISE = 0.1
"""Variance of the label noise, relative to a prior variance of 1."""
CANDIDATES = 2000
"""Default number of candidate rows, drawn at random to represent a larger pool."""
MAX_GREEDY_ROWS = 2000
"""Maximum of rows chosen greedily, and of labelled rows used. Further rows are drawn at random."""
MAX_NAMED_COLUMNS = 3
"""Maximum of columns that a reason names."""
NAMED_SHARE = 0.5
"""Share of the squared difference at which a reason stops naming columns."""
MAX_CELL_CHARACTERS = 20
"""Longest cell that a reason quotes."""

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Choice:
    """Rows to label, most informative first, with the figures behind each.

    Attributes
    ----------
    rows
        Row indices into X.
    uncertainty
        Mean posterior variance of the pool before the first row and after each row that was not drawn at
        random. It starts at 1 if no row is labelled.
    share
        Share of the pool whose nearest chosen or labelled row is this row.
    like
        Index into `rows` of the most similar earlier row; −1 if that is a labelled row or if there is none.
    difference
        Difference from that row, or from the mean of the pool if there is none, in scaled inputs,
        (budget, dim).
    """

    rows: Ints
    uncertainty: Floats
    share: Floats
    like: Ints
    difference: Floats


def choose(X: ArrayLike, budget: Any, *, known: ArrayLike | None = None, seed: int = 0) -> Choice:
    """Choose the rows whose labels reduce the uncertainty about the whole pool most.

    Labels are modelled as a Gaussian process with an RBF kernel of length scale 1 and noise variance 0.1, on
    inputs scaled as `Experts` scales them: the squares of a row sum to about 1. A partial Cholesky
    factorisation of the covariance picks as its next pivot the row whose label lowers the *mean* variance of
    the pool most. The standard pivot, the row of greatest variance (greedy log-determinant), selects
    outliers; the page on pools compares both and shows where neither helps. The selection does not depend on
    label values, so all rows are selected before the first label is bought.

    From a pool of more than 2000 rows, 2000 candidates are drawn, or twice the budget if that is more. At
    most 2000 rows are chosen greedily, the rest at random. At most 2000 labelled rows are used. Cost
    O(budget · m²) for m candidates.

    Parameters
    ----------
    X
        Pool, (n, dim).
    budget
        Number of rows to choose, or a share of the pool such as 0.05.
    known
        Rows that already have labels, (k, dim).
    seed
        Seed of the random draws.

    Returns
    -------
    Choice
        The chosen rows, most informative first.

    Raises
    ------
    InvalidError
        If X or `known` is not a finite matrix of matching width, or `budget` is out of range.

    Examples
    --------
    >>> X = np.repeat([[0.0], [1.0], [9.0]], [90, 9, 1], axis=0)
    >>> choice = choose(X, 2)
    >>> X[choice.rows, 0], choice.share
    (array([0., 1.]), array([0.9, 0.1]))
    """
    from qufur.models.ensemble.scaling import units_of  # imports scipy

    X = as_inputs(X, None, "choose")
    labelled = np.empty((0, X.shape[1])) if known is None else as_inputs(known, X.shape[1], "choose")
    budget = labels_within(budget, len(X), "choose")
    rng, units = np.random.default_rng(seed), units_of(X)
    candidates = rng.permutation(len(X))[: candidates_for(budget)]
    pool = units.transform(X[candidates])
    labelled = units.transform(labelled[rng.permutation(len(labelled))[:MAX_GREEDY_ROWS]])
    chosen, uncertainty = greedy(pool, labelled, min(budget, MAX_GREEDY_ROWS), references=CANDIDATES)
    at_random = np.setdiff1d(np.arange(len(pool)), chosen)[: budget - len(chosen)]
    chosen = np.concatenate([chosen, at_random])
    share = _share(pool, labelled, chosen)
    like, difference = _nearest_earlier(pool, labelled, chosen)
    return Choice(candidates[chosen], uncertainty, share, like, difference)


def candidates_for(budget: int) -> int:
    """Return the number of candidate rows for a budget.

    >>> candidates_for(50), candidates_for(1500), candidates_for(5000)
    (2000, 3000, 5000)
    """
    return max(CANDIDATES, 2 * min(budget, MAX_GREEDY_ROWS), budget)


def greedy(pool: Floats, labelled: Floats, budget: int, *, references: int) -> tuple[Ints, Floats]:
    """Choose rows one after the other, each time the row that lowers the mean variance most.

    Parameters
    ----------
    pool
        Scaled rows, (n, dim), in random order.
    labelled
        Scaled rows that have labels, (k, dim).
    budget
        Number of rows to choose.
    references
        The mean is over the first `references` rows of the pool.

    Returns
    -------
    chosen
        Indices into the pool, (budget,).
    uncertainty
        Mean variance before the first row and after each, (budget + 1,).
    """
    rows = np.vstack([pool, labelled])
    posterior = Posterior(rows, min(references, len(pool)), len(labelled) + budget)
    for row in range(len(pool), len(rows)):
        posterior.label(row)
    free, chosen, uncertainty = np.arange(len(rows)) < len(pool), [], [posterior.uncertainty]
    for _ in range(budget):
        row = posterior.best(free)
        posterior.label(row)
        free[row] = False
        chosen.append(row)
        uncertainty.append(posterior.uncertainty)
    return np.array(chosen), np.array(uncertainty)


class Posterior:
    """Posterior covariance of a Gaussian process over the rows, as a Cholesky factor.

    The covariance does not depend on the values of the labels. With k the posterior covariance, a label of
    row j lowers the variance of row i by k(i, j)² / (k(j, j) + noise). The mean of k(i, j)² over references i
    is stored for all j and updated after each label.

    Parameters
    ----------
    rows
        Scaled inputs, (n, dim).
    references
        Number of leading rows over which the variance is averaged, r.
    labels
        Maximum number of labels.
    """

    def __init__(self, rows: Floats, references: int, labels: int) -> None:
        self._rows = rows
        self._references = references
        self._labels = 0
        self._prior = kernel(rows[:references], rows)
        self._factor = np.empty((len(rows), labels), order="F")
        self._variance = np.ones(len(rows))
        self._squares = np.einsum("ij,ij->j", self._prior, self._prior) / references

    @property
    def uncertainty(self) -> float:
        """Mean variance of the references."""
        return float(self._variance[: self._references].mean())

    def best(self, free: Bools) -> int:
        """Return the free row whose label would lower the mean variance most."""
        return int(np.where(free, self._squares / (self._variance + NOISE), -1.0).argmax())

    def label(self, row: int) -> None:
        """Condition on a label of this row, O(n · (r + labels so far))."""
        factor, count = self._factor[:, : self._labels], self._references
        covariance = kernel(self._rows, self._rows[row : row + 1])[:, 0] - factor @ factor[row]
        near, scale = covariance[:count], covariance[row] + NOISE
        cross = near @ self._prior - factor @ (near @ factor[:count])
        gain = covariance / scale
        self._squares += gain * (gain * (near @ near) - 2 * cross) / count
        self._variance -= gain * covariance
        self._factor[:, self._labels] = covariance / np.sqrt(scale)
        self._labels += 1


def kernel(A: Floats, B: Floats) -> Floats:
    """Return exp(−‖a − b‖² / 2) for all pairs of rows."""
    return np.asarray(np.exp(-0.5 * squared_distances(A, B)))


def squared_distances(A: Floats, B: Floats) -> Floats:
    """Return ‖a − b‖² for all pairs of rows, (len(A), len(B)).

    >>> squared_distances(np.array([[0.0, 0.0], [3.0, 4.0]]), np.array([[0.0, 0.0]])).ravel()
    array([ 0., 25.])
    """
    squares = (A**2).sum(axis=1)[:, None] + (B**2).sum(axis=1)
    return np.asarray(np.maximum(squares - 2 * A @ B.T, 0.0))


def _share(pool: Floats, labelled: Floats, chosen: Ints) -> Floats:
    """Return the share of the pool that is nearest to each chosen row."""
    centres = np.vstack([pool[chosen], labelled])
    nearest = squared_distances(pool[:CANDIDATES], centres).argmin(axis=1)
    counts = np.bincount(nearest, minlength=len(centres))[: len(chosen)]
    return np.asarray(counts / len(pool[:CANDIDATES]))


def _nearest_earlier(pool: Floats, labelled: Floats, chosen: Ints) -> tuple[Ints, Floats]:
    """Return `like` and `difference` of a `Choice`."""
    rows, centres = pool[chosen], np.vstack([labelled, pool[chosen]])
    like, difference = np.full(len(rows), -1), rows.copy()
    for index, row in enumerate(rows):
        earlier = centres[: len(labelled) + index]
        if len(earlier):
            nearest = int(((earlier - row) ** 2).sum(axis=1).argmin())
            like[index], difference[index] = max(nearest - len(labelled), -1), row - earlier[nearest]
    return like, difference


class Candidates:
    """Random samples of the unlabelled and of the labelled rows of a table.

    Parameters
    ----------
    id, target
        Columns of ids and of labels; None if the table has no such column.
    labelled_ids
        Ids of rows that have labels outside the table.
    budget
        Number of rows to choose.
    seed
        Seed of the samples.

    Attributes
    ----------
    free, labelled
        Samples of the rows without and with a label.
    matched_ids
        Number of `labelled_ids` that occurred in the table so far.
    """

    def __init__(
        self, id: str | None, target: str | None, labelled_ids: Collection[Id], budget: int, seed: int
    ) -> None:
        self._id, self._target = id, target
        self._labelled_ids, self._seen = labelled_ids, SeenIds()
        self.free = Sample(candidates_for(budget), (seed, 0))
        self.labelled = Sample(MAX_GREEDY_ROWS, (seed, 1))
        self.matched_ids = 0

    def add(self, batch: Batch) -> None:
        """Add a batch to the samples; raise `InvalidError` if an id occurs twice."""
        row_ids = ids(batch, self._id)
        if self._id is not None:
            self._check_unique(row_ids, batch)
        has_label = np.array([id in self._labelled_ids for id in row_ids])
        self.matched_ids += int(np.count_nonzero(has_label))
        if self._target is not None:
            has_label |= ~is_missing(batch.column(self._target))
        self.free.add(batch, row_ids, ~has_label)
        self.labelled.add(batch, row_ids, has_label)

    def _check_unique(self, row_ids: list[Id], batch: Batch) -> None:
        check_once(row_ids, [batch.row(index) for index in range(len(batch))], batch.file)
        repeated = self._seen.seen(row_ids)
        if repeated.any():
            index = int(repeated.argmax())
            received = f"{row_ids[index]!r} in row {batch.row(index)} again"
            raise invalid("id", batch.file, "unique", received, "Keep one of them.")
        self._seen.add(row_ids)


def reasons(choice: Choice, columns: Sequence[str], ids: Sequence[Any], rows: Sequence[Row]) -> list[str]:
    """Return one sentence for every chosen row that explains its choice.

    Parameters
    ----------
    choice
        Chosen rows.
    columns
        For every input, the column of the table that it is encoded from.
    ids, rows
        Ids of the chosen rows, and their cells by column.
    """
    sentences, n_greedy = [], len(choice.uncertainty) - 1
    for index, like in enumerate(choice.like[:n_greedy].tolist()):
        names = most_different(choice.difference[index], columns)
        if like >= 0:
            differences = [
                _describe_difference(name, rows[index].get(name), rows[like].get(name)) for name in names
            ]
            relation = f"unlike {ids[like]} in {_join(differences)}" if names else f"similar to {ids[like]}"
        elif choice.uncertainty[0] == 1:
            relation = "typical of many rows"
        else:
            relation = f"unlike the labelled rows in {_join(names)}"
        share, left = f"{choice.share[index]:.1%}", f"{choice.uncertainty[index + 1]:.1%}"
        sentences.append(f"{relation}; {share} of rows are most like it; leaves {left} of the uncertainty")
    at_random = f"drawn at random, like every row after the first {n_greedy}"
    return sentences + [at_random] * (len(rows) - len(sentences))


def most_different(difference: Floats, columns: Sequence[str]) -> list[str]:
    """Return the columns in which two rows differ most, at most three.

    >>> most_different(np.array([0.1, 0.7, 0.7, 0.5]), ["wind", "season", "season", "rain"])
    ['season']
    """
    squares: dict[str, float] = {}
    for name, square in zip(columns, (difference**2).tolist(), strict=True):
        squares[name] = squares.get(name, 0.0) + square
    total, covered, names = sum(squares.values()), 0.0, []
    for name in sorted(squares, key=lambda name: -squares[name])[:MAX_NAMED_COLUMNS]:
        if covered < NAMED_SHARE * total:
            names.append(name)
            covered += squares[name]
    return names


def _describe_difference(name: str, cell: Any, reference: Any) -> str:
    """Return a column's name, with both cells if they are short."""
    for value in (cell, reference):
        if isinstance(value, list | np.ndarray) or len(_format_cell(value)) > MAX_CELL_CHARACTERS:
            return name
    return f"{name} ({_format_cell(cell)}, not {_format_cell(reference)})"


def _format_cell(cell: Any) -> str:
    if isinstance(cell, float):
        return f"{cell:.6g}"
    return "nothing" if cell is None else str(cell)


def _join(words: Sequence[str]) -> str:
    """Join words with commas and a final "and".

    >>> _join(["wind", "rain", "hour"])
    'wind, rain and hour'
    """
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))
