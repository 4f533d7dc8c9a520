"""Tests of the coverage study: its intervals match `predict` and the report, and its counts are right."""

import numpy as np
import polars as pl
import pytest
from sklearn.linear_model import LinearRegression
from studies.real import coverage, tables

from qufur import Learner, Refit, Uniform, run, streams
from qufur.experiments.base import run_all

RNG = np.random.default_rng(0)
X = RNG.normal(size=(600, 3))
STREAM = streams.Arrays(X, X @ [1.0, 2.0, 3.0] + RNG.normal(size=600))


def learner(seed=1):
    return Learner(Refit(LinearRegression()), Uniform(0.3), seed=seed)


def test_half_widths_match_the_likely_errors_of_a_running_ledger():
    trace = run(learner(), STREAM)
    again, expected = learner(), []
    for x, y in zip(STREAM.X, STREAM.y, strict=True):
        expected.append([again.ledger.likely_error(level) for level in (0.5, 0.9)])
        answer = again.ask(x)
        if answer.query:
            again.tell(answer.id, y)
    np.testing.assert_allclose(coverage.half_widths(trace, STREAM.y, [0.5, 0.9]), expected, rtol=1e-6)


def test_normal_errors_are_covered_at_the_nominal_rate():
    results = coverage.measure(learner(0), STREAM)
    assert results["level"] == [0.8, 0.9, 0.95]
    for level, covered, late, half, quantile in zip(
        *(results[name] for name in ("level", "covered", "late_covered", "half_width")),
        (1.28, 1.64, 1.96),
        strict=True,
    ):
        # The first errors are larger than noise and stay in the window.
        assert level - 0.05 < covered < level + 0.12
        assert level - 0.05 < late < level + 0.12
        assert quantile < half * STREAM.y.std() < 1.7 * quantile
    assert results["report_held"] == 1
    assert results["report_error"] < 0.3
    assert 0.3 < results["report_width"] < 30
    assert results["queries"] == run(learner(0), STREAM).queries


def test_wrong_intermediate_reports_are_counted(monkeypatch):
    class Wrong(Learner):
        def report(self):
            from dataclasses import replace

            true = super().report()
            return replace(true, interval=(0.0, 0.0)) if self.ledger.examples == 300 else true

    wrong = Wrong(Refit(LinearRegression()), Uniform(0.3), seed=1)
    assert coverage.measure(wrong, STREAM)["report_held"] == 0


@pytest.mark.usefixtures("few_trees")
def test_coverage_study_runs_from_cells_to_page(monkeypatch):
    table = tables.RealTable(X[:200], STREAM.y[:200], "drawn")
    monkeypatch.setattr(coverage, "TABLES", {"normal": lambda seed: table})
    results = run_all([coverage.EXPERIMENT], seeds=2)["real-coverage"]
    assert len(results) == 2 * len(coverage.LEVELS)
    assert all(isinstance(statement.holds, bool) for statement in coverage.judge(results))
    for listing in coverage.listings(results):
        assert [len(row) for row in listing.rows] == [len(listing.header)]
    assert len(coverage.draw(results).axes) == 2
    assert coverage.judge(results.clear()) == []


def doctored(covered=0.9, held=20):
    """Return 20 runs on two tables, with this coverage of the second and this number of correct reports."""
    return pl.DataFrame(
        [
            {"stream": stream, "seed": seed, "level": 0.9, "half_width": 1.0, "report_held": int(run < held)}
            | dict.fromkeys(("covered", "late_covered"), share + 0.001 * (-1) ** seed)
            for run, (stream, share, seed) in enumerate(
                (stream, share, seed)
                for stream, share in (("one", 0.9), ("two", covered))
                for seed in range(10)
            )
        ]
    )


@pytest.mark.parametrize(("covered", "holds"), [(0.9, True), (0.871, True), (0.86, False), (1.0, True)])
def test_undercovered_tables_are_named(covered, holds):
    everywhere, late, _ = coverage.judge(doctored(covered))
    assert everywhere.holds is late.holds is holds
    assert "(two)" in everywhere.measured or covered == 0.9


@pytest.mark.parametrize(("held", "holds"), [(20, True), (17, True), (16, False)])
def test_coverage_statement_fails_for_too_many_wrong_reports(held, holds):
    # Of 20 runs, 4 or more are wrong with a chance of 1.6 % if 5 % may be.
    assert coverage.judge(doctored(held=held))[2].holds is holds


def test_coverage_statement_is_undecided_for_one_seed():
    table = doctored()
    assert coverage.judge(table.filter(table["seed"] == 0))[0].holds is None


def test_coverage_durations_exist_for_every_table():
    assert coverage.SECONDS.keys() == coverage.TABLES.keys()
    assert [cell for cell in ({"stream": "bike"}, {"stream": "diabetes"}) if coverage.in_brief(cell)] == [
        {"stream": "diabetes"}
    ]
