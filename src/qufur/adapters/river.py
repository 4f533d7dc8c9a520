"""river: `learn_one` and `predict_one` over dicts, and `query_one` to buy labels."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from qufur.adapters.named_features import DictLearner
from qufur.errors import invalid, missing_extra
from qufur.learner import Learner
from qufur.models import Ridge, Softmax
from qufur.models.base import Model
from qufur.models.experts.committee import Committee
from qufur.rules import Rule
from qufur.rules.from_budget import rule_from_budget

try:
    from river import base
except ImportError:
    raise missing_extra("river", "river", "qufur.adapters.river") from None

Features = dict[base.typing.FeatureName, Any]
USUAL_RATE = 0.05


class _Queries:
    """What regression and classification have in common: buying labels."""

    _dicts: DictLearner

    @property
    def learner(self) -> Learner:
        """The learner inside, with `spent`, `left`, `report` and the rest."""
        return self._dicts.learner

    def query_one(self, x: Features) -> bool:
        """Decide whether the label of x is worth buying.

        It spends budget and consumes a coin. A later `learn_one` with an equal x brings the label.
        """
        return self._dicts.ask(x)

    def retract_one(self, x: Features) -> None:
        """Say that the label of a query will never come; its cost is refunded."""
        self._dicts.retract(x)


class QuFURRegressor(_Queries, base.Regressor):
    """Ridge regression that knows which labels are worth buying; `Ridge` under river's interface.

    `learn_one` brings the label of the oldest outstanding query for an equal x; without such a query the
    label was free, and costs neither budget nor coin. A new feature is exactly as if it had been 0 until
    then. Cost per example O(d²) for d features, whether or not they come again.

    Parameters
    ----------
    model
        None is ridge regression. `Experts()` needs no scaling and is the more precise, but takes seconds for
        hundreds of labels; the features of its first example stay the only ones. Or a `Refit(...)`.
    budget
        A share of the examples, such as 0.05, the default, or "5%": a rate, as their number is not known. Or,
        with `alpha`, a count: the most labels to buy. 1 is one label, and 1.0 every one.
    alpha
        α of `QuFUR`, instead of a rate.
    rule
        Any other rule, instead of both.
    regularization
        λ > 0. Features should be scaled. Like `intercept` it is of no account beside a `model`.
    label_range
        The (lowest, highest) label: predictions are clipped to it, and shrink to its middle. None does not
        clip, and shrinks to 0; the interval of `learner.report` is then for labels in [−1, 1] only. A `model`
        has its own.
    intercept
        Whether there is one; it is regularised like the rest.
    seed
        An int, or a `numpy.random.Generator`; it decides the coins.

    Examples
    --------
    >>> from river import datasets, metrics, preprocessing
    >>> scaler, metric = preprocessing.StandardScaler(), metrics.MAE()
    >>> model = QuFURRegressor(budget=0.1, label_range=(30, 50))
    >>> for x, y in datasets.TrumpApproval():
    ...     scaler.learn_one(x)
    ...     z = scaler.transform_one(x)
    ...     metric.update(y, model.predict_one(z))
    ...     if model.query_one(z):
    ...         model.learn_one(z, y)
    >>> model.learner.spent, metric
    (148, MAE: 1.102...)
    """

    def __init__(
        self,
        *,
        model: Model | None = None,
        budget: int | float | str | None = None,
        alpha: float | None = None,
        rule: Rule | None = None,
        regularization: float = 1.0,
        label_range: tuple[float, float] | None = None,
        intercept: bool = True,
        seed: int | np.random.Generator = 0,
    ) -> None:
        self.budget = budget
        self.alpha = alpha
        self.rule = rule
        self.regularization = regularization
        self.label_range = label_range
        self.intercept = intercept
        self.seed = seed
        self.model = model
        clip, labels = label_range is not None, label_range or (-1.0, 1.0)
        linear = Ridge(1, regularization=regularization, clip=clip, label_range=labels)
        if model is not None and label_range is not None:
            remedy = "Give it to the model."
            raise invalid("label_range", "QuFURRegressor", "None beside a model", repr(label_range), remedy)
        self._dicts = DictLearner(
            linear if model is None else _checked(model, "QuFURRegressor", classes=False),
            _rule(rule, budget, alpha, "QuFURRegressor", steady=model is not None),
            intercept=intercept and model is None,
            seed=seed,
            owner="QuFURRegressor",
        )

    def learn_one(self, x: Features, y: base.typing.RegTarget) -> None:
        """Learn a label."""
        self._dicts.learn(x, y)

    def predict_one(self, x: Features) -> float:
        """Return the prediction; it changes nothing."""
        return float(self.learner.predict(self._dicts.row(x))[0])


class QuFURClassifier(_Queries, base.Classifier):
    """Softmax regression that knows which labels are worth buying; `Softmax` under river's interface.

    Trained to convergence on all labels so far whenever one comes, so a label costs O(n) where n came before
    it. Classes need not be known: before the first label there is none to predict. Parameters and the rest
    are as in `QuFURRegressor`.

    Parameters
    ----------
    model
        None is `Softmax`. `Experts(classes=[...])`, or a `Refit(...)`, must be told all classes.
    budget, alpha, rule, intercept, seed
        As in `QuFURRegressor`.
    regularization
        λ > 0, of the uncertainty.

    Examples
    --------
    >>> from river import datasets, metrics, preprocessing
    >>> scaler, metric = preprocessing.StandardScaler(), metrics.Accuracy()
    >>> model = QuFURClassifier(budget=0.1)
    >>> for x, y in datasets.Phishing():
    ...     scaler.learn_one(x)
    ...     z = scaler.transform_one(x)
    ...     if (y_pred := model.predict_one(z)) is not None:
    ...         metric.update(y, y_pred)
    ...     if model.query_one(z):
    ...         model.learn_one(z, y)
    >>> model.learner.spent, metric
    (190, Accuracy: 87.51%)
    """

    def __init__(
        self,
        *,
        model: Model | None = None,
        budget: int | float | str | None = None,
        alpha: float | None = None,
        rule: Rule | None = None,
        regularization: float = 1.0,
        intercept: bool = True,
        seed: int | np.random.Generator = 0,
    ) -> None:
        self.model = model
        self.budget = budget
        self.alpha = alpha
        self.rule = rule
        self.regularization = regularization
        self.intercept = intercept
        self.seed = seed
        self._classes: dict[base.typing.ClfTarget, int] = {}
        inside: Softmax | Committee = Softmax(1, 2, regularization=regularization)
        if model is not None:
            inside = _checked(model, "QuFURClassifier", classes=True)
            self._classes = {name: number for number, name in enumerate(inside.classes or ())}
            inside = replace(inside, classes=range(len(self._classes)))
        self._dicts = DictLearner(
            inside,
            _rule(rule, budget, alpha, "QuFURClassifier", steady=model is not None),
            intercept=intercept and model is None,
            seed=seed,
            owner="QuFURClassifier",
        )

    @property
    def _multiclass(self) -> bool:
        return True

    def learn_one(self, x: Features, y: base.typing.ClfTarget) -> None:
        """Learn a label, of a class that may be new unless a `model` names them."""
        self._dicts.row(x)
        if y not in self._classes:
            if self.model is not None:
                raise invalid("y", "QuFURClassifier", f"one of {list(self._classes)}", repr(y))
            self._classes[y] = len(self._classes)
            self._dicts.widen(classes=max(2, len(self._classes)))
        self._dicts.learn(x, self._classes[y])

    def predict_proba_one(self, x: Features, **kwargs: Any) -> dict[base.typing.ClfTarget, float]:
        """Return the probability of each class that a label has named."""
        if len(self._classes) < 2:
            return dict.fromkeys(self._classes, 1.0)
        state: Any = self.learner.state
        probabilities = (state.probabilities if self.model is None else state.outputs)(
            self._dicts.row(x)[None]
        )
        return dict(zip(self._classes, probabilities[0].tolist(), strict=True))

    def predict_one(self, x: Features, **kwargs: Any) -> base.typing.ClfTarget | None:
        """Return the most probable class, None before the first label; it changes nothing."""
        if len(self._classes) < 2:
            return next(iter(self._classes), None)
        return list(self._classes)[int(self.learner.predict(self._dicts.row(x)).item())]


def _checked(model: Model, owner: str, *, classes: bool) -> Committee:
    if not isinstance(model, Committee) or (model.classes is not None) != classes:
        allowed = f"Experts(...) or Refit(...), {'with' if classes else 'without'} classes"
        raise invalid("model", owner, allowed, repr(model))
    return model


def _rule(rule: Rule | None, budget: Any, alpha: float | None, owner: str, *, steady: bool) -> Rule:
    if rule is None:
        budget = USUAL_RATE if budget is None and alpha is None else budget
        remedy = "A rule says more, such as rule=Paced(budget, horizon)."
        return rule_from_budget(budget, alpha, rows=None, owner=owner, remedy=remedy, steady=steady)
    if not isinstance(rule, Rule) or rule.told_domain:
        raise invalid("rule", owner, "a rule that is not told the domain", repr(rule))
    if budget is not None or alpha is not None:
        received = f"budget={budget!r} and alpha={alpha!r}"
        raise invalid("budget and alpha", owner, "None beside a rule", received, "Give them to the rule.")
    return rule
