"""Intervals of answers: equal to those of `Learner.predict`, and unchanged when an answer is repeated."""

import numpy as np
import pytest
from tests.service.conftest import opened

from qufur.service.config import StreamConfig
from qufur.service.examples import numbered
from qufur.service.service import Service

X = np.random.default_rng(4).normal(size=(120, 2))
PRICES = np.exp(2 * X[:, 0]) + 1


@pytest.mark.usefixtures("few_trees")
def test_answer_intervals_are_clipped_and_survive_restarts(tmp_path):
    store = opened(tmp_path, "one.db")
    service = Service(store)
    service.create(StreamConfig(name="s", dim=2, budget="50%"), "me")
    for start in range(0, 100, 10):
        ids = [str(place) for place in range(start, start + 10)]
        said = service.ask("s", numbered(ids, X[start : start + 10]), "me")
        labels = {one.id: float(PRICES[int(one.id)]) for one in said if one.query}
        service.tell("s", labels, "me", replace=False, accept_outliers=True)
    learner = service.stream("s").workbook.learner
    prediction, low, high = learner.predict(X[100:110], interval=0.9)
    assert (prediction - learner.ledger.likely_error(0.9) < 0).any()
    rows = numbered([str(place) for place in range(100, 110)], X[100:110])
    said = service.ask("s", rows, "me")
    np.testing.assert_allclose([one.interval for one in said], np.column_stack([low, high]))
    assert (low >= np.minimum(prediction, 0)).all()
    service.commit()
    service.learn("s", numbered(["free"], X[110:111]), [-500.0], "me")
    for again in (service, Service(store)):
        assert again.ask("s", rows, "me") == said
    store.close()
