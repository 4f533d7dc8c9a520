"""Prediction intervals: nominal coverage for any query probabilities, in bounded memory."""

import math

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from tests.refusals import refusal
from tests.same import same_content

from qufur import Learner, Paced, QuFUR, Refit, Ridge, Softmax, Uniform, run, streams
from qufur.estimates.intervals import WINDOW, Errors, ends, weighted_quantiles
from qufur.models.ensemble.training_set import LabelRange
from qufur.snapshot import decode, encode

STREAM = streams.Arrays.of(streams.HiddenDomains([2000], [4], noise=0.3, seed=1))
LEVELS = [0.8, 0.9, 0.95]


def slow_quantile(scores, weights, level):
    """Return the weighted quantile by its definition, score by score."""
    new = sum(weights**2) / sum(weights)
    for score in sorted(scores):
        if sum(w for s, w in zip(scores, weights, strict=True) if s <= score) >= level * (sum(weights) + new):
            return score
    return math.inf


@pytest.mark.parametrize("seed", range(5))
def test_quantiles_match_the_definition(seed):
    rng = np.random.default_rng(seed)
    scores, weights = rng.exponential(size=30).round(1), 1 / rng.uniform(0.001, 1, 30)
    levels = rng.uniform(0.01, 0.999, 20)
    found = weighted_quantiles(scores, weights, levels)
    np.testing.assert_array_equal(found, [slow_quantile(scores, weights, level) for level in levels])


def test_labels_are_weighted_by_inverse_probability():
    errors = Errors()
    errors.add(np.array([1.0, 5.0]), np.array([0.1, 1.0]))
    np.testing.assert_array_equal(errors.quantiles([0.4, 0.54, 0.9], 0.5), [1.0, 5.0, np.inf])


def test_weights_are_capped_at_twenty_means():
    errors = Errors()
    errors.add(np.array([1.0, *[5.0] * 40]), np.array([1e-9, *[0.5] * 40]))
    # One weight of 40 and 40 of 2; with (40² + 40·2²)/120 for a new example, the first has 0.298 of all.
    np.testing.assert_array_equal(errors.quantiles([0.29, 0.3], 0.5), [1.0, 5.0])


@pytest.mark.parametrize("chosen", [False, True], ids=["at random", "by size of the error"])
def test_coverage_holds_for_any_query_probabilities(chosen):
    # 4000 runs: the coverage has a standard error of 0.005; 4 of them have a probability of 1 in 30,000.
    rng = np.random.default_rng(0)
    covered = np.zeros(len(LEVELS))
    for _ in range(4000):
        error = rng.exponential(size=300)
        p = np.clip(0.2 * error, 0.05, 1) if chosen else np.full(300, 0.2)
        bought = rng.random(300) < p
        covered += rng.exponential() <= weighted_quantiles(error[bought], 1 / p[bought], LEVELS)
    np.testing.assert_array_less(np.array(LEVELS) - 0.02, covered / 4000)
    np.testing.assert_array_less(covered / 4000, np.array(LEVELS) + 0.04)


@pytest.mark.parametrize("rule", [Uniform(0.2), QuFUR(4.0, floor=0.05)], ids=str)
def test_learner_intervals_cover_the_next_labels(rule):
    learner = Learner(Ridge(4), rule, seed=3)
    run(learner, streams.Arrays(STREAM.X[:1500], STREAM.y[:1500]))
    for level in LEVELS:
        prediction, low, high = learner.predict(STREAM.X[1500:], interval=level)
        np.testing.assert_array_equal(prediction, learner.predict(STREAM.X[1500:]))
        covered = ((low <= STREAM.y[1500:]) & (STREAM.y[1500:] <= high)).mean()
        assert covered == pytest.approx(level, abs=0.06)


def test_errors_use_the_prediction_at_query_time():
    learner = Learner(Ridge(4), Uniform(1.0))
    answers = learner.ask_many(STREAM.X[:30])
    learner.tell_many(range(30), STREAM.y[:30])
    expected = np.column_stack([abs(STREAM.y[:30] - answers.prediction), answers.probability])
    np.testing.assert_array_equal(learner.ledger.errors.rows, expected)


@pytest.mark.parametrize("delay", [0, 9])
def test_blocks_keep_the_same_errors(delay):
    kept = []
    for block in (1, 64):
        learner = Learner(Ridge(4), Paced(600, 2000), seed=2)
        run(learner, STREAM, block=block, delay=delay)
        kept.append(learner.ledger.errors.rows)
    np.testing.assert_allclose(*kept, atol=1e-9)
    assert len(kept[0]) == WINDOW


def test_errors_keep_the_last_labels_only():
    learner = Learner(Ridge(4), Uniform(1.0))
    trace = run(learner, STREAM)
    expected = abs(trace.prediction - STREAM.y)[-WINDOW:]
    np.testing.assert_allclose(learner.ledger.errors.rows[:, 0], expected, atol=1e-12)


def test_errors_are_saved_and_missing_in_older_files(tmp_path):
    learner = Learner(Ridge(4), Uniform(0.5))
    run(learner, streams.Arrays(STREAM.X[:100], STREAM.y[:100]))
    learner.save(tmp_path / "learner")
    again = Learner.load(tmp_path / "learner")
    assert same_content(encode(again), encode(learner))
    assert again.predict(STREAM.X[:1], interval=0.9) == learner.predict(STREAM.X[:1], interval=0.9)
    header, tensors = encode(learner)
    before = decode(Learner, (header, {k: v for k, v in tensors.items() if k != "ledger.errors"}))
    assert before.predict(STREAM.X[:1], interval=0.9)[1:] == (-1.0, 1.0)


@pytest.mark.parametrize("row", [(-1.0, 0.5), (1.0, 0.0), (1.0, 1.5)])
def test_file_with_impossible_errors_is_rejected(row):
    header, tensors = encode(Learner(Ridge(4), Uniform(0.5)))
    assert "errors of the file must be" in refusal(
        lambda: decode(Learner, (header, tensors | {"ledger.errors": np.array([row])}))
    )


@pytest.mark.parametrize(
    ("model", "ends"),
    [
        (Ridge(4, label_range=(0, 9)), (0.0, 9.0)),
        (Ridge(4, clip=False), (-math.inf, math.inf)),
        (Refit(LinearRegression()), (-math.inf, math.inf)),
    ],
    ids=str,
)
def test_intervals_are_infinite_with_few_labels(model, ends):
    learner = Learner(model, Uniform(1.0))
    for t in range(9):
        learner.tell(learner.ask(STREAM.X[t]).id, t % 2)
        _, low, high = learner.predict(STREAM.X[:2], interval=0.9)
        wide = t < 8
        assert ((low[0], high[0]) == ends) == wide
        assert low.shape == high.shape == (2,)


def test_intervals_raise_for_classes():
    message = refusal(lambda: Learner(Softmax(4, 3), Uniform(1.0)).predict(STREAM.X, interval=0.9))
    assert message == (
        "interval of Learner.predict must be left out for classes, got 0.9. "
        "predict_proba(X) returns the probabilities of the classes."
    )
    learner = Learner(Softmax(4, 3), Uniform(1.0))
    learner.tell(learner.ask(STREAM.X[0]).id, 2)
    assert not len(learner.ledger.errors.rows)


@pytest.mark.parametrize("level", [0, 1, -0.1, 90, True, "0.9", math.nan], ids=repr)
def test_level_must_be_between_0_and_1(level):
    message = refusal(lambda: Learner(Ridge(4), Uniform(1.0)).predict(STREAM.X, interval=level))
    assert message.startswith(
        "interval of Learner.predict must be a number between 0 and 1, such as 0.9, got "
    )


def test_corrected_label_corrects_its_error():
    learner = Learner(Ridge(4), Uniform(1.0))
    answers = learner.ask_many(STREAM.X[:3])
    learner.tell_many(range(3), [0.1, 0.2, 0.3])
    old, new = np.array([0.1, 0.2, 0.3]), np.array([0.1, 0.9, 0.3])
    decided = np.column_stack([old, answers.prediction, answers.probability, np.ones(3)])
    learner.ledger.correct(decided, new)
    np.testing.assert_array_equal(learner.ledger.errors.rows[:, 0], new)


def test_add_one_equals_add():
    one, many, rng = Errors(), Errors(), np.random.default_rng(0)
    rows = rng.uniform(0.1, 1, size=(WINDOW + 50, 2))
    for row in rows.tolist():
        one.add_one(*row)
    for part in np.split(rows, [3, 700]):
        many.add(*part.T)
    np.testing.assert_array_equal(one.rows, many.rows)
    np.testing.assert_array_equal(one.rows, rows[50:])


def priced(labels, model=None, rows=400):
    """Return a learner with these labels of about every second row, and inputs to predict."""
    learner = Learner(model or Refit(LinearRegression()), Uniform(0.5), seed=1)
    run(learner, streams.Arrays(STREAM.X[:rows], labels[:rows]))
    return learner, STREAM.X[rows:]


def test_intervals_of_a_learned_range_end_where_predictions_do():
    prices = np.exp(1.5 * STREAM.y) + 20
    learner, X = priced(prices)
    prediction, low, high = learner.predict(X, interval=0.9)
    error, labels = learner.ledger.likely_error(0.9), learner.state.labels
    lowest, highest = labels.clip(np.array([-1e9, 1e9]))
    np.testing.assert_array_equal(low, np.maximum(prediction - error, max(lowest, 0.0)))
    np.testing.assert_array_equal(high, np.minimum(prediction + error, highest))


@pytest.mark.parametrize("sign", [1, -1])
def test_intervals_stay_on_the_side_of_zero_where_all_labels_are(sign):
    learner, X = priced(sign * np.exp(2 * STREAM.y))
    prediction, low, high = learner.predict(X, interval=0.9)
    error = learner.ledger.likely_error(0.9)
    assert ((prediction - error) * (prediction + error) < 0).mean() > 0.5, "unclipped intervals cross 0"
    ends = low if sign == 1 else high
    assert (ends * sign >= np.minimum(prediction * sign, 0)).all()
    assert ((low <= prediction) & (prediction <= high)).all()
    learner.learn(X[:1], [-sign * 1.0])
    *_, low, high = learner.predict(X, interval=0.9)
    assert ((low if sign == 1 else high) * sign < 0).any(), "a label on the other side removes the bound at 0"


def test_clipping_costs_little_coverage():
    """Long-tailed labels, whose largest values exceed all previous ones, are the worst common case."""
    rng, covered, plain = np.random.default_rng(0), [], []
    for _ in range(400):
        count = int(rng.integers(9, 60))
        labels, seen = np.exp(rng.normal(size=count + 20)), LabelRange(None)
        seen.update(labels[:count])
        error = weighted_quantiles(abs(labels[:count] - 1), np.ones(count), 0.9).item()
        prediction = np.ones(20)
        low, high = ends(prediction, error, Refit(LinearRegression()), seen.bounds)
        covered.append(((low <= labels[count:]) & (labels[count:] <= high)).mean())
        plain.append((abs(labels[count:] - 1) <= error).mean())
    assert np.mean(covered) > np.mean(plain) - 0.01
    assert np.mean(covered) > 0.88


def test_intervals_of_equal_labels_are_not_clipped():
    learner = Learner(Refit(LinearRegression()), Uniform(1.0))
    ids = learner.ask_many(STREAM.X[:20]).id
    learner.tell_many(ids, np.full(20, 4.0))
    _, low, high = learner.predict(STREAM.X[:1], interval=0.9)
    assert (low[0], high[0]) == (0.0, 8.0), "the prediction before the first label was off by 4"
