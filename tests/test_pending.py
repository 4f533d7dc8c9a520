"""Every outstanding query has one record, however it was asked; a closed query has none."""

import numpy as np
import pytest

from qufur import FixedBudget, Learner, QuFUR, Ridge, Softmax, snapshot
from qufur.models.lookahead import Arrivals
from qufur.pending import Pending, restore_pending, save_pending
from qufur.rules.spending import Charge

X = np.random.default_rng(0).normal(size=(60, 3)) / 2


@pytest.mark.parametrize("rule", [QuFUR(3.0), FixedBudget(600, 60)])
@pytest.mark.parametrize("model", [Ridge(3), Softmax(3, 2)])
def test_pending_query_keeps_its_answer_until_the_label_arrives(model, rule):
    learner, decisions, charged = Learner(model, rule, seed=1), {}, 0

    def record(answers):
        decisions.update(
            (answer.id, (answer.prediction, answer.probability)) for answer in answers if answer.query
        )

    def exchange(block):
        return Arrivals(block.queries[1:3], np.ones(2), np.full(2, len(block)))

    record([learner.ask(x) for x in X[:20]])
    record(learner.ask_many(X[20:40], ids=[f"x{i}" for i in range(20)]))
    block, prediction = learner._run_block(X[40:], None, exchange)
    columns = prediction[block.query], block.probability[block.query]
    queried = [query.id for query in block.queries]
    decisions |= dict(zip(queried, zip(*columns, strict=True), strict=True))
    told, retracted = learner.outstanding[::7], learner.outstanding[3::7]
    answered = {*queried[1:3], *told, *retracted}
    learner.tell_many(told, np.ones(len(told)))
    learner.retract_many(retracted)
    queries = learner.pending
    assert {id: (query.prediction, query.probability) for id, query in queries.items()} == {
        id: decision for id, decision in decisions.items() if id not in answered
    }
    assert queries is learner.state.pending
    assert all(query.id == id and len(query.features) == 3 for id, query in queries.items())
    for id in learner.outstanding:
        charged = charged + queries[id].charge.copies
        learner.retract(id)
    assert learner.pending == {}
    assert charged.sum() >= len(decisions) - len(answered) > 5


@pytest.mark.parametrize("part", ["numbers", "charges", "features", "asked_at", "cells"])
def test_file_with_inconsistent_pending_queries_is_rejected(part):
    learner = Learner(Ridge(3), QuFUR(9.0))
    learner.ask_many(X[:5])
    header, tensors = snapshot.encode(learner)
    loaded = snapshot.decode(Learner, (header, tensors)).pending
    assert list(loaded) == list(learner.outstanding)
    assert save_pending(loaded.values(), 1).keys() == save_pending(learner.pending.values(), 1).keys()
    shortened = {**tensors, f"pending.{part}": tensors[f"pending.{part}"][:-1]}
    with pytest.raises(ValueError, match=r"must be|argument"):
        snapshot.decode(Learner, (header, shortened))
    with pytest.raises(ValueError, match="must be"):
        snapshot.decode(Learner, ({**header, "ids": [*header["ids"][:-1], header["ids"][0]]}, tensors))


def test_all_fields_of_a_query_are_saved():
    fields = {
        "prediction": 0.5,
        "probability": 0.25,
        "mean_probability": 0.125,
        "at_random": True,
        "largest_loss": 4.0,
        "weight": 2.0,
        "step": 3,
        "labels_seen": 7,
        "asked_at": 1_700_000_000_000_000,
        "cells": '[0,"Zoë\ud83d"]',
    }
    charge = Charge(np.array([True, False]), 12)
    rows = {"features": np.array([1.0, 2.0]), "expert_outputs": np.ones((3, 1))}
    query = Pending("a", charge=charge, **fields, **rows)
    assert {name for name in Pending.__slots__ if name not in ("id", "charge", *rows)} == fields.keys()
    (loaded,) = restore_pending(["a"], [12], save_pending([query], copies=2)).values()
    assert {name: getattr(loaded, name) for name in fields} == fields
    assert [type(getattr(loaded, name)) for name in fields] == [type(value) for value in fields.values()]
    for name, row in rows.items():
        np.testing.assert_array_equal(getattr(loaded, name), row)
    assert (loaded.id, loaded.charge.place, loaded.charge.copies.tolist()) == ("a", 12, [True, False])
