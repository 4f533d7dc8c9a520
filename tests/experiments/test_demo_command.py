"""Tests of `qufur demo`: at most fifteen correct lines, and a page of four figures with working links."""

import re
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from tests.cli.test_cli import qufur

from qufur.experiments import demo as study
from qufur.experiments.commands.demo import _compare, _describe_shifts
from qufur.experiments.fixed_budget import OURS, SAME


def test_demo_prints_at_most_fifteen_lines_and_writes_a_page_of_four_figures(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr("qufur.models.ensemble.experts.TREES", 5)
    monkeypatch.setattr("qufur.experiments.base.QUICK_SEEDS", 1)
    monkeypatch.chdir(tmp_path)
    assert qufur(monkeypatch, "demo", "--quick", "--jobs", 1) == 0
    printed = capsys.readouterr().out.splitlines()
    assert len(printed) <= 15
    assert max(map(len, printed)) <= 110
    assert any(line.startswith("With 58 labels, Steady's error is ") for line in printed)
    assert any("Detected without labels" in line and "3 of 3" in line for line in printed)
    page = (tmp_path / "qufur-out" / "index.html").read_text()
    assert page.count("<svg") == page.count("<figcaption>") == 4
    links = re.findall(r'<a href="([^"]+)"', page)
    assert {"demo.csv", "demo-fig1.csv", "demo-fig3.png"} <= set(links)
    assert all(
        link.startswith("https://arxiv.org/") or (tmp_path / "qufur-out" / link).is_file() for link in links
    )
    assert "qufur run FILE" in page


def made_up_result(ours, theirs, seeds=4):
    """Return runs of 720 images with these numbers of errors in each block, one more for odd seeds."""
    starts = range(0, 720, study.BLOCK)
    rows = [
        {"rule": rule, "parameter": share, "seed": seed, "start": start}
        | {"wrong": wrong + seed % 2, "bought": round(share * study.BLOCK)}
        for rule, wrong in ((OURS, ours), (SAME, theirs))
        for share in study.SHARES[rule]
        for seed in range(seeds)
        for start in starts
    ]
    return SimpleNamespace(table=pl.DataFrame(rows))


@pytest.mark.parametrize(
    ("ours", "theirs", "text", "holds"),
    [
        (4, 9, "fewer labels for the same error", True),
        (9, 4, "Random labels are better here", False),
    ],
)
def test_demo_finding_matches_the_measurement(ours, theirs, text, holds):
    shown = made_up_result(ours, theirs)
    _, chosen, at_random, *finding = _compare(shown)
    assert text in " ".join(finding)
    for line, wrong in ((chosen, ours), (at_random, theirs)):
        assert line.endswith(", ".join([f"{(wrong + 0.5) / study.BLOCK:.0%}"] * 4))
    (statement,) = study.judge(shown.table)
    assert statement.holds is holds


def test_demo_finding_is_open_when_seeds_disagree():
    shown = made_up_result(5, 5)
    ours, odd = shown.table["rule"] == OURS, shown.table["seed"] % 2
    shown.table = shown.table.with_columns((shown.table["wrong"] + ours * (1 - 2 * odd)).alias("wrong"))
    assert "the difference is not significant" in " ".join(_compare(shown))
    (statement,) = study.judge(shown.table)
    assert statement.holds is None


def test_demo_counts_missed_shifts_and_false_alarms():
    text = _describe_shifts([[288, 440, 576], [288, 296, 100], []])
    assert "Detected without labels, within 16 images: 4 of 9; false alarms: 1." in text


def test_digits_rotate_at_the_documented_rows():
    stream, other = study.turning_digits(0), study.turning_digits(1)
    changes = np.flatnonzero(np.diff(stream.domain)) + 1
    assert tuple(changes) == study.SHIFTS
    assert sorted(stream.y) == sorted(other.y)
    assert (stream.y != other.y).any()
    upright = stream.X[:288].reshape(-1, 8, 8).mean(axis=0)
    turned = stream.X[288:432].reshape(-1, 8, 8).mean(axis=0)
    assert abs(np.rot90(turned, -1) - upright).max() < abs(turned - upright).max() / 2
