"""`Learner.report`: it agrees with the run, states what is unknown, and changes nothing."""

import dataclasses
import math

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from tests.refusals import refusal

from qufur import (
    ConfidenceSet,
    FisherSoftmax,
    Learner,
    Paced,
    QuFUR,
    Refit,
    Ridge,
    Softmax,
    Threshold,
    Uniform,
    run,
    streams,
)
from qufur.checks import combinations, shifting_stream
from qufur.estimates.report import summed_uncertainty
from qufur.hypotheses import LinearBall
from qufur.snapshot import encode

pytestmark = pytest.mark.usefixtures("few_trees")

STREAM = streams.Arrays.of(streams.HiddenDomains([600, 600], [6, 3], noise=0.2, seed=1))


def played(rule, model=None, **options):
    learner = Learner(model or Ridge(9), rule, seed=2)
    return learner, run(learner, STREAM, **options)


def test_report_contains_the_ledger():
    learner, trace = played(Paced(200, 1200, floor=0.02))
    report = learner.report(STREAM.X)
    assert (report.examples, report.labels, report.outstanding, report.left) == (1200, 200, 0, 0)
    low, high = report.interval
    assert low < trace.loss.mean() < high < 0.3
    covered = trace.probability > 0
    weighted = np.where(trace.query, trace.loss, 0)[covered] / trace.probability[covered]
    assert report.loss == pytest.approx(weighted.mean(), rel=1e-3)  # losses above the largest are capped
    assert report.covered == covered.mean()
    assert report.labelled_loss == pytest.approx(trace.loss[trace.query].mean())
    assert report.uncertainty == pytest.approx(trace.uncertainty.sum())
    assert report.saved == pytest.approx(1 - report.uncertainty / np.mean(report.uncertainty_at_random))
    assert 0.15 < report.fit.noise < 0.25
    assert report.fit.misfit == ()
    assert 600 in report.shifts
    text = str(report)
    for words in ("200 of 1200 examples", "% less than with 200 random labels", "no misfit detected"):
        assert words in text
    assert max(map(len, text.splitlines())) <= 100


@pytest.mark.parametrize(("model", "rule"), list(combinations())[::7], ids=str)
def test_report_changes_nothing_for_every_model_and_rule(model, rule):
    stream, learner = shifting_stream(model), Learner(model, rule)
    learner.ask_many(stream.X, domain=stream.domain)
    some = list(learner.outstanding)[::2]
    learner.tell_many(some, stream.y[some])
    before = encode(learner)
    report = learner.report(stream.X if model.tags.label_free else None)
    assert str(report)
    assert report.examples == len(stream.X)
    assert report.outstanding == len(learner.outstanding)
    after = encode(learner)
    assert before[0] == after[0]
    assert all(np.array_equal(before[1][name], array) for name, array in after[1].items())


def test_report_of_a_new_learner_is_unknown():
    report = Learner(Ridge(2), QuFUR(1.0)).report()
    assert (report.examples, report.labels, report.left) == (0, 0, None)
    assert math.isnan(report.loss)
    assert report.interval == (0.0, 4.0)
    assert "unknown: no example had a positive query probability" in str(report)
    assert "unknown: too few labels" in str(report)
    assert Learner(Ridge(2), QuFUR(1.0)).report(np.empty((0, 2))).saved == 0.0


def test_report_loss_is_unknown_before_the_first_label():
    learner = Learner(Ridge(9, label_range=(0, 1000)), Paced(200, 1200), seed=2)
    learner.ask_many(STREAM.X)
    report = learner.report()
    assert math.isnan(report.loss)
    low, high = report.interval
    assert (low, high) == (0.0, pytest.approx(250_000))
    assert "unknown until a covered example is labelled: any value in [0, 250000] is possible" in str(report)
    assert "root mean squared error" not in str(report)
    ids = list(learner.outstanding)
    learner.tell_many(ids[:150], 500 + 300 * STREAM.y[ids[:150]])
    report = learner.report()
    assert "the estimate excludes 50 outstanding labels; the interval allows for any value" in str(report)
    root = float(str(report).split("root mean squared error: ")[1].split(",")[0])
    assert root == pytest.approx(math.sqrt(report.loss), rel=0.01)
    assert "e+" not in str(report)


def test_report_shows_the_last_of_many_new_domains():
    report = played(Paced(200, 1200))[0].report()
    for times, words in (
        ((), "none detected"),
        ((600,), "1 detected, after 600 examples"),
        ((30, 600), "2 detected, after 30, 600 examples"),
        (
            tuple(range(30, 40)),
            "10 detected, the last after 32, 33, 34, 35, 36, 37, 38, 39 examples",
        ),
    ):
        assert str(dataclasses.replace(report, shifts=times)).splitlines()[-1] == f"new domains   {words}"


def test_report_mentions_a_stream_longer_than_the_horizon():
    learner, _ = played(Paced(50, 1000))
    assert learner.spent == 50
    assert "longer than the rule's horizon of 1000 examples" in str(learner.report())
    within, _ = played(Paced(50, 1200))
    assert "horizon" not in str(within.report())


def test_report_excludes_examples_with_probability_0():
    learner, trace = played(Threshold(0.2))
    report = learner.report()
    assert report.covered == trace.query.mean() < 0.2
    assert f"the estimate excludes {100 * (1 - report.covered):.2g} % of the examples" in str(report)
    # The covered examples had query probability 1, so their losses are known.
    assert report.interval == pytest.approx((report.loss, report.loss))


def test_outstanding_and_retracted_labels_widen_the_interval():
    learner = Learner(Ridge(9), QuFUR(1.0, floor=0.05), seed=2)
    learner.ask_many(STREAM.X)
    ids = list(learner.outstanding)
    learner.tell_many(ids[20:], STREAM.y[ids[20:]])
    waiting = learner.report()
    for id in ids[:10]:
        learner.retract(id)
    gone = learner.report()
    assert (gone.retracted, gone.outstanding) == (10, 10)
    assert gone.interval == pytest.approx(waiting.interval)  # still an unknown loss
    assert "10 retracted" in str(gone)
    learner.tell_many(ids[10:20], STREAM.y[ids[10:20]])
    low, high = learner.report().interval
    assert waiting.interval[0] <= low <= high < waiting.interval[1]


def test_report_counts_labels_out_of_range():
    learner = Learner(Ridge(2), QuFUR(1.0))
    learner.tell(learner.ask([1.0, 0.0]).id, 5.0)
    report = learner.report()
    assert (report.loss, report.labelled_loss, report.beyond) == (1.0, 25.0, 1)
    assert "1 label is so far outside the label range that the loss is capped" in str(report)
    assert "root mean squared error: 1, interval [1, 1], labels outside the label range are capped" in str(
        report
    )
    assert "units of the labels" not in str(report)


@pytest.mark.parametrize("beyond", [1.0, 3.0])
def test_report_loss_lies_in_its_interval(beyond):
    # Labels bought with small probabilities have large weights: the estimate exceeds the possible total.
    X = np.random.default_rng(5).normal(size=(400, 3)) / 2
    outside = 0
    for seed in range(40):
        learner = Learner(Ridge(3), QuFUR(0.05), seed=seed)
        run(learner, streams.Arrays(X, np.full(400, beyond)))
        report = learner.report()
        outside += not report.interval[0] <= learner.ledger.estimate().value <= report.interval[1]
        assert math.isnan(report.loss) or report.interval[0] <= report.loss <= report.interval[1]
    assert outside > 0


def test_report_compares_with_a_copy_on_random_labels():
    X = np.random.default_rng(3).normal(size=(700, 3)) / 2
    X[200:400, 1:] = 0
    for labels, seed in ((0, 0), (50, 1), (700, 2)):
        chosen = set(np.random.default_rng(seed).choice(700, labels, replace=False).tolist())
        for half_life in (None, 160):  # forgetting cuts blocks short, here at every tenth example
            M, total = np.eye(3), 0.0
            for t, x in enumerate(X):
                if half_life and t % 10 == 0:
                    M = np.eye(3) + 2 ** (-1 / 16) * (M - np.eye(3))
                total += min(1.0, x @ np.linalg.solve(M, x))
                M += np.outer(x, x) * (t in chosen)
            found = summed_uncertainty(Ridge(3, half_life=half_life), X, labels, seed)
            assert found == pytest.approx(total)
    assert summed_uncertainty(Softmax(3, 2), X, 50, 1) == pytest.approx(
        summed_uncertainty(Ridge(3), X, 50, 1)
    )


def test_report_states_a_misfit():
    X = np.random.default_rng(4).normal(size=(1500, 4)) / 2
    y = np.tanh(4 * X @ np.array([0.5, -0.5, 0.5, 0.5]))
    learner = Learner(Ridge(4), QuFUR(2.0, floor=0.3), seed=1)
    run(learner, streams.Arrays(X, y))
    assert "Errors depend nonlinearly on the prediction" in str(learner.report())


def test_report_rejects_invalid_inputs():
    learner, _ = played(QuFUR(1.0))
    assert "inputs of Learner.report must be all 1200 inputs" in refusal(
        lambda: learner.report(STREAM.X[:-1])
    )
    assert "X of Learner must be of 9 columns" in refusal(lambda: learner.report(STREAM.X[:, 1:]))
    for model in (ConfidenceSet(LinearBall(9), radius=0.1), FisherSoftmax(9, 2)):
        other = Learner(model, QuFUR(1.0))
        assert "depends on labels" in refusal(lambda: other.report(STREAM.X[:0]))  # noqa: B023


def test_loss_is_unknown_while_all_labels_are_equal():
    learner = Learner(Refit(LinearRegression()), Uniform(0.5))
    for x in STREAM.X[:40]:
        answer = learner.ask(x)
        if answer.query:
            learner.tell(answer.id, 4.0)
    report = learner.report()
    assert np.isnan([report.loss, *report.interval]).all()
    text = " ".join(str(report).split())
    assert "mean loss unknown: no example arrived after two different labels" in text
    assert "inf" not in text
