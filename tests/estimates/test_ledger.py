"""Ledger: the loss of every decision is recorded, whenever its label arrives."""

import numpy as np
import pytest

from qufur import Learner, Paced, QuFUR, Ridge, Softmax, Threshold, run, streams
from qufur.estimates.ledger import ROWS, Buffer
from qufur.estimates.loss import LossEstimate

STREAM = streams.Arrays.of(streams.HiddenDomains([700, 900], [6, 3], noise=0.6, seed=1))
MODELS = [Ridge(9, label_range=(-0.8, 1.0)), Ridge(9, clip=False, regularization=1e-3), Softmax(9, 3)]


def slow_estimate(model, answers, labels, gone, typical):
    """Return an estimate that gets one example at a time, as documented for `LossEstimate`."""
    low, high = getattr(model, "label_range", (0.0, 1.0))
    estimate = LossEstimate((high - low) ** 2, typical_probability=typical)
    for id, prediction, _, probability, query in answers:
        most = 1.0 if isinstance(model, Softmax) else max(abs(prediction - low), abs(high - prediction)) ** 2
        if id in gone:
            estimate.forgo([probability], [most])
        elif not query or id in labels:
            loss = 0.0 if not query else loss_of(model, prediction, labels[id])
            estimate.update([probability], [query], [min(loss, most)], [most])
    return estimate


def loss_of(model, prediction, label):
    return float(prediction != label) if isinstance(model, Softmax) else (prediction - label) ** 2


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_late_labels_count_for_the_prediction_at_query_time(model, tmp_path):
    rng = np.random.default_rng(0)
    y = model.label_codec.examples(STREAM.y)
    learner, answers, labels, gone = Learner(model, QuFUR(2.0, floor=0.1), seed=5), [], {}, set()
    for t in range(1200):
        answers.append(learner.ask(STREAM.X[t]))
        if learner.outstanding and rng.random() < 0.1:
            id = learner.outstanding[rng.integers(len(learner.outstanding))]
            if rng.random() < 0.2:
                learner.retract(id)
                gone.add(id)
            else:
                learner.tell(id, y[id])
                labels[id] = y[id]
        if t == 777:
            learner.save(tmp_path / "learner")
            learner = Learner.load(tmp_path / "learner")
    ledger, slow = learner.ledger, slow_estimate(model, answers, labels, gone, 0.1)
    queries = learner.pending.values()
    assert len(queries) > 5
    assert len(gone) > 5
    np.testing.assert_allclose(ledger.estimate().state()["sums"], slow.state()["sums"], rtol=1e-9, atol=1e-9)
    waiting = [(a.prediction, a.probability) for a in answers if a.id in learner.outstanding]
    assert [(query.prediction, query.probability) for query in queries] == waiting
    prediction, probability = np.array(waiting).T
    estimate, found = ledger.estimate(), ledger.mean_loss(queries)
    assert found.interval == estimate.interval(probability, model.largest_loss(prediction))
    assert (found.value, found.covered) == (np.clip(estimate.value, *found.interval), estimate.covered)
    assert (ledger.examples, ledger.answered, ledger.retracted) == (1200, len(labels), len(gone))
    losses = [loss_of(model, answers[id].prediction, label) for id, label in labels.items()]
    assert ledger.loss_seen == pytest.approx(sum(losses))
    assert ledger.uncertainty == pytest.approx(sum(a.uncertainty for a in answers))


@pytest.mark.parametrize("delay", [0, 30])
@pytest.mark.parametrize("rule", [QuFUR(1.0), Paced(200, 1600), Threshold(0.2)], ids=str)
def test_blocks_and_single_questions_give_the_same_ledger(rule, delay):
    ledgers = []
    for block in (1, 50, None):
        learner = Learner(MODELS[0], rule, seed=2)
        run(learner, STREAM, block=block, delay=delay)
        ledgers.append(learner.ledger)
    for ledger in ledgers[1:]:
        sums, expected = (one.estimate().state()["sums"] for one in (ledger, ledgers[0]))
        np.testing.assert_allclose(sums, expected, rtol=1e-8, atol=1e-8)
        assert ledger.beyond == ledgers[0].beyond > 0


def test_buffer_yields_every_row_once():
    buffer, found = Buffer(2), []
    rows = np.arange(2.0 * (3 * ROWS + 7)).reshape(-1, 2)
    for i, part in enumerate(np.split(rows, [1, 5, ROWS, ROWS + 3, ROWS + 9, 2 * ROWS, 3 * ROWS + 2])):
        if i % 2:
            found += [full for row in part.tolist() for full in buffer.write_one(row)]
        else:
            found.extend(buffer.write(*part.T))
    assert [len(full) for full in found] == [ROWS] * 3
    np.testing.assert_array_equal(np.concatenate([*found, buffer.rows]), rows)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_answer_one_equals_answer_bit_for_bit(model):
    numbers = np.random.default_rng(6).normal(size=(2, 50))
    predictions, labels = (model.label_codec.examples(row) for row in numbers)
    many = model.loss(predictions, labels), model.largest_loss(predictions)
    pairs = zip(predictions.tolist(), labels.tolist(), strict=True)
    single = [(model.loss_one(p, label), model.largest_loss_one(p)) for p, label in pairs]
    np.testing.assert_array_equal(np.array(single).T, many)


def test_loss_at_its_bound_is_not_counted_as_beyond():
    ledger = Learner(Ridge(1), QuFUR(1.0)).ledger
    ledger.answer_one(0.0, 0.5, 1.0, 1.0)
    ledger.answer_one(0.0, 0.5, 0.0, 1.0)
    bounds, labels = np.array([1.0, 1.0, 1.0, 0.0]), np.array([1.0, -1.0, 1.5, 9.0])
    ledger.answer(np.zeros(4), np.full(4, 0.5), bounds, labels)
    assert (ledger.answered, ledger.beyond) == (6, 1)
