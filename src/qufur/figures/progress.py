"""How a work went, in four panels: error, spend, weights of experts, shifts of inputs."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from qufur.counts import counted
from qufur.figures.style import LOOKS, SPARE_COLORS, subplots

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from qufur.estimates.course import Course, Point
    from qufur.estimates.input_shifts import InputShift

OWN, RANDOM, REST = LOOKS["QuFUR"]["color"], LOOKS["Uniform"]["color"], "#cccccc"
EXPERTS = 5
"""Experts that have a colour of their own."""
SHOWN = 5
"""Shifts that have names."""
MOST_OF_BAND = 2.0
"""The interval is drawn up to this many times the largest error."""


def draw_progress(
    course: Course, shifts: Sequence[InputShift], budget: int | None, error: str
) -> dict[str, Figure]:
    """Return a figure by title for each panel.

    Parameters
    ----------
    course, shifts
        How it went, and where inputs shifted.
    budget
        Labels that may be bought in all, if that is known.
    error
        What the error is called.
    """
    rows = course.first + course.rows
    panels: dict[str, Callable[[Any], None]] = {
        "Error": lambda panel: _draw_error(panel, course.points, error),
        "Labels bought": lambda panel: _draw_spend(panel, course, budget),
        "Weights of experts": lambda panel: _draw_weights(panel, course.points),
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
    """Return a figure as an SVG element whose text is text."""
    import matplotlib as mpl

    buffer = io.StringIO()
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "qufur"}):
        figure.savefig(buffer, format="svg", metadata={"Date": None}, transparent=True)
    drawing = buffer.getvalue()
    return drawing[drawing.index("<svg") :]


def _say(panel: Any, text: str) -> None:
    panel.text(0.5, 0.5, text, transform=panel.transAxes, ha="center", va="center", color="#666666")
    panel.set_yticks([])


def _draw_error(panel: Any, points: Sequence[Point], name: str) -> None:
    known = [point for point in points if point.error is not None]
    if not known:
        _say(panel, "known when labels come\nof rows asked about later")
        return
    rows = [point.rows for point in known]
    panel.plot(rows, [point.error for point in known], color=OWN, marker="o", ms=3, label="this work")
    for title, color in (("at_random", RANDOM), ("constant", "#888888")):
        there = [(point.rows, getattr(point, title)) for point in known if getattr(point, title) is not None]
        if there:
            label = {"at_random": "random labels", "constant": "a constant"}[title]
            panel.plot(*zip(*there, strict=True), color=color, ls="--", marker=".", ms=4, label=label)
    bounded = [point for point in known if point.low is not None and point.high is not None]
    if bounded:
        ends = [[getattr(point, end) for point in bounded] for end in ("low", "high")]
        panel.fill_between(
            [point.rows for point in bounded], *ends, color=OWN, alpha=0.15, lw=0, label="95 % interval"
        )
    panel.set(ylabel=name)
    # The interval is wide while labels are few; the error stays readable.
    drawn = max((line.get_ydata().max() for line in panel.lines), default=1.0)
    panel.set_ylim(0, MOST_OF_BAND * drawn or 1.0)
    panel.legend(frameon=False, fontsize="small")


def _draw_spend(panel: Any, course: Course, budget: int | None) -> None:
    rows, labels = course.spending()
    panel.plot(rows, labels, color=OWN)
    panel.fill_between(rows, labels, color=OWN, alpha=0.12, lw=0)
    if budget is not None:
        panel.axhline(budget, color="#888888", ls="--", lw=1)
        panel.annotate(
            f"budget {budget}", (0, budget), (4, -4), textcoords="offset points", va="top", color="#555555"
        )
    panel.set(ylabel="labels")
    panel.set_ylim(bottom=0)


def _draw_weights(panel: Any, points: Sequence[Point]) -> None:
    weighed = [point for point in points if point.weights]
    if not weighed:
        _say(panel, "one model alone, or no labels yet")
        return
    total: dict[str, float] = {}
    for point in weighed:
        for name, weight in point.weights.items():
            total[name] = total.get(name, 0.0) + weight
    names = sorted(total, key=lambda name: -total[name])[:EXPERTS]
    parts = [[point.weights.get(name, 0.0) for point in weighed] for name in names]
    others = [max(0.0, 1 - sum(column)) for column in zip(*parts, strict=True)]
    # One point alone is drawn from the first row on.
    rows = [point.rows for point in weighed]
    if len(rows) == 1:
        rows, parts, others = [0, *rows], [2 * part for part in parts], 2 * others
    colors = [OWN, RANDOM, LOOKS["Greedy"]["color"], *SPARE_COLORS][: len(names)]
    panel.stackplot(rows, *parts, others, labels=[*names, "others"], colors=[*colors, REST], alpha=0.85, lw=0)
    panel.set(ylim=(0, 1), ylabel="weight")
    panel.legend(frameon=False, fontsize="x-small", ncols=2, loc="upper left", bbox_to_anchor=(-0.02, -0.2))


def _draw_shifts(panel: Any, shifts: Sequence[InputShift]) -> None:
    if not shifts:
        _say(panel, "none")
        return
    sizes = [shift.size for shift in shifts]
    panel.vlines([shift.row for shift in shifts], 0, sizes, color=OWN, lw=2)
    panel.plot([shift.row for shift in shifts], sizes, ls="none", marker="o", color=OWN)
    largest = sorted(shifts, key=lambda shift: -shift.size)[:SHOWN]
    named = [shift for shift in shifts if shift in largest]
    for number, shift in enumerate(named, 1):
        panel.annotate(
            str(number),
            (shift.row, shift.size),
            (0, 5),
            textcoords="offset points",
            ha="center",
            weight="bold",
        )
    lines = [
        f"{number}  after {counted(shift.row, 'row')}: {', '.join(change.column for change in shift.changes)}"
        for number, shift in enumerate(named, 1)
    ]
    panel.text(
        0, -0.24, "\n".join(lines), transform=panel.transAxes, va="top", fontsize="x-small", parse_math=False
    )
    panel.set(ylabel="size in deviations", ylim=(0, 1.2 * max(sizes)))
