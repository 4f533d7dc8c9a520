"""Tests of later tables with new columns, new categories and empty cells."""

import gzip
from pathlib import Path

import numpy as np
import pytest

from qufur import Learner
from qufur.tables import read
from qufur.workbook import Workbook
from qufur.workbook.workbook import EncodingVersion

pytestmark = pytest.mark.usefixtures("few_trees")
START = {
    "ridge": ["--model", "ridge", "--label-range", 0, 60, "--budget", "50%"],
    "experts": ["--budget", "50%"],
}
OLD = Path(__file__).parents[1] / "storage" / "workbooks" / "1-csv-paced.qufur.gz"
RNG = np.random.default_rng(3)


def write(path, rows=30, head="wind,sky,crew", line="{wind},{sky},2"):
    lines = (
        line.format(wind=round(wind, 3), sky="fog" if wind > 0 else "clear", t=t)
        for t, wind in enumerate(RNG.normal(size=rows))
    )
    path.write_text("\n".join([head, *lines]) + "\n")
    return path


def tell(work, tmp_path, *options, add=0.0):
    workbook = Workbook.load(tmp_path / "s.qufur")
    names = [*workbook.labels, *workbook.learner.outstanding]
    lines = "".join(f"{name},{20 + name % 7 + add}\n" for name in names)
    (tmp_path / "labels.csv").write_text(f"row,label\n{lines}")
    assert work("tell", tmp_path / "labels.csv", *options)[0] == 0


@pytest.mark.parametrize("model", START)
def test_earlier_labels_remain_after_growth_and_can_be_replaced(work, tmp_path, model):
    out = ["-o", tmp_path / "out.csv", "--force"]
    assert work("ask", write(tmp_path / "1.csv"), *out, *START[model])[0] == 0
    tell(work, tmp_path)
    table = write(tmp_path / "2.csv", head="wind,sky,crew,gate", line="{wind},hail,{t},{t}5")
    code, text = work("ask", table, *out, "--add-column", "gate")
    assert code == 0, text
    tell(work, tmp_path)
    tell(work, tmp_path, "--replace", add=5.0)
    workbook = Workbook.load(tmp_path / "s.qufur")
    new = {"experts": ["sky=hail", "gate", "gate known"]}
    new["ridge"] = ["crew", *new["experts"]]
    assert workbook.encoding.names[4:] == sorted(
        new[model], key=["sky=hail", "crew", "gate", "gate known"].index
    )
    assert workbook.encoding_versions == [
        EncodingVersion(0, 0, 3),
        EncodingVersion(1, 30, len(workbook.encoding.columns)),
    ]
    told = list(workbook.labels.values())
    rows = np.array([record.row[: workbook.encoding.dim] for record in told])
    before = workbook.encoding_at(0).dim
    constants = [value for entry in workbook.encoding.columns[3:] for value in entry.before]
    np.testing.assert_array_equal(rows[0, before:], constants)
    (batch,) = read(table)
    X = workbook.encoding.encode(batch)
    if model == "ridge":
        other = Learner(workbook.learner.model, workbook.learner.rule)
        other.learn(rows, [record.label for record in told])
        np.testing.assert_allclose(workbook.learner.predict(X), other.predict(X), rtol=1e-9)
    else:
        known = workbook.learner.state.labelled.first()
        np.testing.assert_array_equal(known.X, rows)
        np.testing.assert_array_equal(known.y, [record.label for record in told])


@pytest.fixture
def begun(work, tmp_path):
    """Return a function that runs a command on a table, after a first one."""
    assert work("ask", write(tmp_path / "1.csv"), "-o", tmp_path / "o.csv", *START["ridge"])[0] == 0

    def call(command, *options, **table):
        out = ["-o", tmp_path / f"{command}.csv", "--force"]
        return work(command, write(tmp_path / "2.csv", 4, **table), *out, *options)

    return call


REMEDIES = {
    "an empty cell": ({"line": ",{sky},2"}, ["--impute"]),
    "an empty category": ({"line": "{wind},,2"}, ["--impute"]),
    "no number": ({"line": "n/a,{sky},2"}, ["--impute"]),
    "a column less": ({"head": "wind,crew", "line": "{wind},2"}, ["--impute"]),
}


@pytest.mark.parametrize("table", REMEDIES)
@pytest.mark.parametrize("command", ["ask", "predict"])
def test_suggested_remedy_works_and_keeps_the_state(begun, tmp_path, command, table):
    cells, remedy = REMEDIES[table]
    before = (tmp_path / "s.qufur").read_bytes()
    code, text = begun(command, **cells)
    assert (code, len(text.splitlines())) == (2, 1)
    assert remedy[0] in text
    assert (tmp_path / "s.qufur").read_bytes() == before
    assert begun(command, *remedy, **cells)[0] == 0
    assert ((tmp_path / "s.qufur").read_bytes() == before) == (command == "predict")
    if command == "ask":  # later calls need no --impute
        assert begun("ask", **cells)[0] == 0


def test_predict_adds_no_inputs(begun, tmp_path):
    before = (tmp_path / "s.qufur").read_bytes()
    code, text = begun("predict", head="wind,sky,crew,gate", line="{wind},hail,{t},2")
    assert code == 0
    assert text.splitlines()[1:] == [
        "New categories in column 'sky', ignored until `qufur ask` adds them: hail."
    ]
    assert (tmp_path / "s.qufur").read_bytes() == before


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--add-column", "gaet"], "Did you mean 'gate'?"),
        (["--add-column", "label"], "column to add of Growth must be neither of ids nor of labels"),
        (["--categorical", "gate"], "--categorical was not set by the first table and cannot"),
        (["--embedding", "gate"], "--embedding was not set by the first table and cannot"),
        (["--skip", "gate"], "--skip was not set by the first table and cannot"),
    ],
)
def test_invalid_later_options_raise(begun, options, message):
    code, text = begun("ask", *options, head="wind,sky,crew,gate", line="{wind},fog,2,1")
    assert (code, len(text.splitlines())) == (2, 1)
    assert message in text


def test_types_of_added_columns_can_be_given(begun, tmp_path):
    options = [
        "--add-column",
        "gate",
        "--categorical",
        "gate",
        "--add-column",
        "radar",
        "--embedding",
        "radar",
    ]
    table = {"head": "wind,sky,crew,gate,radar,label", "line": '{wind},fog,2,{t},"[{t}, 1]",3'}
    code, text = begun("ask", *options, **table)
    assert code == 0, text
    assert "is new" not in text  # no note on the label column either
    names = Workbook.load(tmp_path / "s.qufur").encoding.names[4:]
    assert names == ["gate=0", "gate=1", "gate=2", "gate=3", "radar[0]", "radar[1]", "radar known"]
    assert "as an input" not in begun("ask", *options[:2], head=table["head"], line=table["line"] + "4")[1]


def test_first_table_adds_no_columns(work, tmp_path):
    options = [*START["ridge"], "-o", tmp_path / "o.csv", "--add-column", "wind"]
    code, text = work("ask", write(tmp_path / "1.csv"), *options)
    assert code == 2
    assert "--add-column of qufur ask must be omitted for the first table" in text


def test_files_of_earlier_versions_grow(work, tmp_path):
    (tmp_path / "s.qufur").write_bytes(gzip.decompress(OLD.read_bytes()))
    table = tmp_path / "t.csv"
    table.write_text("flight,wind,gate,sky,fuel\nKL1,,2,hail,3\nKL2,1,2,fog,4\n")
    code, text = work("ask", table, "-o", tmp_path / "o.csv", "--impute", "--add-column", "fuel")
    assert code == 0, text
    workbook = Workbook.load(tmp_path / "s.qufur")
    assert workbook.encoding.names[-4:] == ["wind missing", "sky=hail", "fuel", "fuel known"]
    assert [stage.rows for stage in workbook.encoding_versions] == [0, 40]
    (batch,) = read(table)
    assert np.isfinite(workbook.learner.predict(workbook.encoding.encode(batch))).all()


def test_constant_amount_affects_predictions_when_it_varies(work, tmp_path):
    """The label equals the price, which was constant in the first table."""
    out = ["-o", tmp_path / "out.csv", "--force"]
    first = write(tmp_path / "1.csv", head="wind,price", line="{wind},€ 3")
    code, text = work("ask", first, *out, *START["ridge"])
    assert (code, "without effect until the value varies: 'price'." in text) == (0, True), text
    table = write(tmp_path / "2.csv", 60, head="wind,price", line="{wind},€ {t}.50")
    code, text = work("ask", table, *out)
    assert (code, "Column 'price' is no longer constant and now affects predictions." in text) == (0, True), (
        text
    )
    workbook = Workbook.load(tmp_path / "s.qufur")
    assert workbook.encoding.names == ["wind", "price", "price"]
    labels = {name: 3.0 if name <= 30 else name - 30.5 for name in workbook.learner.outstanding}
    lines = "".join(f"{name},{label}\n" for name, label in labels.items())
    (tmp_path / "labels.csv").write_text(f"row,label\n{lines}")
    assert work("tell", tmp_path / "labels.csv")[0] == 0
    (batch,) = read(table)
    workbook = Workbook.load(tmp_path / "s.qufur")
    errors = workbook.learner.predict(workbook.encoding.encode(batch)) - (np.arange(60) + 0.5)
    assert np.sqrt(np.mean(errors**2)) < 2.0, "17 is the deviation of the labels"
    table = write(tmp_path / "3.csv", 5, head="wind,price", line="{wind},{t}")
    assert "no longer constant" not in work("ask", table, *out)[1]
