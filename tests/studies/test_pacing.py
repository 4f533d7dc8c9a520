"""Tests of the pacing study: documented streams, and verdicts that can fail."""

import json
import math
from itertools import product

import numpy as np
import polars as pl
import pytest
from studies.pacing import known_horizon, real, scores, unknown_horizon
from studies.pacing.bike import BikeSharing
from studies.pacing.sources import Visits, arrivals, duplicates, power_law, recurring
from studies.pacing.streams import DESIGN, FAMILIES, HELD_OUT, LONG, model_of

from qufur import QuFUR
from qufur.data import MissingDataError
from qufur.experiments.base import run_all
from qufur.experiments.paper.learners import unit_ridge
from qufur.experiments.paper.panels import Panel
from qufur.streams import Arrays, HiddenDomains, LowerBound

# Horizon and number of columns; those of the paper's two settings depend on the seed.
SIZES = {
    "homogeneous": (1000, 50),
    "long and easy first": (2000, 20),
    "long and easy last": (2000, 20),
    "two halves": (3000, 20),
    "iid, short": (500, 5),
    "iid": (2000, 20),
    "interleaved": (1000, 27),
    "shuffled": (2000, 80),
    "adversary": (5000, 32),
    "adversary, equal domains": (3000, 30),
    "the scripts' setting": (1700, 78),
    "the text's setting": (1700, 102),
    "the introduction's example": (2000, 51),
    "noise 0.5": (2000, 20),
    "iid, long": (15_000, 30),
    "easy first, long": (15_000, 30),
    "easy last, long": (15_000, 30),
    "interleaved, long": (13_000, 30),
    "Poisson arrivals": (3000, 60),
    "steady arrivals": (2000, 120),
    "recurring": (3000, 30),
    "growing durations": (5100, 32),
    "shrinking durations": (5100, 32),
    "random lengths": (2500, 74),
    "five short domains": (500, 20),
    "spectrum 1/k": (3000, 50),
    "spectrum 1/√k": (3000, 50),
    "overlapping subspaces": (2400, 24),
    "late and small": (4000, 24),
    "burst, then one direction": (2000, 41),
    "duplicates": (2000, 20),
    "Poisson arrivals, long": (13_000, 80),
    "steady arrivals, long": (20_000, 120),
    "growing durations, long": (13_260, 40),
    "spectrum 1/k, long": (16_000, 50),
    "late and small, long": (20_000, 23),
}


def test_held_out_streams_are_half_of_all():
    assert len(DESIGN) == len(HELD_OUT) == 18
    assert not DESIGN.keys() & HELD_OUT.keys()
    horizons = [family(0).horizon for family in FAMILIES.values()]
    assert (min(horizons), max(horizons), sum(T >= LONG for T in horizons)) == (500, 20_000, 9)


@pytest.mark.parametrize("name", FAMILIES)
def test_pacing_streams_match_their_descriptions(name):
    first, again, other = (Arrays.of(FAMILIES[name](seed)) for seed in (0, 0, 1))
    assert first.X.shape == SIZES[name]
    np.testing.assert_allclose(np.linalg.norm(first.X, axis=1), 1.0)
    assert np.array_equal(first.X, again.X)
    assert np.array_equal(first.y, again.y)
    assert first.X.shape != other.X.shape or not np.array_equal(first.y, other.y)
    # Labels are realizable with the stated noise, within 10 %: three standard errors of 500 labels.
    residuals = first.y - first.truth
    if not name.startswith("adversary"):
        noise = {"noise 0.5": 0.5, "the text's setting": math.sqrt(0.1)}.get(name, 0.1)
        assert abs(residuals.std() / noise - 1) < 0.1


def test_truth_norm_matches_the_stream():
    assert model_of(LowerBound([20], [9])).penalty == pytest.approx(1 / 9)
    assert model_of(HiddenDomains([20], [9])).penalty == 1.0


def test_oracle_gets_the_visited_domains():
    stream = Visits(np.array([0, 1, 1, 0, 1]), [2, 3], np.random.default_rng(0))
    assert (stream.durations, stream.dims) == ((2, 3), (2, 3))
    assert ((stream.X != 0) == (np.arange(5) < 2) ^ (stream.domain == 1)[:, None]).all()


def test_arriving_domains_stay():
    stream = arrivals(400, 8, 2, seed=3)
    first = [np.flatnonzero(stream.domain == u)[0] for u in range(8)]
    assert first == sorted(first)
    assert first[0] == 0
    assert min(stream.durations) >= 1
    assert (stream.domain[first[-1] + 1 :] == 0).any()


def test_recurring_domains_recur():
    assert recurring(2, 2, [1, 1], seed=0).domain.tolist() == [0, 0, 1, 1, 0, 0, 1, 1]


def test_spectrum_decays_as_documented():
    # Scaling a row to norm 1 divides all its coordinates by one number and keeps the ratios of their medians.
    median = np.median(abs(power_law(20_000, 400, 1.0, seed=0).X[:, 9:12]), axis=0)
    np.testing.assert_allclose(median / median[0], 10 / np.array([10, 11, 12]), rtol=0.05)


def test_duplicates_are_few_and_skewed_to_the_first():
    counts = np.unique(duplicates(3000, 5, 3, seed=0).X, axis=0, return_counts=True)[1]
    assert len(counts) == 5
    # 1/(1 + 1/2 + … + 1/5) = 0.438 of them; the tolerance is four standard errors.
    assert abs(counts.max() / 3000 - 0.438) < 0.036


@pytest.fixture
def small(monkeypatch):
    """Two short streams, one of each set."""
    families = {
        "homogeneous": lambda seed: HiddenDomains([200, 200], [4, 2], seed=seed),
        "duplicates": lambda seed: duplicates(400, 20, 6, seed),
    }
    monkeypatch.setattr(known_horizon, "FAMILIES", families)
    monkeypatch.setattr(unknown_horizon, "FAMILIES", families)
    monkeypatch.setattr(known_horizon, "SHARES", (0.05, 0.2))


def test_pacing_study_runs_every_available_rule(small):
    table = run_all([known_horizon.EXPERIMENT], seeds=2)["pacing"]
    rows = table.group_by("stream", "share").agg(pl.col("rule").unique())
    ran = {(stream, share): set(rules) for stream, share, rules in rows.rows()}
    everywhere = {"QuFUR", "Paced", "Steady", "Uniform", "Greedy", "Threshold"}
    # 20 labels are fewer than the copies of Algorithm 2, and the stream of duplicates has no domains.
    assert ran == {
        ("homogeneous", 0.05): everywhere | {"DomainOracle"},
        ("homogeneous", 0.2): everywhere | {"DomainOracle", "FixedBudget"},
        ("duplicates", 0.05): everywhere,
        ("duplicates", 0.2): everywhere | {"FixedBudget"},
    }
    tuned = table.filter(table["rule"] == "QuFUR")
    assert (tuned["queries"] == tuned["budget"]).all()
    assert (table["queries"] <= table["budget"]).all()
    assert len(known_horizon.draw(table).axes) == 2
    rules, streams = known_horizon.listings(table)
    assert [row[0] for row in rules.rows] == list(known_horizon.NAMES)
    assert rules.header == ["rule", "design", "held-out", "spent"]
    assert next(row for row in rules.rows if row[0] == "QuFUR")[1:] == ["1.000 / 1.00"] * 2 + ["100%"]
    assert streams.rows[1][streams.header.index("DomainOracle")] == "–"


def test_quick_pacing_run_uses_short_streams():
    brief = [cell for cell in known_horizon.cells(1) if known_horizon.in_brief(cell)]
    assert {cell["stream"] for cell in brief} == set(known_horizon.BRIEF)
    assert max(FAMILIES[name](0).horizon for name in known_horizon.BRIEF) <= 1000


def doctored(queries=100, **factors):
    """Return a table with these ratios of Paced's regret to QuFUR's, by stream."""
    places = {"a": ("design", 1000), "b": ("held-out", 1000), "c": ("held-out", LONG)}
    rng = np.random.default_rng(7)
    rows = []
    for (stream, (kind, T)), share, seed in product(places.items(), (0.05, 0.1), range(5)):
        cell = {"stream": stream, "set": kind, "share": share, "seed": seed, "horizon": T, "budget": 100}
        regret = rng.uniform(9, 11)
        for rule, value in (("QuFUR", regret), ("Paced", regret * factors.get(stream, 1.05))):
            rows.append({**cell, "rule": rule, "queries": queries, "regret": value})
    return pl.DataFrame(rows)


def verdicts(table, part):
    statements = [s for s in known_horizon.judge(table) if part in s.claim]
    assert statements
    return [s.holds for s in statements]


def test_pacing_statements_hold_for_a_good_rule():
    assert {s.holds for s in known_horizon.judge(doctored())} == {True}


@pytest.mark.parametrize(
    ("stream", "failing"),
    [("a", [False, True, True]), ("b", [True, False, True]), ("c", [True, False, False])],
)
def test_pacing_statement_names_sets_with_bad_results(stream, failing):
    table = doctored(**{stream: 1.9})
    assert verdicts(table, "geometric mean") == failing
    assert verdicts(table, "on no stream") == failing


def test_bad_budget_is_listed_when_the_stream_passes():
    at_first = (pl.col("rule") == "Paced") & (pl.col("share") == 0.05) & (pl.col("stream") == "b")
    table = doctored().with_columns(regret=pl.col("regret") * pl.when(at_first).then(1.9).otherwise(1.0))
    (worst,) = [s for s in known_horizon.judge(table) if "on no stream" in s.claim and "held" in s.source]
    assert worst.holds
    assert worst.measured.endswith("at one budget 2.00 (b, 5%)")


def test_steady_rule_is_evaluated_separately():
    table = doctored()
    steady = table.filter(table["rule"] == "Paced").with_columns(rule=pl.lit("Steady"))
    statements = known_horizon.judge(pl.concat([table, steady.with_columns(regret=1.3 * pl.col("regret"))]))
    assert [s.holds for s in statements if "Steady's regret" in s.claim] == [False] * 3
    assert {s.holds for s in statements if "Paced" in s.claim} == {True}


def test_spending_statement_fails_for_under_and_overspending():
    part = "never exceeds its budget"
    assert [verdicts(doctored(q), part) for q in (97, 98, 100, 101)] == [[False], [True], [True], [False]]


def test_pacing_study_claims_nothing_without_the_evaluated_rule():
    table = doctored().filter(pl.col("rule") == "QuFUR")
    assert known_horizon.judge(table) == []
    assert real.judge(table) == []


def test_ratios_use_means_over_seeds():
    table = doctored(a=1.5)
    assert scores.of_streams(table, "Paced")["a"].value == pytest.approx(1.5)
    assert scores.of_shares(table, "Paced")["a", 0.1] == pytest.approx(1.5)
    assert scores.mean_ratio(scores.paired(table, "Paced")) == pytest.approx((1.5 * 1.05**2) ** (1 / 3))


def absent(seed):
    raise MissingDataError("bikes.csv is missing.")


@pytest.fixture
def panels(monkeypatch):
    here = Panel("Here", lambda seed: HiddenDomains([150, 150], [4, 2], seed=seed), unit_ridge, ())
    monkeypatch.setattr(real, "PANELS", {"here": here, "absent": Panel("Absent", absent, unit_ridge, ())})


def test_missing_real_data_are_named(panels):
    assert real.missing() == {"Absent": "bikes.csv is missing."}
    table = run_all([real.EXPERIMENT], seeds=2)["pacing-real"]
    assert set(table["stream"]) == {"here"}
    assert set(table["rule"]) == set(real.NAMES)
    assert (table["queries"] <= table["budget"]).all()
    assert real.draw(table).axes
    (listing,) = real.listings(table)
    assert listing.title == "Here: mean loss"
    assert len(listing.rows) == len(real.NAMES)


@pytest.mark.parametrize(("factor", "holds"), [(0.9, [True, True, True]), (1.3, [False, False, False])])
def test_real_losses_are_compared_with_every_rival(factor, holds):
    paced = doctored(a=factor, b=factor, c=factor).rename({"regret": "loss"})
    rivals = [
        paced.filter(pl.col("rule") == "QuFUR").with_columns(rule=pl.lit(r)) for r in ("Uniform", "Greedy")
    ]
    assert [s.holds for s in real.judge(pl.concat([paced, *rivals]))] == holds


def test_alpha_search_does_not_train_classifiers():
    from qufur import Softmax

    assert real._untrained(Softmax(3, 2, cap=False)).cap is False
    assert real._untrained(unit_ridge(HiddenDomains([5], [3]), 0)).dim == 3


BIKES = """hr ,mnth ,weekday ,weathersit ,yr ,holiday ,workingday ,temp ,atemp ,hum ,windspeed ,cnt
 0 , 1 , 6 , 1 , 0 , 0 , 0 , 0.24 , 0.28 , 0.81 , 0 , 16
 1 , 2 , 6 , 1 , 0 , 0 , 0 , 0.22 , 0.27 , 0.8 , 0 , 40
 1 , 1 , 0 , 2 , 1 , 0 , 1 , 0.2 , 0.2 , 0.7 , 0.1 , 5
"""


def test_bike_rows_are_in_chronological_order(monkeypatch, tmp_path):
    import gzip

    path = tmp_path / "tables" / "bike_hour.csv.gz"
    path.parent.mkdir()
    path.write_bytes(gzip.compress(BIKES.encode()))
    monkeypatch.setenv("QUFUR_DATA", str(tmp_path))
    stream = BikeSharing(0)
    assert stream.y.tolist() == [16.0, 40.0, 5.0]
    assert stream.domain.tolist() == [0, 1, 12]
    assert stream.X[:, :2].tolist() == [[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]]  # hours 0 and 1
    assert stream.X.shape == (3, 2 + 2 + 2 + 2 + 7)
    assert stream.label_range == (5.0, 40.0)


def test_hindsight_threshold_uses_the_actual_draws():
    stream = HiddenDomains([200, 200], [4, 2])
    for draw_seed in range(5):
        queries, _ = known_horizon.play_rule_class(QuFUR, 37, stream, draw_seed)
        assert queries == 37


def test_pacing_rows_are_plain_values(small):
    cell = known_horizon.cells(1)[0]
    assert json.loads(json.dumps(known_horizon.play(cell)))["budget"] == 20


def test_rates_are_compared_at_their_actual_spend(small):
    table = run_all([unknown_horizon.EXPERIMENT], seeds=2)["pacing-rate"]
    for _, rows in table.group_by("stream", "share", "seed"):
        bought = dict(rows.select("rule", "queries").rows())
        assert set(bought) == set(unknown_horizon.NAMES)
        assert bought["QuFUR"] == bought["Paced"] >= bought["Uniform"]
    assert len(unknown_horizon.draw(table).axes) == 2
    *_, bought = unknown_horizon.listings(table)
    assert bought.header == ["labels ÷ ρT", "ρ = 5%", "ρ = 20%"]
    assert [row[0] for row in bought.rows] == ["design", "held-out"]


@pytest.mark.parametrize(
    ("over", "factor", "holds"),
    [(82.0, 1.05, [True] * 4), (82.1, 1.05, [False] + [True] * 3), (82.0, 1.5, [True] + [False] * 3)],
)
def test_rate_statement_fails_for_exceeded_rates_and_high_costs(over, factor, holds):
    table = doctored(a=factor, b=factor, c=factor).with_columns(over=pl.lit(over))
    assert [s.holds for s in unknown_horizon.judge(table)] == holds
