"""Tests of labels such as 5%, 1,000 and € 3.20: read like inputs, with a note, in one format per column."""

import json

import pytest

from qufur.tables import Batch
from qufur.tables.labels import labels
from qufur.workbook import Workbook

START = ["--id", "n", "--target", "share"]
RIDGE = ["--model", "ridge", "--label-range", 0, 1, *START]


def told(tmp_path):
    return {name: record.label for name, record in Workbook.load(tmp_path / "s.qufur").labels.items()}


def table(path, cells, *, first=1):
    rows = "".join(f'{first + j};{j % 7};"{cell}"\n' for j, cell in enumerate(cells))
    path.write_text(f"n;wind;share\n{rows}")
    return path


@pytest.mark.parametrize(
    ("cells", "expected", "note", "unit"),
    [
        (["5%", "0", "", "12 %"], {1: 0.05, 2: 0.0, 4: 0.12}, "'5%' is 0.05.", "%"),
        (["500", "1,000", "2,500.5"], {1: 500, 2: 1000, 3: 2500.5}, "'1,000' is 1000.", ""),
        (["€ 3.20", "4", "-€ 1"], {1: 3.2, 2: 4, 3: -1}, "'€ 3.20' is 3.2.", "€"),
    ],
)
@pytest.mark.parametrize("command", ["learn", "tell"])
def test_number_formats_are_read_and_noted(work, tmp_path, command, cells, expected, note, unit):
    labelled = table(tmp_path / "t.csv", cells)
    if command == "tell":
        blank, out = table(tmp_path / "blank.csv", [""] * len(cells)), tmp_path / "out.csv"
        assert work("ask", blank, "-o", out, *RIDGE, "--budget", "100%")[0] == 0
    options = [*(RIDGE if command == "learn" else []), "--accept-outliers", "--decimal", ".", "--json"]
    code, text = work(command, labelled, *options)
    assert code == 0, text
    said = [line for line in json.loads(text)["notes"] if "Labels" in line]
    assert said == [f"Labels in column 'share' are read as numbers: {note}"]
    assert told(tmp_path) == expected
    assert Workbook.load(tmp_path / "s.qufur").unit == unit


def test_first_table_reads_formatted_numbers_not_classes(work, tmp_path):
    may, out = table(tmp_path / "may.csv", ["5%", "7%", "9%", ""]), tmp_path / "out.csv"
    code, text = work("ask", may, "-o", out, *START, "--budget", "100%")
    assert (code, "Labels in column 'share' are read as numbers: '5%' is 0.05." in text) == (0, True), text
    assert Workbook.load(tmp_path / "s.qufur").classes is None
    text = out.read_text()
    rows = [line + cell for line, cell in zip(text.splitlines()[1:], ["5%", "7%", "", "9%"], strict=True)]
    out.write_text("\n".join([text.splitlines()[0], *rows]))
    assert "3 labels learned" in work("tell", out)[1]
    june = table(tmp_path / "june.csv", [""], first=9)
    code, text = work("ask", june, "-o", out)
    assert (code, "1 row is pending or changed, such as 3" in text) == (2, True), (
        "labelled rows are not pending"
    )


def test_words_among_formatted_numbers_make_classes(work, tmp_path):
    may = table(tmp_path / "may.csv", ["5%", "10%", "other", "5%"])
    assert work("ask", may, "-o", tmp_path / "out.csv", *START, "--budget", 2)[0] == 0
    assert Workbook.load(tmp_path / "s.qufur").classes == ("10%", "5%", "other")


@pytest.mark.parametrize(
    ("cells", "received"),
    [
        (["5%", "", "7"], "'5%' in row 1 and '7' in row 3"),
        (["7", "5%"], "'5%' in row 2 and '7' in row 1"),
        (["€ 3", "$ 4"], "'€ 3' in row 1 and '$ 4' in row 2"),
        (["5%", "€ 4"], "'5%' in row 1 and '€ 4' in row 2"),
        (["5%", "1,000"], "'5%' in row 1 and '1,000' in row 2"),
    ],
)
@pytest.mark.parametrize("start", [START, RIDGE], ids=["experts", "ridge"])
def test_mixed_number_formats_raise(work, tmp_path, cells, received, start):
    code, text = work("learn", table(tmp_path / "t.csv", cells), *start, "--decimal", ".")
    assert (code, text) == (
        2,
        f"qufur: column 'share' of t.csv must be labels written in one way, got {received}. "
        "Write all of them in the same way.\n",
    )
    assert not (tmp_path / "s.qufur").exists()


def test_label_unit_is_stored(work, tmp_path):
    work("learn", table(tmp_path / "a.csv", ["€ 3", "€ 4.50"]), *START)
    state = (tmp_path / "s.qufur").read_bytes()
    code, text = work("learn", table(tmp_path / "b.csv", ["$ 3"], first=7))
    assert (code, "got '$ 3' in row 1. Earlier labels were in €." in text) == (2, True), text
    assert (tmp_path / "s.qufur").read_bytes() == state
    assert work("learn", table(tmp_path / "c.csv", ["3.25", "4 €"], first=8))[0] == 0
    assert told(tmp_path) == {1: 3.0, 2: 4.5, 8: 3.25, 9: 4.0}


def test_different_formats_in_two_batches_raise(work, tmp_path):
    cells = ["5%"] * 5000 + ["5"]
    code, text = work("learn", table(tmp_path / "t.csv", cells), *RIDGE)
    assert (code, "'5%' in row 1 and '5' in row 5001" in text) == (2, True), text


def test_invalid_numbers_are_named_in_the_error():
    with pytest.raises(ValueError, match="must be finite numbers, got 'late' in row 2"):
        labels(Batch({"y": ["5%", "late"]}), "y")
