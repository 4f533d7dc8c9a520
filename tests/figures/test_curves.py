"""Tests of sweep curves: every rule is drawn in a distinct style."""

import polars as pl

from qufur.figures.curves import draw_curves
from qufur.figures.style import LOOKS, looks_of, subplots

NEW = [f"Rule{i}" for i in range(12)]


def test_rules_without_a_fixed_style_are_drawn():
    rows = [(rule, share, 10 * share, 1.0) for rule in ("Mine", "QuFUR") for share in (1.0, 2.0)]
    table = pl.DataFrame(rows, ["rule", "parameter", "queries", "loss"], orient="row")
    _, (panel,) = subplots(1, 1)
    draw_curves(panel, table, "loss", "loss", "title")
    assert panel.get_legend_handles_labels()[1] == ["QuFUR", "Mine"]


def test_rules_have_distinct_styles():
    looks = looks_of([*NEW, *LOOKS])
    assert list(looks) == [*LOOKS, *NEW]
    assert len({tuple(look.values()) for look in looks.values()}) == len(looks)
