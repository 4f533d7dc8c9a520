"""Every promise of `qufur.checks`, for every model with every rule; and rules that break them."""

import dataclasses

import numpy as np
import pytest

from qufur import QuFUR, Ridge, Threshold, checks
from qufur.lookahead import decide
from qufur.models.base import Lookahead
from qufur.rules.base import Spending


@pytest.mark.parametrize("check", checks.CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize(("model", "rule"), list(checks.combinations()), ids=repr)
def test_contract(check, model, rule):
    check(model, rule)


@dataclasses.dataclass(frozen=True)
class OverspendsByOne(QuFUR):
    def caps(self):
        return super().caps() + 1


class TwoCoinsPerBlock(Spending):
    def offer(self, count, rng, domain):
        rng.random()
        return super().offer(count, rng, domain)


@dataclasses.dataclass(frozen=True)
class UsesTwoRandomNumbers(QuFUR):
    def start(self):
        return TwoCoinsPerBlock(self)


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
def test_wrong_rules_are_caught(rule, broken):
    with pytest.raises(AssertionError):
        broken(Ridge(4), rule)


class LooksBack(Lookahead):
    """A broken look-ahead: two rows that each want to query only if the other does not."""

    uncertainty = np.ones(2)

    def consider(self, rows):
        pass

    def given(self, chosen):
        return np.where(chosen[::-1], 0.0, 1.0)

    def settle(self):
        pass

    def finish(self, ids, arrivals):
        return np.zeros(2)


def test_a_look_ahead_that_looks_back_does_not_run_forever():
    offer = Threshold(0.5).start().offer(2, np.random.default_rng(0), None)
    with pytest.raises(RuntimeError, match="LooksBack lets Δ of a row depend on later rows"):
        decide(LooksBack(), offer)
