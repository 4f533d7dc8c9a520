"""scikit-learn estimators as values that a file can hold: names and parameters, never code."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from qufur.errors import invalid

KEY = "estimator"


def describe(value: Any) -> Any:
    """Return an estimator, or a value of one of its parameters, as JSON has it.

    >>> from sklearn.linear_model import Ridge
    >>> describe(Ridge(2.0))["estimator"]
    'sklearn.linear_model._ridge.Ridge'
    """
    if hasattr(value, "get_params"):
        kind = type(value)
        parameters = {name: describe(item) for name, item in sorted(value.get_params(deep=False).items())}
        return {KEY: f"{kind.__module__}.{kind.__qualname__}", "parameters": parameters}
    if isinstance(value, list | tuple):
        return [describe(item) for item in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if hasattr(value, "item") and getattr(value, "shape", None) == ():
        return value.item()
    allowed = "of numbers, strings, None, lists and estimators, to be saved"
    raise invalid("the parameters", "an estimator", allowed, type(value).__name__)


def revive(value: Any, given: Mapping[str, Any]) -> Any:
    """Return the estimator that was described: one of scikit-learn's, or one that is given by its name."""
    if isinstance(value, list):
        return [revive(item, given) for item in value]
    if not isinstance(value, dict):
        return value
    name = str(value.get(KEY))
    module, _, kind = name.rpartition(".")
    if kind in given:
        return given[kind]
    found = getattr(import_module(module), kind, None) if module.split(".")[0] == "sklearn" else None
    remedy = f"Hand it in: Learner.load(path, estimators={{{kind!r}: {kind}(...)}})."
    if not hasattr(found, "get_params"):
        raise invalid("estimator", "the file", "one of scikit-learn's", repr(name), remedy)
    parameters = {key: revive(item, given) for key, item in value["parameters"].items()}
    if parameters.get("memory") is not None:  # joblib would unpickle what lies there
        raise invalid("memory", f"{kind} in the file", "None", repr(parameters["memory"]), remedy)
    return found(**parameters)  # type: ignore[misc]
