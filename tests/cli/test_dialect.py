"""Tests of the CSV dialect: that of the first table holds for later ones, unless detection contradicts it."""

import csv
import gzip
import json
from pathlib import Path

import pytest

from qufur.tables import source
from qufur.tables.formats import csv_file
from qufur.tables.formats.dialect import Dialect, dialect_of
from qufur.workbook import Workbook

START = ["--model", "ridge", "--label-range", 0, 9, "--id", "n", "--target", "sold", "--budget", "100%"]
WORKBOOKS = Path(__file__).parents[1] / "storage" / "workbooks"


@pytest.fixture
def begun(work, tmp_path):
    """Return a function that writes a table, passes it to a command, and returns the notes on the dialect."""

    def give(command, name, text, *options):
        (tmp_path / name).write_text(text)
        out = [] if command in ("tell", "learn") else ["-o", tmp_path / f"{name}.out.csv"]
        code, said = work(command, tmp_path / name, *out, *options, "--json")
        assert code == 0, said
        return [note for note in json.loads(said)["notes"] if "between fields" in note]

    return give


def test_first_table_is_opened_and_its_dialect_detected_once(work, tmp_path, monkeypatch):
    (tmp_path / "t.csv").write_text("n;wind\n1;1,5\n2;2,5\n3;3,5\n")
    heads, opened = [], []
    monkeypatch.setattr(
        csv_file, "dialect_of", lambda head, *a, **k: heads.append(len(head)) or dialect_of(head, *a, **k)
    )
    open_file = source._open_file
    monkeypatch.setattr(source, "_open_file", lambda *a: opened.append(a) or open_file(*a))
    for command, options in (("ask", ["-o", tmp_path / "o.csv"]), ("label", ["--with", "echo 3"])):
        heads.clear(), opened.clear()
        assert work(command, tmp_path / "t.csv", *START, *options)[0] == 0
        assert (heads, len(opened)) == ([1, 4], 1)  # the header line, for its width, and all lines
        (tmp_path / "s.qufur").unlink()


def winds(tmp_path, name):
    """Return the second column that a command wrote."""
    with (tmp_path / f"{name}.out.csv").open(newline="") as file:
        return [row[1] for row in csv.reader(file)][1:]


def dialect(tmp_path):
    return Workbook.load(tmp_path / "s.qufur").dialect


def test_stored_decimal_comma_decides_ambiguous_numbers(begun, tmp_path):
    assert len(begun("ask", "may.csv", "n;wind;rain\n1;0,5;2\n2;2000,5;3\n", *START)) == 1
    assert dialect(tmp_path) == Dialect(";", ",")
    assert begun("ask", "june.csv", "n;wind;rain\n3;7,5;2\n4;1.000;5\n") == [], "detected as well"
    notes = begun("ask", "july.csv", "n;wind;rain\n5;1.000;2\n6;3;5\n")
    assert winds(tmp_path, "july.csv") == ["1000", "3"]
    how = "';' between fields, and 1,5 is a number, as in earlier tables"
    assert notes == [f"july.csv: {how}; --sep and --decimal override this."]
    assert begun("predict", "p.csv", "n;wind;rain\n7;1.000;2\n")[0].startswith("p.csv: ';' between fields")
    assert begun("ask", "given.csv", "n;wind;rain\n8;1.500;2\n", "--decimal", ".") == []
    assert winds(tmp_path, "given.csv") == ["1.500"]
    assert dialect(tmp_path) == Dialect(";", "."), "the last option"


def test_detected_dialect_precedes_the_stored_one(begun, tmp_path):
    begun("ask", "may.csv", "n;wind;rain\n1;0,5;2\n2;1,25;3\n", *START)
    notes = begun("ask", "june.csv", "n,wind,rain\n3,1.250,2\n")
    assert winds(tmp_path, "june.csv") == ["1.250"]
    assert notes == ["june.csv: ',' between fields, and 1.5 is a number; --sep and --decimal override this."]
    assert begun("ask", "july.csv", "n;wind;rain\n4;7.5;2\n")[0].startswith(
        "july.csv: ';' between fields, and 1.5"
    )
    assert dialect(tmp_path) == Dialect(";", ",")
    labels = (tmp_path / "may.csv.out.csv").read_text().replace("0,\n", "0,3.5\n")
    begun("tell", "labels.csv", labels)
    begun("tell", "other.csv", "n;sold\n3;1.000\n4;2,5\n", "--accept-outliers")
    assert [record.label for record in Workbook.load(tmp_path / "s.qufur").labels.values()][-2:] == [
        1000,
        2.5,
    ]


def test_decimal_option_is_stored_for_later_tables(begun, tmp_path):
    """The codes look like numbers with commas, in every table."""
    begun("ask", "may.csv", "n;code;rain\n1;1,5;2\n2;2,7;3\n3;1,5;4\n", *START, "--decimal", ".")
    notes = begun("ask", "june.csv", "n;code;rain\n4;2,7;2\n5;1,5;9\n")
    assert winds(tmp_path, "june.csv") == ["2,7", "1,5"]
    assert len(notes) == 1
    assert "1.5 is a number, as in earlier tables" in notes[0]


def test_learn_stores_the_dialect_and_other_formats_ignore_it(begun, tmp_path):
    spend = START[-2:]
    begun("learn", "april.csv", "n|wind|sold\n1|0.5|2\n2|2.5|3\n", *START[:-2], "--sep", "|")
    assert dialect(tmp_path) == Dialect("|", ".")
    assert begun("ask", "may.jsonl", '{"n": 3, "wind": 1.5}\n', *spend) == []
    assert dialect(tmp_path) == Dialect("|", ".")


def test_files_of_earlier_versions_store_the_dialect_of_the_next_table(begun, tmp_path):
    file = WORKBOOKS / "1-csv-paced.qufur.gz"
    (tmp_path / "s.qufur").write_bytes(gzip.decompress(file.read_bytes()))
    assert dialect(tmp_path) is None
    begun("ask", "june.csv", "flight;wind;gate;sky\nX1;1,5;2;fog\nX2;0,5;1;storm\n")
    assert dialect(tmp_path) == Dialect(";", ",")
