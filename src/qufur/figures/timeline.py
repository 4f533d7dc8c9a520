"""Timeline figures of a workbook: error, spend, expert weights, input shifts."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from qufur._internal.counts import counted
from qufur.figures.style import LOOKS, SPARE_COLORS, subplots

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from qufur.estimates.input_shifts import InputShift
    from qufur.estimates.timeline import Point, Timeline

LEARNER_COLOR, RANDOM_COLOR, OTHERS_COLOR = LOOKS["QuFUR"]["color"], LOOKS["Uniform"]["color"], "#cccccc"
COLORED_EXPERTS = 5
"""Number of experts with a separate colour."""
ANNOTATED_SHIFTS = 5
"""Number of input shifts with an annotation."""
MAX_BAND_RATIO = 2.0
"""Upper limit of the error axis, in multiples of the largest error."""


def draw_progress(
    timeline: Timeline, shifts: Sequence[InputShift], budget: int | None, error: str
) -> dict[str, Figure]:
    """Return a figure by title for each panel.

    Parameters
    ----------
    timeline, shifts
        Spend, errors and weights of a run, and the shifts of its inputs.
    budget
        Labels that may be bought in total; None without a budget.
    error
        Label of the error axis.
    """
    rows = timeline.first + timeline.rows
    panels: dict[str, Callable[[Any], None]] = {
        "Error": lambda panel: _draw_error(panel, timeline.points, error),
        "Labels bought": lambda panel: _draw_spend(panel, timeline, budget),
        "Weights of experts": lambda panel: _draw_weights(panel, timeline.points),
        "Shifts of inputs": lambda panel: _draw_shifts(panel, shifts),
    }
    figures = {}
    for title, draw in panels.items():
        figure, (panel,) = subplots(1, 1, 5.4, 3.1)
        panel.set(xlim=(0, 1.02 * max(rows, 1)), xlabel="rows")
        draw(panel)
        figures[title] = figure
    return figures


def as_svg(figure: Figure) -> str:
    """Return a figure as an SVG element with selectable text."""
    import matplotlib as mpl

    buffer = io.StringIO()
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "qufur"}):
        figure.savefig(buffer, format="svg", metadata={"Date": None}, transparent=True)
    drawing = buffer.getvalue()
    return drawing[drawing.index("<svg") :]


def _draw_message(panel: Any, text: str) -> None:
    panel.text(0.5, 0.5, text, transform=panel.transAxes, ha="center", va="center", color="#666666")
    panel.set_yticks([])


def _draw_error(panel: Any, points: Sequence[Point], name: str) -> None:
    evaluated = [point for point in points if point.error is not None]
    if not evaluated:
        _draw_message(panel, "unknown until later queries\nare labelled")
        return
    rows = [point.rows for point in evaluated]
    errors = [point.error for point in evaluated]
    panel.plot(rows, errors, color=LEARNER_COLOR, marker="o", ms=3, label="this run")
    comparisons = (
        ("random labels", RANDOM_COLOR, [point.at_random for point in evaluated]),
        ("a constant", "#888888", [point.constant for point in evaluated]),
    )
    for label, color, values in comparisons:
        known = [(row, value) for row, value in zip(rows, values, strict=True) if value is not None]
        if known:
            panel.plot(*zip(*known, strict=True), color=color, ls="--", marker=".", ms=4, label=label)
    bounded = [point for point in evaluated if point.low is not None and point.high is not None]
    if bounded:
        ends = [[getattr(point, end) for point in bounded] for end in ("rows", "low", "high")]
        panel.fill_between(*ends, color=LEARNER_COLOR, alpha=0.15, lw=0, label="95 % interval")
    panel.set(ylabel=name)
    # The interval is wide while labels are few; limit the axis so that the error stays readable.
    drawn = max((line.get_ydata().max() for line in panel.lines), default=1.0)
    panel.set_ylim(0, MAX_BAND_RATIO * drawn or 1.0)
    panel.legend(frameon=False, fontsize="small")


def _draw_spend(panel: Any, timeline: Timeline, budget: int | None) -> None:
    rows, labels = timeline.spending()
    panel.plot(rows, labels, color=LEARNER_COLOR)
    panel.fill_between(rows, labels, color=LEARNER_COLOR, alpha=0.12, lw=0)
    if budget is not None:
        panel.axhline(budget, color="#888888", ls="--", lw=1)
        offset = {"xytext": (4, -4), "textcoords": "offset points"}
        panel.annotate(f"budget {budget}", (0, budget), va="top", color="#555555", **offset)
    panel.set(ylabel="labels")
    panel.set_ylim(bottom=0)


def _draw_weights(panel: Any, points: Sequence[Point]) -> None:
    weighted = [point for point in points if point.weights]
    if not weighted:
        _draw_message(panel, "one model alone, or no labels yet")
        return
    if len(weighted) == 1:  # a single point is drawn as a band from the first row
        weighted = [replace(weighted[0], rows=0), *weighted]
    total: dict[str, float] = {}
    for point in weighted:
        for name, weight in point.weights.items():
            total[name] = total.get(name, 0.0) + weight
    names = sorted(total, key=lambda name: -total[name])[:COLORED_EXPERTS]
    parts = [[point.weights.get(name, 0.0) for point in weighted] for name in names]
    others = [max(0.0, 1 - sum(column)) for column in zip(*parts, strict=True)]
    rows = [point.rows for point in weighted]
    colors = [LEARNER_COLOR, RANDOM_COLOR, LOOKS["Greedy"]["color"], *SPARE_COLORS][: len(names)]
    panel.stackplot(
        rows, *parts, others, labels=[*names, "others"], colors=[*colors, OTHERS_COLOR], alpha=0.85, lw=0
    )
    panel.set(ylim=(0, 1), ylabel="weight")
    panel.legend(frameon=False, fontsize="x-small", loc="upper left", bbox_to_anchor=(-0.02, -0.2))


def _draw_shifts(panel: Any, shifts: Sequence[InputShift]) -> None:
    if not shifts:
        _draw_message(panel, "none")
        return
    rows, sizes = [shift.row for shift in shifts], [shift.size for shift in shifts]
    panel.vlines(rows, 0, sizes, color=LEARNER_COLOR, lw=2)
    panel.plot(rows, sizes, ls="none", marker="o", color=LEARNER_COLOR)
    largest = sorted(shifts, key=lambda shift: -shift.size)[:ANNOTATED_SHIFTS]
    named = [shift for shift in shifts if shift in largest]
    for number, shift in enumerate(named, 1):
        offset = {"xytext": (0, 5), "textcoords": "offset points"}
        panel.annotate(str(number), (shift.row, shift.size), ha="center", weight="bold", **offset)
    lines = [
        f"{number}  after {counted(shift.row, 'row')}: {', '.join(change.column for change in shift.changes)}"
        for number, shift in enumerate(named, 1)
    ]
    panel.text(
        0, -0.24, "\n".join(lines), transform=panel.transAxes, va="top", fontsize="x-small", parse_math=False
    )
    panel.set(ylabel="size in deviations", ylim=(0, 1.2 * max(sizes)))
