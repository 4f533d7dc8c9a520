"""Tests of rows that enter M in one batch, against rows that enter it one by one."""

import numpy as np
import pytest

from qufur.models.gram.cholesky import FactorGram
from qufur.models.gram.gram import Gram
from qufur.models.gram.inverse import InverseGram
from qufur.models.gram.low_rank import LowRankGram


@pytest.mark.parametrize(
    ("count", "size", "form"),
    [(3, 1.0, LowRankGram), (40, 1.0, InverseGram), (40, 1e6, FactorGram)],
    ids=["few", "many", "huge"],
)
def test_initialize_equals_adding_the_rows(count, size, form):
    rng = np.random.default_rng(3)
    rows, others = (np.column_stack([size * rng.normal(size=(count, 6)), np.full(count, 10.0)]) for _ in "ab")
    whole, parts = Gram(7, 0.3, 10.0), Gram(7, 0.3, 10.0)
    whole.initialize(rows)
    for row in rows:
        parts.add(row[None])
    assert isinstance(whole.form, form)
    np.testing.assert_allclose(whole.variance(others), parts.variance(others), rtol=1e-8)
    whole.add(others)
    parts.add(others)
    np.testing.assert_allclose(whole.variance(rows), parts.variance(rows), rtol=1e-8)
    assert not whole.coef.any()
