"""Curves read off at equal labels."""

import math

import numpy as np
import polars as pl
import pytest

from qufur.sweep.equal_labels import Estimate, at_equal_labels


def test_interpolation_is_on_log_queries_and_never_extrapolates():
    rows = [("A", 1.0, 0, 100, 10, 8.0), ("A", 2.0, 0, 100, 40, 2.0), ("B", 1.0, 0, 100, 20, 1.0)]
    table = pl.DataFrame(
        rows, orient="row", schema=["rule", "parameter", "seed", "horizon", "queries", "regret"]
    )
    curves = at_equal_labels(table, "regret", [0.05, 0.2, 0.4])
    assert curves["A"].shape == (1, 3)
    assert math.isnan(curves["A"][0, 0])
    assert curves["A"][0, 1:] == pytest.approx([5.0, 2.0])
    assert np.isnan(curves["B"][0, [0, 2]]).all()


def test_ratio_error_is_the_spread_of_what_is_not_shared():
    rng = np.random.default_rng(0)
    below = 10 + rng.normal(size=400)
    above = 0.5 * below + 0.1 * rng.normal(size=400)
    ratio = Estimate.ratio(above, below)
    assert ratio.mean == pytest.approx(0.5, abs=0.002)
    # The shared part cancels: 0.1 / (10 √400); a spread estimated from 400 is good to 15 %, 4 sigma.
    assert ratio.error == pytest.approx(0.0005, rel=0.15)


def test_one_seed_has_no_error():
    assert math.isnan(Estimate.of(np.array([2.0])).error)
