"""Inputs and labels from users, checked once at the border and float64 from there on."""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qufur.errors import invalid
from qufur.tensors import on_host

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]
FLOAT64 = np.dtype(np.float64)
LARGEST = 1e50
"""The largest number in an input or a label: far from where products and sums of squares overflow."""
LARGEST_COUNT = 2**63 - 1
Numbers = TypeVar("Numbers", float, Floats)
Axes = dict[str, Sequence[str | int]]
"""Names of arrays, and the lengths of their axes; the same letter stands for the same length."""


def as_inputs(X: ArrayLike, dim: int | None, owner: str) -> Floats:
    """Return the rows of X, checked, as a C-contiguous float64 matrix; a vector becomes one row."""
    X = _as_float(X, "X", owner, "a numeric array of shape (n, dim) or (dim,)")
    X = X[None, :] if X.ndim == 1 else X
    if X.ndim != 2 or (dim is not None and X.shape[1] != dim):
        allowed = "an array of shape (n, dim)" if dim is None else f"of {dim} columns"
        raise invalid("X", owner, allowed, f"shape {X.shape}")
    _check_size(X, "X", owner)
    return X


def as_tensor_inputs(X: Any, dim: int | None, owner: str) -> Any:
    """Return the rows of a tensor, checked where they are, as float64."""
    rows = (X[None, :] if X.ndim == 1 else X).detach().double()
    fits = rows.ndim == 2 and dim in (None, rows.shape[1])
    if not (fits and float((rows * rows).sum()) <= LARGEST**2):
        return as_inputs(X, dim, owner)  # which says what is wrong, or that nothing is
    return rows


def as_input_one(x: ArrayLike, dim: int | None, owner: str) -> tuple[Floats, float]:
    """Return one input, checked, as a float64 vector, and its ‖x‖²."""
    # The usual case, for which calls into NumPy are few: a small square is one of small numbers.
    if type(x) is np.ndarray and x.dtype is FLOAT64 and x.shape == (dim,) and x.flags.c_contiguous:
        square = float(x.dot(x))
        if square <= LARGEST**2:
            return x, square
    rows = as_inputs(x, dim, owner)
    if len(rows) != 1:
        raise invalid("x", owner, "one input", f"{len(rows)} rows", "Use ask_many for a batch.")
    return rows[0], float(rows[0].dot(rows[0]))


def as_label_one(label: Any, owner: str) -> Floats:
    """Return one label, checked, as a vector of length 1."""
    if isinstance(label, float) and abs(label) <= LARGEST:
        return np.array([label])
    return as_labels(label, 1, owner)


def lesser(limit: float, value: Numbers) -> Numbers:
    """Return the lesser of a number and each of `value`: NumPy takes long over a single one."""
    if isinstance(value, float):
        return value if value < limit else limit
    return np.minimum(limit, value)


def greater(limit: float, value: Numbers) -> Numbers:
    """Return the greater of a number and each of `value`."""
    if isinstance(value, float):
        return value if value > limit else limit
    return np.maximum(limit, value)


def clipped(value: Numbers) -> Numbers:
    """Return a number, or each of many, kept within [−1, 1]."""
    if isinstance(value, float):
        return value if -1.0 <= value <= 1.0 else math.copysign(1.0, value)
    return np.maximum(-1.0, np.minimum(1.0, value))


def as_labels(y: ArrayLike, count: int, owner: str, parameter: str = "label") -> Floats:
    """Return y, checked, as a float64 vector with one finite label per row."""
    y = np.atleast_1d(_as_float(y, parameter, owner, "numeric"))
    if y.shape != (count,):
        raise invalid(parameter, owner, f"of shape ({count},), one per row of X", f"shape {y.shape}")
    _check_size(y, parameter, owner)
    return y


def as_number(value: Any, parameter: str, owner: str, *, low: float, high: float = math.inf) -> float:
    """Return a finite number in (low, high], or complain."""
    number = _as_real(value)
    if not (math.isfinite(number) and low < number <= high):
        allowed = f"a finite number above {low:g}" if high == math.inf else f"in ({low:g}, {high:g}]"
        raise invalid(parameter, owner, allowed, repr(value))
    return number


def as_count(value: Any, parameter: str, owner: str, *, remedy: str = "") -> int:
    """Return a whole number of at least 1, or complain."""
    if not is_whole(value) or value < 1:
        raise invalid(parameter, owner, "an integer of at least 1", repr(value), remedy)
    if value > LARGEST_COUNT:
        raise invalid(parameter, owner, "below 2**63", f"an integer of {int(value).bit_length()} bits")
    return int(value)


def as_whole_numbers(values: ArrayLike, count: int, parameter: str, owner: str) -> Ints:
    """Return a vector of integers, one per input, or complain."""
    numbers = np.asarray(values)
    if numbers.shape != (count,) or numbers.dtype.kind not in "iu":
        received = f"{numbers.dtype} of shape {numbers.shape}"
        raise invalid(parameter, owner, f"{count} integers, one per input", received)
    return numbers.astype(np.int64)


def as_noise(noise: Any, owner: str) -> float:
    """Return a noise level, a finite number of at least 0 whose square is finite as well."""
    number = _as_real(noise)
    if not 0 <= number < math.inf:
        raise invalid("noise", owner, "a finite number of at least 0", repr(noise))
    if number > 1 and not has_square(number):
        raise invalid("noise", owner, "such that η² is a number", repr(noise))
    return number


def has_square(number: float) -> bool:
    """Return whether x² and 1/x² are numbers with room to compute with."""
    return abs(number) < LARGEST and 1 / LARGEST < number**2 < LARGEST


def _as_real(value: Any) -> float:
    """Return any kind of real number as a float; NaN if it is none, ∞ if it is too large."""
    if not isinstance(value, numbers.Real) or isinstance(value, bool):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.inf


def is_whole(value: Any) -> bool:
    """Return whether a value is an integer; True and False are not."""
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def set_fields(description: Any, **values: Any) -> None:
    """Set fields of a frozen dataclass that is being made to what the checks return: Python's own numbers.

    NumPy's have fewer digits or wrap around, and a file knows no fractions: in blocks, or after a file, a
    learner would compute differently.

    >>> from qufur import QuFUR
    >>> from fractions import Fraction
    >>> QuFUR(Fraction(1, 2)).alpha
    0.5
    """
    for name, value in values.items():
        object.__setattr__(description, name, value)


def as_domains(
    durations: Sequence[int], dims: Sequence[int], owner: str
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the T_u and d_u as tuples of integers, as many of the one as of the other."""
    for name, values in (("durations", durations), ("dims", dims)):
        if np.ndim(values) != 1:
            raise invalid(name, owner, "a sequence of one positive integer per domain", repr(values))
    T = tuple(as_count(T_u, "each of durations", owner) for T_u in durations)
    d = tuple(as_count(d_u, "each of dims", owner) for d_u in dims)
    if not T or len(T) != len(d):
        received = f"{len(T)} durations and {len(d)} dims"
        raise invalid("durations and dims", owner, "as many, at least one", received)
    return T, d


def check_shapes(arrays: Mapping[str, NDArray[Any]], axes: Axes, **lengths: int) -> None:
    """Refuse arrays of a saved state that do not fit together: axes of the same letter are equally long.

    >>> check_shapes({"X": np.ones((3, 2)), "y": np.ones(4)}, {"X": "nd", "y": "n"})
    Traceback (most recent call last):
    qufur.errors.InvalidError: y of a saved state must be of shape (3,), got (4,).
    """
    for name, letters in axes.items():
        shape = arrays[name].shape
        new = {letter: n for letter, n in zip(letters, shape, strict=False) if isinstance(letter, str)}
        lengths = new | lengths
        wanted = tuple(lengths.get(a, a) if isinstance(a, str) else a for a in letters)
        if shape != wanted:
            raise invalid(name, "a saved state", f"of shape {wanted}", shape)


def under(prefix: str, arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Return the arrays whose name begins so, by the rest of their name."""
    return {name.removeprefix(prefix): a for name, a in arrays.items() if name.startswith(prefix)}


def _as_float(values: ArrayLike, parameter: str, owner: str, allowed: str) -> Floats:
    if hasattr(values, "toarray"):
        remedy = f"Pass {parameter}.toarray()."
        raise invalid(parameter, owner, "dense", f"a sparse {type(values).__name__}", remedy)
    if np.ma.is_masked(values):
        remedy = "Fill them in, or leave them out."
        raise invalid(parameter, owner, "without masked values", "some", remedy)
    try:
        array = np.asarray(on_host(values))
        if array.dtype.kind not in "biuf":
            raise TypeError
        return np.ascontiguousarray(array, dtype=np.float64).reshape(array.shape)
    except (TypeError, ValueError):
        received = getattr(values, "dtype", None) or type(values).__name__
        raise invalid(parameter, owner, allowed, f"{received} values") from None


def _check_size(array: Floats, parameter: str, owner: str) -> None:
    if np.vdot(array, array) <= LARGEST**2:
        return  # the usual case, several times as fast: a small sum of squares is one of small numbers
    if not (array.min() >= -LARGEST and array.max() <= LARGEST):
        odd = np.argwhere(~(abs(array) <= LARGEST))[0]
        where = ", ".join(f"{name} {i}" for name, i in zip(("row", "column"), odd, strict=False))
        allowed = "finite" if not np.isfinite(array[tuple(odd)]) else f"at most {LARGEST:g} in size"
        raise invalid(parameter, owner, allowed, f"{array[tuple(odd)]} at {where}")
