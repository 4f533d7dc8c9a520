"""river: a stream of dicts whose domain shifts, with 50 of 1000 labels.

The stream is the example of the paper's introduction: a few inputs that span many dimensions, then many that
span one. The error is the mean squared difference between the predictions and the noiseless labels.
"""

from river import metrics

from qufur import Paced, Ridge, Uniform, streams
from qufur.adapters.river import QuFURRegressor

SEEDS = range(3)
RULES = {"paced by uncertainty": Paced(50, 1000), "at random": Uniform(0.05), "all labels": Uniform(1.0)}


def evaluate(rule, seed):
    """Return the number of labels bought, and the error."""
    linear = {"model": Ridge, "regularization": 0.1, "intercept": False}
    model, error = QuFURRegressor(rule=rule, seed=seed, **linear), metrics.MSE()
    for chunk in streams.HiddenDomains.introduction(9, 1000, seed=seed).chunks(1):
        x = {f"feature {i}": value for i, value in enumerate(chunk.X[0].tolist())}
        error.update(chunk.truth[0], model.predict_one(x))
        if model.query_one(x):
            model.learn_one(x, chunk.y[0])
    return model.learner.spent, error.get()


print(f"{'labels':<22}{'bought':>8}{'error':>9}")
for name, rule in RULES.items():
    labels, errors = zip(*(evaluate(rule, seed) for seed in SEEDS), strict=True)
    print(f"{name:<22}{sum(labels) / len(labels):>8.1f}{sum(errors) / len(errors):>9.4f}")
