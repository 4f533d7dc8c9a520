"""A learner rebuilt from recorded decisions equals the one that made them, even with other arithmetic."""

import copy
from dataclasses import fields, replace

import numpy as np
import pytest
from tests.soak import spread
from tests.test_contracts import indexed_combinations

from qufur import Answer, Experts, Learner, Paced, QuFUR, Ridge, Softmax, Steady, Uniform, checks
from qufur.models._regression import LeastSquares
from qufur.models.engines import compiled
from qufur.models.ensemble.fits import FitSchedule
from qufur.models.ensemble.state import EnsembleState
from qufur.pending import decisions
from qufur.replay import RecordedDecisions, record_decisions
from qufur.tables import Encoding
from qufur.workbook import Workbook
from qufur.workbook.content import state_digest

pytestmark = pytest.mark.usefixtures("few_trees")


def new_workbook(model, rule):
    return Workbook(Learner(model, rule, seed=7), Encoding(()), "id", "y")


def random_log(workbook, stream, seed=1):
    """Ask, tell, retract, learn and add budget at random; return the log of these calls."""
    rng, log, start = np.random.default_rng(seed), [], 0

    def note(*event):
        log.append(event)
        apply(workbook, event)

    while start < len(stream.X):
        window = slice(start, start + int(rng.choice([1, 1, 2, 20, 40])))
        names, X = [f"r{row}" for row in range(len(stream.X))[window]], stream.X[window]
        log.append(("asked", X, names, ask(workbook, X, names, stream.domain[window]), stream.domain[window]))
        start = window.stop
        outstanding = workbook.learner.outstanding
        for name in rng.permutation(outstanding)[: rng.integers(4)].tolist():
            draw = rng.random()
            if draw < 0.2:
                note("retracted", name)
            else:
                note("told", name, stream.y[int(name[1:])])
        if rng.random() < 0.2:
            rows = rng.integers(len(stream.X), size=int(rng.integers(1, 4)))
            note("learned", stream.X[rows], stream.y[rows])
        if rng.random() < 0.1 and workbook.learner.rule.limit is not None and can_add(workbook.learner.rule):
            note("budget_added", 3)
    return log


def can_add(rule):
    try:
        rule.with_more(1, None)
    except ValueError:
        return False
    return True


def ask(workbook, X, names, domain):
    return record_decisions(workbook.learner, workbook.ask_rows(X, names, domain))


def apply(workbook, event):
    match event:
        case "asked", X, names, decisions, domain:
            workbook.replay(X, names, decisions, domain)
        case "told", name, label:
            workbook.tell([name], np.array([label]), "the log", exact_ids=True, accept_outliers=True)
        case "retracted", name:
            workbook.learner.retract(name)
        case "learned", X, y:
            workbook.learner.learn(X, y)
        case "budget_added", labels:
            workbook.learner.add_budget(labels)


def replayed(model, rule, log):
    workbook = new_workbook(model, rule)
    for event in log:
        apply(workbook, event)
    return workbook


def without_loops(model, rule, log):
    with compiled.disabled():
        return replayed(model, rule, log)


def assert_same_state(one, other):
    """Check that digest, outstanding queries, spending, ledger and random generator are equal."""
    mine, its = one.learner, other.learner
    assert state_digest(one) == state_digest(other)
    assert (mine.pending.keys(), mine.spent, mine.left) == (its.pending.keys(), its.spent, its.left)
    assert decisions(mine.pending.values()).tolist() == decisions(its.pending.values()).tolist()
    assert mine.spending.save() == its.spending.save()
    assert mine.ledger.save()[0] == its.ledger.save()[0]
    assert mine.rng.bit_generator.state == its.rng.bit_generator.state


def assert_same_next_decisions(one, other, stream):
    domain = np.ones(len(stream.X), dtype=np.int64)
    mine, its = (workbook.learner.ask_many(stream.X, domain=domain) for workbook in (one, other))
    assert mine.query.tolist() == its.query.tolist()
    np.testing.assert_allclose(mine.encoded, its.encoded, atol=1e-6)
    np.testing.assert_allclose(mine.uncertainty, its.uncertainty, atol=1e-6)


@pytest.mark.parametrize(("model", "rule"), spread(indexed_combinations(), 12), ids=repr)
def test_replayed_log_rebuilds_the_learner(model, rule):
    stream, workbook = checks.shifting_stream(model), new_workbook(model, rule)
    log = random_log(workbook, stream)
    twins = replayed(model, rule, log), without_loops(model, rule, log)
    for twin in twins:
        assert_same_state(workbook, twin)
    for twin in twins:
        assert_same_next_decisions(copy.deepcopy(workbook), twin, checks.shifting_stream(model, seed=6))


@pytest.fixture
def noise(monkeypatch):
    """Perturb predictions, Δ and expert outputs slightly, as another BLAS would."""
    for kind, name in (
        (LeastSquares, "unscaled"),
        (LeastSquares, "uncertainty_of"),
        (FitSchedule, "predict"),
        (EnsembleState, "combine"),
    ):
        monkeypatch.setattr(kind, name, perturbed(getattr(kind, name)))


def perturbed(method):
    return lambda self, values: method(self, values) * (1 + 1e-9)


MODELS = [Ridge(4), Softmax(4, 3), Experts(4), Experts(4, classes=[0.0, 1.0, 2.0])]
RULES = [Steady(0.3), Paced(0.2, burst=10.0, floor=0.1), Paced(20, 90)]


@pytest.mark.parametrize("rule", RULES, ids=repr)
@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_replay_does_not_depend_on_local_arithmetic(model, rule, request):
    stream, workbook = checks.shifting_stream(model), new_workbook(model, rule)
    log = random_log(workbook, stream)
    request.getfixturevalue("noise")
    assert_same_state(workbook, replayed(model, rule, log))


def changed(log, change):
    """Return a log whose decisions are replaced by `change(decisions)`."""
    return [
        (kind, *rest[:2], change(rest[2]), *rest[3:]) if kind == "asked" else (kind, *rest)
        for kind, *rest in log
    ]


def with_random_numbers(decisions, rng):
    """Replace all recorded numbers of decisions by random ones; which labels are bought stays the same."""
    count = len(decisions)
    numbers = {name: rng.uniform(0.1, 0.9, count) for name in ("prediction", "uncertainty", "probability")}
    if decisions.expert_outputs is not None:
        numbers["expert_outputs"] = rng.uniform(0.1, 0.9, decisions.expert_outputs.shape)
    at_random = rng.random(len(decisions.at_random)) < 0.5
    return replace(decisions, **numbers, at_random=at_random)


@pytest.mark.parametrize("model", [Ridge(4), Experts(4)], ids=repr)
def test_replay_uses_recorded_numbers_only(model):
    stream, rule, rng = checks.shifting_stream(model), Steady(0.3), np.random.default_rng(3)
    log = random_log(new_workbook(model, rule), stream)
    log = changed(log, lambda decisions: with_random_numbers(decisions, rng))
    workbook = replayed(model, rule, log)
    assert_same_state(workbook, without_loops(model, rule, log))
    recorded = [event[3] for event in log if event[0] == "asked"]
    delta = np.concatenate([decisions.uncertainty for decisions in recorded])
    mean = 0.0
    for t, width in enumerate(delta[: workbook.learner.spending.seen].tolist(), 1):
        mean += max(1 / t, 0.01) * (width - mean)
    assert workbook.learner.spending.mean == mean
    columns = [np.column_stack([each.prediction, each.probability]) for each in recorded]
    numbers = np.concatenate(columns)
    for name, query in workbook.learner.pending.items():
        assert (query.prediction, query.probability) == tuple(numbers[int(name[1:])])


def edited(decisions, **changes):
    return replace(decisions, **{name: change(getattr(decisions, name)) for name, change in changes.items()})


@pytest.mark.parametrize(
    "changes",
    [
        {"expert_outputs": lambda outputs: outputs + 0.01},
        {"at_random": lambda at_random: ~at_random},
        {"uncertainty": lambda delta: delta * (1 + 1e-9)},
        {"prediction": lambda prediction: prediction + 1e-9},
        {"probability": lambda p: p * (1 - 1e-9)},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_digest_covers_every_field_of_a_decision(changes):
    model, rule = Experts(4), Steady(0.3)
    log = random_log(new_workbook(model, rule), checks.shifting_stream(model))
    other = changed(log, lambda decisions: edited(decisions, **changes))
    assert state_digest(replayed(model, rule, log)) != state_digest(replayed(model, rule, other))


def test_replay_charges_absent_rows_without_learning_them():
    model, rule = Experts(4), Steady(0.3)
    stream = checks.shifting_stream(model)
    workbook, names = new_workbook(model, rule), [f"r{row}" for row in range(40)]
    answers = workbook.ask_rows(stream.X[:40], names)
    decisions = record_decisions(workbook.learner, answers)
    present = np.arange(40) % 3 > 0
    twin, bare = new_workbook(model, rule), Learner(model, Uniform(0.5))
    twin.replay(stream.X[:40][present], names, decisions, present=present)
    learner = twin.learner
    assert (learner.spent, twin.rows, learner.next_id) == (
        workbook.learner.spent,
        40,
        workbook.learner.next_id,
    )
    assert learner.spending.save() == workbook.learner.spending.save()
    assert learner.ledger.examples == 40
    retracted = answers.query & ~present
    assert retracted.any()
    assert learner.ledger.retracted == retracted.sum()
    assert list(learner.outstanding) == [names[row] for row in np.flatnonzero(answers.query & present)]
    # The model equals one that processed only the rows that are present.
    bare.replay(stream.X[:40][present], names_of(names, present), of_rows(decisions, present))
    np.testing.assert_array_equal(learner.uncertainty(stream.X), bare.uncertainty(stream.X))
    twin.replay(np.empty((0, 4)), ["s0"], of_rows(decisions, np.arange(40) == 0), present=[False])
    assert twin.rows == 41
    assert "s0" not in learner.outstanding


def names_of(names, rows):
    return [name for name, kept in zip(names, rows, strict=True) if kept]


def of_rows(decisions, rows):
    """Return the decisions of the rows that a mask selects."""
    asked = rows[decisions.query]
    per_row = "prediction", "uncertainty", "probability", "query"
    per_query = "at_random", "charges", "expert_outputs"
    columns = {name: getattr(decisions, name)[rows] for name in per_row}
    return RecordedDecisions(**columns, **{name: getattr(decisions, name)[asked] for name in per_query})


@pytest.mark.parametrize(
    ("X", "ids", "present", "message"),
    [
        (np.eye(4)[:1], ["a", "b"], None, "X of Learner.replay must be 2 rows"),
        (np.eye(4)[:2], ["a"], None, "ids of Learner must be 2 ids"),
        (np.eye(4)[:2], ["a", "b"], [True], "present of Learner.replay must be of shape"),
    ],
)
def test_replay_rejects_inconsistent_arguments(X, ids, present, message):
    learner, twin = Learner(Ridge(4), QuFUR(2.0)), Learner(Ridge(4), QuFUR(2.0))
    decisions = record_decisions(learner, learner.ask_many(np.eye(4)[:2]))
    with pytest.raises(ValueError, match=message):
        twin.replay(X, ids, decisions, present=present)
    assert twin.spent == twin.ledger.examples == 0


def test_loss_bounds_are_equal_in_ask_and_ask_many():
    learner, twin = (Learner(Experts(4, label_range=(-1, 1)), Steady(0.3)) for _ in range(2))
    X = checks.shifting_stream(learner.model).X
    for each in (learner, twin):
        each.learn(X[:20], X[:20].sum(axis=1))
    twin.ask_many(X)
    for x in X:
        learner.ask(x)
    bounds = [[query.largest_loss for query in each.pending.values()] for each in (learner, twin)]
    np.testing.assert_allclose(*bounds, rtol=1e-9)
    assert min(bounds[0]) < 4


def test_single_answer_records_the_same_decisions_as_a_batch():
    learner, twin = (Learner(Experts(4), Steady(0.3)) for _ in range(2))
    for x in checks.shifting_stream(learner.model).X[:20]:
        one, other = record_decisions(learner, learner.ask(x)), record_decisions(twin, twin.ask_many(x))
        for field in fields(RecordedDecisions):
            np.testing.assert_array_equal(getattr(one, field.name), getattr(other, field.name))


def test_record_decisions_raises_for_an_answer_without_context():
    with pytest.raises(ValueError, match="answers of a learner"):
        record_decisions(Learner(Ridge(1), QuFUR(1.0)), Answer(7, 0.0, 0.3, 0.9, True))
