"""Progress bars are shown on a terminal and omitted in a pipe."""

import sys

import pytest

from qufur._internal import progress

BATCHES = [range(3), range(4)]


def set_terminal(monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")


@pytest.mark.parametrize("total", [7, None])
def test_progress_bar_shows_rows_and_speed_on_a_terminal(monkeypatch, capsys, total):
    set_terminal(monkeypatch)
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    assert list(progress.track_rows(BATCHES, "Asking", total)) == BATCHES
    shown = capsys.readouterr().err
    assert all(part in shown for part in ("Asking", "7 rows, ", " rows/s"))


def test_progress_bar_is_hidden_for_quick_work(monkeypatch, capsys):
    set_terminal(monkeypatch)
    assert list(progress.track_rows(BATCHES, "Asking", 7)) == BATCHES
    assert capsys.readouterr().err == ""


def test_progress_bar_is_cleared_when_the_loop_ends_early(monkeypatch, capsys):
    set_terminal(monkeypatch)
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    batches = progress.track_rows(BATCHES, "Asking", 7)
    next(batches)
    next(batches)
    batches.close()
    assert capsys.readouterr().err.endswith("\x1b[2K")


def test_progress_is_silent_in_a_pipe(monkeypatch, capsys):
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    assert list(progress.track_rows(BATCHES, "Asking", 7)) == BATCHES
    assert capsys.readouterr() == ("", "")
