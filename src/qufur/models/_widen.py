"""State of a model with more input columns or more classes."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from qufur.arrays import Floats
from qufur.errors import invalid
from qufur.models.base import Model, State
from qufur.models.ridge import Ridge
from qufur.models.softmax import Softmax
from qufur.models.training.converged import Converged
from qufur.pending import widen_features

Array = np.ndarray[Any, Any]
Arrays = dict[str, Array]
# Names of saved arrays. Those in `_ALONG` get columns of 0. Those in `_POWER_ON_DIAGONAL` are M, its inverse
# and its factor: they get rows and columns of 0, and this power of λ on the new diagonal entries.
_ALONG = {"rows", "basis", "moment", "coef", "recent", "late", "z", "innovations.rows", "innovations.pull"}
_POWER_ON_DIAGONAL = {"gram": 1.0, "inverse": -1.0, "R": 0.5}


def with_columns(state: State, before: Ridge | Softmax, after: Ridge | Softmax) -> State:
    """Convert the state of a model to one that differs only by a larger `dim` or more `classes`.

    New columns are appended and were 0 in all inputs so far. M then has λ on the new diagonal entries and 0
    beside them, so the result is exact: it equals the state with the new columns from the start. The weights
    of a new class are 0 until the next label trains them. `Ridge` and a `Softmax` that trains to convergence
    can be widened. The new state takes over the pending queries: do not use the old one afterwards.
    Cost: O(d²), or O(nd) if the state stores n examples.

    >>> state = Ridge(1).start()
    >>> state.learn(np.ones((1, 1)), np.ones(1))
    >>> with_columns(state, Ridge(1), Ridge(2)).uncertainty(np.eye(2))
    array([0.5, 1. ])
    """
    values, arrays = state.save()
    if isinstance(before, Ridge) and isinstance(after, Ridge):
        wider = _wider_ridge(arrays, before, after)
    elif isinstance(before, Softmax) and isinstance(after, Softmax):
        wider = _wider_softmax(arrays, before, after)
    else:
        raise invalid("after", "with_columns", f"a {type(before).__name__}", type(after).__name__)
    widen_features(state.pending, np.zeros(after.dim - before.dim), before.dim)
    new_state = after.start(state.pending)
    new_state.restore(values, wider)
    return new_state


def with_zero_columns(
    model: Ridge | Softmax, state: State, constants: Floats
) -> tuple[Ridge | Softmax, State]:
    """Append columns of 0 to a model and its state; raise `InvalidError` for other constants."""
    check_zeros(constants, model)
    after = dataclasses.replace(model, dim=model.dim + len(constants))
    return after, with_columns(state, model, after)


def check_zeros(constants: Floats, model: Model) -> None:
    """Raise `InvalidError` unless the new columns were 0 so far."""
    if constants.any():
        allowed = f"0 for {type(model).__name__}, which does not shift columns"
        remedy = "Subtract it from its column, or use Experts, which takes any."
        raise invalid("constants", "Learner.widen", allowed, f"{constants[constants != 0][0]:g}", remedy)


def _wider_ridge(arrays: Arrays, before: Ridge, after: Ridge) -> Arrays:
    at, new = before.dim, after.dim - before.dim
    return {name: _wider_array(name, array, at, new, before.penalty) for name, array in arrays.items()}


def _wider_array(name: str, array: Array, at: int, new: int, penalty: float) -> Array:
    for prefix in ("labelled.", "queried.", "weighted."):
        name = name.removeprefix(prefix)
    if name in _ALONG:
        return _inserted(array, at, new)
    if name in _POWER_ON_DIAGONAL:
        wide = _inserted(_inserted(array, at, new).T, at, new).T
        wide[range(at, at + new), range(at, at + new)] = penalty ** _POWER_ON_DIAGONAL[name]
        return wide
    if name == "counters":  # the second one is the trace of M
        return np.add(array, [0.0, new * penalty])
    return array


def _wider_softmax(arrays: Arrays, before: Softmax, after: Softmax) -> Arrays:
    if not isinstance(before.training, Converged):
        # Random initial weights and optimiser moments are undefined for a new column.
        raise invalid("training", "Learner.widen", "Converged(...)", repr(before.training))
    inputs = {name.removeprefix("inputs."): array for name, array in arrays.items() if "inputs." in name}
    wide = {f"inputs.{name}": array for name, array in _wider_ridge(inputs, before.raw, after.raw).items()}
    columns, classes = after.dim - before.dim, after.classes - before.classes
    Y = _inserted(arrays["trainer.Y"], before.classes, classes)
    X, weights = (_inserted(arrays[f"trainer.{name}"], before.dim, columns) for name in ("X", "weights"))
    weights = _inserted(weights.T, before.classes, classes).T
    return arrays | wide | {"trainer.X": X, "trainer.Y": Y, "trainer.weights": weights}


def _inserted(array: Array, at: int, new: int) -> Array:
    """Return the array with `new` columns of 0 before column `at`."""
    return np.insert(array, [at] * new, 0.0, axis=-1)
