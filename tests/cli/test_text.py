"""Tests of all commands on a table with a text column."""

import csv
import json
import sys

import numpy as np
import pytest
from tests.data.test_text import tiny_model
from tests.letters import Letters, let_letters_be_counted

from qufur.errors import command_for
from qufur.tables.text import LOADED
from qufur.workbook import Workbook

RNG = np.random.default_rng(4)
NOTES = ["".join(RNG.choice([*"abcde  "], 20)) + "z" for _ in range(200)]
WIND = RNG.normal(size=200).round(3)
STARS = np.array([5 + note.count("a") - note.count("b") for note in NOTES]) + WIND
START = ["--model", "ridge", "--budget", 60, "--label-range", -5, 15]
START += ["--id", "n", "--target", "stars", "--text", "note"]


def write(path, rows):
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([["n", "note", "wind"], *([t, NOTES[t], WIND[t]] for t in rows)])
    return path


def read(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def whole_loop(work, tmp_path, *options):
    """Run ask, tell, status and predict; return the root mean squared error on unseen rows."""
    may, out, predicted = (tmp_path / name for name in ("may.csv", "to_label.csv", "predicted.csv"))
    code, text = work("ask", write(may, range(150)), "-o", out, *START, *options)
    assert code == 0, text
    rows = read(out)
    assert list(rows[0]) == ["n", "note", "wind", "prediction", "stars"]
    assert all(row["note"] == NOTES[int(row["n"])].strip() for row in rows)
    labels = tmp_path / "labels.csv"
    labels.write_text("n,stars\n" + "".join(f"{row['n']},{STARS[int(row['n'])]}\n" for row in rows))
    assert f"{len(rows)} labels learned" in work("tell", labels)[1]
    assert "60 of 150 examples, 0 outstanding; 0 left" in work("status")[1]
    LOADED.clear()  # as in another process
    code, text = work("predict", write(tmp_path / "june.csv", range(150, 200)), "-o", predicted, "--json")
    assert (code, json.loads(text)) == (0, {"rows": 50, "notes": []})
    found = [float(row["prediction"]) for row in read(predicted)]
    return np.sqrt(np.mean(np.square(found - STARS[150:])))


def test_text_beside_numbers(work, tmp_path, monkeypatch):
    let_letters_be_counted(monkeypatch)
    assert whole_loop(work, tmp_path, "--text-model", "letters-abc") < 0.2
    workbook = Workbook.load(tmp_path / "s.qufur")
    assert workbook.encoding.names == ["note[0]", "note[1]", "note[2]", "wind"]


def test_text_is_embedded_by_a_language_model(work, tmp_path, monkeypatch):
    tiny, folder = tiny_model(tmp_path), tmp_path / "tiny"
    tiny.model.save_pretrained(folder)
    tiny.tokenizer.save_pretrained(folder)
    LOADED.clear()
    assert whole_loop(work, tmp_path, "--text-model", folder) < STARS[150:].std()
    workbook = Workbook.load(tmp_path / "s.qufur")
    assert workbook.encoding.dim == 17
    state = (tmp_path / "s.qufur").read_bytes()
    folder.rename(tmp_path / "elsewhere")
    LOADED.clear()
    code, text = work("ask", tmp_path / "june.csv", "-o", tmp_path / "to_label.csv")
    assert (code, len(text.splitlines())) == (2, 1)
    assert "text_model of Encoding must be a model that transformers can load, or a folder of one" in text
    assert (tmp_path / "s.qufur").read_bytes() == state


def test_changed_text_model_of_the_same_name_raises(work, tmp_path, monkeypatch):
    let_letters_be_counted(monkeypatch)
    whole_loop(work, tmp_path, "--text-model", "letters-abc")
    LOADED.clear()
    monkeypatch.setattr("qufur.tables.text.TokenMeans.pretrained", lambda name, **_: Other())
    code, text = work("ask", tmp_path / "june.csv", "-o", tmp_path / "to_label.csv")
    assert (code, len(text.splitlines())) == (2, 1)
    assert "must be a model with vectors of 3 numbers, got 'letters-abc', which gives 7" in text


@pytest.mark.parametrize("start", ["letters-abc", None], ids=["beside text", "without text"])
def test_text_column_can_be_added_later(work, tmp_path, monkeypatch, start):
    """The number of letters d in the new column determines the label."""
    let_letters_be_counted(monkeypatch)
    out = ["-o", tmp_path / "out.csv", "--force"]
    begin = [*START, "--text-model", start] if start else [*START[:-2], "--skip", "note"]
    assert work("ask", write(tmp_path / "may.csv", range(50)), *out, *begin, "--horizon", 200)[0] == 0
    more, added = tmp_path / "june.csv", ["--add-column", "more", "--text", "more"]
    with more.open("w", newline="") as file:
        rows = ([t, NOTES[t], WIND[t], NOTES[t]] for t in range(50, 200))
        csv.writer(file).writerows([["n", "note", "wind", "more"], *rows])
    state = (tmp_path / "s.qufur").read_bytes()
    for options, message in [
        (added[2:], "--text was set to 'note' by" if start else "--text was not set by the first table"),
        ([*added, "--text-model", "x"], "got 'x' (x is not a local folder)."),
    ]:
        code, text = work("ask", more, *out, *options)
        assert (code, message in text) == (2, True), text
        assert (tmp_path / "s.qufur").read_bytes() == state
    code, text = work("ask", more, *out, *added, "--text-model", "letters-de")
    assert (code, "Added column 'more' as an input." in text) == (0, True), text
    names = Workbook.load(tmp_path / "s.qufur").encoding.names
    assert names[-3:] == ["more[0]", "more[1]", "more known"]
    stars = [(int(row["n"]), NOTES[int(row["n"])].count("d")) for row in read(tmp_path / "out.csv")]
    (tmp_path / "labels.csv").write_text("n,stars\n" + "".join(f"{n},{d}\n" for n, d in stars))
    assert work("tell", tmp_path / "labels.csv")[0] == 0
    LOADED.clear()  # as in another process
    assert work("predict", more, "-o", tmp_path / "p.csv", "--text-model", "letters-de")[0] == 0
    found = [float(row["prediction"]) - NOTES[int(row["n"])].count("d") for row in read(tmp_path / "p.csv")]
    assert np.sqrt(np.mean(np.square(found))) < 0.6, "1.6 is the deviation of the stars"


@pytest.mark.parametrize("command", ["ask", "predict"])
def test_loading_a_state_file_downloads_no_model(work, tmp_path, monkeypatch, command):
    """A state file may be untrusted: its text model is downloaded only if the user names it too."""
    fetched = []

    def pretrained(name, *, fetch=True):
        if not fetch and name not in fetched:
            raise OSError(f"{name} is not here")
        fetched.append(name)
        return Letters(name)

    monkeypatch.setattr("qufur.tables.text.TokenMeans.pretrained", pretrained)
    LOADED.clear()
    out = ["-o", tmp_path / "out.csv"]
    assert (
        work("ask", write(tmp_path / "may.csv", range(99)), *out, *START, "--text-model", "letters-ab")[0]
        == 0
    )
    fetched.clear()
    LOADED.clear()
    june, state = write(tmp_path / "june.csv", range(99, 120)), (tmp_path / "s.qufur").read_bytes()
    for name, message in {
        None: "got 'letters-ab' (letters-ab is not here). A state file may be untrusted: --text-model",
        "letters-cd": "must be that of the first table, 'letters-ab', got 'letters-cd'",
    }.items():
        options = ["--text-model", name] if name else []
        code, text = work(command, june, "-o", tmp_path / "more.csv", *options)
        assert (code, len(text.splitlines()), message in text) == (2, 1, True), text
        assert fetched == []
        assert (tmp_path / "s.qufur").read_bytes() == state
    assert work(command, june, "-o", tmp_path / "more.csv", "--text-model", "letters-ab")[0] == 0
    assert fetched == ["letters-ab"]


class Other:
    def embed(self, texts):
        return iter([np.zeros(7)] * len(texts))


def test_text_without_the_extra_names_it(work, tmp_path, monkeypatch):
    LOADED.clear()
    monkeypatch.setitem(sys.modules, "transformers", None)
    code, text = work("ask", write(tmp_path / "may.csv", range(9)), "-o", tmp_path / "out.csv", *START)
    assert code == 2
    needs = "embedding texts needs transformers and torch"
    assert text == f"qufur: {needs}: install it with {command_for('text')}\n"
    assert not (tmp_path / "s.qufur").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--text-model", "x"], "--text-model of qufur ask must be omitted without --text, got 'x'."),
        (["--text", "notes"], "Did you mean 'note'?"),
        (["--text", "note", "--skip", "note"], "must be ignored, or of one type"),
        (["--text", "note", "--text-model", "x"], "got 'x' (x is not a local folder)."),
    ],
)
def test_invalid_start_raises(work, tmp_path, monkeypatch, options, message):
    let_letters_be_counted(monkeypatch)
    may, start = write(tmp_path / "may.csv", range(9)), ["--budget", 5, "--label-range", 0, 9]
    code, text = work("ask", may, "-o", tmp_path / "out.csv", *start, *options)
    assert (code, len(text.splitlines())) == (2, 1)
    assert message in text
