"""Which model a command works with: experts, for tables, or least squares, linear or with a kernel."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import TYPE_CHECKING, Any

from qufur import models
from qufur.cli.estimators import estimators_named
from qufur.errors import invalid
from qufur.models import Ridge
from qufur.models.base import Model

if TYPE_CHECKING:
    from qufur.models import Experts, KernelRidge, Refit

KERNEL_PENALTY = 0.1
"""λ of the kernel model by default: noise of about a sixth of the range of labels."""


class ModelName(str, Enum):
    """The models of the command line."""

    experts = "experts"
    ridge = "ridge"
    kernel = "kernel"


def is_experts(said: Mapping[str, Any]) -> bool:
    """Return whether experts are meant, as they are by default."""
    return said["--model"] in (None, ModelName.experts)


def name_of(model: Model) -> ModelName:
    """Return what a model is called here."""
    if isinstance(model, models.Experts):
        return ModelName.experts
    return ModelName.kernel if isinstance(model, models.KernelRidge) else ModelName.ridge


def check_for_ridge(model: ModelName | None, command: str, said: Mapping[str, Any]) -> None:
    """Refuse options that only least squares have; those that were not given are None."""
    for name, value in said.items():
        if value is not None and model in (None, ModelName.experts):
            allowed = "left out with --model experts, which is the default"
            raise invalid(name, command, allowed, repr(value), "--model ridge takes it.")


def check_model(said: Mapping[str, Any], command: str, classes: Sequence[str] | None = None) -> None:
    """Refuse options that do not go together with the model, or with classes; None was not given.

    >>> check_model({"--model": ModelName.ridge, "--also": ["svr"]}, "docs")
    Traceback (most recent call last):
        ...
    qufur.errors.InvalidError: --also of docs must be left out with --model ridge, got ['svr']. ...
    """
    name = said["--model"]
    check_for_ridge(name, command, {"--regularization": said.get("--regularization")})
    half_life, also = said.get("--half-life"), said.get("--also")
    if half_life is not None and name is not ModelName.ridge:
        remedy = "--model ridge takes it."
        raise invalid("--half-life", command, f"left out with --model {_value(name)}", half_life, remedy)
    if also and not is_experts(said):
        raise invalid("--also", command, f"left out with --model {_value(name)}", also, "Experts take it.")
    if classes and not is_experts(said):
        remedy = "Leave --model out; for numbers, name another --target."
        raise invalid("--model", command, "experts where labels are classes", _value(name), remedy)
    if classes and said.get("--label-range") is not None:
        remedy = "Leave it out."
        raise invalid("--label-range", command, "for numbers", "labels that are classes", remedy)


def model_of(
    said: Mapping[str, Any], dim: int, command: str, classes: tuple[Any, ...] | None = None
) -> Experts | Ridge | KernelRidge:
    """Return the model that options describe, for inputs of so many columns.

    >>> said = {"--model": ModelName.ridge, "--half-life": 50, "--label-range": (0, 9)}
    >>> model_of(said, 3, "docs").half_life
    50
    """
    check_model(said, command, classes)
    label_range, penalty = said.get("--label-range"), said.get("--regularization")
    if is_experts(said):
        also = estimators_named(said.get("--also") or (), command, classifies=classes is not None)
        return models.Experts(dim, label_range=label_range, classes=classes, also=also)
    if label_range is None:
        remedy = "Say which is the lowest and which the highest label, such as --label-range 0 100."
        allowed = f"given with --model {_value(said['--model'])}"
        raise invalid("--label-range", command, allowed, "none", remedy)
    if said["--model"] is ModelName.ridge:
        half_life = said.get("--half-life")
        return Ridge(
            dim, intercept=True, label_range=label_range, regularization=penalty, half_life=half_life
        )
    return _kernel(dim, label_range, KERNEL_PENALTY if penalty is None else penalty)


def boosting(dim: int, classes: tuple[Any, ...] | None) -> Refit:
    """Return histogram boosting alone, to compare with."""
    # Not by its name: to know all names, all of scikit-learn is imported.
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    kind = HistGradientBoostingRegressor if classes is None else HistGradientBoostingClassifier
    return models.Refit(kind(), dim=dim, classes=classes)


def _kernel(dim: int, label_range: tuple[float, float], penalty: float) -> KernelRidge:
    """Return a Gaussian kernel as wide as scaled rows are far apart, with a constant."""
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel

    kernel = ConstantKernel(1.0) + RBF(math.sqrt(dim))
    return models.KernelRidge(kernel, dim=dim, regularization=penalty, label_range=label_range)


def _value(name: ModelName | None) -> str:
    return (name or ModelName.experts).value
