"""Tests of `qufur status`: text of one screen, JSON, and the HTML page."""

import csv
import json
import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from typer.main import get_command

from qufur import Learner, Ridge, Uniform
from qufur.cli import app
from qufur.cli.status import ADVICE
from qufur.estimates.input_shifts import Change, InputShift
from qufur.models.ensemble.learning_curve import RandomSamplingLoss
from qufur.models.ensemble.report import EnsembleReport
from qufur.tables import Batch, Encoding
from qufur.workbook import Workbook
from qufur.workbook.summary import SHOWN, column_names, shift_sentences, summary

RNG = np.random.default_rng(2)
WIND = np.where(np.arange(900) < 600, RNG.normal(size=900), 5 + RNG.normal(size=900)).round(4)
SKY = np.where(np.arange(900) < 600, "clear", "<storm>")
RIDGE = ["--model", "ridge", "--budget", 40, "--horizon", 900, "--label-range", 0, 60, "--target", "delay"]


def write(path, rows):
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([["wind", "sky"], *([WIND[t], SKY[t]] for t in rows)])
    return path


def told(work, tmp_path, rows, *options):
    """Run `qufur ask` on rows and `qufur tell` on all their labels."""
    out = tmp_path / "to_label.csv"
    code, text = work("ask", write(tmp_path / f"{rows.start}.csv", rows), "-o", out, *options)
    assert code == 0, text
    with out.open(newline="") as file:
        head, *lines = csv.reader(file)
    labels = [[*line[:-1], 30 + WIND[int(line[0]) - 1]] for line in lines]
    with (tmp_path / "labels.csv").open("w", newline="") as file:
        csv.writer(file).writerows([head, *labels])
    assert work("tell", tmp_path / "labels.csv")[0] == 0


@pytest.fixture
def shifted(work, tmp_path):
    told(work, tmp_path, range(400), *RIDGE)
    told(work, tmp_path, range(400, 900))
    return work


def test_status_fits_on_one_screen(shifted, tmp_path):
    code, text = shifted("status")
    assert code == 0
    lines = text.splitlines()
    assert lines[2].startswith("spent         40 of 40 labels on 900 rows (4.4 %), 0 left")
    assert any(re.match(r"error         [\d.]+, the root mean squared error of all", line) for line in lines)
    assert any(re.match(r"shifts        after (592|600|608) rows: ", line) for line in lines)
    assert "`qufur budget --add LABELS` buys more" in text
    assert "new domains" not in text
    assert len(lines) <= 30


def test_json_keeps_its_fields(shifted):
    found = json.loads(shifted("status", "--json")[1])
    assert {"examples", "labels", "left", "loss", "interval", "shifts", "outstanding_ids"} <= found.keys()
    (shift,) = found["input_shifts"]
    assert abs(shift["row"] - 600) <= 8
    assert {change["column"] for change in shift["changes"]} >= {"sky=clear", "wind"}
    assert list(found["summary"]) == ["spent", "error", "shifts", "next"]


def test_page_is_complete(shifted, tmp_path):
    page = tmp_path / "status.html"
    code, text = shifted("status", "--html", page)
    assert (code, text.splitlines()[-1]) == (0, f"Page written to {page}.")
    source = page.read_text()
    drawings = re.findall(r"<svg.*?</svg>", source, re.DOTALL)
    assert len(drawings) == 4
    for drawing in drawings:
        ElementTree.fromstring(drawing)
    for title in ("Error", "Labels bought", "Weights of experts", "Shifts of inputs"):
        assert f"<h2>{title}</h2>" in source
    assert "budget 40" in drawings[1]
    assert "one model alone" in drawings[2]
    assert "<storm>" not in source
    # The page loads nothing from other hosts; the XML namespaces are not loaded.
    assert not re.findall(r'(?:src|href)="(?!#)', source)
    assert not re.findall(r"url\((?!#)|@import|<script|<link", source)
    assert len(source) < 300_000


def test_page_of_a_new_workbook(work, tmp_path):
    out, page = tmp_path / "o.csv", tmp_path / "p.html"
    work("ask", write(tmp_path / "a.csv", range(20)), "-o", out, *RIDGE)
    code, text = work("status", "--html", page)
    assert code == 0
    assert "error         not known yet" in text
    assert "pass them to `qufur tell`" in text
    source = page.read_text()
    assert "unknown until later queries" in source
    assert ">none<" in source


def test_page_with_experts(work, tmp_path):
    options = ["--budget", 60, "--horizon", 300, "--target", "delay"]
    told(work, tmp_path, range(100), *options)
    told(work, tmp_path, range(100, 200))
    told(work, tmp_path, range(200, 300))
    page = tmp_path / "p.html"
    assert work("status", "--html", page)[0] == 0
    source = page.read_text()
    assert "this run" in source
    assert "a constant" in source
    workbook = Workbook.load(tmp_path / "s.qufur")
    points = workbook.monitor.timeline.points
    assert [point.rows for point in points] == [100, 200, 300]
    assert next(iter(points[-1].weights)) in source


def test_invalid_page_paths_raise(shifted, tmp_path):
    state = tmp_path / "s.qufur"
    before = state.read_bytes()
    for path, message in (
        (tmp_path / "nowhere" / "p.html", "--html of qufur must be a file in a folder that exists"),
        (tmp_path, "--html of qufur must be a file in a folder that exists"),
        (state, "--html of qufur must be another file than the state file"),
    ):
        code, text = shifted("status", "--html", path)
        assert (code, message in text) == (2, True)
    assert state.read_bytes() == before


def test_timeline_of_earlier_versions_starts_at_their_last_row(shifted, tmp_path):
    workbook = Workbook.load(tmp_path / "s.qufur")
    assert workbook.monitor.timeline.first == 0
    old = Path(__file__).parents[1] / "storage" / "workbooks" / "1-csv-paced.qufur.gz"
    import gzip

    (tmp_path / "old.qufur").write_bytes(gzip.decompress(old.read_bytes()))
    again = Workbook.load(tmp_path / "old.qufur")
    assert (again.monitor.timeline.first, again.monitor.inputs.first) == (40, 40)
    assert again.monitor.timeline.before == again.learner.spent
    again.save(tmp_path / "new.qufur")
    assert Workbook.load(tmp_path / "new.qufur").monitor.timeline == again.monitor.timeline


def test_only_the_largest_shifts_are_shown():
    shift = InputShift(80, 8, 2.0, 1.5, (Change("text", np.nan, np.nan, 2.5, False),))
    said = shift_sentences([shift] * (SHOWN + 3))
    assert len(said) == SHOWN + 1
    assert said[0] == "after 80 rows: text (2.5 deviations)"
    assert said[-1] == "and 3 smaller"
    spread = InputShift(80, 8, 2.0, 1.5, (Change("wind", 1.0, 2.0, 0.5, True),))
    assert shift_sentences([spread]) == ["after 80 rows: the spread of wind from 1 to 2 (+0.5 deviations)"]


def test_numbers_of_an_embedding_are_named_after_their_column():
    batch = Batch({"radar": [[1.0, 2.0], [0.0, 4.0]], "wind": [1, 3], "sky": ["a", "b"]})
    names = column_names(Encoding.of([batch]))
    assert names == ["radar", "radar", "wind", "sky=a", "sky=b"]


def book_of(standing):
    """Return a workbook of a hundred rows, and its report with this ensemble report."""
    from dataclasses import replace

    learner = Learner(Ridge(1, label_range=(0, 1)), Uniform(0.5, budget=200))
    workbook = Workbook(learner, Encoding.of([Batch({"wind": [1, 3]})]), None, "delay")
    X = np.ones((100, 1))
    workbook.monitor.ask(X, learner.ask_many(X).query)
    learner.tell_many(learner.outstanding, np.ones(len(learner.outstanding)))
    return workbook, replace(learner.report(), ensemble_report=standing)


def standing(loss, at_random, lead_error=0.01, constant=9.0, twin="linear, importance 0.5"):
    """Return an ensemble report in which the ensemble and the twin of the random-label expert lose `loss`."""
    names = ("linear, labels at random", "constant", twin)
    return EnsembleReport(
        50, loss, names, (9.0, constant, loss), (1.0, 0.0, 0.0), (0.1, 0.1, 0.01), (1,), (0,), 0.5, True,
        None if at_random is None else RandomSamplingLoss(at_random, 0.1, lead_error),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("found", "ending"),
    [
        (standing(4.0, 9.0), "49 to 50 % higher, estimated with one model trained on both"),
        (standing(9.0, 4.0), "33 to 34 % lower, estimated with one model trained on both"),
        (standing(4.0, 4.5, lead_error=1.0), "is not known yet"),
        (standing(4.0, 5.0, lead_error=0.4), "is not known yet"),  # 2 standard errors, not 3
        (standing(4.0, 9.0, twin="trees"), "is not known yet"),  # no model to compare with itself
        (standing(4.0, None), "is not known yet"),
    ],
)
def test_random_labels_are_compared_only_when_the_interval_excludes_equality(found, ending):
    (sentence,) = [line for line in summary(*book_of(found), [], ADVICE)["error"] if "random labels" in line]
    assert sentence.endswith(ending)


def test_status_names_the_next_step():
    change = Change("wind", 2.0, 7.5, 3.2, False)
    shift = InputShift(99, 8, 2.0, 1.5, (change,))
    for found, shifts, words in (
        (standing(9.0, None, constant=4.0), [], "a constant prediction is better"),
        (standing(9.0, 4.0), [], "`qufur ask --at-random`"),
        (standing(4.0, 9.0), [], "continue: `qufur ask`"),
        (standing(4.0, 9.0), [shift], "labels were bought since"),
    ):
        assert any(words in sentence for sentence in summary(*book_of(found), shifts, ADVICE)["next"]), words
    none = summary(*book_of(standing(4.0, 9.0)), [InputShift(0, 8, 2.0, 1.5, (change,))], ADVICE)["next"]
    assert not any("bought since" in sentence for sentence in none)


def test_advice_names_commands_and_options_that_exist():
    commands = get_command(app).commands
    named = re.findall(r"`qufur ([a-z-]+)(?: (--[a-z-]+))?", "\n".join(ADVICE))
    assert len(named) >= 8
    for command, option in named:
        options = {name for parameter in commands[command].params for name in parameter.opts}
        assert not option or option in options, (command, option)
