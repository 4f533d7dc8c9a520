"""Base class of hypothesis classes 𝓕 for Algorithm 3."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar

import numpy as np

from qufur._internal.registry import class_named
from qufur.arrays import Floats
from qufur.errors import invalid

Spread = Callable[[Floats], Floats]
"""Largest disagreement sup |f₁(x) − f₂(x)| in a confidence set, for each row."""


@dataclass(frozen=True)
class HypothesisClass(ABC):
    """A class 𝓕 of functions with values in [−1, 1], the range that labels are mapped to.

    A subclass is a frozen dataclass whose init fields are JSON values or arrays, so that `described` can
    rebuild it from a file. A class that contains Python functions cannot be saved and sets `savable = False`.
    A subclass sets `dim`, the number of input columns.
    """

    exact: ClassVar[bool] = True
    """Whether fits and disagreements are global optima. If not they are local optima: a better fit may exist,
    and the disagreement is a lower bound."""
    savable: ClassVar[bool] = True
    """Whether the init fields describe the class completely, so that it can be saved."""

    kind: str = field(init=False, repr=False)
    dim: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "kind", type(self).__name__)

    @abstractmethod
    def fit(self, X: Floats, y: Floats) -> Floats:
        """Return f̂, the minimiser of Σ (f(x) − y)², as a vector in the form that `predict` takes."""

    @abstractmethod
    def predict(self, fit: Floats, X: Floats) -> Floats:
        """Return the values of a fitted function."""

    @abstractmethod
    def confidence_set(self, queried: Floats, fit: Floats, radius: float) -> Spread:
        """Return the largest disagreement as a function, in 𝓕_t = {f ∈ 𝓕 : Σ (f(x) − f̂(x))² ≤ β}.

        Parameters
        ----------
        queried
            Inputs over which the sum is taken; if empty, 𝓕_t = 𝓕.
        fit
            f̂ as `fit` returns it.
        radius
            β > 0.
        """

    @abstractmethod
    def log_covering(self, scale: float) -> float:
        """Return (an upper bound of) ln 𝒩(𝓕, scale, ‖·‖∞), the log covering number."""

    def disagreement(self, queried: Floats, fit: Floats, radius: float, X: Floats) -> Floats:
        """Return Δ = sup (f₁(x) − f₂(x))² over f₁, f₂ ∈ 𝓕_t for each row (Algorithm 3, line 6)."""
        return np.asarray(self.confidence_set(queried, fit, radius)(X) ** 2)


def described(description: Mapping[str, Any]) -> HypothesisClass:
    """Build a hypothesis class from the output of `dataclasses.asdict`; its type must have been imported.

    Examples
    --------
    >>> from qufur.hypotheses import LinearBall
    >>> described({"kind": "LinearBall", "dim": 2, "norm_bound": 1.0})
    LinearBall(dim=2, norm_bound=1.0, input_bound=1.0)
    """
    hypothesis_class = class_named(description.get("kind"), HypothesisClass, "kind", "a hypothesis class")
    names = [f.name for f in fields(hypothesis_class) if f.init and f.name in description]
    built: HypothesisClass = hypothesis_class(**{name: description[name] for name in names})
    return built


def as_numeric(values: Any) -> Floats:
    """Return a copy as a float64 array, empty if the values are not an array of numbers."""
    try:
        return np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        return np.empty(0)


def checked_values(values: Any, shape: tuple[int, ...], parameter: str, owner: str) -> Floats:
    """Return the values of a user's function; raise `InvalidError` for a wrong shape or non-finite values."""
    array = np.asarray(values, dtype=np.float64)
    if array.shape != shape:
        raise invalid(parameter, owner, f"such that it returns shape {shape}", f"shape {array.shape}")
    if not np.isfinite(array).all():
        index = np.argwhere(~np.isfinite(array))[0]
        received = f"{array[tuple(index)]} at row {index[0]}"
        raise invalid(parameter, owner, "finite on every input", received, "The input is outside its domain.")
    return array


def squared_radius(count: int, log_covering: float, horizon: int, noise: float, delta: float) -> float:
    """Return β_k of Equation "beta_k" after k = `count` labels.

    β_k = 8η² ln(4𝒩/δ) + (2k/T²)(16 + √(2η² ln(16k²/δ))), with 𝒩 the covering number of 𝓕 at scale 1/T². At
    k = 0, where the paper takes the logarithm of 0, the second term is 0.

    >>> round(squared_radius(5, math.log(2), horizon=10, noise=1.0, delta=0.5), 4)
    24.1463
    """
    first = 8 * noise**2 * (math.log(4 / delta) + log_covering)
    if count == 0:
        return first
    root = math.sqrt(2 * noise**2 * math.log(16 * count**2 / delta))
    return first + 2 * count / horizon**2 * (16 + root)
