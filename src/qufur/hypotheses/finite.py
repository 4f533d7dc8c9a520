"""Finite hypothesis classes, with exact fits and disagreements."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from qufur.arrays import Floats, Ints, as_count, as_inputs, set_fields
from qufur.errors import invalid
from qufur.hypotheses.base import HypothesisClass, Spread, as_numeric, checked_values
from qufur.hypotheses.generalised_linear import as_link

Function = Callable[[Floats], Any]
SLACK = 1e-12
"""Relative tolerance of β, so that rounding does not remove members on the boundary."""


class FiniteClass(HypothesisClass):
    """Base class of classes of N functions. A fit is the index of the best function; the first wins ties.

    Without data, all functions tie. A subclass sets `size`, the number N of functions.

    The sup over pairs needs no loop over pairs: it is the largest value minus the smallest among the members
    of the confidence set. Cost: O(N n) evaluations for n rows.
    """

    size: int

    @abstractmethod
    def values(self, X: Floats) -> Floats:
        """Return the value of every function (rows) at every input (columns)."""

    def fit(self, X: Floats, y: Floats) -> Floats:
        """Return the index of the best function, as a vector of length 1."""
        losses = ((self.values(X) - y) ** 2).sum(axis=1) if len(X) else np.zeros(self.size)
        return np.array([np.argmin(losses)], dtype=np.float64)

    def predict(self, fit: Floats, X: Floats) -> Floats:
        return np.asarray(self.values(X)[int(fit[0])])

    def members(self, queried: Floats, fit: Floats, radius: float) -> Ints:
        """Return the indices of the functions in the confidence set."""
        if not len(queried):
            return np.arange(self.size)
        values = self.values(queried)
        distances = ((values - values[int(fit[0])]) ** 2).sum(axis=1)
        return np.flatnonzero(distances <= radius * (1 + SLACK))

    def confidence_set(self, queried: Floats, fit: Floats, radius: float) -> Spread:
        members = self.members(queried, fit, radius)
        return lambda X: np.asarray(np.ptp(self.values(X)[members], axis=0))

    def log_covering(self, scale: float) -> float:
        """Return ln N: every function covers itself at any scale."""
        return math.log(self.size)


@dataclass(frozen=True)
class Finite(FiniteClass):
    """Any list of functions, each from inputs of shape (n, dim) to n values in [−1, 1].

    Python functions cannot be written to a file, so a learner with this class cannot be saved; use
    `FiniteTable` or `FiniteLinear` instead.

    Parameters
    ----------
    functions
        At least one function.
    dim
        Number of input columns.

    Examples
    --------
    >>> steps = Finite([lambda X, c=c: np.sign(X[:, 0] - c) for c in (0.1, 0.3, 0.5)], dim=1)
    >>> best = steps.fit(np.array([[0.2]]), np.array([1.0]))
    >>> steps.disagreement(np.array([[0.2]]), best, 1.0, np.array([[0.05], [0.2], [0.4]]))
    array([0., 0., 0.])
    """

    savable = False
    functions: Sequence[Function] = field(repr=False)
    dim: int = field(kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        functions = tuple(self.functions) if isinstance(self.functions, Sequence) else ()
        if not functions or not all(map(callable, functions)):
            raise invalid("functions", "Finite", "a sequence of at least one function", repr(self.functions))
        dim = as_count(self.dim, "dim", "Finite")
        set_fields(self, functions=functions, dim=dim, size=len(functions))

    def values(self, X: Floats) -> Floats:
        shape = (len(X),)
        values = [checked_values(f(X), shape, "every function", "Finite") for f in self.functions]
        return np.stack(values)


@dataclass(frozen=True, eq=False)
class FiniteTable(FiniteClass):
    """Functions on finitely many inputs, given by their values; other inputs raise `InvalidError`.

    Parameters
    ----------
    inputs
        The m inputs, of shape (m, dim), all different.
    values_at
        One row per function: its values at the m inputs, in [−1, 1].

    Examples
    --------
    >>> table = FiniteTable([[0.0], [1.0]], [[0.0, -1.0], [0.0, 1.0]])
    >>> table.disagreement(np.array([[0.0]]), np.array([0.0]), 0.1, np.array([[0.0], [1.0]]))
    array([0., 4.])
    """

    inputs: Any = field(repr=False)
    values_at: Any = field(repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        # −0.0 becomes 0.0, so that equal inputs have equal bytes.
        inputs = as_inputs(self.inputs, None, "FiniteTable") + 0.0
        table = _as_matrix(self.values_at, "values_at", "FiniteTable")
        if table.shape[1] != len(inputs):
            received = f"shape {table.shape} with {len(inputs)} inputs"
            raise invalid("values_at", "FiniteTable", "one column per input", received)
        if np.abs(table).max() > 1:
            raise invalid("values_at", "FiniteTable", "in [−1, 1]", float(table.flat[np.abs(table).argmax()]))
        set_fields(self, inputs=inputs, values_at=table, dim=inputs.shape[1], size=len(table))
        if len(self._column) != len(inputs):
            raise invalid("inputs", "FiniteTable", "all different", "one more than once")

    @cached_property
    def _column(self) -> dict[bytes, int]:
        return {row.tobytes(): column for column, row in enumerate(self.inputs)}

    def values(self, X: Floats) -> Floats:
        columns = [self._column.get(row.tobytes()) for row in X + 0.0]
        if None in columns:
            row = columns.index(None)
            remedy = "A table has no values in between."
            raise invalid("X", "FiniteTable", "among its inputs", f"{X[row].tolist()} at row {row}", remedy)
        return np.asarray(self.values_at[:, columns])


@dataclass(frozen=True, eq=False)
class FiniteLinear(FiniteClass):
    """Functions link(⟨θ, x⟩) for finitely many θ.

    Parameters
    ----------
    parameters
        One θ per row, of shape (N, dim).
    link
        "identity", or "logistic" or "probit" as in `GeneralisedLinear`.

    Examples
    --------
    >>> grid = FiniteLinear(np.linspace(-1, 1, 201)[:, None])
    >>> best = grid.fit(np.array([[1.0]]), np.array([0.5]))
    >>> grid.disagreement(np.array([[1.0]]), best, 0.01, np.array([[0.5]])).round(6)
    array([0.01])
    """

    parameters: Any = field(repr=False)
    link: str = field(default="identity", kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        as_link(self.link, "FiniteLinear")
        parameters = _as_matrix(self.parameters, "parameters", "FiniteLinear")
        set_fields(self, parameters=parameters, dim=parameters.shape[1], size=len(parameters))

    def values(self, X: Floats) -> Floats:
        # One product per row: in a single product the last bits would depend on the other rows.
        scores = np.stack([self.parameters @ x for x in X], axis=1) if len(X) else np.empty((self.size, 0))
        return as_link(self.link, "FiniteLinear").value(scores)


def _as_matrix(values: Any, parameter: str, owner: str) -> Floats:
    matrix = as_numeric(values)
    if matrix.ndim != 2 or not matrix.size or not np.isfinite(matrix).all():
        allowed = "a finite matrix with a row for each of at least one function"
        raise invalid(parameter, owner, allowed, f"shape {np.shape(matrix)}")
    return matrix
