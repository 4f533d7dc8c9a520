"""The coverage study: its intervals are those of `predict` and of the report, and it counts them right."""

import numpy as np
import polars as pl
import pytest
from sklearn.linear_model import LinearRegression

from qufur import Learner, Refit, Uniform, run, streams
from qufur.experiments.base import run_all
from qufur.experiments.real import coverage, tables

RNG = np.random.default_rng(0)
X = RNG.normal(size=(600, 3))
STREAM = streams.Arrays(X, X @ [1.0, 2.0, 3.0] + RNG.normal(size=600))


def learner(seed=1):
    return Learner(Refit(LinearRegression()), Uniform(0.3), seed=seed)


def test_half_widths_are_the_likely_errors_on_the_way():
    trace = run(learner(), STREAM)
    again, expected = learner(), []
    for x, y in zip(STREAM.X, STREAM.y, strict=True):
        expected.append([again.ledger.likely_error(level) for level in (0.5, 0.9)])
        answer = again.ask(x)
        if answer.query:
            again.tell(answer.id, y)
    np.testing.assert_allclose(coverage.half_widths(trace, STREAM.y, [0.5, 0.9]), expected, rtol=1e-6)


def test_normal_errors_are_covered_as_wanted():
    found = coverage.measure(learner(0), STREAM)
    assert found["level"] == [0.8, 0.9, 0.95]
    for level, covered, late, half, quantile in zip(
        *(found[name] for name in ("level", "covered", "late_covered", "half_width")),
        (1.28, 1.64, 1.96),
        strict=True,
    ):
        # The first errors are larger than noise and stay in the window.
        assert level - 0.05 < covered < level + 0.12
        assert level - 0.05 < late < level + 0.12
        assert quantile < half * STREAM.y.std() < 1.7 * quantile
    assert found["report_held"] == 1
    assert found["report_error"] < 0.3
    assert 0.3 < found["report_width"] < 30
    assert found["queries"] == run(learner(0), STREAM).queries


def test_a_report_that_is_wrong_on_the_way_is_counted(monkeypatch):
    class Wrong(Learner):
        def report(self):
            from dataclasses import replace

            true = super().report()
            return replace(true, interval=(0.0, 0.0)) if self.ledger.examples == 300 else true

    wrong = Wrong(Refit(LinearRegression()), Uniform(0.3), seed=1)
    assert coverage.measure(wrong, STREAM)["report_held"] == 0


@pytest.mark.usefixtures("few_trees")
def test_from_cells_to_page(monkeypatch):
    table = tables.RealTable(X[:200], STREAM.y[:200], "drawn")
    monkeypatch.setattr(coverage, "TABLES", {"normal": lambda seed: table})
    found = run_all([coverage.EXPERIMENT], seeds=2)["real-coverage"]
    assert len(found) == 2 * len(coverage.LEVELS)
    assert all(isinstance(statement.holds, bool) for statement in coverage.judge(found))
    for listing in coverage.listings(found):
        assert [len(row) for row in listing.rows] == [len(listing.header)]
    assert len(coverage.draw(found).axes) == 2
    assert coverage.judge(found.clear()) == []


def doctored(covered=0.9, held=20):
    """Return 20 runs on two tables; the second is covered so much, and so many reports were right."""
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
def test_a_table_that_is_covered_too_little_is_named(covered, holds):
    everywhere, late, _ = coverage.judge(doctored(covered))
    assert everywhere.holds is late.holds is holds
    assert "(two)" in everywhere.measured or covered == 0.9


@pytest.mark.parametrize(("held", "holds"), [(20, True), (17, True), (16, False)])
def test_reports_that_are_wrong_too_often_fail(held, holds):
    # Of 20 runs, 4 or more are wrong with a chance of 1.6 % if 5 % may be.
    assert coverage.judge(doctored(held=held))[2].holds is holds


def test_one_seed_decides_nothing():
    table = doctored()
    assert coverage.judge(table.filter(table["seed"] == 0))[0].holds is None


def test_the_time_of_every_table_is_known():
    assert coverage.SECONDS.keys() == coverage.TABLES.keys()
    assert [cell for cell in ({"stream": "bike"}, {"stream": "diabetes"}) if coverage.in_brief(cell)] == [
        {"stream": "diabetes"}
    ]
