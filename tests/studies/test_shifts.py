"""Tests of the shift study: documented streams and shifts, and verdicts that can fail."""

import math

import numpy as np
import polars as pl
import pytest
from studies.shifts import inputs, real, scores, synthetic
from studies.shifts.streams import FAMILIES, NO_BEGINNINGS, OF_NORM_ONE, ONE_AFTER_ANOTHER

from qufur.data import MissingDataError
from qufur.experiments.base import run_all
from qufur.experiments.paper.learners import unit_ridge
from qufur.experiments.paper.panels import Panel
from qufur.streams import HiddenDomains


@pytest.mark.parametrize("name", FAMILIES)
def test_shift_positions_and_norms_match_their_descriptions(name):
    family = FAMILIES[name]
    stream = family.stream(0)
    norms = np.linalg.norm(stream.X, axis=1)
    assert np.allclose(norms, 1) == (family.norms == OF_NORM_ONE)
    domain = stream.domain if stream.domain is not None else np.full(stream.horizon, -1)
    assert (scores.beginnings(domain) == []) == (family.beginnings == NO_BEGINNINGS)
    assert (np.abs(stream.y) < 5).all()


def test_adversary_begins_a_domain_at_every_direction():
    stream = FAMILIES["adversary, equal domains"].stream(0)
    assert scores.beginnings(stream.domain) == list(range(100, 3000, 100))


def test_alarms_are_counted_at_their_detection_time():
    assert scores.alarms(np.repeat([0.01, 1.0], 96)) == [112]


def test_alarms_at_the_edges_of_the_window_are_scored():
    assert scores.match([150, 251], [100, 200]) == ({100: 50}, 1)
    assert scores.match([100], [100]) == ({}, 1)
    assert scores.rise(np.zeros(4), np.array([0, 0, 1, 1]), 2) == math.inf


def doctored(found, false):
    """Return held-out rows of five seeds, with `found` of 100 detected and `false` false alarms."""
    rows = [
        {"set": "held-out", "norms": norms, "kind": kind, "seed": seed, "stream": kind, "rule": "QuFUR(1)"}
        | {"examples": 10_000, "beginnings": 100, "found": found, "clear": 100, "clear_found": found}
        | {"delay": 16 * found, "false": false}
        for norms in synthetic.LEAST_FOUND
        for kind in (ONE_AFTER_ANOTHER, NO_BEGINNINGS)
        for seed in range(5)
    ]
    return pl.DataFrame(rows)


@pytest.mark.parametrize(
    ("found", "false", "holds"),
    [
        (99, 0, [True, True, True, True]),
        (94, 4, [False, True, False, True]),
        (74, 6, [False, False, False, False]),
    ],
)
def test_shift_verdicts_depend_on_the_numbers(found, false, holds):
    assert [s.holds for s in synthetic.judge(doctored(found, false))] == holds


def test_shift_listings_are_readable():
    assert scores.cells_of(doctored(90, 3)) == ["2000", "90%", "2000", "90%", "16", "0.30"]


@pytest.fixture
def small(monkeypatch):
    names = ("five short domains", "iid, short")
    monkeypatch.setattr(synthetic, "FAMILIES", {name: FAMILIES[name] for name in names})


def test_shift_study_runs_every_rule(small):
    table = run_all([synthetic.EXPERIMENT], seeds=2)["shifts"]
    assert set(table["rule"]) == set(scores.RULES)
    assert (table["found"] <= table["beginnings"]).all()
    assert (table["clear_found"] <= table["clear"]).all()
    kinds, rules, streams = synthetic.listings(table)
    assert [row[0] for row in kinds.rows] == [ONE_AFTER_ANOTHER, NO_BEGINNINGS]
    assert [row[0] for row in rules.rows] == list(scores.RULES)
    assert [row[0] for row in streams.rows] == ["five short domains", "iid, short"]
    assert streams.rows[1][1:6] == ["0", "–", "0", "–", "–"]
    assert synthetic.draw(table).axes


def absent(seed):
    raise MissingDataError("faces.mat is missing.")


def test_missing_real_shift_data_are_named(monkeypatch):
    here = Panel("Here", lambda seed: HiddenDomains([200, 200], [4, 2], seed=seed), unit_ridge, ())
    mixed = Panel("Mixed", lambda seed: HiddenDomains([200], [4], seed=seed), unit_ridge, ())
    panels = {"here": here, "mixed": mixed, "absent": Panel("Absent", absent, unit_ridge, ())}
    monkeypatch.setattr(real, "PANELS", panels)
    assert real.missing() == {"Absent": "faces.mat is missing."}
    table = run_all([real.EXPERIMENT], seeds=2)["shifts-real"]
    assert set(table["stream"]) == {"here", "mixed"}
    assert [s.source for s in real.judge(table)] == [
        "shifts, real data with domains",
        "shifts, real data in random order",
    ]
    (listing,) = real.listings(table)
    assert [row[0] for row in listing.rows] == ["Here", "Mixed"]
    assert [axis.get_title() for axis in real.draw(table).axes] == ["Here", "Mixed"]
    assert real.judge(table.clear()) == []


def test_quick_shift_run_uses_few_streams():
    assert {c["stream"] for c in synthetic.cells(1) if synthetic.in_brief(c)} <= FAMILIES.keys()
    assert real.in_brief({"stream": "portraits"})
    assert not real.in_brief({"stream": "bike"})


def test_alarms_count_as_true_only_near_a_change():
    scores_near_shifts = inputs._score(np.array([95, 160, 420]), [100, 400], [100, 200, 400], 50)
    assert scores_near_shifts == {"found": 2, "alarms": 3, "false": 0}
    assert inputs._score(np.array([151]), [100], [100], 50) == {"found": 0, "alarms": 1, "false": 1}
    assert inputs._score(np.array([], dtype=int), [100], [100], 50) == {"found": 0, "alarms": 0, "false": 0}


def test_domain_in_other_columns_is_detected_from_inputs(monkeypatch):
    stream = HiddenDomains([300, 300], [3, 3], seed=0)
    shuffled = inputs._shuffled(lambda seed: stream)
    sources = {
        "two": inputs.Source(inputs.SYNTHETIC, "held-out", lambda seed: stream),
        "mixed": inputs.Source(inputs.SHUFFLED, "", shuffled, ()),
    }
    monkeypatch.setattr(inputs, "SOURCES", sources)
    table = run_all([inputs.EXPERIMENT], seeds=2)["shifts-inputs"]
    assert table["examples"].unique().to_list() == [600]
    by_inputs = table.filter(table["signal"] == inputs.AFTER)
    assert by_inputs["found"].to_list() == [1, 1, 0, 0]
    assert by_inputs["false"].sum() == 0
    assert [s.holds for s in inputs.judge(table)] == [True, True]
    assert inputs.draw(table).axes


@pytest.mark.parametrize(("found", "false", "holds"), [(9, 0, True), (8, 2, False)])
def test_input_shift_verdicts_depend_on_the_numbers(found, false, holds):
    groups = [("held-out", inputs.SYNTHETIC), ("", inputs.SHUFFLED), ("", inputs.ORDERED)]
    rows = [
        {"set": part, "group": group, "seed": seed, "signal": inputs.AFTER, "examples": 10_000}
        | {"beginnings": 10, "found": found, "false": false}
        for part, group in groups
        for seed in range(3)
    ]
    assert [s.holds for s in inputs.judge(pl.DataFrame(rows))] == [holds] * 3
