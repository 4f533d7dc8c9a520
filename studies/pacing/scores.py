"""Ratios of regret to that of QuFUR(α), with α tuned in hindsight to spend the same budget."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from qufur.arrays import Floats
from qufur.experiments.base import Listing, Statement
from qufur.sweep.statistics import Interval, every, jackknife, per_seed
from studies.pacing.streams import LONG

if TYPE_CHECKING:
    import polars as pl

REFERENCE = "QuFUR"
LEAST_SPENT = 0.98
"""Share of the budget that a rule must spend, in the mean over seeds."""


def mean_ratio(samples: Floats) -> float:
    """Return the geometric mean over settings of mean regret ÷ mean regret of the reference.

    Parameters
    ----------
    samples
        Regrets: an axis of seeds, one of settings, and one of two, the reference last.

    Examples
    --------
    >>> mean_ratio(np.array([[[2.0, 1.0], [1.0, 2.0]], [[4.0, 2.0], [2.0, 4.0]]]))
    1.0
    """
    above, below = np.moveaxis(samples.mean(axis=0), -1, 0)
    return float(np.exp(np.log(above / below).mean()))


def paired(table: pl.DataFrame, rule: str, reference: str = REFERENCE, measure: str = "regret") -> Floats:
    """Return the samples of a rule and of the reference, in the settings in which the rule ran.

    A setting is a stream at a share; axes are seeds, settings, and the two measurements.
    """
    keys = ["seed", "stream", "share"]
    first, second = (table.filter(table["rule"] == name).select(*keys, measure) for name in (rule, reference))
    both = first.join(second, on=keys, suffix=" of the reference")
    settings = both.select("stream", "share").unique(maintain_order=True).with_row_index("setting")
    numbered = both.join(settings, on=["stream", "share"])
    columns = (measure, f"{measure} of the reference")
    return np.stack([per_seed(numbered, ["setting"], column) for column in columns], axis=-1)


def of_streams(table: pl.DataFrame, rule: str) -> dict[str, Interval]:
    """Return the ratio on every stream, all budgets together."""
    streams = table.filter(table["rule"] == rule)["stream"].unique(maintain_order=True)
    return {
        name: jackknife(mean_ratio, paired(table.filter(table["stream"] == name), rule)) for name in streams
    }


def of_shares(table: pl.DataFrame, rule: str) -> dict[tuple[str, float], float]:
    """Return the ratio on every stream at every share."""
    rows = table.filter(table["rule"] == rule).select("stream", "share").unique(maintain_order=True).rows()
    return {
        (stream, share): mean_ratio(
            paired(table.filter((table["stream"] == stream) & (table["share"] == share)), rule)
        )
        for stream, share in rows
    }


def spent(table: pl.DataFrame, rule: str) -> Floats:
    """Return the share of the budget that a rule spent in every run."""
    rows = table.filter(table["rule"] == rule)
    return np.asarray((rows["queries"] / rows["budget"]).to_numpy())


def groups(table: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """Return the rows of design streams, of held-out streams, and of the long streams among both."""
    parts = {name: table.filter(table["set"] == name) for name in ("design", "held-out")}
    parts["long"] = table.filter(table["horizon"] >= LONG)
    return {name: rows for name, rows in parts.items() if len(rows)}


def judge(table: pl.DataFrame, rule: str, source: str, most: float, worst: float) -> list[Statement]:
    """Return the statements that a rule spends its budget, never more, and has little more regret."""
    if rule not in table["rule"]:
        return []
    return [
        _spends(table, rule, source),
        *averages(table, rule, source, most),
        *(_at_worst(rows, rule, f"{source}, {name} streams", worst) for name, rows in groups(table).items()),
    ]


def _spends(table: pl.DataFrame, rule: str, source: str) -> Statement:
    runs = table.filter(table["rule"] == rule)
    by_setting = [float(spent(rows, rule).mean()) for _, rows in runs.group_by("stream", "share")]
    shares = spent(table, rule)
    return Statement(
        source,
        f"{rule} never exceeds its budget, and on every stream spends {LEAST_SPENT:.0%} of it at each share",
        f"{min(by_setting):.1%} of it at least, {shares.min():.1%} in one run; {shares.max():.1%} at most",
        bool(min(by_setting) >= LEAST_SPENT and shares.max() <= 1),
    )


def averages(table: pl.DataFrame, rule: str, source: str, most: float) -> list[Statement]:
    """Return a statement about the mean regret of a rule for each group of streams."""
    if rule not in table["rule"]:
        return []
    return [on_average(rows, rule, f"{source}, {name} streams", most) for name, rows in groups(table).items()]


def on_average(table: pl.DataFrame, rule: str, source: str, most: float) -> Statement:
    """Return the statement that the geometric mean of a rule's ratios is at most its limit."""
    interval = jackknife(mean_ratio, paired(table, rule))
    return Statement(
        source,
        f"the geometric mean of {rule}'s regret ÷ hindsight's is at most {most:.2f}",
        f"{interval.value:.3f} ± {interval.high - interval.value:.3f}",
        interval.within(0, most),
    )


def _at_worst(table: pl.DataFrame, rule: str, source: str, worst: float) -> Statement:
    ratios, shares = of_streams(table, rule), of_shares(table, rule)
    stream = max(ratios, key=lambda name: ratios[name].value)
    peak, share = max(shares, key=lambda setting: shares[setting])
    return Statement(
        source,
        f"on no stream is {rule}'s regret above {worst:.1f} times hindsight's, all budgets together",
        f"at most {_format(ratios[stream])} ± {ratios[stream].high - ratios[stream].value:.2f} ({stream}); "
        f"at one budget {shares[peak, share]:.2f} ({peak}, {share:.0%})",
        every(interval.within(0, worst) for interval in ratios.values()),
    )


def list_rules(table: pl.DataFrame, rules: Sequence[str]) -> Listing:
    """Return a row per rule: geometric mean, worst stream and the share of the budget that was spent."""
    parts = groups(table)
    rows = [
        [rule, *(_cell(part, rule) for part in parts.values()), f"{spent(table, rule).mean():.0%}"]
        for rule in rules
        if rule in table["rule"]
    ]
    header = ["rule", *parts, "spent"]
    return Listing("Regret ÷ that of α tuned in hindsight: geometric mean / worst stream", header, rows)


def _cell(table: pl.DataFrame, rule: str) -> str:
    if rule not in table["rule"]:
        return "–"
    highest = max(interval.value for interval in of_streams(table, rule).values())
    return f"{mean_ratio(paired(table, rule)):.3f} / {highest:.2f}"


def list_streams(table: pl.DataFrame, rules: Sequence[str]) -> Listing:
    """Return a row per stream: the ratio of every rule, all budgets together."""
    present = [rule for rule in rules if rule in table["rule"] and rule != REFERENCE]
    ratios = {rule: of_streams(table, rule) for rule in present}
    streams = table.select("stream", "set", "horizon").unique("stream", maintain_order=True).rows()
    rows = [
        [name, part, str(horizon), *(_format(ratios[rule].get(name)) for rule in present)]
        for name, part, horizon in streams
    ]
    title = "Regret ÷ that of α tuned in hindsight, by stream, all budgets together"
    return Listing(title, ["stream", "set", "T", *present], rows)


def _format(interval: Interval | None) -> str:
    return "–" if interval is None else f"{interval.value:.2f}"
