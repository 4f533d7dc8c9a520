"""Report on experts: out-of-sample losses, weighted by inverse probability."""

import dataclasses

import numpy as np
import pytest
from tests.same import same_content

from qufur import Experts, Learner, Paced, Ridge, Steady, Uniform, run, streams
from qufur.cli._flags import with_flags
from qufur.models.ensemble.learning_curve import RandomSamplingLoss
from qufur.models.ensemble.losses import ClassError, TrackRecord
from qufur.models.ensemble.report import EnsembleReport
from qufur.snapshot import encode

RNG = np.random.default_rng(0)
X = RNG.normal(size=(150, 3))
Y = 50 + X @ [1.0, 2.0, 3.0] + RNG.normal(size=150)
REPORT = EnsembleReport(
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


def run_learner(model=None, labels=Y, rule=None):
    learner = Learner(model or Experts(), rule or Steady(60, 150), seed=1)
    run(learner, streams.Arrays(X, labels))
    return learner


@pytest.fixture(scope="module")
def report():
    return run_learner().report()


@pytest.mark.parametrize("classes", [None, ["low", "high"]], ids=["numbers", "classes"])
def test_losses_use_the_outputs_recorded_at_the_query(classes, tmp_path):
    labels = Y if classes is None else np.where(Y > 50, "high", "low")
    number = (lambda label: label) if classes is None else classes.index
    learner, recorded = Learner(Experts(classes=classes), Steady(60, 150), seed=1), {}
    losses, p, leads = [], [], []
    for t in range(150):
        answer = learner.ask(X[t])
        if answer.query:
            *predictions, combined = learner.pending[t].expert_outputs
            outputs, fitted = [*predictions, combined], np.ptp(predictions, axis=0).any()
            recorded[t] = (
                [float(s[0]) if classes is None else int(np.argmax(s)) for s in outputs],
                answer.probability,
                fitted,
            )
            assert recorded[t][0][-1] == (answer.prediction if classes is None else number(answer.prediction))
        if t % 10 == 9:
            for id in list(learner.outstanding)[::-1][1:]:
                learner.tell(id, labels[id])
                outputs, probability, fitted = recorded.pop(id)
                if not fitted:  # predicted before the first fit
                    continue
                truth = number(labels[id])
                loss = [(s - truth) ** 2 if classes is None else float(s != truth) for s in outputs]
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
    ensemble = learner.report().ensemble_report
    means = (losses / p[:, None]).sum(axis=0) / (1 / p).sum()
    np.testing.assert_allclose([*ensemble.losses, ensemble.loss], means)
    errors = np.sqrt((leads**2 * ((1 - p) / p**2)[:, None]).sum(axis=0)) / (1 / p).sum()
    np.testing.assert_allclose(ensemble.standard_errors, errors)
    assert ensemble.labels == len(p) > 30
    assert ensemble.squared == (classes is None)


def test_losses_and_standard_errors_are_unbiased_over_random_draws():
    # 2000 runs: means have relative standard errors of about 1 %, standard deviations of 2 %.
    losses = RNG.exponential(size=(400, 2))
    p = RNG.uniform(0.1, 0.9, 400)
    leads, errors = [], []
    for _ in range(2000):
        record = TrackRecord(1)
        bought = RNG.random(400) < p
        record.update(losses[bought], p[bought])
        expert, combined = record.means()
        leads.append(combined - expert)
        errors.append(record.standard_errors()[0])
    truth = losses.mean(axis=0)
    assert np.mean(leads) == pytest.approx(truth[1] - truth[0], abs=0.01)
    assert np.mean(errors) == pytest.approx(np.std(leads), rel=0.1)


def test_report_identifies_constant_and_random_experts(report):
    ensemble = report.ensemble_report
    assert len(ensemble.names) == len(ensemble.losses) == len(ensemble.weights)
    assert sum(ensemble.weights) == pytest.approx(1)
    assert ensemble.constant
    assert ensemble.at_random
    assert 0.2 < ensemble.share_at_random < 0.8
    assert ensemble.losses[ensemble.best] == min(ensemble.losses)
    assert not ensemble.is_worse_than(ensemble.best_constant)


def test_report_prints_losses_in_the_units_of_the_labels(report):
    ensemble, text = report.ensemble_report, " ".join(str(report).split())
    root = f"{float(f'{ensemble.loss**0.5:.3g}'):g}"
    assert f"experts compared on {ensemble.labels} labels: ensemble {root}, best expert" in text
    assert f"({ensemble.names[ensemble.best]})" in text
    assert "constant prediction: " in text
    assert f"trained on a random {100 * ensemble.share_at_random:.0f} % of the labels:" in text
    assert "root mean squared error: " in text
    low, high = report.interval
    assert low <= report.loss <= high
    for expert in ensemble.heaviest:
        assert f"{ensemble.weights[expert]:.2f} {ensemble.names[expert]}" in text
    assert "worse than a constant" not in text
    assert "would do better" not in text


@pytest.mark.parametrize(
    ("loss", "error", "constant"),
    [(4.0, 0.5, False), (7.26, 0.5, False), (10.1, 0.5, True), (10.1, 0.6, False)],
)
def test_report_advises_when_a_constant_is_better(report, loss, error, constant):
    ensemble = dataclasses.replace(REPORT, loss=loss, standard_errors=(error,) * 4)
    text = " ".join(str(dataclasses.replace(report, ensemble_report=ensemble)).split())
    assert ("worse than a constant prediction: buy more labels" in text) == constant
    assert ("add a model with `Experts(also=[...])`" in text) == constant
    assert ("add a model with --also" in with_flags(text)) == constant


@pytest.mark.parametrize(
    ("chosen", "lead_error", "random"),
    [(7.0, 0.26, False), (7.0, 0.24, True), (6.26, 0.0, True), (5.0, 0.0, False)],
)
def test_report_advises_random_labels_when_the_same_model_does_better_on_them(
    report, chosen, lead_error, random
):
    ensemble = dataclasses.replace(
        REPORT,
        losses=(chosen, 9.0, 9.0, 4.0),
        standard_errors=(0.0, 0.1, 0.1, 0.1),
        all_at_random=RandomSamplingLoss(6.25, 0.0, lead_error),
        loss=99.0,  # the ensemble does not matter
    )
    text = " ".join(str(dataclasses.replace(report, ensemble_report=ensemble)).split())
    assert ("random labels would do better: use `Uniform(rate)` for the next run" in text) == random
    assert ("use --at-random for the next run" in with_flags(text)) == random


def test_report_prints_the_estimate_for_random_labels(report):
    text = str(dataclasses.replace(report, ensemble_report=dataclasses.replace(REPORT, loss=99.0)))
    assert "the same expert if all labels were random: unknown, too few labels" in text
    assert "would do better" not in text
    known = dataclasses.replace(REPORT, all_at_random=RandomSamplingLoss(4.0, 1.5, 0.0))
    text = str(dataclasses.replace(report, ensemble_report=known))
    assert "the same expert if all labels were random: about 2, likely in [1, 2.65]" in text


def test_report_prints_errors_of_rare_classes(report):
    errors = (ClassError("often", 90, 0.98, 0.01, 0.0, 0.05), ClassError("seldom", 1, 0.02, 1.0, 0.2, 1.0))
    ensemble = dataclasses.replace(REPORT, squared=False, class_errors=errors)
    text = " ".join(str(dataclasses.replace(report, ensemble_report=ensemble)).split())
    assert "classes seldom: 1 wrong, in [0.2, 1]; 1 label, 2 % of the examples often: 0.01 wrong" in text


def test_class_errors_equal_those_of_the_run(few_trees):
    learner, labels = Learner(Experts(classes=[0, 1]), Uniform(1.0)), (Y[:60] > 50).astype(float)
    trace = run(learner, streams.Arrays(X[:60], labels))
    for each, code in zip(learner.report().ensemble_report.class_errors, (0, 1), strict=True):
        wrong = trace.loss[1:][labels[1:] == code]  # the first is predicted before any label
        assert (each.name, each.labels, each.error) == (str(code), len(wrong), pytest.approx(wrong.mean()))
        assert each.low <= each.error <= each.high


def test_report_omits_comparisons_without_data(report):
    none = dataclasses.replace(REPORT, loss=99.0, constant=(), at_random=())
    for ensemble in (none, dataclasses.replace(none, at_random=(2,), share_at_random=1.0)):
        text = str(dataclasses.replace(report, ensemble_report=ensemble))
        for words in ("constant", "trained on a random", "would do better"):
            assert words not in text
    assert "experts " not in str(dataclasses.replace(report, ensemble_report=None))
    assert "not known yet: no label was queried" in str(
        dataclasses.replace(report, ensemble_report=dataclasses.replace(REPORT, labels=0))
    )


def test_report_ranks_experts():
    assert (REPORT.best, REPORT.best_constant, REPORT.best_at_random) == (3, 1, 2)
    assert REPORT.heaviest == [3, 2, 0]
    assert REPORT.in_units(6.25) == 2.5
    assert dataclasses.replace(REPORT, squared=False).in_units(0.25) == 0.25


def test_report_before_the_first_label_and_of_other_models():
    learner = Learner(Experts(), Steady(0.5))
    assert "experts       not known yet" in str(learner.report())
    learner.ask_many(X)
    learner.tell_many(learner.outstanding, Y[list(learner.outstanding)])
    text = str(learner.report())
    assert "unknown: no example arrived after two different labels" in text
    assert "experts       not known yet" in text
    assert run_learner(Ridge(3, label_range=(0, 100)), rule=Paced(60, 150)).report().ensemble_report is None


def test_best_at_random_is_none_when_all_labels_are_random():
    assert run_learner(rule=Uniform(0.3)).report().ensemble_report.best_at_random is None


def test_heaviest_experts_keep_their_order_when_printed_weights_are_equal():
    names = ["a", "b", "c", "d"]
    report = dataclasses.replace(REPORT, names=names, weights=[0.2001, 0.1, 0.2049, 0.15])
    assert [names[expert] for expert in report.heaviest] == ["a", "c", "d"]
