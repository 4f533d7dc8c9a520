"""Tests of the scikit-activeml adapter: queries without side effects, updates, and budgets."""

import re
import sys
from copy import deepcopy

import numpy as np
import pytest
from skactiveml.stream.budgetmanager import BalancedIncrementalQuantileFilter, FixedUncertaintyBudgetManager
from sklearn.base import clone
from tests.refusals import refusal

from qufur import Learner, Paced, Ridge
from qufur.adapters.skactiveml import PacedBudgetManager, StreamQuFUR
from qufur.errors import command_for

MANAGERS = [
    None,
    PacedBudgetManager(budget=0.2, horizon=120, random_state=3),
    BalancedIncrementalQuantileFilter(budget=0.2),
    FixedUncertaintyBudgetManager(classes=[0, 1], budget=0.2),
]


def inputs(count=120, dim=3, seed=0):
    return np.random.default_rng(seed).normal(size=(count, dim))


def query_in_batches(strategy, X, size):
    """Query and update in batches; return the queried rows and the utilities."""
    queried, utilities = [], []
    for start in range(0, len(X), size):
        part = X[start : start + size]
        indices, values = strategy.query(part, return_utilities=True)
        strategy.update(part, indices)
        queried += (start + indices).tolist()
        utilities += values.tolist()
    return queried, utilities


def fingerprint(object):
    """Return the attributes of an object as text."""
    if isinstance(object, np.random.Generator):
        return str(object.bit_generator.state)
    if isinstance(object, np.random.RandomState):
        return str(object.get_state()[2:])
    if isinstance(object, np.ndarray):
        return str(object.tolist())
    if hasattr(object, "__dict__"):
        return str({name: fingerprint(value) for name, value in vars(object).items()})
    return repr(object)


# The strategy


def test_strategy_is_a_learner_without_labels():
    X = inputs(400)
    strategy = StreamQuFUR(model=Ridge, budget=0.1, regularization=0.5, random_state=7)
    learner = Learner(Ridge(3, regularization=0.5, intercept=True), Paced(0.1), seed=7)
    answers = learner.ask_many(X)
    queried, utilities = query_in_batches(strategy, X, 100)
    assert queried == np.flatnonzero(answers.query).tolist()
    np.testing.assert_allclose(utilities, answers.uncertainty, rtol=1e-9)


@pytest.mark.parametrize("manager", MANAGERS, ids=lambda manager: type(manager).__name__)
def test_batch_is_decided_as_its_samples_one_by_one(manager):
    X = inputs()
    X[60:] = X[:60] + 1e-3
    runs = [
        query_in_batches(StreamQuFUR(budget_manager=manager, budget=0.2, random_state=1), X, size)
        for size in (1, 7, 120)
    ]
    assert 0 < len(runs[0][0]) < 120
    assert runs[0] == runs[1] == runs[2]


@pytest.mark.parametrize("manager", MANAGERS, ids=lambda manager: type(manager).__name__)
def test_query_changes_nothing(manager):
    X = inputs()
    strategy = StreamQuFUR(budget_manager=manager, budget=0.2, random_state=1)
    strategy.update(X[:50], strategy.query(X[:50]))
    before = fingerprint(strategy)
    first, second = (strategy.query(X[50:], return_utilities=True) for _ in range(2))
    assert fingerprint(strategy) == before
    np.testing.assert_array_equal(first[0], second[0])
    np.testing.assert_array_equal(first[1], second[1])


def test_update_accepts_other_queries_than_proposed():
    X = inputs(40)
    strategy = StreamQuFUR(model=Ridge, random_state=0)
    strategy.update(X, [0, 3, 3])
    state = Ridge(3, regularization=1.0, intercept=True).start()
    state.learn(X[[0, 3]], np.zeros(2))
    np.testing.assert_allclose(strategy.query(X, return_utilities=True)[1][0], state.uncertainty(X[:1])[0])
    assert strategy.budget_manager_.spending_.spent == 2


def test_update_works_without_a_previous_query():
    X = inputs(60)
    one, other = StreamQuFUR(random_state=0), StreamQuFUR(random_state=0)
    other.query(X[:20])
    for strategy in (one, other):
        strategy.update(X[:20], [1, 2])
    np.testing.assert_array_equal(one.query(X[20:]), other.query(X[20:]))


def test_budget_manager_is_copied():
    manager = PacedBudgetManager(budget=0.2, random_state=3)
    strategy = StreamQuFUR(budget_manager=manager)
    strategy.update(inputs(), strategy.query(inputs()))
    assert not hasattr(manager, "spending_")


def test_invalid_input_to_the_strategy_changes_nothing():
    X = inputs(20)
    strategy = StreamQuFUR(random_state=0)
    strategy.update(X, [0])
    before = fingerprint(strategy)
    with pytest.raises(ValueError, match="features"):
        strategy.query(X[:, :2])
    with pytest.raises(ValueError, match="NaN"):
        strategy.query(np.full((1, 3), np.nan))
    with pytest.raises(TypeError):
        strategy.query(X, return_utilities="yes")
    for bad in ([20], [-1], [0.5], [True], "all", [[0]]):
        with pytest.raises(IndexError, match="queried_indices of StreamQuFUR must be integers from 0 to 19"):
            strategy.update(X, bad)
    assert fingerprint(strategy) == before


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"budget": 1}, ValueError),  # a count without a horizon
        ({"budget_manager": 0.5}, TypeError),
        ({"budget_manager": PacedBudgetManager}, TypeError),
        ({"model": Ridge, "regularization": 0.0}, ValueError),
        ({"model": Ridge, "intercept": "yes"}, ValueError),
        ({"random_state": "state"}, ValueError),
    ],
)
def test_invalid_options_of_the_strategy_raise_on_use(options, error):
    with pytest.raises(error):
        StreamQuFUR(**options).query(inputs(5))


# The budget manager


@pytest.mark.parametrize("rate", [0.02, 0.1, 0.5, 1.0])
@pytest.mark.parametrize("batch", [1, 30])
def test_window_never_exceeds_rate_and_burst(rate, batch):
    rng, burst = np.random.default_rng(1), 100 * rate + 8
    manager = PacedBudgetManager(budget=rate, burst=burst, random_state=0)
    query = np.zeros(600)
    for start in range(0, 600, batch):
        utilities = rng.random(batch) if start < 300 else np.ones(batch)
        indices = manager.query_by_utility(utilities)
        manager.update(np.zeros((batch, 1)), indices, utilities)
        query[start + indices] = 1
    bought = np.append(0, query.cumsum())
    excess = bought - rate * np.arange(601)
    assert (excess - np.minimum.accumulate(excess)).max() <= burst
    assert query.sum() > 0.5 * rate * 600


@pytest.mark.parametrize("share", [0.01, 0.29, 1.0])
def test_manager_with_horizon_spends_exactly_the_budget(share):
    manager = PacedBudgetManager(budget=share, horizon=100, random_state=0)
    utilities = np.random.default_rng(0).random(150)
    assert len(manager.query_by_utility(utilities)) == round(100 * share)


def test_additional_queries_are_charged():
    manager = PacedBudgetManager(budget=0.1, horizon=100, random_state=0)
    manager.update(np.zeros((20, 1)), np.arange(12), np.full(20, 0.5))
    assert len(manager.query_by_utility(np.ones(80))) == 0
    manager = PacedBudgetManager(budget=0.1, burst=6.0, random_state=0)
    manager.update(np.zeros((20, 1)), np.arange(16), np.full(20, 0.5))
    indices = manager.query_by_utility(np.ones(400))
    assert 16 + len(indices) <= 0.1 * 420 + 6
    assert indices[0] > 80  # after the debt is paid


def test_batches_of_utilities_equal_single_utilities():
    utilities = np.random.default_rng(2).random(200)
    utilities[::7] = np.nan
    manager = PacedBudgetManager(budget=0.2, random_state=5)
    whole = manager.query_by_utility(utilities)
    single = []
    for i, utility in enumerate(utilities):
        indices = manager.query_by_utility(np.array([utility]))
        manager.update([[0]], indices, np.array([utility]))
        single += [i] * len(indices)
    assert single == whole.tolist()
    assert not np.isnan(utilities[whole]).any()
    for sure in (manager, PacedBudgetManager(budget=1.0, horizon=50)):  # buys every sample with a utility
        assert len(sure.query_by_utility(np.full(50, np.nan))) == 0


def test_managers_work_in_strategies_of_scikit_activeml():
    from skactiveml.classifier import ParzenWindowClassifier
    from skactiveml.stream import StreamProbabilisticAL

    X = inputs(60)
    clf = ParzenWindowClassifier(classes=[0, 1]).fit(X[:10], (X[:10, 0] > 0).astype(int))
    strategy = StreamProbabilisticAL(
        budget_manager=PacedBudgetManager(budget=0.1, horizon=50, random_state=0)
    )
    total = 0
    for start in range(10, 60, 10):
        part = X[start : start + 10]
        indices, utilities = strategy.query(part, clf=clf, return_utilities=True)
        strategy.update(part, indices, budget_manager_param_dict={"utilities": utilities})
        total += len(indices)
    assert total == 5


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"budget": 5}, ValueError),
        ({"budget": 0.1, "horizon": 0}, ValueError),
        ({"budget": 0.1, "horizon": 50, "burst": 20.0}, ValueError),
        ({"budget": 0.1, "burst": 1.0}, ValueError),
        ({"random_state": "state"}, ValueError),
        ({"random_state": float("nan")}, ValueError),
    ],
)
def test_invalid_options_raise_on_use(options, error):
    manager = PacedBudgetManager(**options)
    with pytest.raises(error):
        manager.query_by_utility(np.array([0.5]))
    assert not hasattr(manager, "spending_")


@pytest.mark.parametrize("bad", [0, "all", [-1], [2], [0.0], [True], [[0]], [np.nan], np.array([2**64 - 1])])
def test_invalid_indices_raise_and_change_nothing(bad):
    manager = PacedBudgetManager(random_state=0)
    manager.update([[0], [1]], [], np.array([0.2, 0.8]))
    before = fingerprint(manager)
    with pytest.raises(
        IndexError, match="queried_indices of PacedBudgetManager must be integers from 0 to 1"
    ):
        manager.update([[0], [1]], bad, np.array([0.2, 0.8]))
    with pytest.raises(TypeError):
        manager.update(None, [0], np.array([0.2, 0.8]))
    assert fingerprint(manager) == before


@pytest.mark.parametrize("utilities", [[0.1], "high", 0.5])
def test_utilities_are_arrays(utilities):
    with pytest.raises(TypeError):
        PacedBudgetManager().query_by_utility(utilities)


def test_invalid_utilities_raise():
    manager = PacedBudgetManager(random_state=0)
    start = "utilities of PacedBudgetManager must be a vector of finite numbers"
    assert refusal(lambda: manager.query_by_utility(np.array([np.inf]))).startswith(start)
    message = refusal(lambda: manager.update([[0], [1]], [0], np.array([0.5])))
    assert message == "utilities of PacedBudgetManager must be 2, one per sample, got 1."


# Estimator interface and random state


@pytest.mark.parametrize("cls", [StreamQuFUR, PacedBudgetManager])
def test_constructors_only_store(cls):
    names = cls().get_params()
    marked = cls(**{name: (name,) for name in names})
    assert marked.get_params(deep=False) == {name: (name,) for name in names}
    assert clone(cls(budget=0.3)).budget == 0.3
    assert {"budget", "random_state"} <= set(names)


@pytest.mark.parametrize("random_state", [4, np.random.RandomState(4)])
def test_random_state_determines_results_and_is_unchanged(random_state):
    X, before = inputs(), fingerprint(deepcopy(random_state))
    np.random.seed(0)  # noqa: NPY002
    runs = [query_in_batches(StreamQuFUR(random_state=random_state, budget=0.3), X, 30) for _ in range(2)]
    assert runs[0] == runs[1] != query_in_batches(StreamQuFUR(random_state=5, budget=0.3), X, 30)
    assert fingerprint(random_state) == before
    untouched = np.random.RandomState(0).random_sample()
    assert np.random.random_sample() == untouched  # noqa: NPY002


def test_strategy_queries_new_directions():
    X = inputs(400, 4)
    X[:300, 2:] = 0.0
    query = np.zeros(400)
    query[query_in_batches(StreamQuFUR(budget=0.1, model=Ridge, random_state=0), X, 50)[0]] = 1
    assert query[300:320].mean() > 0.1 + 2 * query[200:300].mean()


def test_import_without_scikit_activeml_names_the_extra(monkeypatch):
    monkeypatch.delitem(sys.modules, "qufur.adapters.skactiveml")
    monkeypatch.setitem(sys.modules, "skactiveml.base", None)
    with pytest.raises(ImportError, match=re.escape(command_for("activeml"))):
        import qufur.adapters.skactiveml  # noqa: F401
