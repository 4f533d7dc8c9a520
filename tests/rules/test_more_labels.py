"""Adding to a budget keeps the spend so far, and the sum is never exceeded."""

import copy

import numpy as np
import pytest
from tests.refusals import refusal

from qufur import Experts, Learner, Paced, QuFUR, Ridge, Steady, Uniform
from qufur.rules import RULES
from qufur.rules.from_budget import promise
from qufur.snapshot import decode, encode

ROWS, MORE = 120, 9
X = np.random.default_rng(3).normal(size=(3 * ROWS, 3))
COUNTED = [rule for kind in RULES for rule in kind.examples(ROWS) if rule.limit is not None]
DOMAINS = np.arange(len(X)) % 2


def asked(learner, rows, one_by_one=False):
    domain = DOMAINS[rows] if learner.rule.told_domain else None
    if not one_by_one:
        return learner.ask_many(X[rows], domain=domain).query
    options = [{} if domain is None else {"domain": domain[t]} for t in range(len(X[rows]))]
    return np.array([learner.ask(x, **option).query for x, option in zip(X[rows], options, strict=True)])


@pytest.mark.parametrize("rule", COUNTED, ids=repr)
@pytest.mark.parametrize("before", [0, 50, 130])
def test_added_budget_is_never_exceeded(rule, before):
    block, single = (Learner(Ridge(3), rule, seed=2) for _ in range(2))
    for learner, one_by_one in ((block, False), (single, True)):
        asked(learner, slice(before), one_by_one)
        spent, left = learner.spent, learner.left
        learner.add_budget(MORE)
        assert (learner.spent, learner.left) == (spent, left + MORE)
        assert learner.rule.limit == rule.limit + MORE
    loaded = decode(Learner, copy.deepcopy(encode(block)))
    rest = slice(before, len(X))
    expected = asked(block, rest)
    np.testing.assert_array_equal(asked(single, rest, True), expected)
    np.testing.assert_array_equal(asked(loaded, rest), expected)
    assert block.spent <= rule.limit + MORE


@pytest.mark.parametrize("kind", [Paced, Steady])
def test_added_budget_is_spent_over_the_remaining_rows(kind):
    learner = Learner(Ridge(3), kind(10, 100))
    asked(learner, slice(100))
    learner.add_budget(10)  # the horizon is reached: the rate stays
    assert learner.rule == kind(20, 200)
    query = asked(learner, slice(100, 200))
    assert (query.sum(), learner.left) == (10, 0)
    assert query[20:].sum() >= 4, "it was not all bought at once"
    learner.add_budget(30, 60)
    assert learner.rule == kind(50, 260)
    assert asked(learner, slice(200, 260)).sum() == 30


@pytest.mark.parametrize("kind", [Paced, Steady])
def test_added_budget_keeps_the_horizon(kind):
    learner = Learner(Ridge(3), kind(10, 100))
    asked(learner, slice(50))
    learner.add_budget(20)
    assert learner.rule == kind(30, 100)
    asked(learner, slice(50, 100))
    assert learner.spent == 30


@pytest.mark.parametrize(("kind", "mean"), [(Paced, "level"), (Steady, "mean")])
def test_added_budget_ends_the_current_segment(kind, mean):
    learner = Learner(Ridge(3), kind(10, 100))
    asked(learner, slice(50))
    before = learner.spending.save()
    learner.add_budget(1)
    after = learner.spending.save()
    assert (before["seen"], len(before["stretch"]), after["seen"], after["stretch"]) == (32, 18, 50, [])
    assert after[mean] != before[mean]


def test_added_budget_is_saved_before_labels_have_a_range(tmp_path):
    learner = Learner(Experts(3), Steady(10, 100))
    learner.add_budget(40)
    learner.save(tmp_path / "learner")
    assert Learner.load(tmp_path / "learner").left == 50


@pytest.mark.parametrize("rule", [Steady(0.1), Paced(0.1), Uniform(0.1), QuFUR(2.0)], ids=repr)
def test_share_budget_rejects_added_labels(rule):
    learner = Learner(Ridge(3), rule)
    message = refusal(lambda: learner.add_budget(5))
    assert "must be a count of labels to be added to" in message
    asked(learner, slice(50))
    assert learner.rule is rule


@pytest.mark.parametrize("labels", [0, -1, 2.5, True])
def test_added_labels_must_be_a_count(labels):
    learner = Learner(Ridge(3), Steady(10, 100))
    assert "labels of Learner.add_budget must be" in refusal(lambda: learner.add_budget(labels))
    assert "rows of Learner.add_budget must be" in refusal(lambda: learner.add_budget(1, labels))
    assert learner.left == 10


SHARES = [Steady(0.05), Steady(0.2, burst=3), Paced(0.05), Paced(0.2, burst=20)]


@pytest.mark.parametrize("rule", SHARES, ids=repr)
def test_promise_of_a_share_holds(rule):
    learner = Learner(Ridge(3), rule)
    bought = np.cumsum(asked(learner, slice(len(X))))
    allowance = float(promise(rule).split(" labels have been")[0].split()[-1])
    assert (bought <= rule.share * np.arange(1, len(X) + 1) + allowance).all()
    assert (bought > rule.share * np.arange(1, len(X) + 1)).any(), "the allowance is used"
