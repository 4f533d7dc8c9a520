"""Blocks: decisions do not depend on how a block is divided, and the adaptive block size."""

import numpy as np
import pytest

from qufur import DomainOracle
from qufur.blocks import BlockSize, decide
from qufur.models.lookahead import BlockCost, BlockLimits, Lookahead

DOMAIN = np.repeat([0, 1], 3)


class BuysAll(Lookahead):
    """Look-ahead that decides `rows_at_once` rows per offer and buys every label that a rule queries."""

    def __init__(self, rows_at_once):
        self.rows_at_once = rows_at_once
        self.uncertainty = np.ones(len(DOMAIN))

    def __len__(self):
        return len(DOMAIN)

    def decide(self, terms):
        wanted = np.flatnonzero(self.uncertainty[: len(terms.lowest_threshold)] > terms.lowest_threshold)
        for row in wanted.tolist():
            terms.buy(row, 1.0)
        return BlockCost(len(terms.lowest_threshold), len(terms.lowest_threshold), len(wanted))

    def finish(self, ids, arrivals):
        raise NotImplementedError


def test_offers_split_by_domain_share_one_count():
    rule = DomainOracle(durations=[3, 3], dims=[9, 1], budget=3)
    whole, apart = (
        decide(BuysAll(rows), range(6), rule.start(), np.random.default_rng(1), DOMAIN) for rows in (None, 2)
    )
    assert len(set(whole.probability.tolist())) == 2
    np.testing.assert_array_equal(apart.probability, whole.probability)
    assert apart.query.tolist() == whole.query.tolist()
    assert apart.spent.tolist() == whole.spent.tolist()
    assert apart.effort == whole.effort == BlockCost(6, 6, whole.query.sum())


@pytest.mark.parametrize(
    ("rows", "candidates", "queries", "size"),
    [
        (64, 40, 32, 128),  # few are rejected
        (64, 40, 30, 64),
        (64, 40, 23, 32),  # many
        (640, 49, 49, 64),  # enough candidates
        (640, 129, 129, 32),  # too many
    ],
)
def test_block_size_grows_while_few_candidates_are_rejected(rows, candidates, queries, size):
    block = BlockSize(BlockLimits(64))
    block.update(BlockCost(rows, candidates, queries))
    assert block.value == size


def test_block_size_stays_within_limits_or_fixed():
    for first, fixed, effort, end in (
        (64, None, BlockCost(64, 64, 0), 16),
        (64, None, BlockCost(64, 0, 0), BlockLimits().largest),
        (64, 7, BlockCost(64, 64, 0), 7),
        (64, 7, BlockCost(64, 0, 0), 7),
    ):
        block = BlockSize(BlockLimits(first), fixed)
        for _ in range(9):
            block.update(effort)
        assert block.value == end
