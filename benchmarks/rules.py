"""Cost of budget rules relative to `QuFUR`, on the same stream and at equal labels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from benchmarks import workloads
from benchmarks.text import Progress, Table
from benchmarks.timing import SHORTEST, Timing, interleaved
from qufur import FixedBudget, Paced, QuFUR
from qufur.rules.base import Rule
from qufur.streams import Arrays

DIMS = (88, 384, 768)
ROUNDS = 9


def measure(quick: bool, progress: Progress) -> list[dict[str, Any]]:
    """Replay every stream at every rate with every rule."""
    measured = []
    for dim in DIMS:
        data = workloads.stream(dim, quick)
        for rate in workloads.RATES:
            progress.say(f"rules: d = {dim}, query rate {rate:.0%}")
            measured.append(_compare(data, rate, 1 if quick else ROUNDS))
    return measured


def _compare(data: Arrays, rate: float, rounds: int) -> dict[str, Any]:
    fixed = _fixed_budget(data, rate)
    labels = workloads.play_rule(data, fixed).queries  # with few labels the budget is only met roughly
    rules: dict[str, Rule] = {
        "QuFUR": QuFUR(workloads.calibrated(data, labels / data.horizon)),
        "FixedBudget": fixed,
        "Paced": Paced(labels, data.horizon),
    }
    variants: dict[str, Callable[[], object]] = {
        name: lambda rule=rule: workloads.play_rule(data, rule) for name, rule in rules.items()
    }
    queries: dict[str, int] = {}
    timings = interleaved(
        variants,
        data.horizon,
        rounds,
        check=lambda returned: queries.update({name: trace.queries for name, trace in returned.items()}),
        shortest=SHORTEST,
    )
    return {
        "dim": data.dim,
        "horizon": data.horizon,
        "rate": rate,
        "queries": queries,
        "microseconds": {name: asdict(timing) for name, timing in timings.items()},
        "slower": {name: timing.median / timings["QuFUR"].median for name, timing in timings.items()},
    }


def _fixed_budget(data: Arrays, rate: float) -> FixedBudget:
    """Return the rule that spends this share; its copies leave most of their budgets unspent."""
    least = FixedBudget(10**9, data.horizon).copies
    low, high = least, 64 * data.horizon
    while high - low > max(1, low // 50):
        budget = (low + high) // 2
        spent = workloads.play_rule(data, FixedBudget(budget, data.horizon)).queries
        low, high = (budget, high) if spent < rate * data.horizon else (low, budget)
    return FixedBudget(high, data.horizon)


def tables(results: list[dict[str, Any]]) -> list[Table]:
    """Return costs and ratios."""
    rows = []
    for r in results:
        cost = {name: str(Timing(**timing)) for name, timing in r["microseconds"].items()}
        rows.append(
            [
                f"d = {r['dim']}, T = {r['horizon']}, {r['rate']:.0%}",
                " / ".join(str(count) for count in r["queries"].values()),
                *cost.values(),
                *(f"{r['slower'][name]:.2f}×" for name in ("FixedBudget", "Paced")),
            ]
        )
    header = ["rules", "queries", "QuFUR", "FixedBudget", "Paced", "FixedBudget / QuFUR", "Paced / QuFUR"]
    return [Table("Rules at equal labels, CPU microseconds per step", header, rows)]
