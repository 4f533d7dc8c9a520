"""Budget rules on real data: loss against uniform, greedy and tuned QuFUR at equal labels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qufur.experiments.base import Cell, Experiment, Listing, Statement
from qufur.experiments.cached_streams import provenance, stream_of, why_missing
from qufur.experiments.paper import fig1, libsvm
from qufur.experiments.paper.learners import ranged_ridge
from qufur.experiments.paper.panels import Panel, missing_panels
from qufur.figures.style import LOOKS, share_legend, subplots_for
from qufur.learner import Learner
from qufur.models import Model, Softmax
from qufur.rules import Greedy, Paced, QuFUR, Rule, Uniform
from qufur.rules.from_budget import labels_of
from qufur.run import run
from qufur.sweep.at_budgets import rule_for_budget
from qufur.sweep.statistics import Estimate, Interval, jackknife
from qufur.sweep.tasks import Row
from studies.pacing.bike import BikeSharing
from studies.pacing.known_horizon import DRAW_SEED_OFFSET, JUDGED
from studies.pacing.scores import mean_ratio, paired

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure

SHARES = (0.05, 0.1, 0.2)
RULES: tuple[type[Rule], ...] = (QuFUR, Paced, Uniform, Greedy)
NAMES = tuple(rule_class.__name__ for rule_class in RULES)
MOST = {"Uniform": 1.0, "Greedy": 1.0, "QuFUR": 1.1}
"""Limits of the evaluated rule's loss over that of each rival."""

PANELS = {
    **{key: fig1.PANELS[key] for key in ("mnist", "portraits", "amazon")},
    **libsvm.PANELS,
    "bike": Panel("Bike sharing", BikeSharing, ranged_ridge, ()),
}


def cells(seeds: int) -> list[Cell]:
    """Return a cell per stream with available data, share and seed; it runs all rules."""
    return [
        {"stream": key, "data": provenance(panel.stream), "share": share, "seed": seed}
        for key, panel in PANELS.items()
        if why_missing(panel.stream) is None
        for share in SHARES
        for seed in range(seeds)
    ]


def play(cell: Cell) -> Row:
    """Run every rule on one order of the data."""
    panel, seed = PANELS[cell["stream"]], cell["seed"]
    stream = stream_of(panel.stream, seed)
    model, budget = panel.model(stream, seed), labels_of(cell["share"], stream.horizon)
    results = []
    for rule_class in RULES:
        rule = rule_for_budget(rule_class, budget, _untrained(model), stream, seed=DRAW_SEED_OFFSET + seed)
        results.append(run(Learner(model, rule, seed=DRAW_SEED_OFFSET + seed), stream).totals)
    return {
        "horizon": stream.horizon,
        "budget": budget,
        "rule": list(NAMES),
        "queries": [totals.queries for totals in results],
        "loss": [totals.loss / totals.examples for totals in results],
    }


def _untrained(model: Model) -> Model:
    """Return a fast model with the same Δ. It suffices for the search of α, which uses inputs only."""
    return model.raw if isinstance(model, Softmax) else model


def missing() -> dict[str, str]:
    """Return the missing data, each with the reason."""
    return missing_panels(PANELS)


def judge(table: pl.DataFrame) -> list[Statement]:
    """Compare losses with each rival's, over all data and budgets."""
    if JUDGED not in table["rule"]:
        return []
    return [_statement(table, rival, most) for rival, most in MOST.items()]


def _statement(table: pl.DataFrame, rival: str, most: float) -> Statement:
    samples = paired(table, JUDGED, rival, "loss")
    mean: Interval = jackknife(mean_ratio, samples)
    each = [mean_ratio(samples[:, [i]]) for i in range(samples.shape[1])]
    return Statement(
        "real data",
        f"the geometric mean of {JUDGED}'s loss ÷ that of {rival} is at most {most:.2f}",
        f"{mean.value:.3f} ± {mean.high - mean.value:.3f}; {min(each):.2f} to {max(each):.2f} on one set "
        "at one budget",
        mean.within(0, most),
    )


def listings(table: pl.DataFrame) -> list[Listing]:
    """Return the mean loss of every rule, one table per dataset."""
    return [
        _list(table.filter(table["stream"] == key), f"{panel.name}: mean loss")
        for key, panel in PANELS.items()
        if key in table["stream"]
    ]


def _list(table: pl.DataFrame, title: str) -> Listing:
    rows = [
        [
            rule,
            *(str(Estimate.of(table.filter(rule=rule, share=share)["loss"].to_numpy())) for share in SHARES),
        ]
        for rule in NAMES
    ]
    return Listing(title, ["labels bought", *(f"{share:.0%}" for share in SHARES)], rows)


def draw(table: pl.DataFrame) -> Figure:
    """Draw the mean loss against the share of labels bought, one panel per dataset."""
    available = {key: panel for key, panel in PANELS.items() if key in table["stream"]}
    figure, axes = subplots_for(len(available))
    for axis, (key, panel) in zip(axes, available.items(), strict=True):
        rows = table.filter(table["stream"] == key)
        for rule in NAMES:
            means = (
                rows.filter(rows["rule"] == rule)
                .select("share", "loss")
                .group_by("share")
                .mean()
                .sort("share")
            )
            axis.plot(means["share"], means["loss"], label=rule, ms=5, lw=1.2, **LOOKS[rule])
        axis.set(title=panel.name, xlabel="share of labels bought", ylabel="mean loss")
    share_legend(figure, axes[0])
    return figure


def in_brief(cell: Cell) -> bool:
    """Select one budget on the faster datasets for a quick run."""
    return cell["share"] == SHARES[1] and cell["stream"] in ("amazon", "abalone")


EXPERIMENT = Experiment(
    "pacing-real",
    "Budget rules on real data",
    cells,
    play,
    draw,
    judge,
    seeds=5,
    in_brief=in_brief,
    missing=missing,
    listings=listings,
)
