"""Tests of the label column: misspelled, missing in the table, or leaked by another column."""

import json

import numpy as np
import pytest

from qufur.workbook import Workbook

LINEAR = ["--model", "ridge", "--label-range", 0, 100, "--budget", 40]
RNG = np.random.default_rng(4)
WIND, LOAD = RNG.normal(size=60).round(3), (50 + 10 * RNG.normal(size=60)).round(3)


def write(path, **columns):
    lines = (",".join(map(str, row)) for row in zip(*columns.values(), strict=True))
    path.write_text("\n".join([",".join(columns), *lines]) + "\n")
    return path


@pytest.mark.parametrize(
    ("column", "options", "meant"),
    [
        ("load", ["--target", "laod"], "load"),
        ("Load", ["--target", "load"], "Load"),
        ("load_", ["--target", "load"], "load_"),
        ("load", ["--target", "loads"], "load"),
        ("labels", [], "labels"),
        ("target", [], "target"),
        ("y", [], "y"),
    ],
)
def test_missing_target_with_a_similar_column_raises(work, tmp_path, column, options, meant):
    may, out = write(tmp_path / "may.csv", wind=WIND, **{column: LOAD}), tmp_path / "out.csv"
    code, text = work("ask", may, "-o", out, *LINEAR, *options)
    assert (code, len(text.splitlines())) == (2, 1)
    target = options[-1] if options else "label"
    assert f"the table has no column {target!r} but has {meant!r}. Use --target {meant}; or --new" in text
    assert {path.name for path in tmp_path.iterdir()} <= {"may.csv", "s.qufur.lock"}
    assert work("ask", may, "-o", out, *LINEAR, *options, "--new", "--skip", column)[0] == 0
    workbook = Workbook.load(tmp_path / "s.qufur")
    assert (workbook.target, workbook.encoding.names) == (target, ["wind"])


def test_given_target_missing_in_the_table_is_accepted_beside_a_column_named_y(work, tmp_path):
    may = write(tmp_path / "may.csv", wind=WIND, y=LOAD)
    code, text = work("ask", may, "-o", tmp_path / "out.csv", *LINEAR, "--target", "price")
    assert (code, "Column 'y' is an input. If it contains labels, start over with --skip y." in text) == (
        0,
        True,
    )
    workbook = Workbook.load(tmp_path / "s.qufur")
    assert (workbook.target, workbook.encoding.names) == ("price", ["wind", "y"])


@pytest.mark.parametrize("options", [["--skip", "load"], ["--id", "load"]], ids=str)
def test_leak_note_ignores_columns_that_are_not_inputs(work, tmp_path, options):
    may = write(tmp_path / "may.csv", wind=WIND, load=LOAD.astype(int) * 1000 + np.arange(60))
    assert work("ask", may, "-o", tmp_path / "out.csv", *LINEAR, "--target", "loads", *options)[0] == 0


def test_new_raises_if_the_target_exists(work, tmp_path):
    may = write(tmp_path / "may.csv", wind=WIND, load=LOAD)
    code, text = work("ask", may, "-o", tmp_path / "out.csv", *LINEAR, "--target", "load", "--new")
    assert (code, "--target of qufur ask must be a new column with --new, got 'load'" in text) == (2, True)


def test_target_may_be_a_column_of_a_matrix(work, tmp_path):
    np.savez(tmp_path / "may.npz", X=np.column_stack([WIND, LOAD]))
    assert work("ask", tmp_path / "may.npz", "-o", tmp_path / "out.csv", *LINEAR, "--target", "x1")[0] == 0
    assert Workbook.load(tmp_path / "s.qufur").encoding.names == ["x0"]


@pytest.mark.parametrize(
    ("columns", "named"),
    [
        ({"copy": 2 * LOAD + 1}, ["copy"]),
        ({"copy": -np.exp(LOAD / 10)}, ["copy"]),
        ({"copy": LOAD + 0.1 * WIND, "other": LOAD + 3 * WIND}, ["copy"]),
        ({"noisy": LOAD + 3 * WIND, "constant": 1 + 0 * LOAD}, []),
    ],
)
def test_columns_that_leak_the_label_are_noted(work, tmp_path, columns, named):
    may, out = write(tmp_path / "may.csv", wind=WIND, **columns), tmp_path / "out.csv"
    assert work("ask", may, "-o", out, *LINEAR, "--alpha", 1e6, "--target", "load")[0] == 0
    names = Workbook.load(tmp_path / "s.qufur").learner.outstanding
    labels = tmp_path / "labels.csv"
    lines = [f"{name},{LOAD[name - 1]}" for name in names]
    labels.write_text("\n".join(["row,load", *lines[:19]]))
    assert "determines the label" not in work("tell", labels)[1]
    labels.write_text("\n".join(["row,load", *lines]))
    for text in (work("tell", labels)[1], work("status")[1]):
        assert [word for word in ("copy", "other", "noisy", "constant") if f"--skip {word}." in text] == named
    assert len(json.loads(work("status", "--json")[1]).get("notes", [])) == len(named)


@pytest.mark.usefixtures("few_trees")
def test_column_that_leaks_the_class_is_noted(work, tmp_path):
    sort = np.where(LOAD > 50, "high", "low")
    columns = {"wind": WIND, "band": np.where(LOAD > 50, "B", "A"), "near": np.where(LOAD > 48, "B", "A")}
    may, out = write(tmp_path / "may.csv", **columns), tmp_path / "out.csv"
    start = ["--budget", "100%", "--target", "sort", "--classes", "high,low"]
    assert work("ask", may, "-o", out, *start)[0] == 0
    names = Workbook.load(tmp_path / "s.qufur").learner.outstanding
    labels = tmp_path / "labels.csv"
    labels.write_text("\n".join(["row,sort", *(f"{name},{sort[name - 1]}" for name in names)]))
    text = work("tell", labels)[1]
    assert ("--skip band." in text, "--skip near." in text, "--skip wind." in text) == (True, False, False)
