"""How experts are doing: losses of what was said when examples came, by inverse probability."""

import dataclasses

import numpy as np
import pytest
from tests.same import same_content

from qufur import Experts, Learner, Paced, Ridge, Steady, Uniform, run, streams
from qufur.models.diagnostics.standing import Standing
from qufur.models.experts.class_errors import ClassError
from qufur.models.experts.learning_curve import AllAtRandom
from qufur.models.experts.track_record import TrackRecord
from qufur.snapshot import encode

RNG = np.random.default_rng(0)
X = RNG.normal(size=(150, 3))
Y = 50 + X @ [1.0, 2.0, 3.0] + RNG.normal(size=150)
STANDING = Standing(
    labels=100,
    loss=4.0,
    names=("linear", "constant", "linear, labels at random", "trees"),
    losses=(5.0, 9.0, 6.25, 4.41),
    weights=(0.2, 0.1, 0.3, 0.4),
    standard_errors=(0.5, 0.5, 0.5, 0.5),
    constant=(1,),
    at_random=(2,),
    share_at_random=0.5,
    squared=True,
)


def played(model=None, labels=Y, rule=None):
    learner = Learner(model or Experts(), rule or Steady(60, 150), seed=1)
    run(learner, streams.Arrays(X, labels))
    return learner


@pytest.fixture(scope="module")
def report():
    return played().report()


@pytest.mark.parametrize("classes", [None, ["low", "high"]], ids=["numbers", "classes"])
def test_sums_are_of_what_was_said_whenever_the_label_comes(classes, tmp_path):
    labels = Y if classes is None else np.where(Y > 50, "high", "low")
    number = (lambda label: label) if classes is None else classes.index
    learner, said = Learner(Experts(classes=classes), Steady(60, 150), seed=1), {}
    losses, p, leads = [], [], []
    for t in range(150):
        answer = learner.ask(X[t])
        if answer.query:
            predictions, combined, *_ = learner.state.said[t]
            shown, known = [*predictions, combined], np.ptp(predictions, axis=0).any()
            said[t] = (
                [float(s[0]) if classes is None else int(np.argmax(s)) for s in shown],
                answer.probability,
                known,
            )
            assert said[t][0][-1] == (answer.prediction if classes is None else number(answer.prediction))
        if t % 10 == 9:
            for id in list(learner.outstanding)[::-1][1:]:
                learner.tell(id, labels[id])
                everyone, probability, known = said.pop(id)
                if not known:  # nothing was known of labels when it was said
                    continue
                truth = number(labels[id])
                loss = [(s - truth) ** 2 if classes is None else float(s != truth) for s in everyone]
                losses.append(loss)
                p.append(probability)
                leads.append(np.subtract(loss[-1], loss[:-1]))
        if t == 99:
            learner.save(tmp_path / "learner")
            again = Learner.load(tmp_path / "learner")
            assert same_content(encode(learner), encode(again))
            learner = again
    assert learner.outstanding
    losses, p, leads = map(np.array, (losses, p, leads))
    standing = learner.report().standing
    means = (losses / p[:, None]).sum(axis=0) / (1 / p).sum()
    np.testing.assert_allclose([*standing.losses, standing.loss], means)
    errors = np.sqrt((leads**2 * ((1 - p) / p**2)[:, None]).sum(axis=0)) / (1 / p).sum()
    np.testing.assert_allclose(standing.standard_errors, errors)
    assert standing.labels == len(p) > 30
    assert standing.squared == (classes is None)


def test_estimates_and_errors_are_right_in_the_mean_over_coins():
    # 2000 runs: means have relative standard errors of about 1 %, standard deviations of 2 %.
    losses = RNG.exponential(size=(400, 2))
    p = RNG.uniform(0.1, 0.9, 400)
    leads, errors = [], []
    for _ in range(2000):
        record = TrackRecord(1)
        bought = RNG.random(400) < p
        record.take_in(losses[bought], p[bought])
        expert, committee = record.means()
        leads.append(committee - expert)
        errors.append(record.standard_errors()[0])
    truth = losses.mean(axis=0)
    assert np.mean(leads) == pytest.approx(truth[1] - truth[0], abs=0.01)
    assert np.mean(errors) == pytest.approx(np.std(leads), rel=0.1)


def test_the_names_say_who_is_who(report):
    standing = report.standing
    assert len(standing.names) == len(standing.losses) == len(standing.weights)
    assert sum(standing.weights) == pytest.approx(1)
    assert standing.constant
    assert standing.at_random
    assert 0.2 < standing.share_at_random < 0.8
    assert standing.losses[standing.best] == min(standing.losses)
    assert not standing.is_worse_than(standing.best_constant)


def test_the_report_shows_losses_in_the_units_of_the_labels(report):
    standing, text = report.standing, " ".join(str(report).split())
    root = f"{float(f'{standing.loss**0.5:.3g}'):g}"
    assert f"experts compared on {standing.labels} labels: together {root}, best expert" in text
    assert f"({standing.names[standing.best]})" in text
    assert "a constant has" in text
    assert f"with {100 * standing.share_at_random:.0f} % of the labels, at random:" in text
    assert "its root, " in text
    low, high = report.interval
    assert low <= report.loss <= high
    for expert in standing.heaviest:
        assert f"{standing.weights[expert]:.2f} {standing.names[expert]}" in text
    assert "worse than a constant" not in text
    assert "would do better" not in text


@pytest.mark.parametrize(
    ("loss", "error", "constant"),
    [(4.0, 0.5, False), (7.26, 0.5, False), (10.1, 0.5, True), (10.1, 0.6, False)],
)
def test_report_advises_when_a_constant_is_better(report, loss, error, constant):
    standing = dataclasses.replace(STANDING, loss=loss, standard_errors=(error,) * 4)
    text = " ".join(str(dataclasses.replace(report, standing=standing)).split())
    assert ("worse than a constant: buy more labels" in text) == constant
    assert ("Experts(also=[...])" in text) == constant


@pytest.mark.parametrize(
    ("chosen", "lead_error", "random"),
    [(7.0, 0.26, False), (7.0, 0.24, True), (6.26, 0.0, True), (5.0, 0.0, False)],
)
def test_report_advises_random_labels_when_the_same_model_does_better_on_them(
    report, chosen, lead_error, random
):
    standing = dataclasses.replace(
        STANDING,
        losses=(chosen, 9.0, 9.0, 4.0),
        standard_errors=(0.0, 0.1, 0.1, 0.1),
        all_at_random=AllAtRandom(6.25, 0.0, lead_error),
        loss=99.0,  # the ensemble does not matter
    )
    text = " ".join(str(dataclasses.replace(report, standing=standing)).split())
    assert ("random labels would do better: for the next run the rule Uniform(rate)" in text) == random
    assert ("--at-random" in text) == random


def test_all_labels_at_random(report):
    text = str(dataclasses.replace(report, standing=dataclasses.replace(STANDING, loss=99.0)))
    assert "that expert with all labels at random: too few labels to say" in text
    assert "would do better" not in text
    known = dataclasses.replace(STANDING, all_at_random=AllAtRandom(4.0, 1.5, 0.0))
    text = str(dataclasses.replace(report, standing=known))
    assert "that expert with all labels at random: about 2, likely in [1, 2.65]" in text


def test_rare_classes_are_seen(report):
    errors = (ClassError("often", 90, 0.98, 0.01, 0.0, 0.05), ClassError("seldom", 1, 0.02, 1.0, 0.2, 1.0))
    standing = dataclasses.replace(STANDING, squared=False, class_errors=errors)
    text = " ".join(str(dataclasses.replace(report, standing=standing)).split())
    assert "classes seldom: 1 wrong, in [0.2, 1]; 1 label, 2 % of the examples often: 0.01 wrong" in text


def test_errors_by_class_are_those_of_the_run(few_trees):
    learner, labels = Learner(Experts(classes=[0, 1]), Uniform(1.0)), (Y[:60] > 50).astype(float)
    trace = run(learner, streams.Arrays(X[:60], labels))
    for each, kind in zip(learner.report().standing.class_errors, (0, 1), strict=True):
        wrong = trace.loss[1:][labels[1:] == kind]  # of the first nothing was known
        assert (each.name, each.labels, each.error) == (str(kind), len(wrong), pytest.approx(wrong.mean()))
        assert each.low <= each.error <= each.high


def test_a_part_that_cannot_be_compared_is_left_out(report):
    none = dataclasses.replace(STANDING, loss=99.0, constant=(), at_random=())
    for standing in (none, dataclasses.replace(none, at_random=(2,), share_at_random=1.0)):
        text = str(dataclasses.replace(report, standing=standing))
        for words in ("constant", "at random:", "would do better"):
            assert words not in text
    assert "experts " not in str(dataclasses.replace(report, standing=None))
    assert "too early to say" in str(
        dataclasses.replace(report, standing=dataclasses.replace(STANDING, labels=0))
    )


def test_heaviest_and_best():
    assert (STANDING.best, STANDING.best_constant, STANDING.best_at_random) == (3, 1, 2)
    assert STANDING.heaviest == [3, 2, 0]
    assert STANDING.in_units(6.25) == 2.5
    assert dataclasses.replace(STANDING, squared=False).in_units(0.25) == 0.25


def test_before_the_first_label_and_for_other_models():
    learner = Learner(Experts(), Steady(0.5))
    assert "experts       too early to say" in str(learner.report())
    learner.ask_many(X)
    learner.tell_many(learner.outstanding, Y[list(learner.outstanding)])
    text = str(learner.report())
    assert "unknown: all examples came before the labels had a range" in text
    assert "experts       too early to say" in text
    assert played(Ridge(3, label_range=(0, 100)), rule=Paced(60, 150)).report().standing is None


def test_all_labels_at_random_are_no_comparison():
    assert played(rule=Uniform(0.3)).report().standing.best_at_random is None
