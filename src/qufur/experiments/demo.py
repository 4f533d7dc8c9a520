"""Demonstration of `qufur demo`: rotating digits, and Figures 1 and 3 of the paper within a minute.

The images are scikit-learn's handwritten digits, whose orientation changes without notice. The same experts
learn from labels chosen by `Steady` and from random labels. The paper's figures have 20 streams, and data
installed by pip.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from qufur.arrays import Floats
from qufur.estimates.input_blocks import InputBlocks
from qufur.estimates.input_shifts import input_shifts
from qufur.experiments.base import Cell, Experiment, Figure, Row, Statement, Table
from qufur.experiments.cached_streams import stream_of
from qufur.experiments.fixed_budget import OURS, SAME, WAYS, at_random, steady
from qufur.experiments.paper import fig1, fig3
from qufur.experiments.paper.panels import NO_LABELS, figure_of, list_ratios
from qufur.figures.curves import draw_bands, margins
from qufur.figures.style import LOOKS, share_legend, subplots
from qufur.models import Model
from qufur.rules.from_budget import labels_of
from qufur.streams import Arrays
from qufur.streams.real.mnist import rotated
from qufur.sweep.statistics import jackknife, per_seed, ratio

CLASSES = 4
"""Digits 0 to 3: all ten take more than a minute."""
SIDE = 8
"""Pixels per side of an image."""
SEGMENTS = {"upright": 0.0, "turned left": 90.0, "upright again": 0.0, "turned right": -90.0}
SHIFTS = (288, 432, 576)
"""Rows at which the orientation changes."""
BLOCK = 36
"""Images per point of the time axis; shifts are at block boundaries."""
SHARE = 0.08
"""Budget of the demonstration, as a share of the stream."""
SHARES = {OURS: (0.04, 0.08), SAME: (0.04, 0.08, 0.12, 0.16)}
"""Budgets of each method. `SAME` has larger ones to show how many random labels give the same error."""
ERROR = "error rate"
"""Column of the results and label of the axes."""
TOP = 0.8
"""Upper limit of the error axis over time: guessing has error 0.75."""


def turning_digits(seed: int = 0) -> Arrays:
    """Return the images shuffled by the seed and rotated segment by segment."""
    from sklearn.datasets import load_digits

    X, y = load_digits(n_class=CLASSES, return_X_y=True)
    order = np.random.default_rng([seed, 5]).permutation(len(y))
    parts = np.split(X[order].reshape(-1, SIDE, SIDE), SHIFTS)
    rotated_parts = [rotated(part, angle) for part, angle in zip(parts, SEGMENTS.values(), strict=True)]
    domain = np.searchsorted(SHIFTS, np.arange(len(y)), side="right")
    return Arrays(
        np.concatenate(rotated_parts).reshape(len(y), -1), y[order].astype(np.float64), domain=domain
    )


def alarms(X: Floats) -> list[int]:
    """Return the rows at which `qufur status` reports an input shift; it uses no labels.

    >>> alarms(turning_digits().X)
    [288, 432, 576]
    """
    blocks = InputBlocks()
    blocks.update(X)
    names = [f"pixel {number}" for number in range(X.shape[1])]
    return sorted(shift.row for shift in input_shifts(blocks, names))


def draw_budgets(runs: Table) -> Figure:
    """Draw error against labels, with 95 % bands over seeds."""
    figure, (panel,) = subplots(1, 1, width=6.0, height=4.4)
    curves = {}
    for rule in WAYS:
        rows = runs.filter(rule=rule)
        labels = per_seed(rows, ["parameter"], "queries").mean(axis=0)
        curves[rule] = labels, per_seed(rows, ["parameter"], ERROR)
    draw_bands(panel, curves, WAYS)
    panel.set(ylabel=ERROR)
    panel.set_ylim(bottom=0)
    share_legend(figure, panel)
    return figure


def draw_time(table: Table, detected: Sequence[int]) -> Figure:
    """Draw error and purchased labels over time at budget `SHARE`; dashed lines are shifts.

    Parameters
    ----------
    table
        One row per run and block of time.
    detected
        Rows at which input shifts were detected for the first seed.
    """
    figure, panels = subplots(2, 1, width=6.0, height=2.2)
    above, below = panels
    for rule, name in WAYS.items():
        rows = table.filter(rule=rule, parameter=SHARE)
        ends = rows["start"].unique().sort().to_numpy() + BLOCK
        errors, color = per_seed(rows, ["start"], "wrong") / BLOCK, LOOKS[rule]["color"]
        mean, margin = errors.mean(axis=0), margins(errors)
        low, high = np.maximum(mean - margin, 0.0), np.minimum(mean + margin, 1.0)
        above.fill_between(ends - BLOCK / 2, low, high, color=color, alpha=0.15, lw=0)
        above.plot(ends - BLOCK / 2, mean, color=color, marker=LOOKS[rule]["marker"], ms=4, label=name)
        bought = per_seed(rows, ["start"], "bought").mean(axis=0).cumsum()
        below.plot([0, *ends], [0, *bought], color=color, lw=1.8)
    for panel in panels:
        for shift in SHIFTS:
            panel.axvline(shift, color="0.35", lw=1.0, ls="--")
        panel.set_xlim(0, ends[-1])
    below.set_ylim(bottom=0)
    above.set_ylim(0, TOP)
    above.plot(
        detected, [TOP] * len(detected), "v", ms=8, color="#D55E00", clip_on=False, label="shift detected"
    )
    for start, segment in zip((0, *SHIFTS), SEGMENTS, strict=True):
        above.annotate(segment, (start, TOP), (6, -13), textcoords="offset points", color="0.3", size="small")
    above.set(ylabel=ERROR)
    below.set(ylabel="labels bought", xlabel="images")
    share_legend(figure, above, 2)
    return figure


def cells(seeds: int) -> list[Cell]:
    """Return a cell per seed, method and budget; longer runs come first to balance the processes."""
    runs = [(rule, share) for rule, shares in SHARES.items() for share in shares]
    runs.sort(key=lambda run: -run[1])
    return [{"rule": rule, "parameter": share, "seed": seed} for seed in range(seeds) for rule, share in runs]


def play(cell: Cell) -> Row:
    """Run one method and count labels and errors per block.

    Both methods buy the first label, and its error is not counted: the trace of `at_random` starts after it.
    """
    seed = cell["seed"]
    stream = stream_of(turning_digits, seed)
    run_method = steady if cell["rule"] == OURS else at_random
    trace = run_method(experts(seed), stream, labels_of(cell["parameter"], stream.horizon), seed)
    after_first = slice(1 - stream.horizon, None)
    wrong, query = np.append(0, trace.loss[after_first]), np.append(1, trace.query[after_first])
    starts = np.arange(0, stream.horizon, BLOCK)
    return {
        "start": starts.tolist(),
        "wrong": np.add.reduceat(wrong, starts).astype(int).tolist(),
        "bought": np.add.reduceat(query, starts).tolist(),
    }


def experts(seed: int = 0) -> Model:
    """Return the model of both methods."""
    from qufur.models import Experts

    return Experts(classes=range(CLASSES), seed=seed)


def runs(table: Table) -> Table:
    """Return labels and error rate, one row per run.

    The rate is over all images but the first, whose error is not counted.
    """
    import polars as pl

    rows = pl.col("start").max() + BLOCK - 1
    error = (pl.col("wrong").sum() / rows).alias(ERROR)
    keys = ["rule", "parameter", "seed"]
    return table.group_by(keys, maintain_order=True).agg(pl.col("bought").sum().alias("queries"), error)


def segment_errors(table: Table, rule: str) -> Floats:
    """Return the mean error rate of each segment at budget `SHARE`."""
    rows = table.filter(rule=rule, parameter=SHARE)
    wrong = per_seed(rows, ["start"], "wrong").mean(axis=0)
    ends = [shift // BLOCK for shift in SHIFTS]
    return np.array([part.mean() / BLOCK for part in np.split(wrong, ends)])


def judge(table: Table) -> list[Statement]:
    """Return the statement that chosen labels reduce the error at budget `SHARE`."""
    results = runs(table)
    # The columns of errors are sorted: OURS comes first.
    ratios = {
        share: jackknife(ratio, per_seed(results.filter(parameter=share), ["rule"], ERROR))
        for share in SHARES[OURS]
        if share in results.filter(rule=OURS)["parameter"]
    }
    return [
        Statement(
            "this demonstration",
            f"chosen labels give fewer errors than equally many random ones, at a budget of {SHARE:.0%}",
            list_ratios(ratios),
            ratios[SHARE].within(0.0, 1.0),
        )
    ]


def in_brief(cell: Cell) -> bool:
    """Select budget `SHARE`, and the smallest budget of random labels."""
    return bool(cell["parameter"] == SHARE or (cell["parameter"] == SHARES[SAME][0] and cell["rule"] == SAME))


EXPERIMENT = Experiment(
    "demo",
    "Rotating digits: chosen and random labels",
    cells,
    play,
    lambda table: draw_budgets(runs(table)),
    judge,
    seeds=5,
    in_brief=in_brief,
)

PAPER_SEEDS = 5
"""Seeds of the paper's figures, with four streams each."""
RULES = ("QuFUR", "Uniform", "Greedy", NO_LABELS)
"""Rules that the paper discusses."""
MAX_SHARE = 0.6
"""Largest share of labels of rates and budgets; rules are compared at shares up to one half."""
_ALL = figure_of(
    "demo-fig1",
    "The paper's Figure 1, its synthetic data",
    "Section 6, Figure 1",
    {name: fig1.PANELS[name] for name in ("synthetic", "synthetic-text")},
)


def _cells_of_figure_1(seeds: int) -> list[Cell]:
    return [
        cell
        for cell in _ALL.cells(seeds)
        if cell["rule"] in RULES and (cell["rule"] == "QuFUR" or cell["parameter"] <= MAX_SHARE)
    ]


EXPERIMENTS = (
    EXPERIMENT,
    replace(_ALL, cells=_cells_of_figure_1, seeds=PAPER_SEEDS),
    replace(fig3.EXPERIMENT, name="demo-fig3", title="The paper's Figure 3", seeds=PAPER_SEEDS),
)
"""The demonstration, then the paper's figures."""
