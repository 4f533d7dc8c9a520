"""Validation of users' inputs, labels and parameters, and their conversion to float64."""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qufur._internal.tensors import on_host
from qufur.errors import invalid

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]
FLOAT64 = np.dtype(np.float64)
LARGEST = 1e50
"""Largest magnitude of a number in an input or a label; products and sums of squares of such numbers are far
from overflow."""
LARGEST_COUNT = 2**63 - 1
Numbers = TypeVar("Numbers", float, Floats)
Axes = dict[str, Sequence[str | int]]
"""Axis lengths by array name; axes with the same letter have the same length."""


def as_inputs(X: ArrayLike, dim: int | None, owner: str) -> Floats:
    """Validate X and return it as a C-contiguous float64 matrix; a vector becomes one row."""
    X = _as_float(X, "X", owner, "a numeric array of shape (n, dim) or (dim,)")
    X = X[None, :] if X.ndim == 1 else X
    if X.ndim != 2 or (dim is not None and X.shape[1] != dim):
        allowed = "an array of shape (n, dim)" if dim is None else f"of {dim} columns"
        raise invalid("X", owner, allowed, f"shape {X.shape}")
    _check_size(X, "X", owner)
    return X


def as_tensor_inputs(X: Any, dim: int | None, owner: str) -> Any:
    """Validate a tensor on its own device and return its rows as float64."""
    rows = (X[None, :] if X.ndim == 1 else X).detach().double()
    fits = rows.ndim == 2 and dim in (None, rows.shape[1])
    if not (fits and float((rows * rows).sum()) <= LARGEST**2):
        return as_inputs(X, dim, owner)  # raises the detailed error, or accepts large but valid inputs
    return rows


def as_input_one(x: ArrayLike, dim: int | None, owner: str) -> tuple[Floats, float]:
    """Validate one input and return it as a float64 vector with its ‖x‖²."""
    # Fast path with few NumPy calls: a bounded ‖x‖² implies that every entry is finite and bounded.
    if type(x) is np.ndarray and x.dtype is FLOAT64 and x.shape == (dim,) and x.flags.c_contiguous:
        square = float(x.dot(x))
        if square <= LARGEST**2:
            return x, square
    rows = as_inputs(x, dim, owner)
    if len(rows) != 1:
        raise invalid("x", owner, "one input", f"{len(rows)} rows", "Use ask_many for a batch.")
    return rows[0], float(rows[0].dot(rows[0]))


def as_label_one(label: Any, owner: str) -> Floats:
    """Validate one label and return it as a vector of length 1."""
    if isinstance(label, float) and abs(label) <= LARGEST:
        return np.array([label])
    return as_labels(label, 1, owner)


def lesser(limit: float, value: Numbers) -> Numbers:
    """Return min(limit, value); a Python float avoids NumPy's overhead for scalars."""
    if isinstance(value, float):
        return value if value < limit else limit
    return np.minimum(limit, value)


def greater(limit: float, value: Numbers) -> Numbers:
    """Return max(limit, value); a Python float avoids NumPy's overhead for scalars."""
    if isinstance(value, float):
        return value if value > limit else limit
    return np.maximum(limit, value)


def clipped(value: Numbers) -> Numbers:
    """Clip a number or an array to [−1, 1]."""
    if isinstance(value, float):
        return value if -1.0 <= value <= 1.0 else math.copysign(1.0, value)
    return np.maximum(-1.0, np.minimum(1.0, value))


def as_labels(y: ArrayLike, count: int, owner: str, parameter: str = "label") -> Floats:
    """Validate y and return it as a float64 vector with one finite label per row."""
    y = np.atleast_1d(_as_float(y, parameter, owner, "numeric"))
    if y.shape != (count,):
        raise invalid(parameter, owner, f"of shape ({count},), one per row of X", f"shape {y.shape}")
    _check_size(y, parameter, owner)
    return y


def as_number(value: Any, parameter: str, owner: str, *, low: float, high: float = math.inf) -> float:
    """Return a finite number in (low, high]; raise `InvalidError` for anything else."""
    number = _as_real(value)
    if not (math.isfinite(number) and low < number <= high):
        allowed = f"a finite number above {low:g}" if high == math.inf else f"in ({low:g}, {high:g}]"
        raise invalid(parameter, owner, allowed, repr(value))
    return number


def as_count(value: Any, parameter: str, owner: str, *, remedy: str = "") -> int:
    """Return an integer of at least 1; raise `InvalidError` for anything else."""
    if not is_integer(value) or value < 1:
        raise invalid(parameter, owner, "an integer of at least 1", repr(value), remedy)
    if value > LARGEST_COUNT:
        raise invalid(parameter, owner, "below 2**63", f"an integer of {int(value).bit_length()} bits")
    return int(value)


def as_whole_numbers(values: ArrayLike, count: int, parameter: str, owner: str) -> Ints:
    """Return a vector of integers, one per input; raise `InvalidError` for anything else."""
    numbers = np.asarray(values)
    if numbers.shape != (count,) or numbers.dtype.kind not in "iu":
        received = f"{numbers.dtype} of shape {numbers.shape}"
        raise invalid(parameter, owner, f"{count} integers, one per input", received)
    return numbers.astype(np.int64)


def as_noise(noise: Any, owner: str) -> float:
    """Return a noise level: a finite number of at least 0 with a finite square."""
    number = _as_real(noise)
    if not 0 <= number < math.inf:
        raise invalid("noise", owner, "a finite number of at least 0", repr(noise))
    if number > 1 and not has_square(number):
        raise invalid("noise", owner, "such that η² is finite", repr(noise))
    return number


def has_square(number: float) -> bool:
    """Return whether x² and 1/x² are far from overflow and underflow."""
    return abs(number) < LARGEST and 1 / LARGEST < number**2 < LARGEST


def _as_real(value: Any) -> float:
    """Convert any real number to a float; NaN for other types, ∞ on overflow."""
    if not isinstance(value, numbers.Real) or isinstance(value, bool):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.inf


def is_integer(value: Any) -> bool:
    """Return whether a value is an integer; booleans are not."""
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def set_fields(description: Any, **values: Any) -> None:
    """Set fields of a frozen dataclass in its `__post_init__` to validated, built-in Python numbers.

    NumPy scalars may have fewer digits or wrap around, and a file cannot store a `Fraction`: with them a
    learner would compute differently in blocks, or after loading.

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
    """Validate the duration T_u and dimension d_u of every domain, and return each as a tuple."""
    for name, values in (("durations", durations), ("dims", dims)):
        if np.ndim(values) != 1:
            raise invalid(name, owner, "a sequence of one positive integer per domain", repr(values))
    T = tuple(as_count(T_u, "each of durations", owner) for T_u in durations)
    d = tuple(as_count(d_u, "each of dims", owner) for d_u in dims)
    if not T or len(T) != len(d):
        received = f"{len(T)} durations and {len(d)} dims"
        raise invalid("durations and dims", owner, "of equal length, at least 1", received)
    return T, d


def check_shapes(arrays: Mapping[str, NDArray[Any]], axes: Axes, **lengths: int) -> None:
    """Raise `InvalidError` if arrays of a saved state disagree in the length of an axis.

    `lengths` gives the lengths that are known, by letter; the first array with a letter sets the others.

    >>> check_shapes({"X": np.ones((3, 2)), "y": np.ones(4)}, {"X": "nd", "y": "n"})
    Traceback (most recent call last):
    qufur.errors.InvalidError: y of a saved state must be of shape (3,), got (4,).
    """
    for name, letters in axes.items():
        shape = arrays[name].shape
        new = {letter: n for letter, n in zip(letters, shape, strict=False) if isinstance(letter, str)}
        lengths = new | lengths
        expected = tuple(lengths.get(a, a) if isinstance(a, str) else a for a in letters)
        if shape != expected:
            raise invalid(name, "a saved state", f"of shape {expected}", shape)


def strip_prefix(prefix: str, arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Return the arrays whose names start with a prefix, keyed by the rest of the name."""
    return {name.removeprefix(prefix): a for name, a in arrays.items() if name.startswith(prefix)}


def _as_float(values: ArrayLike, parameter: str, owner: str, allowed: str) -> Floats:
    if hasattr(values, "toarray"):
        remedy = f"Pass {parameter}.toarray()."
        raise invalid(parameter, owner, "dense", f"a sparse {type(values).__name__}", remedy)
    if np.ma.is_masked(values):
        remedy = "Fill them or drop the rows."
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
        return  # fast path: a bounded sum of squares implies bounded entries
    if not (array.min() >= -LARGEST and array.max() <= LARGEST):
        first = np.argwhere(~(abs(array) <= LARGEST))[0]
        value = array[tuple(first)]
        where = ", ".join(f"{name} {i}" for name, i in zip(("row", "column"), first, strict=False))
        allowed = f"at most {LARGEST:g} in magnitude" if np.isfinite(value) else "finite"
        raise invalid(parameter, owner, allowed, f"{value} at {where}")
