"""Methods that spend a budget of labels on a table, and their losses on every row except the first.

All methods buy the first row, and its loss is not counted: a prediction before any label depends on the
scale of the labels, not on the method. The reference methods use random labels, common models of
scikit-learn, and the best of these so far.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from qufur.arrays import Floats, Ints
from qufur.experiments.fixed_budget import OURS, SAME, at_random, rows_at_random, steady
from qufur.models import Experts, Ridge
from qufur.streams import Arrays, Scaled, Summary


@dataclass(frozen=True)
class RecordingExperts(Experts):
    """Experts that record their class probabilities per row; a trace has only the classes."""

    recorded: list[Floats] = field(default_factory=list, kw_only=True, compare=False)

    def predictions(self, outputs: Floats) -> Floats:
        self.recorded.append(outputs)
        return super().predictions(outputs)


GROWTH, SHARE = 0.15, 1 / 40
"""Refit schedule: after this growth of the labels, or this share of the stream if there are new labels."""
TREES = 100
MOST_COLUMNS = 100
"""Columns above which trees sample columns, as those of `Experts` do."""
MOST_BOOSTED = 1000
"""Columns times classes above which boosting takes minutes per fit and is skipped."""
BOOSTED_FROM = 40
"""Minimum labels of boosting. Fewer cannot be split into two leaves of 20: boosting would predict their mean,
which stands in for it."""


def fits(bought: Ints, horizon: int) -> Iterator[tuple[int, slice]]:
    """Yield the number of labels of each fit, and the rows that it predicts.

    >>> [(count, rows.start) for count, rows in fits(np.array([0, 3, 4, 50]), 60)]
    [(1, 1), (2, 4), (3, 5), (4, 51)]
    """
    counts: list[int] = []
    last, since = 0, -1
    for count, row in enumerate(bought.tolist(), 1):
        if count >= last * (1 + GROWTH) or row - since >= SHARE * horizon:
            counts.append(count)
            last, since = count, row
    starts = [int(bought[count - 1]) + 1 for count in counts]
    for count, start, stop in zip(counts, starts, [*starts[1:], horizon], strict=True):
        yield count, slice(start, stop)


def leaders(losses: Floats, bought: Ints) -> Ints:
    """Return, for every row, the model with the smallest loss on the labels bought before it.

    >>> leaders(np.array([[1.0, 0.0], [0.0, 2.0], [0.0, 0.0]]), np.array([0, 1]))
    array([0, 1, 0])
    """
    before = np.searchsorted(bought, np.arange(len(losses)))
    sums = np.cumsum(losses[bought], axis=0)
    return np.asarray(np.vstack([np.zeros_like(sums[:1]), sums])[before].argmin(axis=1))


def usual_numbers(X: Floats, y: Floats, bought: Ints, seed: int) -> Floats:
    """Return, for every row, the prediction of the model with the smallest loss so far; 0 for the first row.

    Predictions are clipped to the range of the labels bought before.
    """
    models = _regressors(X.shape[1], seed)
    values = np.zeros((len(y), len(models)))
    for count, rows in fits(bought, len(y)):
        inputs, labels = X[bought[:count]], y[bought[:count]]
        values[rows] = labels.mean()
        for column, model in enumerate(models):
            if rows.start < rows.stop and _can_fit(model, labels):
                predictions = model.fit(inputs, labels).predict(X[rows])
                values[rows, column] = np.clip(predictions, labels.min(), labels.max())
    return np.asarray(values[np.arange(len(y)), leaders((values - y[:, None]) ** 2, bought)])


def usual_classes(X: Floats, y: Floats, bought: Ints, seed: int, classes: int) -> Floats:
    """Return the class probabilities of every model, (rows, models, classes)."""
    models = _classifiers(X.shape[1], classes, seed)
    values = np.full((len(y), len(models), classes), 1 / classes)
    for count, rows in fits(bought, len(y)):
        inputs, labels = X[bought[:count]], y[bought[:count]].astype(np.int64)
        values[rows] = (np.bincount(labels, minlength=classes) + 0.5) / (count + 0.5 * classes)
        for column, model in enumerate(models):
            if rows.start < rows.stop and _can_fit(model, labels):
                model.fit(inputs, labels)
                values[rows, column] = 0.0
                values[rows, column][:, model.classes_] = model.predict_proba(X[rows])
    return values


def _regressors(columns: int, seed: int) -> Sequence[Any]:
    from sklearn.ensemble import ExtraTreesRegressor, HistGradientBoostingRegressor
    from sklearn.linear_model import RidgeCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    max_features = 1.0 if columns <= MOST_COLUMNS else "sqrt"
    models = [
        make_pipeline(StandardScaler(), RidgeCV(np.logspace(-3, 3, 13))),
        ExtraTreesRegressor(TREES, max_features=max_features, random_state=seed),
    ]
    if columns <= MOST_BOOSTED:
        models.append(HistGradientBoostingRegressor(random_state=seed))
    return models


def _classifiers(columns: int, classes: int, seed: int) -> Sequence[Any]:
    from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    models = [
        make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
        ExtraTreesClassifier(TREES, random_state=seed),
    ]
    if columns * classes <= MOST_BOOSTED:
        models.append(HistGradientBoostingClassifier(random_state=seed))
    return models


def _can_fit(model: Any, labels: Floats | Ints) -> bool:
    min_labels = BOOSTED_FROM if type(model).__name__.startswith("HistGradient") else 2
    return len(labels) >= min_labels and len(np.unique(labels)) > 1


LEAST_PROBABILITY = 0.003
"""Smallest class probability in the log loss: one confident error must not dominate."""

Losses = dict[str, Floats]
Method = Callable[[Arrays, int, int], tuple[int, Losses]]
"""Function of a table, a budget and a seed that returns labels bought and losses by name."""

RIDGE, USUAL = "Ridge", "usual"
NAMES = {
    OURS: "`Experts`, `Steady`",
    SAME: "random labels with the same experts",
    RIDGE: "random labels with `Ridge`",
    USUAL: "random labels with the usual models",
}
BRIEFLY = {SAME: "same experts", RIDGE: "Ridge", USUAL: "usual models"}
"""Column headings of the methods with random labels."""


def numbers_ours(table: Arrays, budget: int, seed: int) -> tuple[int, Losses]:
    """Run experts on labels chosen by `Steady`."""
    from qufur.models import Experts

    trace = steady(Experts(seed=seed), table, budget, seed)
    return trace.queries, {"loss": trace.loss[1:]}


def numbers_same(table: Arrays, budget: int, seed: int) -> tuple[int, Losses]:
    """Run the same experts on random labels."""
    from qufur.models import Experts

    trace = at_random(Experts(seed=seed), table, budget, seed)
    return 1 + trace.queries, {"loss": trace.loss}


def numbers_ridge(table: Arrays, budget: int, seed: int) -> tuple[int, Losses]:
    """Run `Ridge` on random labels, with moments and label range known in hindsight."""
    scaled = scaled_table(table)
    trace = at_random(ridge_for(scaled), scaled, budget, seed)
    return 1 + trace.queries, {"loss": trace.loss}


def scaled_table(table: Arrays) -> Arrays:
    """Return a table whose columns have mean 0 and standard deviation 1/√d over all rows."""
    scaled = Arrays.of(Scaled(table, Summary.of(table.chunks(table.horizon))))
    return Arrays(scaled.X / table.dim**0.5, table.y)


def ridge_for(table: Arrays, regularization: float = 1.0) -> Ridge:
    """Return ridge regression with an intercept, clipped to the range of the labels."""
    label_range = float(table.y.min()), float(table.y.max())
    return Ridge(table.dim, intercept=True, regularization=regularization, label_range=label_range)


def numbers_usual(table: Arrays, budget: int, seed: int) -> tuple[int, Losses]:
    """Fit common models to random labels and use the best so far."""
    bought = rows_at_random(budget, table.horizon, seed)
    values = usual_numbers(table.X, table.y, bought, seed)
    return len(bought), {"loss": ((values - table.y) ** 2)[1:]}


def classes_ours(table: Arrays, budget: int, seed: int) -> tuple[int, Losses]:
    """Run experts on labels chosen by `Steady`."""
    model = experts_for(table, seed)
    trace = steady(model, table, budget, seed)
    return trace.queries, _class_losses(np.concatenate(model.recorded)[1:], table.y[1:])


def classes_same(table: Arrays, budget: int, seed: int) -> tuple[int, Losses]:
    """Run the same experts on random labels."""
    model = experts_for(table, seed)
    trace = at_random(model, table, budget, seed)
    return 1 + trace.queries, _class_losses(np.concatenate(model.recorded), table.y[1:])


def experts_for(table: Arrays, seed: int) -> RecordingExperts:
    """Return experts for the classes of a table."""
    return RecordingExperts(classes=range(class_count(table)), seed=seed)


def class_count(table: Arrays) -> int:
    """Return the number of classes."""
    return int(table.y.max()) + 1


def classes_usual(table: Arrays, budget: int, seed: int) -> tuple[int, Losses]:
    """Fit common models to random labels and use the best so far, by each loss."""
    bought = rows_at_random(budget, table.horizon, seed)
    values = usual_classes(table.X, table.y, bought, seed, class_count(table))
    each = [_class_losses(values[:, model], table.y) for model in range(values.shape[1])]
    losses = {name: np.column_stack([model_losses[name] for model_losses in each]) for name in each[0]}
    rows = np.arange(table.horizon)
    return len(bought), {name: part[rows, leaders(part, bought)][1:] for name, part in losses.items()}


def _class_losses(probabilities: Floats, y: Floats) -> Losses:
    of_truth = np.take_along_axis(probabilities, y.astype(np.int64)[:, None], axis=1)[:, 0]
    return {
        "error": np.asarray(probabilities.argmax(axis=1) != y, dtype=np.float64),
        "log_loss": -np.log(np.maximum(of_truth, LEAST_PROBABILITY)),
    }


FOR_NUMBERS: dict[str, Method] = {
    OURS: numbers_ours,
    SAME: numbers_same,
    RIDGE: numbers_ridge,
    USUAL: numbers_usual,
}
FOR_CLASSES: dict[str, Method] = {OURS: classes_ours, SAME: classes_same, USUAL: classes_usual}
