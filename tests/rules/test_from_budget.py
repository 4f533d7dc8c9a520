"""500, 5% and 0.05 have the same meaning in every command and adapter."""

import json

import numpy as np
import pytest
from tests.refusals import refusal
from tests.soak import SOAK

from qufur import QuFUR, Ridge, Steady, plan
from qufur.adapters import river, skactiveml, sklearn
from qufur.cli import execute
from qufur.rules.from_budget import ALLOWED, as_amount, labels_of, rule_from_budget
from qufur.workbook import Workbook

ROWS = 120
X = np.random.default_rng(0).normal(size=(ROWS, 2)).round(3)
Y = (X[:, 0] > 0).astype(float)
EXAMPLES = [("30", 30), ("25%", 30), ("0.25", 30), ("1", 1), ("0.1%", 1), ("1.0", ROWS)]
NUMBERS = [(30, 30), (0.25, 30), (1, 1), (0.001, 1), (1.0, ROWS), (np.int64(7), 7), (np.float32(0.25), 30)]
REFUSED = [0, -3, 0.0, 1.5, 1e300, float("nan"), True, np.True_, [5], 0.5j, "0", "-1", "1.5", "120%", "0%"]
REFUSED += ["many", "nan", "inf%", "%", "", "1,5", "9" * 5000]


@pytest.fixture
def command(tmp_path, capsys, no_pictures):
    """Return a function that runs a command on a table and returns its output."""
    data = tmp_path / "rows.csv"
    lines = [["a", "b", "y"], *np.column_stack([X, Y]).tolist()]
    data.write_text("".join(",".join(map(str, line)) + "\n" for line in lines))

    def call(name, budget, *options):
        execute([name, str(data), "--budget", str(budget), *map(str, options)])
        return capsys.readouterr().out

    return call


def bought_by_run(command, budget, folder):
    linear = "--model", "ridge", "--target", "y"
    printed = command("run", budget, *linear, "--seeds", 1, "--out", folder, "--json")
    bought = next(row["queries"] for row in json.loads(printed)["runs"] if row["rule"] == "Greedy")
    return ROWS if bought == ROWS - 1 else bought  # every rule learns the first row before the run


def planned(command, budget, folder):
    linear = "--model", "ridge", "--target", "y"
    return json.loads(command("plan", budget, *linear, "--seeds", 2, "--out", folder, "--json"))["budget"]


def asked(command, budget, folder, *options):
    state = folder / "s.qufur"
    command("ask", budget, "--state", state, "-o", folder / "out.csv", "--target", "y", *options)
    return Workbook.load(state).learner.rule


def fitted(command, budget, folder):
    kinds = sklearn.QuFURRegressor, sklearn.QuFURClassifier
    (count,) = {kind(model=kind.linear, budget=budget, random_state=0).fit(X, Y).n_queries_ for kind in kinds}
    return count


def managed(command, budget, folder):
    manager = skactiveml.PacedBudgetManager(budget=budget, horizon=ROWS, random_state=0)
    return len(manager.query_by_utility(np.linspace(1, 0.5, ROWS)))


KNOWN = {
    "qufur run": bought_by_run,
    "qufur plan": planned,
    "qufur ask": lambda *how: asked(*how, "--horizon", ROWS).limit,
    "plan": lambda _, budget, __: plan(Ridge(2), X, budget, seeds=range(2)).budget,
    "sklearn": fitted,
    "skactiveml": managed,
}
UNKNOWN = {
    "qufur ask": asked,
    "sklearn": lambda _, budget, __: (
        sklearn.QuFURRegressor(budget=budget).partial_fit(X[:3], Y[:3]).learner_.rule
    ),
    "sklearn query": lambda _, budget, __: queried(sklearn.QuFURRegressor(budget=budget)).learner_.rule,
    "river": lambda _, budget, __: river.QuFURRegressor(budget=budget).learner.rule,
    "river classes": lambda _, budget, __: river.QuFURClassifier(budget=budget).learner.rule,
    "skactiveml": lambda _, budget, __: started(budget).budget_manager_.spending_.rule,
}


def queried(estimator):
    estimator.query(X)
    return estimator


def started(budget):
    strategy = skactiveml.StreamQuFUR(budget=budget)
    return strategy.update(X[:1], strategy.query(X[:1]))


@pytest.mark.parametrize(
    ("face", "budget", "labels"),
    [
        (face, *example)
        for face in KNOWN
        for example in EXAMPLES + NUMBERS * (not face.startswith("qufur"))  # commands receive text only
        if SOAK or face != "qufur run" or example in EXAMPLES[1:3]  # the slowest
    ],
)
def test_share_becomes_a_count_when_rows_are_known(command, tmp_path, face, budget, labels):
    assert KNOWN[face](command, budget, tmp_path) == labels


@pytest.mark.parametrize("face", UNKNOWN)
@pytest.mark.parametrize("budget", [0.25, "0.25", "25%"])
def test_share_becomes_a_rate_when_rows_are_unknown(command, tmp_path, face, budget):
    assert UNKNOWN[face](command, budget, tmp_path) == Steady(0.25)


@pytest.mark.parametrize("face", [face for face in UNKNOWN if face != "qufur ask"])
def test_count_is_rejected_when_rows_are_unknown(face):
    message = refusal(lambda: UNKNOWN[face](None, "30", None))
    assert "must be a share such as 0.05 when the number of rows is unknown, got" in message


def test_count_applies_to_the_first_table(command, tmp_path):
    assert asked(command, 30, tmp_path) == Steady(30, ROWS)


@pytest.mark.parametrize("face", KNOWN | {f"{name}, unknown": None for name in UNKNOWN})
@pytest.mark.parametrize("budget", REFUSED, ids=lambda budget: repr(budget)[:12])
def test_invalid_budgets_raise_the_same_message(command, tmp_path, face, budget):
    use = KNOWN.get(face) or UNKNOWN[face.removesuffix(", unknown")]
    said = repr(str(budget) if face.startswith("qufur") else budget)
    end = f" must be {ALLOWED}, got {said}. 1 is one label, 1.0 is every label."
    assert refusal(lambda: use(command, budget, tmp_path)).endswith(end)


def test_percentages_are_parsed_exactly():
    for tenths in range(1, 1001):
        assert as_amount(f"{tenths / 10}%", "x") == as_amount(f"{tenths / 1000}", "x") == tenths / 1000


def test_share_is_the_nearest_count_of_at_least_one():
    assert [labels_of(0.29, rows) for rows in (1, 2, 100, 1000)] == [1, 1, 29, 290]


def test_budget_caps_alpha():
    assert rule_from_budget("5%", 2, rows=100, owner="x", floor=0.1) == QuFUR(2.0, budget=5, floor=0.1)
    assert rule_from_budget(None, 2, rows=None, owner="x") == QuFUR(2.0)
    message = refusal(lambda: rule_from_budget("5%", 2, rows=None, owner="x", remedy="Say it."))
    assert message.endswith(
        "a count when alpha is given and the number of rows is unknown, got '5%'. Say it."
    )


def test_too_large_counts_are_rejected():
    assert refusal(lambda: as_amount(2**63, "x")).endswith("must be below 2**63, got an integer of 64 bits.")
