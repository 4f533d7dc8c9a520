"""Tests of timeline figures: available values are drawn, missing ones are explained."""

import numpy as np
import pytest

from qufur.estimates.input_shifts import Change, InputShift
from qufur.estimates.timeline import Point, Timeline
from qufur.figures.timeline import as_svg, draw_progress


def panels(points=(), shifts=(), budget=None):
    timeline = Timeline(points=list(points))
    timeline.ask(np.arange(1000) % 20 == 0)
    figures = draw_progress(timeline, shifts, budget, "error")
    return {title: figure.axes[0] for title, figure in figures.items()}


def texts(panel):
    return [text.get_text() for text in panel.texts]


def test_empty_timeline_draws_messages():
    drawn = panels()
    assert texts(drawn["Error"]) == ["unknown until later queries\nare labelled"]
    assert texts(drawn["Weights of experts"]) == ["one model alone, or no labels yet"]
    assert texts(drawn["Shifts of inputs"]) == ["none"]
    (line,) = drawn["Labels bought"].lines
    assert line.get_ydata()[-1] == 50
    assert texts(drawn["Labels bought"]) == []


def test_error_panel_omits_missing_errors():
    points = [
        Point(100, 5, None, constant=9.0),
        Point(200, 10, 4.0, 3.0, 6.0, constant=9.0),
        Point(900, 40, 2.0, 1.0, 3.0, 2.5, 9.0),
    ]
    panel = panels(points)["Error"]
    own, at_random, constant = (line.get_xydata().tolist() for line in panel.lines)
    assert own == [[200, 4.0], [900, 2.0]]
    assert at_random == [[900, 2.5]]
    assert constant == [[200, 9.0], [900, 9.0]]
    assert len(panel.collections) == 1


@pytest.mark.parametrize("count", [1, 3])
def test_expert_weights_sum_to_one(count):
    weights = [{"trees": 0.5, "linear": 0.3}, {"trees": 1.0}, {"linear": 0.2, "trees": 0.7}]
    points = [Point(100 * k + 50, k, 1.0, weights=weights[k]) for k in range(count)]
    panel = panels(points)["Weights of experts"]
    names = [text.get_text() for text in panel.get_legend().get_texts()]
    assert names == ["trees", "linear", "others"]
    top = panel.collections[-1].get_paths()[0].vertices
    for place in {x for x, _ in top.tolist()}:
        assert max(y for x, y in top.tolist() if x == place) == pytest.approx(1.0)


def test_shift_panel_numbers_only_the_largest_shifts():
    change = Change("cost $5 and $6", 0.0, 1.0, 2.0, False)
    shifts = [InputShift(100 * k, 8, 9.0 - k, 2.0, (change,)) for k in range(1, 8)]
    panel = panels(shifts=shifts, budget=60)["Shifts of inputs"]
    *numbers, names = texts(panel)
    assert numbers == ["1", "2", "3", "4", "5"]
    assert names.splitlines()[0] == "1  after 100 rows: cost $5 and $6"
    assert len(names.splitlines()) == 5
    assert "cost $5 and $6" in as_svg(panel.figure)
