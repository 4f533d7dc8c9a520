"""Tests of the kernel experiment: d̃ of repeated inputs, and verdicts that can fail."""

import numpy as np
import polars as pl
import pytest

from qufur.experiments.base import run_all
from qufur.experiments.theory import kernel
from qufur.theory import effective_dimension, kernel_bounds

EXPERIMENT = kernel.EXPERIMENT
LENGTHS = (0.2, 1.0)


@pytest.fixture(scope="module", autouse=True)
def small():
    kernel.structure.cache_clear()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernel, "DURATIONS", (200, 300))
        patch.setattr(kernel, "POINTS", 50)
        patch.setattr(kernel, "LENGTHS", LENGTHS)
        patch.setattr(kernel, "ALPHAS", np.array([0.5, 5.0]))
        yield
    kernel.structure.cache_clear()


@pytest.fixture(scope="module")
def table(small):
    return run_all([EXPERIMENT], seeds=2)["kernel"]


def doctored(table, **columns):
    """Return the verdicts of a table with replaced columns."""
    statements = EXPERIMENT.judge(table.with_columns(**columns))
    return dict(zip(["flat", "bounds", "Q", "R", "R as bound"], [s.holds for s in statements], strict=True))


def order(power):
    """Return Σ √(d̃_u T_u) of each row's kernel times a power of α."""
    root = pl.col("length").replace_strict({ell: kernel.structure(ell).root_sum for ell in LENGTHS})
    return root * pl.col("alpha") ** power


def test_kernel_experiment_returns_one_row_per_cell_and_a_figure(table):
    assert len(table) == len(EXPERIMENT.cells(2)) == 2 * len(LENGTHS) * 2
    assert len(EXPERIMENT.draw(table).axes) == 2
    for statement in EXPERIMENT.judge(table):
        assert statement.claim
        assert statement.measured


def test_kernel_figure_can_be_drawn_from_one_seed():
    EXPERIMENT.draw(run_all([EXPERIMENT], seeds=1)["kernel"])


@pytest.mark.parametrize("length", LENGTHS)
def test_effective_dimensions_match_the_whole_stream(length):
    rbf = kernel.rbf(length)
    X = kernel.stream(rbf, 0).X
    parts = np.split(X, [kernel.DURATIONS[0]])
    dims = tuple(effective_dimension(part, rbf, regularization=1.0) for part in parts)
    assert kernel.structure(length).dims == dims
    assert tuple(map(len, parts)) == kernel.structure(length).durations


def test_kernel_truth_has_norm_1():
    rbf = kernel.rbf(1.0)
    stream = kernel.stream(rbf, 3)
    X = np.unique(stream.X, axis=0)
    truth = stream.truth[np.unique(stream.X, axis=0, return_index=True)[1]]
    # f* lies in the span of the points, so its norm is that of its interpolation.
    assert truth @ np.linalg.lstsq(rbf(X), truth, rcond=1e-10)[0] == pytest.approx(1.0, abs=1e-4)
    assert np.abs(stream.truth).max() <= 1


def test_kernel_statements_hold_on_real_runs(table):
    changed = doctored(table, queries=order(0.5), regret=order(-0.5))
    assert [changed[name] for name in ("flat", "Q", "R")] == [True, True, True]


def test_kernel_statement_fails_for_a_product_that_is_not_flat(table):
    assert doctored(table, queries=order(0.5) * (1 + 4 * (pl.col("length") > 0.5)))["flat"] is False
    assert doctored(table, queries=order(0.5), regret=order(0.3))["flat"] is False


def test_kernel_statement_fails_for_wrong_slopes(table):
    for power in (0.35, 0.65):
        changed = doctored(table, queries=order(power), regret=order(-power))
        assert (changed["Q"], changed["R"]) == (False, False)


def test_kernel_bound_slope_is_compared_with_the_bounds(table):
    regret = {
        (ell, a): kernel_bounds(kernel.structure(ell), a, delta=None).regret
        for ell in LENGTHS
        for a in kernel.ALPHAS
    }
    scaled = [0.1 * regret[ell, a] for ell, a in table.select("length", "alpha").iter_rows()]
    assert doctored(table, regret=pl.Series(scaled))["R as bound"] is True
    assert doctored(table, regret=pl.Series(scaled) * pl.col("alpha"))["R as bound"] is False


@pytest.mark.parametrize("column", ["queries", "regret"])
def test_kernel_statement_fails_for_totals_above_the_bounds(table, column):
    assert doctored(table, **{column: pl.lit(1e6)})["bounds"] is False
