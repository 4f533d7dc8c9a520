"""Figure 3: query probability over time on rotated MNIST, and its change at shifts."""

from __future__ import annotations

import numpy as np

from qufur.arrays import Floats
from qufur.experiments.base import Cell, Experiment, Figure, Row, Statement, Table
from qufur.experiments.cached_streams import missing_among, provenance, stream_of, why_missing
from qufur.experiments.paper.learners import classifier
from qufur.figures.style import LOOKS, subplots
from qufur.learner import Learner
from qufur.models import Ridge
from qufur.rules import QuFUR
from qufur.run import run
from qufur.streams import RotatedMNIST, published_digits
from qufur.sweep.grid import play as play_rule
from qufur.sweep.statistics import every, jackknife, per_seed
from qufur.trace import Trace

PUBLISHED = {0.25: 233, 0.5: 378, 1.0: 576}
"""Labels bought of 875 in the published figure, by α: 27, 43 and 66 %."""
PUBLISHED_SEED = 0
EXACT, FRESH = "the published draw", "streams of our own"

SHIFTS = (125, 375)
STEPS = 20
"""Examples before and after a shift whose probabilities are compared."""

REPEATS = 4
"""Streams per requested seed."""

MOMENTUM = 0.9
"""Momentum of the exponential average in the published curves."""


def cells(seeds: int) -> list[Cell]:
    """Run three values of α on the published draw and on new streams."""
    if why_missing(RotatedMNIST.reversed):
        return []
    data = provenance(RotatedMNIST.reversed)
    draws = [(EXACT, PUBLISHED_SEED), *((FRESH, seed) for seed in range(REPEATS * seeds))]
    return [
        {"data": data, "draw": draw, "seed": seed, "alpha": alpha}
        for draw, seed in draws
        for alpha in PUBLISHED
    ]


def play(cell: Cell) -> Row:
    """Run QuFUR(α) and record every probability; they depend on inputs only, so no model is trained."""
    alpha, seed = cell["alpha"], cell["seed"]
    if cell["draw"] == EXACT:
        trace = _exact(alpha)
    else:
        stream = stream_of(RotatedMNIST.reversed, seed)
        trace = play_rule(classifier(stream, seed).raw, QuFUR(alpha), stream, seed)
    records = trace.records
    return {
        "time": list(range(len(records))),
        "probability": records["probability"].tolist(),
        "query": records["query"].astype(int).tolist(),
    }


def _exact(alpha: float) -> Trace:
    stream, rng = published_digits(PUBLISHED_SEED)
    rng.random(stream.horizon * list(PUBLISHED).index(alpha))  # skip the draws of the earlier runs
    largest_norm = float(np.linalg.norm(stream.X, axis=1).max())
    model = Ridge(stream.dim, regularization=largest_norm, cap=False)
    return run(Learner(model, QuFUR(alpha), seed=rng), stream)


def judge(table: Table) -> list[Statement]:
    """Compare the numbers of labels with the published ones, and probabilities around the shifts."""
    exact = _of(table, EXACT, "query")[0].sum(axis=1)
    bought = _of(table, FRESH, "query").mean(axis=2)
    shares = [jackknife(_mean, part) for part in bought.T]
    P = _of(table, FRESH, "probability")
    around = [P[:, i, shift - STEPS : shift + STEPS] for i in range(len(PUBLISHED)) for shift in SHIFTS]
    rises = [jackknife(_mean, p[:, STEPS:].mean(axis=1) - p[:, :STEPS].mean(axis=1)) for p in around]
    return [
        Statement(
            "Figure 3",
            "the published run is reproduced: 233, 378, 576 of 875 labels at α = 0.25, 0.5, 1",
            f"{', '.join(f'{count:.0f}' for count in exact)}; over {len(bought)} seeds "
            + ", ".join(f"{share.value:.1%} ± {share.high - share.value:.1%}" for share in shares),
            exact.tolist() == list(PUBLISHED.values()),
        ),
        Statement(
            "Section 6, Figure 3",
            f"the probability of a query rises at a shift: mean of {STEPS} examples after and before, at 2 "
            f"shifts and 3 α",
            "by " + ", ".join(f"{rise.value:.2f}" for rise in rises),
            every(rise.within(0, np.inf) for rise in rises),
        ),
    ]


def _of(table: Table, draw: str, column: str) -> Floats:
    """Return a column of one of the draws by seed, α and time."""
    return per_seed(table.filter(draw=draw), ["alpha", "time"], column)


def _mean(values: Floats) -> float:
    return float(values.mean())


def draw(table: Table) -> Figure:
    """Draw the probabilities of the published run, raw and smoothed, with the shifts marked."""
    figure, panels = subplots(1, len(PUBLISHED), width=4.2, height=3.2)
    P = _of(table, EXACT, "probability")[0]
    for panel, alpha, p in zip(panels, PUBLISHED, P, strict=True):
        panel.plot(p, lw=0.5, alpha=0.35, color=LOOKS["QuFUR"]["color"], label="each example")
        panel.plot(smoothed(p), lw=1.4, color=LOOKS["QuFUR"]["color"], label="smoothed")
        for shift in SHIFTS:
            panel.axvline(shift, color="0.4", lw=0.9, ls="--")
        panel.set(title=f"α = {alpha:g}", xlabel="example", ylim=(0, 1.02))
    panels[0].set_ylabel("probability of a query")
    panels[0].legend(frameon=False, fontsize="small")
    return figure


def smoothed(values: Floats) -> Floats:
    """Return the exponential moving average, starting at the first value.

    >>> smoothed(np.array([1.0, 0.0, 0.0])).round(3).tolist()
    [1.0, 0.9, 0.81]
    """
    average = values.copy()
    for t in range(1, len(values)):
        average[t] = MOMENTUM * average[t - 1] + (1 - MOMENTUM) * values[t]
    return average


EXPERIMENT = Experiment(
    "fig3",
    "Figure 3: probability of a query over time",
    cells,
    play,
    draw,
    judge,
    seeds=5,
    missing=lambda: missing_among({"Rotated MNIST 125/250/500": RotatedMNIST.reversed}),
)
