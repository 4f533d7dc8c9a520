"""The client: what a learner does, over HTTP, and again where an answer was lost."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes

from qufur import Experts, Learner, Paced, Ridge, Steady
from qufur.service import Client, connection

FIELDS = "prediction", "uncertainty", "probability", "query"


@pytest.fixture
def client(server):
    with Client(server.url, patience=5) as found:
        yield found


@pytest.fixture
def learner(client, stream):
    """A client of a small stream that asks for every label at first."""
    return client.stream(stream())


@pytest.fixture
def sleeps(monkeypatch):
    """Waits that were not waited for."""
    found = []
    monkeypatch.setattr(connection.time, "sleep", found.append)
    return found


def loop(learner, X, y):
    """Do what the first page of the manual does; return every answer."""
    answers = []
    for x, label in zip(X, y, strict=True):
        answer = learner.ask(x)
        if answer.query:
            learner.tell(answer.id, label)
        answers.append(answer)
    return answers


@pytest.mark.usefixtures("few_trees")
def test_the_loop_of_the_manual_works_by_changing_one_line(client):
    X, y = (part[:60] for part in load_diabetes(return_X_y=True, scaled=False))
    learner = Learner(Experts(), Steady(budget=9, horizon=len(X)))
    here = loop(learner, X, y)
    learner = client.create("diabetes", dim=10, budget=9, horizon=len(X))
    there = loop(learner, X, y)
    assert [[getattr(one, name) for name in FIELDS] for one in there] == [
        pytest.approx([getattr(one, name) for name in FIELDS], rel=1e-9) for one in here
    ]
    assert [one.why for one in there] == [one.why for one in here]
    assert (learner.spent, learner.left, learner.outstanding) == (9, 0, ())


@pytest.mark.parametrize("kind", [float, np.float32])
def test_a_batch_is_answered_as_by_a_learner(client, kind):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(200, 3)).astype(kind)
    here = Learner(Ridge(3, intercept=True, label_range=(-1, 1)), Paced(20, 200)).ask_many(X)
    there = client.create(
        f"batch-{kind.__name__}", dim=3, budget=20, horizon=200, model="ridge", label_range=[-1, 1]
    )
    found = there.ask_many(X)
    for name in FIELDS:
        np.testing.assert_allclose(getattr(found, name), getattr(here, name), rtol=1e-9)
    assert len(set(found.id)) == len(found) == 200
    there.tell_many(there.outstanding, np.zeros(len(there.outstanding)))
    assert there.state["told"] == there.spent == here.query.sum()
