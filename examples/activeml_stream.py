"""scikit-activeml: choose labels on a stream whose domain shifts, for a regressor of another library.

The stream is the example of the paper's introduction: a few inputs that span many dimensions, then many that
span one. The error is the mean squared difference between the predictions, each made before its label, and
the noiseless labels.
"""

import numpy as np
from skactiveml.stream import StreamRandomSampling
from sklearn.linear_model import Ridge as Batch

from qufur import Ridge, streams
from qufur.adapters.skactiveml import PacedBudgetManager, StreamQuFUR

SEEDS = range(2)
SHARE, HORIZON = 0.05, 1000


def qufur(seed):
    """Return qufur's strategy with its budget manager."""
    manager = PacedBudgetManager(budget=SHARE, horizon=HORIZON, random_state=seed)
    return StreamQuFUR(model=Ridge, regularization=0.1, intercept=False, budget_manager=manager)


def at_random(seed):
    """Return scikit-activeml's strategy."""
    return StreamRandomSampling(budget=SHARE, random_state=seed)


def evaluate(strategy, seed):
    """Return the number of labels bought, and the error."""
    (chunk,) = streams.HiddenDomains.introduction(9, HORIZON, seed=seed).chunks(HORIZON)
    bought, predictions, model = [], np.zeros(HORIZON), None
    for i in range(HORIZON):
        x = chunk.X[i : i + 1]
        predictions[i] = 0.0 if model is None else model.predict(x)[0]
        queried = strategy.query(x)
        strategy.update(x, queried)
        if len(queried):
            bought.append(i)
            model = Batch(alpha=0.1, fit_intercept=False).fit(chunk.X[bought], chunk.y[bought])
    return len(bought), np.mean((predictions - chunk.truth) ** 2)


print(f"{'strategy':<16}{'labels':>8}{'error':>9}")
for make in (qufur, at_random):
    labels, error = np.mean([evaluate(make(seed), seed) for seed in SEEDS], axis=0)
    print(f"{make.__name__:<16}{labels:>8.1f}{error:>9.4f}")
