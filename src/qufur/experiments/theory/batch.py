"""Online-to-batch conversion: excess risk on new iid data (Theorems 11 and 12)."""

from __future__ import annotations

import math
from functools import cache
from itertools import product

import numpy as np

from qufur.arrays import Floats
from qufur.experiments.base import Cell, Experiment, Figure, Row, Statement, Table, cells_of
from qufur.figures.style import LOOKS, subplots
from qufur.learner import Learner
from qufur.models import Ridge
from qufur.online_to_batch import online_to_batch
from qufur.rules import FixedBudget, QuFUR, Rule
from qufur.streams import Arrays
from qufur.streams.synthetic import Blocks, unit_vectors
from qufur.sweep.at_budgets import rule_for_budget
from qufur.sweep.grid import play as play_rule
from qufur.sweep.statistics import jackknife, per_seed, ratio
from qufur.theory import batch_bound, batch_order

MIXTURES: dict[str, tuple[list[float], list[int]]] = {
    "1 + 1": ([0.5, 0.5], [1, 1]),
    "1 + 4": ([0.75, 0.25], [1, 4]),
    "2 + 3 + 4": ([0.4, 0.3, 0.3], [2, 3, 4]),
}
"""p_u and d_u of the domains, named by the d_u, in sorted order."""

HORIZON = 2000
NOISE = 1.0
BUDGETS = (102, 204, 408)
"""3, 6 and 12 labels for each copy of FixedBudget; T is in the range of Theorem 12 for all of them."""

RULES: dict[str, type[Rule]] = {"FixedBudget": FixedBudget, "QuFUR": QuFUR}
FRESH = 2000
"""New examples on which a predictor is evaluated."""

FLAT = 4.0
"""Orders hide constants and logarithms; budgets and mixtures move the order itself by a factor of 17."""


def cells(seeds: int) -> list[Cell]:
    """Run both rules at every budget on the same streams."""
    return cells_of(seed=range(seeds), mixture=MIXTURES, budget=BUDGETS, rule=RULES)


def play(cell: Cell) -> Row:
    """Run a learner and evaluate its predictors on new data: a random one, and their average."""
    seed, mixture = cell["seed"], cell["mixture"]
    stream, X, truth = _draw(mixture, seed)
    model, rule = Ridge(stream.dim, noise=NOISE), _rule(mixture, cell["budget"], cell["rule"])
    totals = play_rule(model, rule, stream, seed).totals
    predictors = online_to_batch(Learner(model, rule, seed=np.random.default_rng([seed, 1])), stream)
    return {
        "queries": totals.queries,
        "regret": totals.regret,
        "excess": totals.excess,
        "risk": predictors.loss(X, truth),
        "risk_of_average": float(((predictors.predict(X) - truth) ** 2).mean()),
    }


def _draw(mixture: str, seed: int) -> tuple[Arrays, Floats, Floats]:
    """Return a stream of iid examples, and new inputs of the same distribution with their f*."""
    shares, dims = MIXTURES[mixture]
    subspaces, rng = Blocks(tuple(dims)), np.random.default_rng([seed, 2])
    theta = unit_vectors(np.ones((1, subspaces.dim), dtype=bool), rng)[0]
    domain = rng.choice(len(shares), size=HORIZON + FRESH, p=shares)
    X = subspaces.embed(unit_vectors(subspaces.coordinates[domain], rng), domain)
    truth = X @ theta
    y = truth[:HORIZON] + NOISE * rng.standard_normal(HORIZON)
    return Arrays(X[:HORIZON], y, truth=truth[:HORIZON]), X[HORIZON:], truth[HORIZON:]


@cache
def _rule(mixture: str, budget: int, rule: str) -> Rule:
    # Streams of one mixture are similar: one α spends about the same on all of them.
    stream, *_ = _draw(mixture, 0)
    tuned = rule_for_budget(RULES[rule], budget, Ridge(stream.dim, noise=NOISE), stream)
    return QuFUR(tuned.alpha) if isinstance(tuned, QuFUR) else tuned  # the cap was only needed to search α


def judge(table: Table) -> list[Statement]:
    """Compare the risk on new data with regret, order and bound."""
    worst = float((table["risk_of_average"] / table["risk"]).to_numpy().max())
    parts = {rule: table.filter(rule=rule) for rule in RULES}
    return [
        *(_judge_conversion(rule, part) for rule, part in parts.items()),
        Statement(
            "after Theorem 11",
            "the average of the predictors has no more excess risk than one drawn at random, in every run",
            f"at most {worst:.2f} of it",
            worst <= 1 + 1e-9,
        ),
        *(_judge_order(rule, part) for rule, part in parts.items()),
        _judge_bound(parts["FixedBudget"]),
    ]


def _judge_conversion(rule: str, table: Table) -> Statement:
    risk, reg = (per_seed(table, ["mixture", "budget"], column) for column in ("risk", "excess"))
    samples = np.stack([HORIZON * risk.sum(axis=(1, 2)), reg.sum(axis=(1, 2))], axis=1)
    result = jackknife(ratio, samples)
    return Statement(
        "Theorem 11",
        f"the excess risk of a random predictor is Reg/T in the mean, within 10 %, for {rule}",
        f"ratio {result.value:.3f} [{result.low:.3f}, {result.high:.3f}]",
        result.within(0.9, 1.1),
    )


def _judge_order(rule: str, table: Table) -> Statement:
    samples = over_order(table)
    result = jackknife(lambda part: float(part.mean(axis=0).max() / part.mean(axis=0).min()), samples)
    mean = samples.mean(axis=0)
    return Statement(
        "Theorem 12",
        f"the excess risk of {rule} goes as (Σ √(d_u p_u))²/B over budgets and mixtures: "
        f"the largest ratio to it at most {FLAT:g} times the smallest",
        f"{result} times; from {mean.min():.2f} to {mean.max():.2f}",
        result.within(-math.inf, FLAT),
    )


def over_order(table: Table) -> Floats:
    """Return the risk over its order, by seed, mixture and budget."""
    order = [[batch_order(*mixture, B, noise=NOISE) for B in BUDGETS] for mixture in MIXTURES.values()]
    return np.asarray(per_seed(table, ["mixture", "budget"], "risk") / np.array(order))


def _judge_bound(table: Table) -> Statement:
    risk = per_seed(table, ["mixture", "budget"], "risk").mean(axis=0)
    settings = product(MIXTURES.values(), BUDGETS)
    bounds = np.array([batch_bound(*mixture, B, HORIZON, noise=NOISE) for mixture, B in settings])
    spent, share = (table["queries"] / table["budget"]).to_numpy(), risk.ravel() / bounds
    return Statement(
        "Theorem 12",
        "FixedBudget has Q ≤ B in every run, and an excess risk below the bound with constants",
        f"Q/B at most {spent.max():.2f}; risk at most {share.max():.3f} of the bound, which is "
        f"the trivial 4 in {(bounds >= 4).sum()} of {len(bounds)} settings",
        bool(spent.max() <= 1 and share.max() <= 1),
    )


def draw(table: Table) -> Figure:
    """Draw the excess risk on new data against regret, and against its order."""
    figure, (first, second) = subplots(1, 2)
    for rule in RULES:
        rows = table.filter(rule=rule)
        first.plot(rows["regret"] / HORIZON, rows["risk"], ls="", ms=3, alpha=0.5, label=rule, **LOOKS[rule])
        mean = over_order(rows).mean(axis=0)
        for name, values, style in zip(MIXTURES, mean, ("-", "--", ":"), strict=True):
            label = f"{rule}, {name}"
            second.plot(BUDGETS, values, ls=style, lw=1.2, ms=4, label=label, **LOOKS[rule])
    first.axline((0.01, 0.01), (0.1, 0.1), color="0.3", lw=0.8)
    first.set(xscale="log", yscale="log", xlabel="R/T", ylabel="excess risk of a random predictor")
    first.set(title="On new data and on the stream; a point per run")
    first.legend(frameon=False)
    second.set(xscale="log", xlabel="budget B", ylabel="excess risk · B / (Σ √(d_u p_u))²")
    second.set(title="Excess risk over its order", ylim=(0, 1.4 * second.get_ylim()[1]))
    second.set_xticks(BUDGETS, labels=BUDGETS)
    second.minorticks_off()
    second.legend(frameon=False, fontsize="small", ncols=2, loc="upper left", title="rule, dimensions")
    return figure


EXPERIMENT = Experiment("batch", "Risk on new data after a run on iid data", cells, play, draw, judge)
