"""Random call sequences: single inputs against batches, with saving and loading in between."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeClassifier
from tests.soak import times

from qufur import Experts, Learner, Refit, Steady

pytestmark = pytest.mark.usefixtures("few_trees")
MODELS = {
    "experts": Experts(),
    "experts for classes": Experts(classes=["a", "b", "c"]),
    "refit": Refit(LinearRegression(), label_range=(-50, 50)),
    "refit for classes": Refit(DecisionTreeClassifier(max_depth=3), classes=["a", "b", "c"]),
}


class Twins:
    """Two learners that receive the same calls; each method makes one type of call."""

    def __init__(self, model, seed, path):
        self.rng, self.path = np.random.default_rng(seed), path
        self.single, self.batches = (Learner(model, Steady(40, 120), seed=seed) for _ in range(2))
        self.labels = {}

    def rows(self):
        X = self.rng.normal(size=(int(self.rng.integers(1, 12)), 2)) * [1, 3] + [0, 50]
        numbers = 10 * np.tanh(X[:, 0]) + (X[:, 1] - 50) ** 2
        classes = self.single.model.classes
        if classes is None:
            return X, numbers.tolist()
        return X, [classes[code] for code in np.digitize(numbers, [-2, 5]).tolist()]

    def some_ids(self):
        pending = np.array(self.single.outstanding, dtype=int)
        return self.rng.permutation(pending)[: int(self.rng.integers(0, len(pending) + 1))].tolist()

    def ask(self):
        X, labels = self.rows()
        one_by_one, together = [self.single.ask(x) for x in X], self.batches.ask_many(X)
        assert [(one.id, one.query) for one in one_by_one] == list(
            zip(together.id, together.query, strict=True)
        )
        np.testing.assert_allclose([one.uncertainty for one in one_by_one], together.uncertainty, rtol=1e-7)
        self.labels |= zip(together.id, labels, strict=True)

    def tell(self):
        ids = self.some_ids()
        for id in ids:
            self.single.tell(id, self.labels[id])
        self.batches.tell_many(ids, [self.labels[id] for id in ids])

    def retract(self):
        ids = self.some_ids()[:2]
        for id in ids:
            self.single.retract(id)
        self.batches.retract_many(ids)

    def learn(self):
        X, labels = self.rows()
        for one in (self.single, self.batches):
            one.learn(X, labels)

    def save_and_load(self):
        self.batches.save(self.path)
        self.batches = Learner.load(self.path)

    def check(self):
        assert self.single.outstanding == self.batches.outstanding
        assert (self.single.spent, self.single.left) == (self.batches.spent, self.batches.left)
        X, _ = self.rows()
        method = "predict" if self.single.model.classes is None else "predict_proba"
        np.testing.assert_allclose(
            *(getattr(one, method)(X) for one in (self.single, self.batches)), rtol=1e-6
        )


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
@pytest.mark.parametrize("seed", range(times(300)))
def test_twins_agree_after_every_call(tmp_path, model, seed):
    twins = Twins(model, seed, tmp_path / "learner.qufur")
    calls = [
        twins.ask,
        twins.ask,
        twins.ask,
        twins.tell,
        twins.tell,
        twins.retract,
        twins.learn,
        twins.save_and_load,
    ]
    for index in twins.rng.integers(len(calls), size=25).tolist():
        calls[index]()
        twins.check()
