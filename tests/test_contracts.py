"""Every check of `qufur.checks` passes for every model with every rule, and fails for invalid ones."""

import dataclasses
import itertools
import pickle
from operator import itemgetter

import numpy as np
import pytest
from tests.soak import SOAK, spread

from qufur import KernelRidge, Learner, QuFUR, Ridge, checks
from qufur.rules.spending import Spending

pytestmark = pytest.mark.usefixtures("few_trees")


def indexed_combinations():
    """Return every pair of model and rule by the index of the model and of the rule."""
    grid, models = {}, []
    for model, rule in checks.combinations():
        if model not in models:
            models.append(model)
            rules = itertools.count()
        grid[len(models), next(rules)] = model, rule
    return grid


CONTRACTS = {
    (*place, number): pytest.param(check, *pair, id=f"{check.__name__}-{pair[0]}-{pair[1]}")
    for place, pair in indexed_combinations().items()
    for number, check in enumerate(checks.CHECKS)
}


@pytest.mark.parametrize(("check", "model", "rule"), spread(CONTRACTS, 8))
def test_contract(check, model, rule, monkeypatch):
    if not SOAK and not isinstance(model, Ridge | KernelRidge):  # others take ten times as long
        monkeypatch.setattr(checks, "BLOCKS", (7, checks.HORIZON))
    check(model, rule)


@pytest.mark.parametrize("axes", [(0, 1), (0, 2), (1, 2)])
def test_contract_covers_every_pair_of_model_and_rule(axes):
    tried = spread({index: index for index in CONTRACTS}, 8)
    assert {itemgetter(*axes)(index) for index in tried} == {itemgetter(*axes)(place) for place in CONTRACTS}


@pytest.mark.parametrize(("model", "rule"), spread(indexed_combinations()), ids=repr)
def test_pickled_learner_continues(model, rule):
    stream = checks.shifting_stream(model)
    learner = Learner(model, rule, seed=7)
    for t in range(30):
        answer = learner.ask(stream.X[t], domain=0)
        if answer.query and t % 3:
            learner.tell(answer.id, stream.y[t])
    twin = pickle.loads(pickle.dumps(learner))
    later = [[one.ask(x, domain=1) for x in stream.X[30:60]] for one in (learner, twin)]
    assert later[0] == later[1]


class ReportsOneLabelTooMany(Spending):
    @property
    def left(self):
        return super().left + 1


@dataclasses.dataclass(frozen=True)
class OverspendsByOne(QuFUR):
    def start(self):
        return ReportsOneLabelTooMany(self)


class TwoDrawsPerBlock(Spending):
    def offer(self, count, rng, domain):
        rng.random()
        return super().offer(count, rng, domain)


@dataclasses.dataclass(frozen=True)
class UsesTwoRandomNumbers(QuFUR):
    def start(self):
        return TwoDrawsPerBlock(self)


@dataclasses.dataclass(frozen=True)
class ReadsGlobalRandomness(QuFUR):
    def probability(self, uncertainty, domain):
        return super().probability(uncertainty, domain) * np.random.random()  # noqa: NPY002


@pytest.mark.parametrize(
    ("rule", "broken"),
    [
        (OverspendsByOne(50.0, budget=9), checks.check_budget),
        (UsesTwoRandomNumbers(2.0), checks.check_blocks),
        (ReadsGlobalRandomness(2.0), checks.check_seed),
    ],
    ids=lambda value: getattr(value, "__name__", type(value).__name__),
)
def test_invalid_rules_fail_the_contract(rule, broken):
    with pytest.raises(AssertionError):
        broken(Ridge(4), rule)


class ForgetsWhenWidened(Ridge):
    def with_columns(self, state, constants):
        after, moved = super().with_columns(state, constants)
        moved.labelled = after.posterior()
        return after, moved


def test_model_that_loses_state_on_widening_fails_the_contract():
    with pytest.raises(AssertionError):
        checks.check_widen(ForgetsWhenWidened(4), QuFUR(2.0))


def test_models_without_widening_are_listed():
    def refuses(model):
        learner = Learner(model, QuFUR(2.0))
        learner.ask(np.zeros(4))
        try:
            learner.widen([0.0])
        except ValueError:
            return True
        return learner.ask(np.zeros(5)).id != 1

    refused = {type(model).__name__ for model, _ in checks.combinations() if refuses(model)}
    assert refused == {"ConfidenceSet", "FisherSoftmax", "Softmax"}  # one that trains by steps
