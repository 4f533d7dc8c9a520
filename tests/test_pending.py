"""Every outstanding query has one record, however it was asked; a closed query has none."""

import numpy as np
import pytest

from qufur import FixedBudget, Learner, QuFUR, Ridge, Softmax, snapshot
from qufur.models.lookahead import Arrivals

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
        return Arrivals(block.queried[1:3], np.ones(2), np.full(2, len(block)))

    record([learner.ask(x) for x in X[:20]])
    record(learner.ask_many(X[20:40], ids=[f"x{i}" for i in range(20)]))
    block, prediction = learner._run_block(X[40:], None, exchange)
    columns = prediction[block.query], block.probability[block.query]
    decisions |= dict(zip(block.queried, zip(*columns, strict=True), strict=True))
    told, retracted = learner.outstanding[::7], learner.outstanding[3::7]
    answered = {*block.queried[1:3], *told, *retracted}
    learner.tell_many(told, np.ones(len(told)))
    learner.retract_many(retracted)
    queries = learner.pending
    assert {id: (query.prediction, query.probability) for id, query in queries.items()} == {
        id: decision for id, decision in decisions.items() if id not in answered
    }
    assert queries.keys() == learner.state.pending.keys()
    for id in learner.outstanding:
        charged = charged + queries[id].charge.copies
        learner.retract(id)
    assert (learner.pending, learner.state.pending) == ({}, {})
    assert charged.sum() >= len(decisions) - len(answered) > 5


@pytest.mark.parametrize("part", ["ids", "ledger", "state"])
def test_file_with_inconsistent_pending_queries_is_rejected(part):
    learner = Learner(Ridge(3), QuFUR(9.0))
    learner.ask_many(X[:5])
    header, tensors = snapshot.encode(learner)
    ids = list(learner.outstanding)
    loaded = snapshot.decode(Learner, (header, tensors)).pending
    assert list(loaded) == ids
    assert [query[:2] for query in loaded.values()] == [query[:2] for query in learner.pending.values()]
    other = [*ids[:-1], 77]
    within = {"ids": other, "ledger": {**header["ledger"], "open": other}}
    within["state"] = {**header["state"], "pending": other}
    with pytest.raises(ValueError, match="of the file must be"):
        snapshot.decode(Learner, ({**header, part: within[part]}, tensors))
