"""Guarantees of the learner for its callers: ids, late labels, refunds, files and independence."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LinearRegression, LogisticRegression
from tests.refusals import refusal
from tests.same import same, same_content
from tests.soak import spread

from qufur import (
    Answer,
    Answers,
    FisherSoftmax,
    FixedBudget,
    Greedy,
    Learner,
    QuFUR,
    Refit,
    Ridge,
    Softmax,
    Threshold,
    Uniform,
    checks,
)
from qufur.rules import RULES
from qufur.snapshot import encode

pytestmark = pytest.mark.usefixtures("few_trees")

X = np.random.default_rng(0).normal(size=(40, 3))
Y = np.clip(X @ [0.5, -0.3, 0.2], -1, 1)


def buys_all(dim=3, **options):
    return Learner(Ridge(dim), Uniform(1.0, **options))


# Ids


def test_default_ids_count_the_inputs():
    learner = Learner(Ridge(3), Greedy(3))
    assert [learner.ask(x).id for x in X[:5]] == [0, 1, 2, 3, 4]
    assert list(learner.ask_many(X[:3]).id) == [5, 6, 7]
    assert learner.outstanding == (0, 1, 2)


def test_caller_ids_are_used():
    learner = buys_all()
    assert learner.ask(X[0], id="photo-7.jpg").id == "photo-7.jpg"
    assert learner.ask(X[1], id=-3).id == -3
    assert list(learner.ask_many(X[2:4], ids=["a", 12]).id) == ["a", 12]
    assert learner.outstanding == ("photo-7.jpg", -3, "a", 12)
    learner.tell("a", 0.5)
    learner.retract(-3)
    assert learner.outstanding == ("photo-7.jpg", 12)


def test_int_and_its_text_are_distinct_ids():
    learner = buys_all()
    learner.ask(X[0], id=1)
    learner.ask(X[1], id="1")
    learner.tell("1", 0.5)
    assert learner.outstanding == (1,)


@settings(deadline=None)
@given(ids=st.lists(st.none() | st.integers(-5, 60) | st.sampled_from("abc"), max_size=30))
def test_default_ids_never_collide(ids):
    learner, used = buys_all(1), set()
    for id in ids:
        if id is not None and id in used:
            continue
        answer = learner.ask([1.0], id=id)
        assert answer.id not in used
        used.add(answer.id)
    assert len(learner.outstanding) == len(used)


def test_id_can_be_reused_after_its_label_arrived():
    learner = buys_all()
    learner.ask(X[0], id="a")
    learner.tell("a", 0.1)
    learner.ask(X[1], id="a")
    assert learner.outstanding == ("a",)


# Answers


def test_answer_has_builtin_types():
    answer = buys_all().ask(X[0])
    assert isinstance(answer, Answer)
    assert answer._fields == ("id", "prediction", "uncertainty", "probability", "query")
    assert [type(value) for value in answer] == [int, float, float, float, bool]


def test_answers_are_columns_and_rows():
    answers = Learner(Ridge(3), QuFUR(1.0), seed=1).ask_many(X, ids=[f"row {i}" for i in range(40)])
    assert isinstance(answers, Answers)
    assert len(answers) == len(list(answers)) == 40
    for i, answer in enumerate(answers):
        assert answer == (
            f"row {i}",
            answers.prediction[i],
            answers.uncertainty[i],
            answers.probability[i],
            answers.query[i],
        )
        assert [type(value) for value in answer] == [str, float, float, float, bool]
    assert 0 < answers.query.sum() < 40
    assert answers.query.dtype == bool


def test_empty_batch_returns_no_answers():
    learner = buys_all()
    learner.ask(X[0])
    before = encode(learner)[0]
    answers = learner.ask_many(np.empty((0, 3)))
    assert len(answers) == 0
    assert list(answers) == []
    assert answers.query.dtype == bool
    learner.learn(np.empty((0, 3)), [])
    learner.tell_many([], [])
    assert learner.predict(np.empty((0, 3))).shape == learner.uncertainty(np.empty((0, 3))).shape == (0,)
    assert encode(learner)[0] == before


def test_ask_accepts_a_row_or_integers():
    one, other, third = (Learner(Ridge(2), QuFUR(1.0)) for _ in range(3))
    assert one.ask([1.0, 0.0]) == other.ask([[1, 0]]) == third.ask(np.array([1, 0], dtype=np.float32))


# Labels


def test_query_lowers_uncertainty_immediately_and_label_changes_prediction():
    learner = buys_all()
    learner.ask([1, 0, 0], id="a")
    np.testing.assert_allclose(learner.uncertainty([[1, 0, 0]]), [0.5])
    assert learner.predict([[1, 0, 0]]) == [0]
    learner.tell("a", 1.0)
    np.testing.assert_allclose(learner.uncertainty([[1, 0, 0]]), [0.5])
    np.testing.assert_allclose(learner.predict([[1, 0, 0]]), [0.5])


def test_outstanding_inputs_do_not_touch_predictions():
    learner, only = buys_all(), buys_all()
    learner.ask_many(X)
    learner.tell_many([30, 2, 11], Y[[30, 2, 11]])
    only.learn(X[[2, 11, 30]], Y[[2, 11, 30]])
    np.testing.assert_allclose(learner.predict(X), only.predict(X), atol=1e-12)
    assert (learner.uncertainty(X) < only.uncertainty(X)).all()


def test_tell_many_equals_tell_in_any_order():
    one, many = buys_all(), buys_all()
    for learner in (one, many):
        learner.ask_many(X)
    order = np.random.default_rng(1).permutation(40)
    for id in order.tolist():
        one.tell(id, Y[id])
    many.tell_many(list(range(40)), Y)
    np.testing.assert_allclose(one.predict(X), many.predict(X), atol=1e-12)
    np.testing.assert_allclose(one.uncertainty(X), many.uncertainty(X), atol=1e-12)
    assert one.outstanding == many.outstanding == ()
    assert one.spent == many.spent == 40


def test_input_array_may_be_overwritten_while_outstanding():
    learner, other = buys_all(), buys_all()
    buffer = np.array([1.0, 2.0, 3.0])
    learner.ask(buffer, id="a")
    block = X[:6].copy()
    learner.ask_many(block, ids=list("bcdefg"))
    buffer[:], block[:] = 9, 9
    other.ask([1, 2, 3], id="a")
    other.ask_many(X[:6], ids=list("bcdefg"))
    for one in (learner, other):
        one.tell_many(list("abcdefg"), np.linspace(-1, 1, 7))
    np.testing.assert_array_equal(learner.predict(X), other.predict(X))


def test_free_labels_cost_nothing():
    learner = Learner(Ridge(3), QuFUR(2.0, budget=5), seed=3)
    before = learner.rng.bit_generator.state
    learner.learn(X, Y)
    assert (learner.spent, learner.left, learner.outstanding) == (0, 5, ())
    assert learner.rng.bit_generator.state == before
    M = np.eye(3) + X.T @ X
    np.testing.assert_allclose(learner.predict(np.eye(3)), np.linalg.solve(M, X.T @ Y), atol=1e-12)
    np.testing.assert_allclose(learner.uncertainty(np.eye(3)), np.diag(np.linalg.inv(M)), rtol=1e-12)


# Retractions


def test_retraction_is_refunded():
    learner = buys_all(budget=2)
    answers = [learner.ask(x) for x in X[:3]]
    assert [answer.query for answer in answers] == [True, True, False]
    assert (learner.spent, learner.left) == (2, 0)
    learner.retract(0)
    assert (learner.spent, learner.left, learner.outstanding) == (1, 1, (1,))
    assert [learner.ask(x).query for x in X[3:5]] == [True, False]


@pytest.mark.parametrize("block", [True, False])
def test_retraction_restores_the_model(block):
    learner, never = buys_all(), buys_all()
    if block:
        learner.ask_many(X[:10])
    else:
        for x in X[:10]:
            learner.ask(x)
    learner.tell_many([0, 4], Y[[0, 4]])
    for id in (9, 2, 3):
        learner.retract(id)
    stays = [i for i in range(10) if i not in (2, 3, 9)]
    never.ask_many(X[stays], ids=stays)
    never.tell_many([0, 4], Y[[0, 4]])
    np.testing.assert_allclose(learner.uncertainty(X), never.uncertainty(X), atol=1e-12)
    np.testing.assert_allclose(learner.predict(X), never.predict(X), atol=1e-12)
    for id in list(learner.outstanding):
        learner.retract(id)
    never = buys_all()
    never.learn(X[[0, 4]], Y[[0, 4]])
    np.testing.assert_allclose(learner.uncertainty(X), never.uncertainty(X), atol=1e-12)


def half_retracted(many):
    """Return a learner of whose queries every second one is retracted, in one batch or one by one."""
    rng = np.random.default_rng(5)
    learner = Learner(Ridge(4), Uniform(0.9), seed=3)
    learner.ask_many(rng.normal(size=(60, 4)))
    learner.ask(rng.normal(size=4))
    retracted = learner.outstanding[::2]
    if many:
        learner.retract_many(retracted)
    else:
        for id in retracted:
            learner.retract(id)
    return learner


def test_retract_many_equals_consecutive_retractions():
    one, many = half_retracted(many=False), half_retracted(many=True)
    assert same(one, many)


def test_deferred_retractions_are_saved(tmp_path):
    """M is rebuilt from the remaining rows when next needed; saving or reading before changes no bit."""
    learner, stopped, looked = (half_retracted(many=True) for _ in range(3))
    stopped.save(tmp_path / "state")
    stopped = Learner.load(tmp_path / "state")
    looked.uncertainty(np.eye(4))
    looked.report()
    for one in (learner, stopped, looked):
        one.tell_many(one.outstanding[:9], np.arange(9) / 9)
        one.learn(np.eye(4), np.zeros(4))
        one.ask_many(np.eye(4) / 3)
    assert same(learner, stopped)
    assert same(learner, looked)


def test_retract_many_changes_nothing_when_one_id_is_not_outstanding():
    learner = half_retracted(many=True)
    for ids in ([*learner.outstanding, "x"], [learner.outstanding[0]] * 2):
        with pytest.raises(ValueError, match="of Learner must be"):
            learner.retract_many(ids)
    learner.retract_many([])
    assert same(learner, half_retracted(many=True))


def test_fixed_budget_refunds_each_charged_copy():
    learner = Learner(Ridge(3, cap=False), FixedBudget(200, 40), seed=2)
    learner.ask_many(3 * X)
    assert 5 < learner.spent < 40
    for id in learner.outstanding[:3]:
        paid, before = learner.pending[id].charge.copies.copy(), learner.spending.charged.copy()
        assert paid.any()
        learner.retract(id)
        np.testing.assert_array_equal(learner.spending.charged, before - paid)
    for id in learner.outstanding:
        learner.retract(id)
    assert (learner.spending.charged == 0).all()
    assert (learner.spent, learner.left) == (0, 200)


def test_answered_query_is_not_refunded():
    learner = buys_all(budget=2)
    learner.ask_many(X[:2])
    learner.tell(0, 0.5)
    learner.retract(1)
    assert (learner.spent, learner.left) == (1, 1)


# Randomness


def test_int_seed_equals_default_rng():
    learner = Learner(Ridge(3), Uniform(0.5), seed=12)
    assert learner.ask_many(X).query.tolist() == (np.random.default_rng(12).random(40) < 0.5).tolist()


def test_generator_is_used_directly():
    rng = np.random.default_rng(12)
    rng.random(5)
    learner = Learner(Ridge(3), Uniform(0.5), seed=rng)
    assert learner.rng is rng
    learner.ask_many(X)
    expected = np.random.default_rng(12)
    expected.random(45)
    assert rng.random() == expected.random()


def test_learners_with_shared_model_and_rule_are_independent():
    model, rule = Ridge(3), QuFUR(1.0, budget=9)
    alone, one, other = (Learner(model, rule, seed=4) for _ in range(3))
    expected = list(alone.ask_many(X))
    for t in range(40):
        assert one.ask(X[t]).query == expected[t].query
        if t % 2:
            other.ask(-2 * X[t])
    other.learn(X, Y)
    for column in (1, 2, 3):
        again = [answer[column] for answer in Learner(model, rule, seed=4).ask_many(X)]
        assert again == [answer[column] for answer in expected]
    assert one.outstanding == alone.outstanding


# Files


def labels(learner, count):
    return learner.model.label_codec.examples(Y[:count])


def states_to_save():
    """Return functions that bring a new learner to a state worth saving."""

    def nothing(learner):
        pass

    def one_asked(learner):
        learner.ask(X[0], domain=0)

    def some_told(learner):
        learner.ask_many(X[:20], domain=np.zeros(20, dtype=int))
        learner.tell_many(learner.outstanding[1::2], labels(learner, len(learner.outstanding[1::2])))

    def all_told(learner):
        some_told(learner)
        learner.tell_many(learner.outstanding, labels(learner, len(learner.outstanding)))

    def named_and_retracted(learner):
        some_told(learner)
        learner.ask_many(X[20:23], ids=["ä", "1", 99], domain=np.zeros(3, dtype=int))
        if learner.outstanding:
            learner.retract(learner.outstanding[0])

    def huge(learner):
        learner.learn(1e7 * X[:2], labels(learner, 2))
        some_told(learner)

    return [nothing, one_asked, some_told, all_told, named_and_retracted, huge]


def combinations():
    """Return every rule with the first model, and every model with the first example of each rule."""
    pairs = list(checks.combinations(3))
    first_model, first_rules = pairs[0][0], [kind.examples(checks.HORIZON)[0] for kind in RULES]
    return [(model, rule) for model, rule in pairs if model == first_model or rule in first_rules]


SAVED = {
    (number, place): pytest.param(*pair, bring_to_state, id=f"{pair[0]}-{pair[1]}-{bring_to_state.__name__}")
    for number, pair in enumerate(combinations())
    for place, bring_to_state in enumerate(states_to_save())
}


@pytest.mark.parametrize(("model", "rule", "bring_to_state"), spread(SAVED, 3))
def test_save_and_load_continue_to_the_bit(tmp_path, model, rule, bring_to_state):
    learner = Learner(model, rule, seed=9)
    bring_to_state(learner)
    learner.save(tmp_path / "learner.qufur")
    again = Learner.load(tmp_path / "learner.qufur")
    assert same(learner, again)
    assert (again.model, again.rule) == (model, rule)
    assert (again.spent, again.left, again.outstanding) == (learner.spent, learner.left, learner.outstanding)
    for one in (learner, again):
        for id in one.outstanding[::3]:
            one.retract(id)
        one.tell_many(one.outstanding[::2], labels(one, len(one.outstanding[::2])))
        one.learn(X[:2], labels(one, 2))
    domain = np.ones(10, dtype=int)
    for column, other in zip(
        learner.ask_many(X[30:], domain=domain), again.ask_many(X[30:], domain=domain), strict=True
    ):
        assert column == other
    assert learner.ask(X[5], domain=0) == again.ask(X[5], domain=0)
    np.testing.assert_array_equal(learner.predict(X), again.predict(X))
    np.testing.assert_array_equal(learner.uncertainty(X), again.uncertainty(X))
    assert same(learner, again)


@settings(max_examples=25, deadline=None, derandomize=True)
@given(cuts=st.lists(st.integers(0, 39), max_size=6), seed=st.integers(0, 99))
def test_save_and_load_at_any_step_change_nothing(tmp_path_factory, cuts, seed):
    file = tmp_path_factory.mktemp("stop") / "learner"
    straight, stopped = (Learner(Ridge(3, intercept=True), FixedBudget(60, 40), seed=seed) for _ in range(2))
    for t in range(40):
        if t in cuts:
            stopped.save(file)
            stopped = Learner.load(file)
        assert straight.ask(X[t]) == stopped.ask(X[t])
        for one in (straight, stopped):
            for id in one.outstanding[: t % 3]:
                one.tell(id, Y[id])
    assert same(straight, stopped)


@pytest.mark.parametrize("bits", ["PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64"])
def test_generators_of_every_type_are_saved(tmp_path, bits):
    learner = Learner(Ridge(3), Uniform(0.5), seed=np.random.Generator(getattr(np.random, bits)(3)))
    learner.ask_many(X[:7])
    learner.save(tmp_path / "learner")
    again = Learner.load(tmp_path / "learner")
    assert type(again.rng.bit_generator).__name__ == bits
    assert learner.rng.random(100).tolist() == again.rng.random(100).tolist()


def test_generator_buffer_is_saved(tmp_path):
    rng = np.random.default_rng(3)
    rng.integers(0, 2**31, dtype=np.int32)  # leaves half of a 64-bit word for the next 32-bit number
    learner = Learner(Ridge(3), Uniform(0.5), seed=rng)
    learner.save(tmp_path / "learner")
    again = Learner.load(tmp_path / "learner")
    assert again.rng.integers(0, 2**31, dtype=np.int32) == rng.integers(0, 2**31, dtype=np.int32)


def test_saved_learner_is_safetensors_with_a_json_header(tmp_path):
    learner = Learner(Ridge(3), Threshold(0.1), seed=3)
    learner.ask_many(X[:7])
    learner.save(tmp_path / "learner")
    raw = (tmp_path / "learner").read_bytes()
    header = json.loads(raw[8 : 8 + int.from_bytes(raw[:8], "little")])
    assert json.loads(header["__metadata__"]["qufur"])["rule"]["type"] == "Threshold"


def test_saving_does_not_change_the_learner(tmp_path):
    one, other = buys_all(), buys_all()
    for x in X:
        one.ask(x)
        other.ask(x)
        one.save(tmp_path / "learner")
    assert same(one, other)


# Looking


def test_predict_changes_neither_learner_nor_inputs():
    learner = buys_all()
    locked = X.copy()
    locked.flags.writeable = False
    y = Y.copy()
    y.flags.writeable = False
    learner.ask_many(locked[:20])
    learner.ask(locked[20])
    before = encode(learner)
    first = learner.predict(locked), learner.uncertainty(locked)
    assert same_content(encode(learner), before)
    np.testing.assert_array_equal(first, (learner.predict(locked), learner.uncertainty(locked)))
    learner.tell_many(range(20), y[:20])
    learner.learn(locked, y)


NAMED = Refit(LogisticRegression(), classes=["no", "maybe", "yes"])


@pytest.mark.parametrize("model", [Softmax(3, 3), FisherSoftmax(3, 3), NAMED], ids=lambda m: type(m).__name__)
def test_probabilities_are_in_the_order_of_the_classes(model):
    learner = Learner(model, Uniform(0.5))
    names = np.array([0.0, 1.0, 2.0] if model.classes == 3 else model.classes)
    np.testing.assert_allclose(learner.predict_proba(X), 1 / 3)
    learner.learn(X, names[np.digitize(Y, [-0.3, 0.3])])
    before, probabilities = encode(learner), learner.predict_proba(X)
    assert probabilities.shape == (len(X), 3)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    np.testing.assert_array_equal(names[probabilities.argmax(axis=1)], learner.predict(X))
    assert len(set(learner.predict(X))) == 3
    assert same_content(before, encode(learner))


@pytest.mark.parametrize("model", [Ridge(3), Refit(LinearRegression())], ids=lambda m: type(m).__name__)
def test_predict_proba_raises_without_classes(model):
    message = refusal(lambda: Learner(model, Uniform(0.5)).predict_proba(X))
    name = type(model).__name__
    assert message == (
        "model of Learner.predict_proba must be one with classes, such as Softmax or Experts(classes=[...]), "
        f"got {name}. Use predict(X) instead."
    )
