"""Tests of comparisons at equal labels."""

import math

import numpy as np
import polars as pl
import pytest

from qufur.sweep.equal_labels import at_equal_labels


def test_at_equal_labels_interpolates_log_queries_and_never_extrapolates():
    rows = [("A", 1.0, 0, 100, 10, 8.0), ("A", 2.0, 0, 100, 40, 2.0), ("B", 1.0, 0, 100, 20, 1.0)]
    table = pl.DataFrame(
        rows, orient="row", schema=["rule", "parameter", "seed", "horizon", "queries", "regret"]
    )
    curves = at_equal_labels(table, "regret", [0.05, 0.2, 0.4])
    assert curves["A"].shape == (1, 3)
    assert math.isnan(curves["A"][0, 0])
    assert curves["A"][0, 1:] == pytest.approx([5.0, 2.0])
    assert np.isnan(curves["B"][0, [0, 2]]).all()
