"""Frozen copies of states: the same predictions and Δ, whatever happens to the state afterwards."""

import numpy as np
import pytest

from qufur import Learner, QuFUR
from qufur.models import MODELS

X = np.random.default_rng(2).normal(size=(60, 3)) / 2
MODELS_TO_FREEZE = [model for cls in MODELS for model in cls.examples(3)]


def answers(state):
    return state.predict(X[40:]), state.uncertainty(X[40:])


def used(model, *, retracts):
    """Return a learner with labels and outstanding queries, one of them retracted last with `retracts`."""
    learner = Learner(model, QuFUR(6.0), seed=1)
    y = model.label_codec.examples(np.clip(X[:, 0], -1, 1))
    for x in X[:25]:
        learner.ask(x)
    ids = list(learner.outstanding)
    learner.tell_many(ids[::2], y[ids[::2]])
    if retracts and len(learner.outstanding) > 1:
        learner.retract(learner.outstanding[0])
    return learner, y


@pytest.mark.parametrize("retracts", [False, True])
@pytest.mark.parametrize("model", MODELS_TO_FREEZE, ids=repr)
def test_frozen_copy_is_unaffected_by_later_changes(model, retracts):
    learner, y = used(model, retracts=retracts)
    frozen, expected = learner.state.frozen(), answers(learner.state)
    learner.ask_many(3 * X[25:40])
    learner.tell_many(learner.outstanding, y[: len(learner.outstanding)])
    learner.learn(X[:20], y[20:40])
    for mine, theirs in zip(answers(frozen), expected, strict=True):
        np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize("model", MODELS_TO_FREEZE, ids=repr)
def test_freezing_changes_no_bit_of_the_state(model):
    ends = []
    for freezes in (False, True):
        learner, y = used(model, retracts=True)
        if freezes:
            answers(learner.state.frozen())
        else:
            answers(learner.state)
        learner.tell_many(learner.outstanding, y[: len(learner.outstanding)])
        learner.ask_many(X[25:40])
        ends.append(answers(learner.state))
    for mine, theirs in zip(*ends, strict=True):
        np.testing.assert_array_equal(mine, theirs)
