"""Tests of parameters: NumPy numbers and fractions become Python numbers; too large numbers raise."""

import dataclasses
import json
from fractions import Fraction

import numpy as np
import pytest
from tests.refusals import refusal

from qufur import ConfidenceSet, FixedBudget, Greedy, Learner, Paced, QuFUR, Ridge, Threshold
from qufur.hypotheses import GeneralisedLinear, LinearBall, Parametric
from qufur.models import MODELS, Converged, PaperAdam
from qufur.rules import RULES

EXAMPLES = [
    *(rule for cls in RULES for rule in cls.examples(90)),
    *(model for cls in MODELS for model in cls.examples(3)),
    ConfidenceSet(LinearBall(3), radius=0.5, horizon=90),
    Converged(),
    PaperAdam(),
    LinearBall(3),
    GeneralisedLinear(3),
    Parametric(np.dot, np.dot, dim=1, bounds=[(0.0, 1.0)], lipschitz=1.0),
]
NUMBER_TYPES = {int: (np.int64, np.int16), float: (np.float64, np.float32, Fraction), bool: (np.bool_,)}
CASES = [
    pytest.param(
        example, field.name, number_type, id=f"{type(example).__name__}-{field.name}-{number_type.__name__}"
    )
    for example in EXAMPLES
    for field in dataclasses.fields(example)
    if field.init
    for number_type in NUMBER_TYPES.get(type(getattr(example, field.name)), ())
]


@pytest.mark.parametrize(("example", "name", "number_type"), CASES)
def test_parameters_become_python_numbers(example, name, number_type):
    given = number_type(getattr(example, name))
    value = getattr(dataclasses.replace(example, **{name: given}), name)
    assert type(value) is type(getattr(example, name))
    assert value == given


def test_cases_cover_all_descriptions():
    assert len(CASES) > 200
    assert {type(case.values[0]) for case in CASES} >= {*RULES, *MODELS}


def test_integers_become_floats_for_float_parameters():
    for value in (QuFUR(2).alpha, Threshold(1).level, Ridge(2, noise=10**10).noise, QuFUR(1, floor=0).floor):
        assert type(value) is float


@pytest.mark.parametrize("number_type", [np.float32, Fraction])
def test_learner_with_numpy_parameters_continues_as_its_file(tmp_path, number_type):
    X = np.random.default_rng(0).normal(size=(300, 3))
    rule, model = (
        QuFUR(number_type(3.25), floor=number_type(0.1)),
        Ridge(3, noise=number_type(1.1), label_range=(number_type(0), number_type(2))),
    )
    single, many = Learner(model, rule, seed=1), Learner(model, rule, seed=1)
    single.save(tmp_path / "learner")
    again = Learner.load(tmp_path / "learner")
    answers = [single.ask(x) for x in X]
    assert answers == [again.ask(x) for x in X]
    columns = many.ask_many(X)
    assert columns.query.tolist() == [answer.query for answer in answers]
    np.testing.assert_allclose(columns.probability, [a.probability for a in answers], rtol=1e-12)
    assert json.dumps(dataclasses.asdict(rule))


def test_copies_are_counted_exactly():
    assert FixedBudget(np.int64(400), np.int32(5000)).copies == FixedBudget(400, 5000).copies


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Greedy(10**400), "budget of Greedy must be below 2**63, got an integer of 1329 bits."),
        (lambda: FixedBudget(2**63, 10), "budget of FixedBudget must be below 2**63"),
        (lambda: QuFUR(10**400), "alpha of QuFUR must be a finite number above 0, got 1000"),
        (lambda: QuFUR(Fraction(1, 10**400)), "alpha of QuFUR must be a finite number above 0"),
        (lambda: Paced(0.1, burst=1e300), "burst of Paced must be in (4.2, 9.0072e+15], got 1e+300."),
        (lambda: Ridge(2, noise=1e200), "noise of Ridge must be such that η² is finite, got 1e+200."),
        (lambda: Ridge(2, noise=10**400), "noise of Ridge must be a finite number of at least 0"),
        *[
            (
                lambda high=high: Ridge(2, label_range=(0, high)),
                "label_range of Ridge must be such that (high - low)² neither overflows nor underflows,"
                f" got (0, {high}).",
            )
            for high in (1e-200, 1e200)
        ],
        (lambda: Ridge(2, label_range=(0, 10**400)), "label_range of Ridge must be two finite numbers"),
    ],
)
def test_parameters_that_overflow_raise(build, message):
    assert refusal(build).startswith(message)


def test_large_integers_are_accepted():
    learner = Learner(Ridge(2, noise=10**10), Greedy(2**63 - 1))
    assert learner.ask_many(np.ones((40, 2))).query.all()
    assert learner.left == 2**63 - 41
