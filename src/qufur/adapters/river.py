"""Estimators for river: `learn_one` and `predict_one` over dicts, and `query_one` to buy labels."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from qufur.adapters.named_features import DictLearner
from qufur.adapters.sklearn.estimator import reject_linear_settings
from qufur.errors import invalid, missing_extra
from qufur.learner import Learner
from qufur.models import Experts, Ridge, Softmax
from qufur.models.base import Model
from qufur.models.ensemble.model import EnsembleModel
from qufur.rules import Rule
from qufur.rules.from_budget import rule_from_budget

try:
    from river import base
except ImportError:
    raise missing_extra("river", "river", "qufur.adapters.river") from None

Features = dict[base.typing.FeatureName, Any]
DEFAULT_RATE = 0.05


@dataclass(kw_only=True, eq=False, repr=False)
class _QueryingEstimator:
    """Options and methods shared by regression and classification."""

    _linear: ClassVar[type[Ridge] | type[Softmax]]

    model: Model | type[Model] | None = None
    budget: int | float | str | None = None
    alpha: float | None = None
    rule: Rule | None = None
    regularization: float = 1.0
    intercept: bool = True
    seed: int | np.random.Generator = 0

    def __post_init__(self) -> None:
        is_linear = self.model is self._linear
        if not is_linear:
            reject_linear_settings(self, ("regularization", "intercept"), self._linear)
        model = self._linear_model() if is_linear else self._ensemble()
        rule, intercept = self._rule(steady=not is_linear), self.intercept and is_linear
        owner = type(self).__name__
        self._dicts = DictLearner(model, rule, intercept=intercept, seed=self.seed, owner=owner)

    @property
    def learner(self) -> Learner:
        """The underlying learner, with `spent`, `left` and `report`."""
        return self._dicts.learner

    def query_one(self, x: Features) -> bool:
        """Decide whether to buy the label of x.

        It charges the budget and uses a random draw. A later `learn_one` with an equal x supplies the label.
        """
        return self._dicts.ask(x)

    def retract_one(self, x: Features) -> None:
        """Retract a query whose label will never arrive; its cost is refunded."""
        self._dicts.retract(x)

    @abstractmethod
    def _linear_model(self) -> Ridge | Softmax:
        """Return the linear model of one column."""

    @abstractmethod
    def _ensemble(self) -> EnsembleModel:
        """Return the user's ensemble adapted to this estimator, by default `Experts`."""

    def _given_ensemble(self) -> EnsembleModel:
        """Return `model`; raise `InvalidError` if it is no ensemble, or one for the wrong type of label."""
        model, linear = self.model, self._linear
        if not isinstance(model, EnsembleModel) or (model.classes is not None) != (linear is Softmax):
            preposition = "with" if linear is Softmax else "without"
            allowed = f"None, the class {linear.__name__}, Experts(...) or Refit(...), {preposition} classes"
            raise invalid("model", type(self).__name__, allowed, repr(model))
        return model

    def _rule(self, *, steady: bool) -> Rule:
        rule, budget, alpha, owner = self.rule, self.budget, self.alpha, type(self).__name__
        if rule is None:
            budget = DEFAULT_RATE if budget is None and alpha is None else budget
            remedy = "Pass a rule, such as rule=Paced(budget, horizon)."
            return rule_from_budget(budget, alpha, rows=None, owner=owner, remedy=remedy, steady=steady)
        if not isinstance(rule, Rule) or rule.told_domain:
            raise invalid("rule", owner, "a rule that does not need the domain", repr(rule))
        if budget is not None or alpha is not None:
            received = f"budget={budget!r} and alpha={alpha!r}"
            raise invalid("budget and alpha", owner, "None beside a rule", received, "Pass them to the rule.")
        return rule


@dataclass(kw_only=True, eq=False, repr=False)
class QuFURRegressor(_QueryingEstimator, base.Regressor):
    """Regression with label queries under a budget: `Experts` or `Ridge` in river's interface.

    `learn_one` supplies the label of the oldest pending query for an equal x; without such a query the
    label is free and uses no random draw. Experts need no scaling; a refit takes about a second. They ignore
    features that are missing in the first example. With `model=Ridge` a new feature acts exactly as if it had
    been 0 before, and an example costs O(d²) for d features.

    Parameters
    ----------
    model
        None (the same as `Experts()`), `Experts(...)`, `Refit(...)` or, for ridge regression, the class
        `qufur.Ridge` itself.
    budget
        A share of the examples, such as 0.05 (the default) or "5%". It is a rate, since the number of
        examples is unknown. With `alpha`, a count: the largest number of labels to buy. 1 is one label, 1.0
        all labels.
    alpha
        α of `QuFUR`, instead of a rate.
    rule
        Any other rule, instead of `budget` and `alpha`.
    regularization
        λ > 0 of `Ridge`, whose features should be scaled. Experts accept neither this nor `intercept`.
    label_range
        The (lowest, highest) label: predictions are clipped to it. With None, experts learn it from the
        labels; `Ridge` does not clip and shrinks to 0 instead of the centre of the range, and the interval of
        `learner.report` is then valid for labels in [−1, 1] only. If `model` is an instance, pass the range
        to the model instead.
    intercept
        Whether `Ridge` has an intercept; it is regularised like the other coefficients.
    seed
        An int or a `numpy.random.Generator`, for the random draws of the rule.

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

    _linear = Ridge

    label_range: tuple[float, float] | None = None

    def _linear_model(self) -> Ridge:
        clip, labels = self.label_range is not None, self.label_range or (-1.0, 1.0)
        return Ridge(1, regularization=self.regularization, clip=clip, label_range=labels)

    def _ensemble(self) -> EnsembleModel:
        if self.model is None:
            return Experts(label_range=self.label_range)
        if self.label_range is not None:
            remedy = "Pass it to the model."
            raise invalid("label_range", "QuFURRegressor", "None beside a model", self.label_range, remedy)
        return self._given_ensemble()

    def learn_one(self, x: Features, y: base.typing.RegTarget) -> None:
        """Learn a label."""
        self._dicts.learn(x, y)

    def predict_one(self, x: Features) -> float:
        """Return the prediction without changing the state."""
        return float(self.learner.predict(self._dicts.row(x))[0])


class QuFURClassifier(_QueryingEstimator, base.Classifier):
    """Classification with label queries under a budget: `Experts` or `Softmax` in river's interface.

    Classes need not be declared: before the first label the prediction is None, and a new class refits all
    experts. `Softmax` is trained to convergence on all labels whenever one arrives, so that a label costs
    O(n) after n labels. Otherwise it behaves like `QuFURRegressor`.

    Parameters
    ----------
    model
        None is `Experts`, which adds classes as they arrive. `Experts(classes=[...])` and `Refit(...)` accept
        only their declared classes. The class `qufur.Softmax` itself adds classes and features.
    budget, alpha, rule, intercept, seed
        As in `QuFURRegressor`.
    regularization
        λ > 0 of the uncertainty. `Softmax` only, like `intercept`.

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

    _linear = Softmax

    def __post_init__(self) -> None:
        self._classes: dict[base.typing.ClfTarget, int] = {}
        super().__post_init__()

    def _linear_model(self) -> Softmax:
        return Softmax(1, 2, regularization=self.regularization)

    def _ensemble(self) -> EnsembleModel:
        if self.model is None:  # the first label adds classes
            return Experts()
        model = self._given_ensemble()
        self._classes = {name: number for number, name in enumerate(model.classes or ())}
        return replace(model, classes=range(len(self._classes)))

    @property
    def _multiclass(self) -> bool:
        return True

    def learn_one(self, x: Features, y: base.typing.ClfTarget) -> None:
        """Learn a label; its class may be new unless `model` declares the classes."""
        self._dicts.row(x)
        if y not in self._classes:
            if isinstance(self.model, EnsembleModel):
                raise invalid("y", "QuFURClassifier", f"one of {list(self._classes)}", repr(y))
            self._classes[y] = len(self._classes)
            self._dicts.set_classes(max(2, len(self._classes)))
        self._dicts.learn(x, self._classes[y])

    def predict_proba_one(self, x: Features, **kwargs: Any) -> dict[base.typing.ClfTarget, float]:
        """Return the probability of each class seen so far."""
        if len(self._classes) < 2:
            return dict.fromkeys(self._classes, 1.0)
        probabilities = self.learner.predict_proba(self._dicts.row(x)[None])
        return dict(zip(self._classes, probabilities[0].tolist(), strict=True))

    def predict_one(self, x: Features, **kwargs: Any) -> base.typing.ClfTarget | None:
        """Return the most probable class, or None before the first label, without changing the state."""
        if len(self._classes) < 2:
            return next(iter(self._classes), None)
        return list(self._classes)[int(self.learner.predict(self._dicts.row(x)).item())]
