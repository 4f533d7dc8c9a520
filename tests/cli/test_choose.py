"""Tests of `qufur choose`: rows of an unordered table in one batch."""

import csv
import json

import numpy as np
import pytest
from tests.cli.test_cli import qufur
from tests.tables.test_tables import save

from qufur.labelling.pool import choose
from qufur.tables import Encoding, read

RNG = np.random.default_rng(3)
SIZE = 90
TABLE = {
    "flight": [f"LH{t}" for t in range(SIZE)],
    "wind": RNG.normal(size=SIZE).round(3).tolist(),
    "hour": RNG.integers(0, 24, SIZE).tolist(),
    "sky": RNG.choice(["clear", "cloudy", "storm"], SIZE).tolist(),
    "label": [7.5 if t in (4, 8) else None for t in range(SIZE)],
}
WITHOUT = {name: column for name, column in TABLE.items() if name != "label"}


@pytest.fixture
def run(monkeypatch, capsys, tmp_path):
    def command(path, *arguments, out="out.csv"):
        code = qufur(monkeypatch, "choose", path, *arguments, "-o", tmp_path / out)
        text = capsys.readouterr()
        assert "Traceback" not in text.err
        return code, text.out + text.err

    return command


def rows_of(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet", "xlsx"])
def test_chosen_rows_equal_those_of_the_library(run, tmp_path, ending):
    path = save(tmp_path, WITHOUT, ending)
    code, text = run(path, "--id", "flight", "--budget", 5)
    assert (code, text) == (
        0,
        f"5 of 90 rows chosen: written to {tmp_path / 'out.csv'}.\n"
        "Fill in the column 'label'. Do not use the columns of ranks and reasons as model inputs.\n",
    )
    (batch,) = read(path)
    X = Encoding.of([batch], id="flight", scale=False).encode(batch)
    expected = choose(X, 5).rows.tolist()
    rows = rows_of(tmp_path / "out.csv")
    assert [row["flight"] for row in rows] == [f"LH{t}" for t in expected]
    assert list(rows[0]) == ["flight", "wind", "hour", "sky", "rank", "reason", "label"]
    for rank, (row, t) in enumerate(zip(rows, expected, strict=True), 1):
        assert (float(row["wind"]), float(row["hour"]), row["sky"]) == tuple(
            TABLE[name][t] for name in ("wind", "hour", "sky")
        )
        assert (row["rank"], row["label"]) == (str(rank), "")
    assert rows[0]["reason"].startswith("typical of many rows; ")
    assert rows[1]["reason"].startswith("unlike LH")


@pytest.mark.parametrize("ending", ["jsonl", "parquet", "tsv.gz"])
def test_extension_sets_the_output_format(run, tmp_path, ending):
    path = save(tmp_path, WITHOUT, "csv")
    assert run(path, "--id", "flight", "--budget", 4)[0] == 0
    assert run(path, "--id", "flight", "--budget", 4, out=f"out.{ending}")[0] == 0
    (batch,) = read(tmp_path / f"out.{ending}")
    assert list(batch.columns["flight"]) == [row["flight"] for row in rows_of(tmp_path / "out.csv")]


def test_labelled_rows_are_not_chosen(run, tmp_path):
    code, text = run(save(tmp_path, TABLE, "csv"), "--id", "flight", "--budget", 3)
    assert (code, "2 rows have existing labels." in text) == (0, True)
    (batch,) = read(tmp_path / "table.csv")
    X = Encoding.of([batch], id="flight", target="label", scale=False).encode(batch)
    free = [t for t in range(SIZE) if t not in (4, 8)]
    expected = np.array(free)[choose(X[free], 3, known=X[[4, 8]]).rows]
    rows = rows_of(tmp_path / "out.csv")
    assert [row["flight"] for row in rows] == [f"LH{t}" for t in expected]
    assert rows[0]["reason"].startswith("unlike the labelled rows in ")


def test_known_rows_continue_an_earlier_choice(run, tmp_path):
    path = save(tmp_path, WITHOUT, "csv")
    run(path, "--id", "flight", "--budget", 5)
    code, text = run(path, "--id", "flight", "--budget", 5, "--known", tmp_path / "out.csv", out="more.csv")
    assert (code, "5 rows have existing labels." in text) == (0, True)
    first, more = ({row["flight"] for row in rows_of(tmp_path / name)} for name in ("out.csv", "more.csv"))
    assert not first & more
    (tmp_path / "else.csv").write_text("flight\nLH1\nXX\n")
    text = run(path, "--id", "flight", "--budget", 5, "--known", tmp_path / "else.csv", out="third.csv")[1]
    assert "1 of the labelled rows are not in the table." in text


def test_rows_without_ids_are_numbered(run, tmp_path):
    path = save(tmp_path, {"wind": TABLE["wind"]}, "csv")
    assert run(path, "--budget", 5)[0] == 0
    rows = rows_of(tmp_path / "out.csv")
    assert all(float(row["wind"]) == TABLE["wind"][int(row["row"]) - 1] for row in rows)
    assert run(path, "--budget", 85, "--known", tmp_path / "out.csv", out="rest.csv")[0] == 0


def test_archive_of_arrays_is_written_number_by_number(run, tmp_path):
    X = RNG.normal(size=(60, 3))
    np.savez(tmp_path / "pool.npz", X=X)
    assert run(tmp_path / "pool.npz", "--budget", 4)[0] == 0
    rows = rows_of(tmp_path / "out.csv")
    for row in rows:
        np.testing.assert_array_equal([float(row[f"x{j}"]) for j in range(3)], X[int(row["row"]) - 1])
    assert " in x" in rows[1]["reason"]


def test_lists_of_numbers_can_be_read_again(run, tmp_path):
    cells = [[t / 10, -t % 7] for t in range(SIZE)]
    path = save(tmp_path, {"flight": TABLE["flight"], "text": cells}, "parquet")
    assert run(path, "--id", "flight", "--budget", 3)[0] == 0
    for row in rows_of(tmp_path / "out.csv"):
        assert json.loads(row["text"]) == cells[int(row["flight"][2:])]


def test_existing_column_names_get_a_suffix(run, tmp_path):
    path = save(tmp_path, {"rank": TABLE["wind"], "row": TABLE["hour"]}, "csv")
    assert run(path, "--budget", 3)[0] == 0
    assert list(rows_of(tmp_path / "out.csv")[0]) == ["row_", "rank", "row", "rank_", "reason", "label"]


def test_share_and_json(run, tmp_path):
    path = save(tmp_path, WITHOUT, "csv")
    code, text = run(path, "--id", "flight", "--budget", "10%", "--json")
    found = json.loads(text)
    assert (code, found["rows"], found["chosen"], found["notes"]) == (0, 90, 9, [])
    assert len(found["uncertainty"]) == 10


def test_long_table_is_sampled(run, tmp_path, monkeypatch):
    monkeypatch.setattr("qufur.labelling.pool.CANDIDATES", 20)
    path = save(tmp_path, WITHOUT, "csv")
    text = run(path, "--id", "flight", "--budget", 5)[1]
    assert "Chosen from a uniform sample of 20 of its rows." in text
    seeds = {}
    for seed in (0, 1):
        run(path, "--id", "flight", "--budget", 5, "--seed", seed, "--force")
        seeds[seed] = (tmp_path / "out.csv").read_bytes()
    assert seeds[0] != seeds[1]


def test_note_names_a_possible_label_column(run, tmp_path):
    path = save(tmp_path, {"wind": TABLE["wind"], "y": TABLE["hour"]}, "csv")
    assert "Column 'y' is an input; pass --target y if it has the labels." in run(path, "--budget", 2)[1]


BLANK = {"flight": TABLE["flight"], "wind": [None, *TABLE["wind"][1:]]}
TWICE = {"flight": ["LH1", *TABLE["flight"][1:]], "wind": TABLE["wind"]}


@pytest.mark.parametrize(
    ("table", "arguments", "message"),
    [
        (WITHOUT, ["--budget", 0], "--budget of qufur choose must be a whole number of labels of at least 1"),
        (
            WITHOUT,
            ["--budget", 91],
            "must be at most 90, the number of rows without a label, got 91.",
        ),
        (
            WITHOUT,
            ["--budget", 10**9],
            "--budget of qufur choose must be at most 90 labels, one for each row",
        ),
        (TABLE, ["--budget", 89], "must be at most 88, the number of rows without a label, got 89."),
        (WITHOUT, ["--budget", 5, "--id", "fligth"], "column 'fligth' of table.csv must be one of"),
        (WITHOUT, ["--budget", 5, "--id", "flight", "--target", "flight"], "another column than --id"),
        (BLANK, ["--budget", 5], "column 'wind' of table.csv must be without missing cells"),
        (
            TWICE,
            ["--budget", 5, "--id", "flight"],
            "must be unique, got 'LH1' in rows 1 and 2.",
        ),
        (
            WITHOUT,
            ["--budget", 5, "--known", "no.csv"],
            "must be an existing file, got 'no.csv'",
        ),
    ],
)
def test_bad_input_is_one_line_and_writes_nothing(run, tmp_path, table, arguments, message):
    code, text = run(save(tmp_path, table, "csv"), *arguments)
    assert (code, len(text.splitlines())) == (2, 1)
    assert message in text
    assert not (tmp_path / "out.csv").exists()


def test_missing_cells_need_impute(run, tmp_path):
    assert run(save(tmp_path, BLANK, "csv"), "--budget", 5, "--impute")[0] == 0


def test_repeated_id_far_down_raises(run, tmp_path, monkeypatch):
    monkeypatch.setattr("qufur.tables.batch.ROWS", 10)
    again = {"flight": [*TABLE["flight"][:-1], "LH1"], "wind": TABLE["wind"]}
    code, text = run(save(tmp_path, again, "csv"), "--budget", 5, "--id", "flight")
    assert (code, "must be unique, got 'LH1' in row 90 again." in text) == (2, True)


@pytest.mark.parametrize("used", ["table.csv", "known.csv"])
def test_out_never_overwrites_an_input_file(run, tmp_path, used):
    path = save(tmp_path, WITHOUT, "csv")
    (tmp_path / "known.csv").write_text("row\n1\n")
    before = (tmp_path / used).read_bytes()
    code, text = run(path, "--budget", 5, "--known", tmp_path / "known.csv", "--force", out=used)
    assert (code, "--out of qufur must be another file than the table" in text) == (2, True)
    assert (tmp_path / used).read_bytes() == before


def test_existing_file_is_replaced_only_with_force(run, tmp_path):
    path = save(tmp_path, WITHOUT, "csv")
    (tmp_path / "out.csv").write_text("my labels")
    code, text = run(path, "--budget", 5)
    assert (code, "--out of qufur choose must be a new file" in text) == (2, True)
    assert (tmp_path / "out.csv").read_text() == "my labels"
    assert run(path, "--budget", 5, "--force")[0] == 0
    assert len(rows_of(tmp_path / "out.csv")) == 5
