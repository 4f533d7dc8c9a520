"""Figure of a plan: labels per part of the stream, and regret or error against budget."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from qufur.figures.style import LOOKS, plain_ticks, subplots

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from qufur.planning.outcome import Plan, Spread

COLOR = LOOKS["QuFUR"]["color"]


def draw_plan(plan: Plan, title: str) -> Figure:
    """Draw means with 90 % prediction intervals; for errors, with two standard errors."""
    regret = {part.budget: part.regret for part in plan.forecast if part.regret}
    curves = {"regret": regret, "RMSE": {part.budget: part.rmse for part in plan.expected}}
    drawn = {name: curve for name, curve in curves.items() if curve}
    figure, panels = subplots(1, 1 + len(drawn))
    _draw_parts(panels[0], plan)
    for panel, (name, curve) in zip(panels[1:], drawn.items(), strict=True):
        _draw_forecast(panel, curve, name, plan.budget)
    figure.suptitle(title, fontsize="medium", parse_math=False)
    return figure


def _draw_parts(panel: Any, plan: Plan) -> None:
    starts = [part.start for part in plan.parts]
    widths = [part.stop - part.start for part in plan.parts]
    labels = [part.labels for part in plan.parts]
    means = [spread.mean for spread in labels]
    panel.bar(starts, means, widths, align="edge", color=COLOR, alpha=0.6, edgecolor="white")
    middles = [start + width / 2 for start, width in zip(starts, widths, strict=True)]
    panel.errorbar(middles, means, yerr=_bars(labels), fmt="none", ecolor="#333333", elinewidth=1, capsize=2)
    panel.set(xlabel="example", ylabel="labels", title=f"Labels for each part, {plan.budget} in all")


def _draw_forecast(panel: Any, curve: Mapping[int, Spread], name: str, budget: int) -> None:
    budgets, spreads = list(curve), list(curve.values())
    low, high = [part.low for part in spreads], [part.high for part in spreads]
    panel.fill_between(budgets, low, high, color=COLOR, alpha=0.2, lw=0)
    panel.plot(budgets, [part.mean for part in spreads], **LOOKS["QuFUR"], ms=4, lw=1.4)
    panel.axvline(budget, color="#555555", lw=0.8, ls=":")
    panel.set(xscale="log", xlabel="labels bought", ylabel=name, title="Forecast")
    if min(low) > 0:
        panel.set(yscale="log")
        plain_ticks(panel)


def _bars(spreads: list[Spread]) -> list[list[float]]:
    # The mean of few runs may lie outside their quantiles, but bars cannot have negative length.
    below = [max(0.0, spread.mean - spread.low) for spread in spreads]
    return [below, [max(0.0, spread.high - spread.mean) for spread in spreads]]
