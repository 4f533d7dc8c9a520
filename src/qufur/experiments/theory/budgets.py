"""Scaling R ∝ (Σ √(d_u T_u))²/B over budgets and domains (Theorems 1, 2 and 6).

The streams are those of the lower-bound adversary. Each coordinate of θ* is as large as the noise, so that
every direction is worth learning. With θ* on a sphere and noise 1, as in `HiddenDomains`, it would not be: a
prediction from a few labels of a direction is worse than one from none.
"""

from __future__ import annotations

import numpy as np

from qufur.arrays import Floats
from qufur.experiments.base import Cell, Experiment, Figure, Row, Statement, Table, cells_of
from qufur.figures.style import LOOKS, subplots
from qufur.models import Ridge
from qufur.rules import FixedBudget, QuFUR, Rule, Uniform
from qufur.streams import LowerBound
from qufur.sweep.grid import play as play_rule
from qufur.sweep.statistics import jackknife, per_seed, ratio
from qufur.theory import Structure

STRUCTURES = {
    # Over T = 40,000 examples, from equal T_u/d_u to ratios that differ by a factor of 760.
    "equal": Structure([4_000] * 10, [4] * 10),
    "unequal": Structure([20_000, 10_000, 6_000, 4_000], [1, 4, 12, 24]),
    "very unequal": Structure([36_000, 4_000], [1, 40]),
    "extreme": Structure([38_000, 2_000], [1, 40]),
}
BUDGETS = (500, 1_000, 2_000)
"""All between Σ d_u and `largest_budget` of each structure."""

RULES = ("QuFUR", "FixedBudget", "Uniform")
FLAT = 4.0
"""Largest factor between values that count as flat; it leaves room for a logarithm."""


def cells(seeds: int) -> list[Cell]:
    """Run every rule on every structure at every budget."""
    return cells_of(seed=range(seeds), structure=STRUCTURES, budget=BUDGETS, rule=RULES)


def play(cell: Cell) -> Row:
    """Run one rule; α of QuFUR follows from the budget by Q = √(2α d T), the theory of one domain."""
    structure, budget, seed = STRUCTURES[cell["structure"]], cell["budget"], cell["seed"]
    stream = LowerBound(structure.durations, structure.dims, seed=seed)
    rules: dict[str, Rule] = {
        "QuFUR": QuFUR((budget / structure.root_sum) ** 2 / 2),
        "FixedBudget": FixedBudget(budget, stream.horizon),
        "Uniform": Uniform(budget / stream.horizon),
    }
    model = Ridge(stream.dim, norm_bound=stream.dim**0.5)
    totals = play_rule(model, rules[cell["rule"]], stream, seed).totals
    # Algorithm 2 is evaluated at its budget, the other rules at their actual spend.
    labels = budget if cell["rule"] == "FixedBudget" else totals.queries
    order = structure.root_sum**2 / labels
    return {"queries": totals.queries, "regret": totals.regret, "constant": totals.regret / order}


def judge(table: Table) -> list[Statement]:
    """Compare R·B/(Σ √(d_u T_u))² over structures and budgets."""
    constants = {rule: _constants(table, rule) for rule in RULES}
    fixed_budget = table.filter(rule="FixedBudget")
    spent = (fixed_budget["queries"] / fixed_budget["budget"]).to_numpy().max()
    ends = [list(STRUCTURES).index(name) for name in ("extreme", "equal")]
    uniform = jackknife(ratio, constants["Uniform"][:, ends, -1])
    return [
        _flatness("Theorem 1", "QuFUR", constants["QuFUR"]),
        _flatness("Theorem 2", "FixedBudget", constants["FixedBudget"]),
        Statement(
            "Theorem 2",
            "Algorithm 2 never exceeds its budget",
            f"at most {spent:.0%} of it",
            bool(spent <= 1),
        ),
        Statement(
            "Section 3.2",
            "with uniform querying R·B/(Σ√(d_u T_u))² more than doubles from equal to extreme, at the "
            "largest B",
            f"a factor {uniform}",
            uniform.within(2, np.inf),
        ),
    ]


def _constants(table: Table, rule: str) -> Floats:
    """Return the constants of each seed, a row per structure and a column per budget."""
    parts = [table.filter(rule=rule, structure=name) for name in STRUCTURES]
    return np.stack([per_seed(part, ["budget"], "constant") for part in parts], axis=1)


def _flatness(source: str, rule: str, constants: Floats) -> Statement:
    mean = constants.mean(axis=0)
    # On a logarithmic axis a factor is a distance, whose interval is closer to symmetric.
    spread = jackknife(lambda samples: float(np.ptp(np.log(samples.mean(axis=0)))), constants)
    return Statement(
        source,
        f"{rule}: R·B/(Σ√(d_u T_u))² is flat, within a factor {FLAT:.0f} over budgets and structures",
        f"{mean.min():.2g} to {mean.max():.2g}, a factor {np.exp(spread.value):.1f}",
        spread.within(0, np.log(FLAT)),
    )


def draw(table: Table) -> Figure:
    """Draw the constant of each rule, a point per structure and budget."""
    figure, panels = subplots(1, len(RULES), width=3.8)
    for panel, rule in zip(panels, RULES, strict=True):
        means = _constants(table, rule).mean(axis=0)
        for shade, budget, column in zip((0.35, 0.65, 1.0), BUDGETS, means.T, strict=True):
            panel.plot(list(STRUCTURES), column, alpha=shade, lw=1.2, label=f"B = {budget:,}", **LOOKS[rule])
        panel.set(yscale="log", title=rule, ylim=(0.1, 10))
        panel.tick_params(axis="x", rotation=20)
        panel.legend(frameon=False, fontsize="small")
    panels[0].set_ylabel("R · B / (Σ √(d_u T_u))²")
    return figure


EXPERIMENT = Experiment(
    "budgets", "Regret times budget over structures and budgets", cells, play, draw, judge
)
