"""scikit-learn's estimators by name, as people write them: random-forest, RandomForestRegressor, svr."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from functools import cache
from inspect import signature
from typing import Any

from qufur.errors import invalid


def estimators_named(names: Sequence[str], command: str, *, classifies: bool) -> list[Any]:
    """Return an estimator for each name, with its usual parameters; others are refused with near names.

    >>> estimators_named(["hist-gradient-boosting", "SVR"], "docs", classifies=False)
    [HistGradientBoostingRegressor(), SVR()]
    """
    if not names:
        return []
    known = _known(classifies)
    return [_made(known, name, command, classifies) for name in names]


@cache
def _known(classifies: bool) -> dict[str, Any]:
    """Return the classes of estimators that need no parameters, by their names in kebab case."""
    from sklearn.utils import all_estimators

    kind = "classifier" if classifies else "regressor"
    found = all_estimators(type_filter=kind)
    plain = [(name, make) for name, make in found if not _needs_parameters(make)]
    return {_kebab(_short(name)): make for name, make in plain} | {_kebab(n): make for n, make in plain}


def _needs_parameters(make: Any) -> bool:
    given = signature(make).parameters.values()
    return any(part.default is part.empty and part.kind is not part.VAR_KEYWORD for part in given)


def _made(known: dict[str, Any], name: str, command: str, classifies: bool) -> Any:
    by_key = {_key(kebab): make for kebab, make in known.items()}
    make = by_key.get(_key(name))
    if make is not None:
        return make()
    short = [kebab for kebab in known if not kebab.endswith(("-regressor", "-classifier"))]
    near = difflib.get_close_matches(_kebab(name), short, n=3, cutoff=0.5)
    what = "classifier" if classifies else "regressor"
    remedy = f"Did you mean {' or '.join(near)}?" if near else "One is hist-gradient-boosting."
    raise invalid("--also", command, f"the name of a {what} of scikit-learn", repr(name), remedy)


def _short(name: str) -> str:
    return re.sub(r"(Regressor|Classifier)$", "", name) or name


def _kebab(name: str) -> str:
    """Return a name in kebab case.

    >>> _kebab("HistGradientBoosting"), _kebab("SVR"), _kebab("SGDOneClassSVM")
    ('hist-gradient-boosting', 'svr', 'sgd-one-class-svm')
    """
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "-", name).lower()


def _key(name: str) -> str:
    return re.sub(r"[-_ ]", "", name).lower()
