"""Comparison of all rules on one stream at equal budgets, and its verdict: whether a rule saves labels."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from qufur.arrays import Floats
from qufur.cli import _show
from qufur.figures import style
from qufur.figures.curves import draw_curves
from qufur.rules import Greedy, Rule, Threshold, Uniform
from qufur.rules.from_budget import labels_of
from qufur.streams import Chunk, Stream
from qufur.sweep.at_budgets import budget_grid
from qufur.sweep.equal_labels import LEAST, labels_ratio, reaches
from qufur.sweep.grid import Grid, ModelOf, StreamOf, sweep
from qufur.sweep.statistics import Estimate, Interval, jackknife, ratio

if TYPE_CHECKING:
    import polars as pl
    from rich.text import Text


MAX_LABELS = 5000
"""Maximum rows of a stream learned with every label: experts and kernels store all rows and are slow."""
BASELINE_FACTORS = (0.5, 1.5, 2.25, 3.4)
"""Multiples of the lowest budget at which random labels run too, to find an equal error."""
ERROR_RATE = "error rate"
FIRST = "Every rule knows the label of the first row, which is not scored."
EVERY, BOOSTED, AT_RANDOM, FIRST_ROWS = "every label", "at random, boosting", "Uniform", "Greedy"
_REFERENCES: Grid = {
    "no labels": (lambda _, stream: Threshold(1e300), [0.0]),
    EVERY: (lambda _, stream: Greedy(stream.horizon), [1.0]),
}


@dataclass(frozen=True)
class Task:
    """Task of a comparison: a stream for every seed, a model, and the measure to show.

    Parameters
    ----------
    title, notes
        Text above and below the results.
    stream, model
        As in `sweep`.
    measure
        The column to show; `loss` names the mean loss.
    max_labels
        Longer streams are not learned with every label.
    baseline
        Model to compare with, trained on random labels; None omits it.
    known
        Examples that all methods learn first; they are not scored.
    ask
        The command to continue with, without its budget.
    rules
        Rules to compare besides those of the package.
    """

    title: str
    stream: StreamOf
    model: ModelOf
    measure: str
    notes: tuple[str, ...] = ()
    max_labels: float = math.inf
    loss: str = "mean squared error"
    baseline: ModelOf | None = None
    known: Chunk | None = None
    ask: str = ""
    rules: tuple[type[Rule], ...] = ()


@dataclass(frozen=True)
class Comparison:
    """One row per run, omitted methods with the reason, and the loss of the best constant."""

    task: Task
    table: pl.DataFrame
    left_out: Mapping[str, str]
    constant: float

    @classmethod
    def of(cls, task: Task, shares: Sequence[float], *, seeds: Iterable[int], jobs: int) -> Comparison:
        """Run all rules at these shares of the labels."""
        import polars as pl

        seeds, stream = list(seeds), task.stream(0)
        rules, left_out = budget_grid(stream, task.model, shares, task.rules)
        grid = dict(rules)
        if task.known is not None and AT_RANDOM in grid:
            rule_of, usable = grid[AT_RANDOM]
            grid[AT_RANDOM] = rule_of, sorted({*usable, *further_shares(min(shares))})
        if stream.horizon > task.max_labels:
            reason = f"the model stores labelled rows and is slow with more than {MAX_LABELS}."
            left_out[EVERY] = reason
        grid |= {name: rule for name, rule in _REFERENCES.items() if name not in left_out}

        def swept(model: ModelOf, grid: Grid) -> pl.DataFrame:
            return sweep(task.stream, model, grid, seeds=seeds, jobs=jobs, known=task.known)

        table = swept(task.model, grid)
        if task.baseline is not None:
            table = pl.concat([table, swept(task.baseline, {BOOSTED: (_at_random, list(shares))})])
        table = table.with_columns((table["loss"] / table["horizon"]).alias(task.loss))
        return cls(task, table, left_out, _constant_loss(task, stream))

    def runs(self, rule: str, share: float) -> Floats:
        """Return labels and losses of a rule at a share, one row per seed; NaN if it did not run."""
        table = self.table
        rows = table.filter((table["rule"] == rule) & (table["parameter"] == share)).sort("seed")
        runs = rows.select("queries", self.task.measure).to_numpy().astype(np.float64)
        return runs if len(runs) else np.full((table["seed"].n_unique(), 2), math.nan)

    def write(self, out: Path) -> list[str]:
        """Write all runs and the figure, and return the names of the files."""
        task, table = self.task, self.table
        figure, (panel,) = style.subplots(1, 1, width=6.4, height=4.4)
        rules = table.filter(~table["rule"].is_in(list(_REFERENCES)))
        draw_curves(panel, rules, task.measure, task.measure, task.title)
        panel.legend(frameon=False, fontsize="small")
        drawn = style.save(figure, out, "run")
        table.write_csv(out / "run.csv")
        return [str(path) for path in (out / "run.csv", *drawn)]

    def print(self, budgets: Mapping[float, str], seeds: int) -> None:
        """Print the table, one row per rule."""
        rules = [name for name in self.table["rule"].unique(maintain_order=True) if name not in _REFERENCES]
        text = _best_marked({rule: [self._estimate(rule, share) for share in budgets] for rule in rules})
        if not math.isnan(self.constant):
            text.append(["the best constant", *[str(Estimate(self.constant, math.nan))] * len(budgets)])
        for name, (_, (share,)) in _REFERENCES.items():
            if name in self.table["rule"]:
                text.append([name, *[str(self._estimate(name, share))] * len(budgets)])
        averaged = "One seed." if seeds == 1 else f"Mean ± standard error over {seeds} seeds."
        notes = [f"{self.task.measure.capitalize()}, * the lowest. {averaged}"]
        notes += [FIRST] if self.task.known else []
        columns = [
            "labels bought",
            *(name if name.isdigit() else f"{100 * share:.3g} %" for share, name in budgets.items()),
        ]
        notes += [*self.task.notes, *self._unspent(rules, list(budgets))]
        _show.print_table(self.task.title, columns, text, notes)
        for method, reason in self.left_out.items():
            print(f"Omitted: {method}: {reason}")

    def _estimate(self, rule: str, share: float) -> Estimate:
        return Estimate.of(self.runs(rule, share)[:, 1])

    def _unspent(self, rules: Iterable[str], shares: Sequence[float]) -> list[str]:
        """Return a note on each rule that bought less than 95 % of a budget."""
        notes = []
        for rule in rules:
            ran = self.table.filter(self.table["rule"] == rule).select("parameter", "queries", "horizon")
            totals = ran.group_by("parameter").sum().rows_by_key("parameter", unique=True)
            spent = [totals[share][0] / (share * totals[share][1]) for share in shares if share in totals]
            if min(spent) < 0.95:
                percentages = ", ".join(f"{100 * share:.0f} %" for share in spent)
                budgets = "budget" if len(spent) == 1 else "budgets"
                notes.append(f"{rule} bought only {percentages} of its {budgets}.")
        return notes


def further_shares(share: float) -> list[float]:
    """Return other shares at which random labels may reach the error of a rule at this share.

    >>> further_shares(0.4)
    [0.2, 0.6, 0.9, 1.0]
    """
    return [min(1.0, round(factor * share, 9)) for factor in BASELINE_FACTORS]


def _best_marked(cells: Mapping[str, Sequence[Estimate]]) -> list[list[str | Text]]:
    """Return one row of cells per name; the lowest mean of each column has a star, and is bold."""
    from rich.text import Text

    means = np.array([[estimate.mean for estimate in row] for row in cells.values()])
    lowest = means == np.nanmin(means, axis=0)
    return [
        [name, *(Text(f"* {e}", "bold") if low else str(e) for e, low in zip(row, lows, strict=True))]
        for (name, row), lows in zip(cells.items(), lowest, strict=True)
    ]


def _at_random(share: float, stream: Stream) -> Uniform:
    return Uniform.for_budget(labels_of(share, stream.horizon), stream.horizon, None)


def _constant_loss(task: Task, stream: Stream) -> float:
    """Return the loss of the best constant in hindsight; NaN without a file."""
    if task.known is None:
        return math.nan
    y = np.concatenate([chunk.y for chunk in stream.chunks(4096)])
    if task.measure == ERROR_RATE:
        return float(1 - np.unique(y, return_counts=True)[1].max() / len(y))
    return float(y.var())


@dataclass(frozen=True)
class Decision:
    """Verdict on a rule against random labels, for the same model and budget.

    Parameters
    ----------
    rule
        Name of the rule.
    loss_ratio
        Loss of the rule divided by that of random labels, with a 95 % interval over seeds.
    labels_saved
        Share of random labels that the rule saves at equal error; negative if it needs more.
    exact
        Whether runs with random labels reached the same error; otherwise `labels_saved` is a bound.
    first_rows, boosting, constant
        Loss of the same model on the first rows, of histogram boosting on random labels, and of the best
        constant, each divided by the loss of the rule; NaN if not compared.
    """

    rule: str
    loss_ratio: Interval
    labels_saved: Interval
    exact: bool
    first_rows: Interval
    boosting: float
    constant: float

    @classmethod
    def of(cls, comparison: Comparison, rule: str, share: float) -> Decision:
        """Evaluate a rule of a comparison at one of its budgets."""
        ours, theirs = comparison.runs(rule, share), comparison.runs(AT_RANDOM, share)
        table = comparison.table
        tried = table.filter(table["rule"] == AT_RANDOM)["parameter"].unique().sort().to_list()
        runs = np.stack([ours, *(comparison.runs(AT_RANDOM, other) for other in tried)], axis=1)
        log_ratio = jackknife(labels_ratio, runs)
        losses = np.column_stack([ours[:, 1], theirs[:, 1], comparison.runs(FIRST_ROWS, share)[:, 1]])
        losses = np.maximum(losses, max(1e-9 * np.nanmax(losses), LEAST[1]))  # no loss at all has no ratio
        loss = float(losses[:, 0].mean())
        return cls(
            rule,
            jackknife(ratio, losses[:, :2]),
            Interval(*(1 - math.exp(-end) for end in (log_ratio.value, log_ratio.low, log_ratio.high))),
            reaches(runs),
            jackknife(ratio, losses[:, [2, 0]]),
            float(comparison.runs(BOOSTED, share)[:, 1].mean()) / loss,
            float(comparison.constant / loss),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the fields by name; an interval becomes the list of its value and its ends."""
        return {
            name: [*value.values()] if isinstance(value, dict) else value
            for name, value in asdict(self).items()
        }

    def finding(self, budget: str) -> str:
        """Compare the rule with random labels in one sentence; `budget` is such as "200 labels"."""
        change = f"{_percent(self.loss_ratio)} than with random labels{_confidence(self.loss_ratio)}"
        if self.loss_ratio.high < 1:
            return f"With {budget}, {self.rule}'s error is {change}. {self._saved()}"
        if self.loss_ratio.low > 1:
            return f"With {budget}, {self.rule}'s error is {change}. Random labels are better here."
        return f"With {budget}, {self.rule}'s error is {change}; the difference is not significant."

    def sentence(self, budget: str, command: str) -> str:
        """Return the finding, a better baseline if there is one, and the command to continue with."""
        advice = f"Use `{command}`."
        if self.loss_ratio.low > 1:
            advice = f"Use `{command} --at-random`."
        elif self.loss_ratio.high >= 1:
            advice = "Try more --seeds."
        return f"{self.finding(budget)} {self._better_baseline()}{advice}"

    def _saved(self) -> str:
        saved = self.labels_saved
        if not self.exact:
            return f"It needs at least {100 * saved.value:.0f} % fewer labels for the same error."
        interval = f"{100 * max(saved.low, 0):.0f}–{100 * saved.high:.0f} %"
        return f"It needs {100 * saved.value:.0f} % fewer labels for the same error ({interval})."

    def _better_baseline(self) -> str:
        """Name a simpler method with a lower error."""
        if self.constant <= 1:
            return f"The best constant has {self.constant:.2f} times its error: use more labels. "
        if self.boosting < 1:
            return f"Boosting alone, on random labels, has {self.boosting:.2f} times its error. "
        if self.first_rows.high < 1:
            value = self.first_rows.value
            return f"Labelling only the first rows has {value:.2f} times its error: the data hardly shift. "
        return ""


def _percent(ratio: Interval) -> str:
    return f"{100 * abs(1 - ratio.value):.0f} % {'lower' if ratio.value <= 1 else 'higher'}"


def _confidence(ratio: Interval) -> str:
    """Return the 95 % confidence interval of the change; empty with one seed."""
    if math.isinf(ratio.low):
        return ""
    low, high = sorted(
        [1 - ratio.high, 1 - ratio.low] if ratio.value <= 1 else [ratio.low - 1, ratio.high - 1]
    )
    separator = "–" if low >= 0 else " to "
    return f" (95 % CI {100 * low:.0f}{separator}{100 * high:.0f} %)"
