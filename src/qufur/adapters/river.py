"""river: `learn_one` and `predict_one` over dicts, and `query_one` to buy labels."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from qufur.adapters.linear_settings import refuse_linear_settings
from qufur.adapters.named_features import DictLearner
from qufur.errors import invalid, missing_extra
from qufur.learner import Learner
from qufur.models import Experts, Ridge, Softmax
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
    """Regression that knows which labels are worth buying; `Experts` or `Ridge` under river's interface.

    `learn_one` brings the label of the oldest outstanding query for an equal x; without such a query the
    label was free, and costs neither budget nor coin. Experts need no scaling, and take a second for a label
    now and then; the features of their first example stay the only ones. With `model=Ridge` a new feature is
    exactly as if it had been 0 until then, and an example costs O(d²) for d features.

    Parameters
    ----------
    model
        None is `Experts()`. Others are `Experts(...)`, `Refit(...)` and, for ridge regression, the class
        `qufur.Ridge` itself.
    budget
        A share of the examples, such as 0.05, the default, or "5%": a rate, as their number is not known. Or,
        with `alpha`, a count: the most labels to buy. 1 is one label, and 1.0 every one.
    alpha
        α of `QuFUR`, instead of a rate.
    rule
        Any other rule, instead of both.
    regularization
        λ > 0 of `Ridge`, whose features should be scaled; experts do not take it, nor `intercept`.
    label_range
        The (lowest, highest) label: predictions are clipped to it. With None experts learn it from the
        labels; `Ridge` does not clip, and shrinks to 0 instead of its middle, and the interval of
        `learner.report` is then for labels in [−1, 1] only. A `model` that is given has its own.
    intercept
        Whether `Ridge` has one; it is regularised like the rest.
    seed
        An int, or a `numpy.random.Generator`; it decides the coins.

    Examples
    --------
    >>> from river import datasets, metrics, preprocessing
    >>> scaler, metric = preprocessing.StandardScaler(), metrics.MAE()
    >>> model = QuFURRegressor(model=Ridge, budget=0.1, label_range=(30, 50))
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
        model: Model | type[Ridge] | None = None,
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
        linear = model is Ridge
        self._dicts = DictLearner(
            self._linear_model() if linear else self._committee(),
            _rule(rule, budget, alpha, "QuFURRegressor", steady=not linear),
            intercept=intercept and linear,
            seed=seed,
            owner="QuFURRegressor",
        )

    def _linear_model(self) -> Ridge:
        clip, labels = self.label_range is not None, self.label_range or (-1.0, 1.0)
        return Ridge(1, regularization=self.regularization, clip=clip, label_range=labels)

    def _committee(self) -> Committee:
        refuse_linear_settings(self, ("regularization", "intercept"), Ridge)
        if self.model is None:
            return Experts(label_range=self.label_range)
        if self.label_range is not None:
            remedy = "Give it to the model."
            raise invalid("label_range", "QuFURRegressor", "None beside a model", self.label_range, remedy)
        return _checked(self.model, "QuFURRegressor", classes=False)

    def learn_one(self, x: Features, y: base.typing.RegTarget) -> None:
        """Learn a label."""
        self._dicts.learn(x, y)

    def predict_one(self, x: Features) -> float:
        """Return the prediction; it changes nothing."""
        return float(self.learner.predict(self._dicts.row(x))[0])


class QuFURClassifier(_Queries, base.Classifier):
    """Classification that knows which labels are worth buying; `Experts` or `Softmax`, as in river.

    Classes need not be known: before the first label there is none to predict, and with one that is new all
    experts are fitted again. `Softmax` is trained to convergence on all labels so far whenever one comes, so
    that a label costs O(n) where n came before it. Parameters and the rest are as in `QuFURRegressor`.

    Parameters
    ----------
    model
        None is `Experts`, for classes as they come. Others are `Experts(classes=[...])` and `Refit(...)`, of
        these classes only, and the class `qufur.Softmax` itself, for classes and features as they come.
    budget, alpha, rule, intercept, seed
        As in `QuFURRegressor`.
    regularization
        λ > 0, of the uncertainty; for `Softmax`, as is `intercept`.

    Examples
    --------
    >>> from river import datasets, metrics, preprocessing
    >>> scaler, metric = preprocessing.StandardScaler(), metrics.Accuracy()
    >>> model = QuFURClassifier(model=Softmax, budget=0.1)
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
        model: Model | type[Softmax] | None = None,
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
        linear = model is Softmax
        self._dicts = DictLearner(
            Softmax(1, 2, regularization=regularization) if linear else self._committee(),
            _rule(rule, budget, alpha, "QuFURClassifier", steady=not linear),
            intercept=intercept and linear,
            seed=seed,
            owner="QuFURClassifier",
        )

    def _committee(self) -> Committee:
        refuse_linear_settings(self, ("regularization", "intercept"), Softmax)
        if self.model is None:  # until the first label names a class
            return Experts()
        given = _checked(self.model, "QuFURClassifier", classes=True)
        self._classes = {name: number for number, name in enumerate(given.classes or ())}
        return replace(given, classes=range(len(self._classes)))

    @property
    def _multiclass(self) -> bool:
        return True

    def learn_one(self, x: Features, y: base.typing.ClfTarget) -> None:
        """Learn a label, of a class that may be new unless a `model` names them."""
        self._dicts.row(x)
        if y not in self._classes:
            if isinstance(self.model, Committee):
                raise invalid("y", "QuFURClassifier", f"one of {list(self._classes)}", repr(y))
            self._classes[y] = len(self._classes)
            self._dicts.widen(classes=max(2, len(self._classes)))
        self._dicts.learn(x, self._classes[y])

    def predict_proba_one(self, x: Features, **kwargs: Any) -> dict[base.typing.ClfTarget, float]:
        """Return the probability of each class that a label has named."""
        if len(self._classes) < 2:
            return dict.fromkeys(self._classes, 1.0)
        probabilities = self.learner.state.probabilities(self._dicts.row(x)[None])
        return dict(zip(self._classes, probabilities[0].tolist(), strict=True))

    def predict_one(self, x: Features, **kwargs: Any) -> base.typing.ClfTarget | None:
        """Return the most probable class, None before the first label; it changes nothing."""
        if len(self._classes) < 2:
            return next(iter(self._classes), None)
        return list(self._classes)[int(self.learner.predict(self._dicts.row(x)).item())]


def _checked(model: Any, owner: str, *, classes: bool) -> Committee:
    if not isinstance(model, Committee) or (model.classes is not None) != classes:
        linear, which = ("Softmax", "with") if classes else ("Ridge", "without")
        allowed = f"None, the class {linear}, Experts(...) or Refit(...), {which} classes"
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
