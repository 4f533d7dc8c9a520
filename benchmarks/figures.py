"""Figures of the cost of a step against d and T, and of memory while a file is read."""

from __future__ import annotations

from typing import Any

import numpy as np

from qufur.figures.style import subplots

LOOKS: dict[str, dict[str, Any]] = {
    "qufur": {"color": "#0072B2", "marker": "o"},
    "qufur, 2d labels known": {"color": "#56B4E9", "marker": "v"},
    "NumPy loop": {"color": "#E69F00", "marker": "s"},
    "authors' loop": {"color": "#D55E00", "marker": "^"},
    "GEMM row": {"color": "#555555", "ls": "--"},
}
MEANINGS = {"d": "number of features", "T": "length of the stream"}
COLORS = {88: "#0072B2", 768: "#D55E00", 32: "#009E73"}


def draw_growth(results: dict[str, Any]) -> Any:
    """Draw the cost per step, double logarithmic, with fitted exponents in the legend."""
    figure, panels = subplots(1, 2, 6.0, 4.4)
    titles = {
        "dim": ("d", f"T = {results['horizon']}, {results['rate']:.0%} of labels"),
        "horizon": ("T", f"d = {results['dim']}, {results['rate']:.0%} of labels"),
    }
    for panel, (axis, (symbol, title)) in zip(panels, titles.items(), strict=True):
        for name, look in LOOKS.items():
            points = [p for p in results["curves"][axis] if name in p["microseconds"]]
            if points:
                _draw_curve(panel, symbol, name, points, results["exponents"][axis].get(name), look)
        panel.set(xscale="log", yscale="log", title=f"Cost of a step, {title}")
        panel.set(xlabel=f"{symbol}, {MEANINGS[symbol]}", ylabel="CPU µs per step")
        _tick_points(panel, [p["at"] for p in results["curves"][axis]])
        panel.set_ylim(bottom=min(1.0, panel.get_ylim()[0]))
        panel.legend(frameon=False, fontsize="small", loc="upper left")
    return figure


def _draw_curve(
    panel: Any, symbol: str, name: str, points: Any, exponent: float | None, look: dict[str, Any]
) -> None:
    cost = np.array([[p["microseconds"][name][part] for part in ("median", "low", "high")] for p in points])
    median, low, high = cost.T
    label = name if exponent is None else f"{name}: {symbol}$^{{{exponent:.2f}}}$"
    at = [p["at"] for p in points]
    panel.errorbar(at, median, [median - low, high - median], label=label, ms=4, lw=1.4, capsize=1.5, **look)


def _tick_points(panel: Any, at: list[int]) -> None:
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter, NullLocator

    panel.xaxis.set_major_locator(FixedLocator(at))
    panel.xaxis.set_minor_locator(NullLocator())
    panel.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    panel.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    panel.yaxis.set_minor_formatter(NullFormatter())


def draw_memory(results: list[dict[str, Any]]) -> Any:
    """Draw resident memory against the share of the file that was read."""
    figure, (panel,) = subplots(1, 1, 7.0, 4.2)
    for r in results:
        rows, _, memory = np.array(r["samples"]).T
        style = {"npy": "-", "parquet": "--"}[r["format"]]
        plain = r["loops"] == "plain"
        label = f"{r['rows']:,} × {r['dim']}, {r['format']}, {r['megabytes']:,.0f} MB"
        if not plain:
            label += ", compiled"
        color = COLORS.get(r["dim"], "#555555")
        panel.plot(100 * rows / r["rows"], memory, style, color=color, lw=1.4 if plain else 2.6, label=label)
    top = max(r["peak"] for r in results)
    panel.set(xlabel="% of the rows", ylabel="resident memory, MB", ylim=(0, 1.15 * top), xlim=(0, 100))
    panel.set_title("Memory while a file is read")
    figure.legend(loc="outside lower center", ncols=2, frameon=False)
    return figure
