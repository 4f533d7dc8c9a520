"""Tables of users: all formats give the same cells, and the first table determines the encoding."""

import csv
import gzip
import io
import json
import math
import sys
import tracemalloc
from zipfile import ZipFile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.refusals import refusal

from qufur.tables import Batch, Encoding, ids, labels, open_table, read, source
from qufur.tables.cells import category, listed
from qufur.tables.source import Source

pl = pytest.importorskip("polars")

RNG = np.random.default_rng(12)
N = 103
TABLE = {
    "flight": [f"LH{j}" for j in range(N)],
    "wind": RNG.normal(size=N).round(6).tolist(),
    "gates": RNG.integers(-3, 9, N).tolist(),
    "season": RNG.choice(["winter", "spring", "été, tôt"], N).tolist(),
    "late": RNG.choice([True, False], N).tolist(),
    "delay": RNG.normal(5, 2, N).round(6).tolist(),
}
BLANKS = {"wind": [3, 50], "season": [7, 102], "delay": [0, 60]}
ENDINGS = "csv german.csv tsv csv.gz jsonl ndjson jsonl.gz parquet npz csv.zst xlsx"
FORMATS = ENDINGS.split()


def with_blanks(table):
    return {
        name: [None if j in BLANKS.get(name, ()) else cell for j, cell in enumerate(column)]
        for name, column in table.items()
    }


def rows_of(table):
    return [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]


def as_csv(table, ending="csv"):
    """Return CSV text: with tabs for tsv, with semicolons and decimal commas for german.csv."""
    text = io.StringIO()
    german = ending == "german.csv"
    writer = csv.writer(text, delimiter=";" if german else "\t" if ending == "tsv" else ",")
    writer.writerow(table)
    rows = zip(*table.values(), strict=True)
    comma = (
        (lambda cell: str(cell).replace(".", ",") if isinstance(cell, float) else cell) if german else None
    )
    writer.writerows(map(comma, row) if comma else row for row in rows)
    return text.getvalue()


def as_jsonl(table):
    return "".join(
        f"{json.dumps({k: v for k, v in row.items() if v is not None})}\n" for row in rows_of(table)
    )


def npz_array(column):
    if any(isinstance(cell, str) for cell in column):
        return np.array(["" if cell is None else cell for cell in column])
    return np.array([math.nan if cell is None else cell for cell in column])


def save(folder, table, ending):
    path = folder / f"table.{ending}"
    if ending == "parquet":
        pl.DataFrame(table).write_parquet(path, row_group_size=40)
    elif ending == "xlsx":
        pytest.importorskip("fastexcel")
        pytest.importorskip("xlsxwriter")
        pl.DataFrame(table).write_excel(path)
    elif ending == "npz":
        np.savez(path, **{name: npz_array(column) for name, column in table.items()})
    else:
        text = (as_jsonl(table) if "json" in ending else as_csv(table, ending)).encode()
        path.write_bytes(packed(text, ending))
    return path


def packed(content, ending):
    if ending.endswith("zst"):
        return pytest.importorskip("zstandard").compress(content)
    return gzip.compress(content) if ending.endswith("gz") else content


def save_parts(folder, table, ending, parts=(2, 10)):
    """Write a table to several files; return their folder or pattern."""
    inner = folder / "parts"
    inner.mkdir(parents=True, exist_ok=True)
    size = -(-len(next(iter(table.values()))) // len(parts))
    for index, part in enumerate(parts):
        rows = {name: column[index * size : (index + 1) * size] for name, column in table.items()}
        save(inner, rows, ending).rename(inner / f"part{part}.{ending}")
    return inner if ending == "parquet" else inner / f"part*.{ending}"


def write(folder, text, name="t.csv"):
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def plain(column):
    """Return cells that can be compared between formats: numbers as floats, others as text."""
    return [cell if cell is None else number(cell) for cell in listed(column)]


def number(cell):
    try:
        return float(cell)
    except ValueError:
        return category(cell)


def contents(batches):
    table = {}
    for batch in batches:
        for name, column in batch.columns.items():
            assert len(column) == len(batch)
            table.setdefault(name, []).extend(plain(column))
    return table


def encoded(path, encoding, size=10):
    return np.concatenate([encoding.encode(batch) for batch in read(path, size)])


def slow(table, *, skip, impute=False):
    """Return names and inputs of a table by definition, cell by cell, with moments by fsum."""
    names, inputs = [], []
    for name, column in table.items():
        if name in skip:
            continue
        cells = [category(cell) if isinstance(cell, str | bool) else cell for cell in column]
        cells = [str(cell).lower() if isinstance(cell, bool) else cell for cell in cells]
        present = [cell for cell in cells if cell is not None]
        if all(isinstance(cell, int | float) for cell in present):
            mean = math.fsum(present) / len(present)
            deviation = math.sqrt(math.fsum((cell - mean) ** 2 for cell in present) / len(present))
            names.append(name)
            inputs.append([0.0 if cell is None else (cell - mean) / deviation for cell in cells])
        else:
            for value in sorted(set(present)):
                names.append(f"{name}={value}")
                inputs.append([float(cell == value) for cell in cells])
        if impute and len(present) < len(cells):
            names.append(f"{name} missing")
            inputs.append([float(cell is None) for cell in cells])
    return names, np.array(inputs).T


# Reading


@pytest.mark.parametrize("ending", FORMATS)
@pytest.mark.parametrize("size", [1, 10, N, 1000])
def test_read_gives_the_same_rows_in_every_format(tmp_path, ending, size):
    for table in (TABLE, with_blanks(TABLE)):
        path = save(tmp_path, table, ending)
        batches = list(read(path, size))
        assert [batch.first for batch in batches] == list(range(1, N + 1, size))
        assert [len(batch) for batch in batches] == [min(size, N - i) for i in range(0, N, size)]
        assert contents(batches) == {name: plain(map_bools(column)) for name, column in table.items()}


def map_bools(column):
    return [str(cell).lower() if isinstance(cell, bool) else cell for cell in column]


def test_csv_cells_remain_text(tmp_path):
    path = write(tmp_path, "\ufeff a ,b\n 007 , x \n\n  ,nan\n1e3,NaN\n")
    assert next(read(path)).columns == {"a": ["007", None, "1e3"], "b": ["x", None, None]}


def test_late_json_key_is_a_column_of_every_batch(tmp_path):
    path = write(tmp_path, '{"a": 1}\n\n{"a": true, "b": " x "}\n{"b": ""}\n{"a": NaN}\n', "t.jsonl")
    assert contents(read(path, 1)) == {"a": [1.0, "true", None, None], "b": [None, "x", None, None]}


@pytest.mark.parametrize("ending", ["jsonl", "parquet", "npz"])
def test_lists_of_numbers_are_embeddings(tmp_path, ending):
    X = RNG.normal(size=(7, 3))
    if ending == "npz":
        np.savez(tmp_path / "table.npz", X=X, y=X[:, 0], scale=np.array(3.0), cube=np.zeros((2, 2, 2)))
        path = tmp_path / "table.npz"
    else:
        path = save(tmp_path, {"X": X.tolist(), "y": X[:, 0].tolist()}, ending)
    encoding = Encoding.of(read(path, 2), target="y")
    assert encoding.names == ["X[0]", "X[1]", "X[2]"]
    np.testing.assert_allclose(encoded(path, encoding, 3), (X - X.mean(0)) / X.std(0), rtol=1e-12)


def test_parquet_types_are_converted_to_cells(tmp_path):
    from datetime import date, timedelta
    from decimal import Decimal

    frame = pl.DataFrame(
        {
            "day": [date(2011, 1, 1), None],
            "price": [Decimal("1.50"), None],
            "count": [2**60, None],
            "array": pl.Series([[1, 2], [3, 4]], dtype=pl.Array(pl.Int8, 2)),
            "ragged": [[1], [2, 3]],
            "some": [[1.0], None],
            "kind": pl.Series(["a", None], dtype=pl.Categorical),
            "none": [None, None],
            "struct": [{"a": 1}, {"a": 2}],
            "span": [timedelta(1), None],
        }
    )
    frame.write_parquet(tmp_path / "t.parquet")
    columns = dict(next(read(tmp_path / "t.parquet")).columns)
    assert columns.pop("array").tolist() == [[1, 2], [3, 4]]
    assert listed(columns.pop("price")) == [1.5, None]
    assert columns == {
        "day": ["2011-01-01", None],
        "count": [2**60, None],
        "ragged": [[1], [2, 3]],
        "some": [[1.0], None],
        "kind": ["a", None],
        "none": [None, None],
        "struct": [{"a": 1}, {"a": 2}],
        "span": [timedelta(1), None],
    }
    for name in ("struct", "span", "ragged", "none"):
        skip = [other for other in frame.columns if other not in (name, "array")]
        assert f"column '{name}' of t.parquet" in refusal(
            lambda skip=skip: Encoding.of(read(tmp_path / "t.parquet"), skip=skip, impute=True)
        )


def test_parquet_is_read_in_several_slices(tmp_path, monkeypatch):
    monkeypatch.setattr("qufur.tables.formats.parquet_file._CELLS", 12 * len(TABLE))
    batches = list(read(save(tmp_path, TABLE, "parquet"), 5))
    assert [batch.first for batch in batches] == list(range(1, N + 1, 5))
    assert contents(batches)["flight"] == TABLE["flight"]


def test_parquet_raises_without_polars(tmp_path, monkeypatch):
    path = save(tmp_path, TABLE, "parquet")
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(ImportError, match=r"\[tables\]"):
        next(read(path))


def test_npz_in_fortran_order_with_dates_is_read(tmp_path):
    days = np.array(["2011-01-01", "NaT", "2011-01-03"], "datetime64[D]")
    np.savez(tmp_path / "t.npz", days=days, X=np.asfortranarray(np.arange(6.0).reshape(3, 2)))
    parts = list(read(tmp_path / "t.npz", 2))
    assert [batch.columns["X"].tolist() for batch in parts] == [[[0, 1], [2, 3]], [[4, 5]]]
    assert parts[0].columns["days"] == ["2011-01-01", None]


def test_memory_does_not_grow_with_the_number_of_rows(tmp_path):
    def peak(rows, ending):
        path = tmp_path / f"{rows}.{ending}"
        with path.open("w") as file:
            file.writelines(["a,b\n"] if ending == "csv" else [])
            line = "{}.5,w{}\n" if ending == "csv" else '{{"a": {}.5, "b": "w{}"}}\n'
            file.writelines(line.format(j, j % 7) for j in range(rows))
        tracemalloc.start()
        encoding = Encoding.of(read(path, 500))
        total = sum(len(encoding.encode(batch)) for batch in read(path, 500))
        top = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert total == rows
        return top

    for ending, rows in (("csv", 100_000), ("jsonl", 20_000)):
        assert peak(rows, ending) < 1.5 * peak(2_000, ending)


# Encoding


@pytest.mark.parametrize("ending", FORMATS)
def test_encoding_matches_its_definition(tmp_path, ending):
    aside = ("flight", "delay")
    for table, impute in ((TABLE, False), (with_blanks(TABLE), True)):
        path = save(tmp_path, table, ending)
        encoding = Encoding.of(read(path, 10), id="flight", target="delay", impute=impute)
        names, X = slow(table, skip=aside, impute=impute)
        assert encoding.names == names
        assert encoding.dim == len(names)
        np.testing.assert_allclose(encoded(path, encoding), X, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_encoding_does_not_depend_on_the_batch_size(tmp_path, size):
    path = save(tmp_path, with_blanks(TABLE), "csv")
    options = {"skip": ["flight"], "impute": True, "categorical": ["gates"]}
    encoding, expected = (Encoding.of(read(path, n), **options) for n in (size, 50))
    assert encoding.names == expected.names
    X = encoded(path, encoding, 33)
    np.testing.assert_allclose(X, encoded(path, expected, 33), rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(encoded(path, encoding, size), encoded(path, encoding, 50))


def test_encoding_state_survives_json_and_rejects_other_values(tmp_path):
    path = save(tmp_path, with_blanks(TABLE), "jsonl")
    encoding = Encoding.of(read(path), skip=["flight"], impute=True)
    again = Encoding.from_state(json.loads(json.dumps(encoding.state())))
    assert again == encoding
    np.testing.assert_array_equal(encoded(path, again), encoded(path, encoding))
    for state in ({}, {"columns": [{"kind": "unknown"}], "impute": False}, {"columns": [3], "impute": True}):
        assert "state of Encoding" in refusal(lambda state=state: Encoding.from_state(state))
    assert "state of Encoding" in refusal(lambda: Encoding.from_state(None))


def test_bulk_conversion_of_numbers_equals_conversion_by_column(tmp_path):
    X = (RNG.normal(size=(600, 3)) * [1, 1e-9, 1e9]).tolist()
    text = "a,b,c\n" + "".join(",".join(map(repr, row)) + "\n" for row in X)
    fast = list(read(write(tmp_path, text), 150))
    slow = [Batch(dict(batch.columns), batch.first, batch.file) for batch in fast]
    encoding = Encoding.of(fast)
    assert encoding == Encoding.of(slow)
    for fast_batch, slow_batch in zip(fast, slow, strict=True):
        np.testing.assert_array_equal(encoding.encode(fast_batch), encoding.encode(slow_batch))
    for cell in ("", "n/a", "1_0", "inf", "1e60"):
        fast = list(read(write(tmp_path, f"{text}1,{cell},2\n"), 150))
        slow = [Batch(dict(batch.columns), batch.first, batch.file) for batch in fast]
        for attempt in (Encoding.of, lambda batches: encoding.encode(batches[-1])):
            assert refusal(lambda: attempt(fast)) == refusal(lambda: attempt(slow))  # noqa: B023


def test_infinity_in_a_numeric_column_raises():
    batch = Batch({"a": np.array([1.0, np.inf])}, 1, "t.parquet")
    message = "column 'a' of t.parquet must be finite numbers, got inf in row 2."
    assert refusal(lambda: Encoding.of([batch])).startswith(message)


def test_single_column_of_a_matrix_can_be_skipped(tmp_path):
    X = RNG.normal(size=(9, 3))
    np.savez(tmp_path / "t.npz", X=X, names=np.array(["a", "b", "c"]))
    encoding = Encoding.of(read(tmp_path / "t.npz", 2), skip=["x1"])
    assert encoding.names == ["x0", "x2"]
    expected = ((X - X.mean(0)) / X.std(0))[:, [0, 2]]
    np.testing.assert_allclose(encoded(tmp_path / "t.npz", encoding), expected, rtol=1e-12)


FIRST = Batch({"wind": ["1", "3"], "season": ["winter", "spring"], "height": [7, 7]}, 1, "first.csv")


def test_later_table_is_encoded_with_the_columns_of_the_first():
    encoding = Encoding.of([FIRST])
    assert encoding.names == ["wind", "season=spring", "season=winter", "height"]
    later = {"new": [None, None], "height": [8, 7], "season": ["summer", "winter"], "wind": [5.0, 2]}
    np.testing.assert_array_equal(encoding.encode(Batch(later)), [[3, 0, 0, 0], [0, 0, 1, 0]])


def test_missing_cells_without_an_indicator_are_encoded_as_zero():
    encoding = Encoding.of([FIRST], impute=True)
    later = Batch({"wind": [None], "season": [None], "height": [None]})
    np.testing.assert_array_equal(encoding.encode(later), [[0, 0, 0, 0]])


def test_table_in_another_format_continues_the_workbook(tmp_path):
    table = with_blanks(TABLE)
    csv_file, parquet = save(tmp_path, table, "csv"), save(tmp_path, table, "parquet")
    encoding = Encoding.of(read(csv_file), skip=["flight"], categorical=["gates"], impute=True)
    np.testing.assert_array_equal(encoded(csv_file, encoding), encoded(parquet, encoding))
    assert encoding.names[2:5] == ["gates=-1", "gates=-2", "gates=-3"]


def test_column_options_override_inference(tmp_path):
    path = write(tmp_path, 'code,vector\n1.0,"[0, 1]"\n2,"[2, 1]"\n1,\n')
    encoding = Encoding.of(read(path, 1), categorical=["code"], embedding="vector", impute=True)
    assert encoding.names == ["code=1", "code=2", "vector[0]", "vector[1]", "vector missing"]
    expected = [[1, 0, -1, 0, 0], [0, 1, 1, 0, 0], [1, 0, 0, 0, 1]]
    np.testing.assert_array_equal(encoded(path, encoding, 2), expected)


def test_more_than_100_categories_are_hashed():
    names = [f"n{j}" for j in range(101)]
    assert Encoding.of([Batch({"a": names[:100]})]).dim == 100
    assert Encoding.of([Batch({"a": names})]).dim == 32
    assert Encoding.of([Batch({"a": list(range(200))})]).dim == 1


def test_text_with_underscores_or_other_nan_spellings_is_categorical():
    assert Encoding.of([Batch({"a": ["2021_03", "2021_04"]})]).names == ["a=2021_03", "a=2021_04"]
    assert Encoding.of([Batch({"a": ["Nan", "1"]})]).names == ["a=1", "a=Nan"]


def test_scaling_is_accurate_for_large_means():
    values = 1e9 + RNG.normal(size=50)
    X = Encoding.of([Batch({"a": values[:20]}), Batch({"a": values[20:]}, 21)]).encode(Batch({"a": values}))
    np.testing.assert_allclose([X.mean(), X.std()], [0, 1], atol=1e-6)
    constant = Batch({"a": [0.1] * 7})
    assert not Encoding.of([constant, constant]).encode(constant).any()


# Ids and labels


def test_ids_are_equal_in_every_format(tmp_path):
    table = {"id": list(range(5, 9)), "code": ["007", "7", "x", "-0"]}
    for ending in FORMATS:
        parts = list(read(save(tmp_path, table, ending), 3))
        assert [name for part in parts for name in ids(part, "id")] == table["id"]
        assert [name for part in parts for name in ids(part, "code")] == ["007", 7, "x", "-0"]
        assert [name for part in parts for name in ids(part)] == [1, 2, 3, 4]
    assert ids(Batch({"id": np.array([2.0, 3.0])}), "id") == [2, 3]


def test_labels_skip_blank_cells_or_raise():
    batch = Batch({"y": ["1.5", None, "-2"]}, 11, "l.csv")
    source, values = labels(batch, "y", skip_blank=True)
    assert (source.tolist(), values.tolist()) == ([0, 2], [1.5, -2.0])
    assert labels(Batch({"y": np.array([1, 2])}), "y")[1].tolist() == [1.0, 2.0]
    message = (
        "column 'y' of l.csv must be finite numbers, got an empty cell in row 12. Fill it or drop the row."
    )
    assert refusal(lambda: labels(batch, "y")) == message


# Errors


def of(text, name="t.csv", **options):
    return lambda folder: Encoding.of(read(write(folder, text, name), 2), **options)


def later(text, first="a,c\n1,x\n2,y\n", **options):
    def run(folder):
        encoding = Encoding.of(read(write(folder, first, "first.csv"), 2), **options)
        for batch in read(write(folder, text), 2):
            encoding.encode(batch)

    return run


STRAY = "a\n" + "".join(f"{j}\n" for j in range(150)) + "n/a\n"
FILES = [
    (of("a\n1\n", "t.txt"), "path of qufur must be a file ending in .csv, "),
    (of(""), "content of t.csv must be at least one row, got none."),
    (of("a,b\n"), "content of t.csv must be at least one row, got none."),
    (of("a,a\n1,2\n"), "columns of t.csv must be of different names, got 'a' more than once."),
    (of("a,b\n1,2\n3\n"), "row 2 of t.csv must be 2 fields wide like the header, got 1 field."),
    (
        of(b"a\nx\n\xfc\n"),
        "text of t.csv must be UTF-8, got other bytes in line 3, 'ü' in Windows-1252. Save it as UTF-8: in",
    ),
    (
        of("a\nü\n".encode("utf-16")),
        "text of t.csv must be UTF-8, got other bytes in line 1, which look like UTF",
    ),
    (
        of("0.5,2\n1,2\n"),
        "header of t.csv must be names of columns, got numbers such as '0.5'. Put a line of",
    ),
    (
        of("1,1\n1,2\n"),
        "header of t.csv must be names of columns, got numbers such as '1'. Put a line of names",
    ),
    (of("no", "t.csv.gz"), "content of t.csv.gz must be a readable gzip file"),
    (of(gzip.compress(b"a\n1\n")[:-9], "t.csv.gz"), "content of t.csv.gz must be a readable gzip file"),
    (of("\n", "t.jsonl"), "content of t.jsonl must be at least one row, got none."),
    (
        of('{"a": 1}\n\n{"a": \n', "t.jsonl"),
        "line 3 of t.jsonl must be a JSON object, got an error (Expecting",
    ),
    (of("[1]\n", "t.jsonl"), "line 1 of t.jsonl must be a JSON object, got a list."),
    (of("[" * 100_000, "t.jsonl"), "line 1 of t.jsonl must be a JSON object, got an error"),
    (of("no", "t.parquet"), "content of t.parquet must be a readable Parquet file, got an error ("),
    (of("no", "t.npz"), "content of t.npz must be a readable NPZ file, got an error (File is not"),
]
COLUMNS = [
    (
        of("wind\n1\n", skip=["win"]),
        "column 'win' of t.csv must be one of 'wind', got no such column. Did you",
    ),
    (of("a\n1\n", skip=["a"]), "columns of Encoding must be at least one that is not set aside, got none."),
    (
        of("a\n1\n", numeric=["a"], categorical=["a"]),
        "column 'a' of Encoding must be ignored, or of one type",
    ),
    (of("a,b\n1,1\n", target="a", numeric=["a"]), "column 'a' of Encoding must be ignored, or of one type"),
    (
        of(STRAY),
        "column 'a' of t.csv must be numbers throughout, got 'n/a' in row 151. Correct the cell, drop the "
        "row, or `skip=['a']`; `categorical=['a']` reads all cells as categories.",
    ),
    (
        of("a,b\n1,1\n2,1\n,1\n4,1\n,1\n"),
        "column 'a' of t.csv must be without missing cells, got an empty cell in row 3. "
        "Fill it, drop the row, `skip=['a']`, or give `impute=True`.",
    ),
    (
        of("a,b\n,1\n,1\n", impute=True),
        "column 'a' of t.csv must be of some value, got missing cells only. "
        "It cannot be an input yet: `skip=['a']`.",
    ),
    (
        of("a\n1\n2\nn/a\n", numeric=["a"]),
        "column 'a' of t.csv must be finite numbers, got 'n/a' in row 3. "
        "Correct the cell, drop the row, or `skip=['a']`.",
    ),
    (
        of("a\n1e300\n-1e300\n"),
        "column 'a' of t.csv must be numbers below 1e+50 in size, got '1e300' in row 1. Correct",
    ),
    (of("a\n[1]\n2\n", embedding="a"), "column 'a' of t.csv must be lists of 1 numbers, got '2' in row 2."),
    (of("a\nx\n", embedding="a"), "column 'a' of t.csv must be lists of finite numbers, got 'x' in row 1."),
    (
        of('{"a": [1]}\n{"a": [1, 2]}\n', "t.jsonl"),
        "column 'a' of t.jsonl must be lists of 1 numbers, got [1, 2] in",
    ),
    (
        of('{"a": 1}\n{"a": [1]}\n', "t.jsonl"),
        "column 'a' of t.jsonl must be numbers, text or lists of numbers, got",
    ),
    (
        of('{"a": "x"}\n{"a": {}}\n', "t.jsonl"),
        "column 'a' of t.jsonl must be numbers, text or lists of numbers, got",
    ),
]
LATER = [
    (
        later("a,b\n1,x\n"),
        "column 'c' of t.csv must be one of 'a', 'b', got no such column. "
        "`impute=True` treats a missing column as empty cells.",
    ),
    (
        later("a,c\n1,x\n2,x\n3 m,x\n"),
        "column 'a' of t.csv must be finite numbers, got '3 m' in row 3. "
        "Correct the cell, drop the row, or give `impute=True`, which treats it as empty.",
    ),
    (later("a,c\n1,x\n2,x\ninf,x\n"), "column 'a' of t.csv must be finite numbers, got 'inf' in row 3."),
    (
        later("a,c\n1,x\n2,x\n,x\n"),
        "column 'a' of t.csv must be finite numbers, got an empty cell in row 3. "
        "Fill it, drop the row, or give `impute=True`.",
    ),
    (
        later("a,c\n1,\n"),
        "column 'c' of t.csv must be a category in every row, got an empty cell in row 1. Fill",
    ),
    (
        later("a,c\n1,x\n1e300,x\n", "a,c\n1e-40,x\n0,x\n"),
        "column 'a' of t.csv must be numbers not too large to be scaled, got '1e300' in row 2.",
    ),
]


@pytest.mark.parametrize(("build", "message"), [*FILES, *COLUMNS, *LATER])
def test_invalid_tables_raise_one_line_errors(tmp_path, build, message):
    assert refusal(lambda: build(tmp_path)).startswith(message)


def relation(name, target):
    """Return the relationships of a part of an Excel file that refers to one other part."""
    type_ = f"http://schemas.openxmlformats.org/officeDocument/2006/relationships/{name}"
    return f'<Relationships><Relationship Id="r1" Type="{type_}" Target="{target}"/></Relationships>'


def sheet(path, *cells):
    """Write an Excel file whose sheet has these cells, given as XML."""
    parts = {
        "_rels/.rels": relation("officeDocument", "xl/workbook.xml"),
        "xl/workbook.xml": '<workbook xmlns:r="r"><sheets><sheet name="s" r:id="r1"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": relation("worksheet", "worksheets/sheet1.xml"),
        "xl/worksheets/sheet1.xml": f"<worksheet><sheetData>{''.join(cells)}</sheetData></worksheet>",
    }
    with ZipFile(path, "w") as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    return path


HEADER = (
    '<row r="1"><c r="A1" t="inlineStr"><is><t>wind</t></is></c></row><row r="2"><c r="A2"><v>3</v></c></row>'
)


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (
            ['<row r="1048576"><c r="XFD1048576"><v>1</v></c></row>'],
            "17,179,869,184, because of XFD1048576. Clear",
        ),
        (
            ['<row r="9"><c r="XFD9"><v>1</v></c></row>', '<row r="99999"><c r="B99999"><v>1</v></c></row>'],
            "got 1,638,383,616, because of B99999 and XFD9. Clear B99999 and XFD9 if",
        ),
        (
            ["<row/>" * 60_000, "<row>", "<c><v>1</v></c>" * 1000, "</row>"],
            "got 60,003,000, because of A60003 and ALL60003.",
        ),
        (
            ['<row r="9"><c r="ZZZZ9"><v>1</v></c></row>'],
            "a readable Excel file, got an error (a cell at 'ZZZZ9').",
        ),
        (["<row><c>"], "a readable Excel file, got an error (mismatched tag"),
    ],
    ids=["corner", "two edges", "without addresses", "impossible", "broken"],
)
def test_sheet_with_too_many_cells_raises_before_loading(tmp_path, cells, message):
    pytest.importorskip("fastexcel")
    with pytest.raises(ValueError, match=r"\A[^\n]*\Z") as error:
        open_table(sheet(tmp_path / "far.xlsx", HEADER, *cells))
    assert message in str(error.value)


def test_empty_cells_far_from_the_table_do_not_count(tmp_path):
    pytest.importorskip("fastexcel")
    path = sheet(tmp_path / "t.xlsx", HEADER, '<row r="1048576"><c r="XFD1048576" s="1"/></row>')
    assert [batch.columns["wind"].tolist() for batch in read(path)] == [[3.0]]


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "tsv", "jsonl"])
def test_too_many_columns_raise_after_the_first_line(tmp_path, monkeypatch, ending):
    monkeypatch.setattr("qufur.tables.formats.base.MOST_COLUMNS", 5)
    names, path = [f"c{index}" for index in range(6)], tmp_path / f"wide.{ending}"
    between = "\t" if ending == "tsv" else ","
    line = json.dumps(dict.fromkeys(names, 1)) if ending == "jsonl" else between.join(names)
    packed = gzip.open if ending.endswith("gz") else open
    with packed(path, "wb") as file:
        file.write(f"{line}\n".encode() + b"{\n")  # not a valid row
    with pytest.raises(ValueError, match=f"columns of wide.{ending} must be at most 5, got 6. Save numbers"):
        open_table(path)


def test_unclosed_quote_raises_at_the_field_size_limit(tmp_path, monkeypatch):
    path = write(tmp_path, 'a\n"' + "x\n" * 1000)
    assert next(read(path)).columns["a"] == [("x\n" * 1000).strip()]
    monkeypatch.setattr("qufur.tables.formats.dialect.LONGEST_TEXT", 500)
    message = "content of t.csv must be a readable CSV file, got an error (field larger"
    assert refusal(lambda: list(read(path))).startswith(message)


def test_invalid_ids_labels_and_paths_raise(tmp_path):
    batch = Batch({"id": ["a", None, 1.5, [1]]}, 4, "t.csv")
    assert "column 'id' of t.csv must be text or whole numbers, got an empty cell in row 5." in refusal(
        lambda: ids(batch, "id")
    )
    large = Batch({"y": ["1", "-1e160"]})
    assert "must be numbers below 1e+50 in size, got '-1e160' in row 2." in refusal(
        lambda: labels(large, "y")
    )
    half = Batch({"id": ["a\ud800"]})
    assert "must be text of whole characters, got 'a\\ud800' in row 1." in refusal(lambda: ids(half, "id"))
    assert "got 1.5 in row 1." in refusal(lambda: ids(Batch({"id": np.array([1.5])}), "id"))
    assert "Did you mean 'id'?" in refusal(lambda: ids(batch, "idd"))
    assert "must be finite numbers, got 'a' in row 4." in refusal(lambda: labels(batch, "id"))
    matrix = Batch({"X": np.array([[0.5, 1.0]])}, 4, "t.npz")
    assert "must be text or whole numbers, got [0.5, 1.0] in row 4." in refusal(lambda: ids(matrix, "X"))
    assert "must be finite numbers, got [0.5, 1.0] in row 4." in refusal(lambda: labels(matrix, "X"))
    assert "size of read" in refusal(lambda: read("t.csv", 0))
    assert "an existing file" in refusal(lambda: read(tmp_path / "t.csv"))


def test_list_in_a_categorical_column_raises():
    encoding = Encoding.of([FIRST])
    batch = Batch({"wind": [1], "season": [["x"]], "height": [1]}, 3, "t.jsonl")
    message = "column 'season' of t.jsonl must be text or numbers, got ['x'] in row 3."
    assert message in refusal(lambda: encoding.encode(batch))
    assert message in refusal(lambda: Encoding.of([batch], categorical=["season"]))


def test_damaged_parquet_raises_one_line_errors(tmp_path):
    """Truncated and overwritten files have rows or raise a one-line error."""
    path, rng = tmp_path / "t.parquet", np.random.default_rng(3)
    columns = {
        "wind": np.arange(60.0),
        "sky": [f"s{row % 5}" for row in range(60)],
        "pair": [[1.0, 2.0]] * 60,
    }
    pl.DataFrame(columns).write_parquet(path, row_group_size=20, compression="uncompressed")
    whole = path.read_bytes()
    errors = 0
    for start in rng.integers(0, len(whole), 60).tolist():
        changed = bytearray(whole)
        changed[start : start + 4] = rng.bytes(4)
        for damaged in (bytes(changed), whole[:start]):
            path.write_bytes(damaged)
            try:
                assert sum(map(len, read(path))) <= 60
            except ValueError as error:
                errors += 1
                assert "\n" not in str(error)
    assert errors > 60


def test_invalid_npz_archives_and_empty_tables_raise(tmp_path):
    path = tmp_path / "t.npz"
    np.savez(path, X=np.zeros((3, 2)), y=np.zeros(4))
    assert refusal(lambda: list(read(path))).startswith(
        "array 'y' of t.npz must be of 3 rows like the others"
    )
    np.savez(path, X=np.zeros((0, 2)))
    assert "at least one row" in refusal(lambda: list(read(path)))
    np.savez(path, names=np.array(["a", None], object))
    assert "at least one row" in refusal(lambda: list(read(path)))
    pl.DataFrame({"a": []}).write_parquet(tmp_path / "t.parquet")
    assert "at least one row" in refusal(lambda: list(read(tmp_path / "t.parquet")))


# Arbitrary cells and files

CELLS = st.one_of(
    st.text(max_size=6),
    st.sampled_from(
        ["", " ", "nan", "Nan", "inf", "1e308", "-1e308", "5e-324", "1_0", "True", "[1, 2]", "[1", "0"]
    ),
    st.floats(width=32).map(str),
)
TABLES = st.integers(1, 3).flatmap(
    lambda width: st.lists(st.lists(CELLS, min_size=width, max_size=width), min_size=1, max_size=12)
)


@settings(max_examples=300, derandomize=True, deadline=None)
@given(rows=TABLES, later=TABLES, impute=st.booleans(), size=st.integers(1, 5), vector=st.booleans())
def test_arbitrary_cells_are_encoded_or_raise_one_line_errors(
    tmp_path_factory, rows, later, impute, size, vector
):
    folder = tmp_path_factory.mktemp("fuzz")
    names = [f"c{j}" for j in range(len(rows[0]))]
    try:
        path = fuzzed(folder / "first.csv", names, rows)
        encoding = Encoding.of(read(path, size), impute=impute, embedding="c0" if vector else None)
        for batch in [*read(path, size), *read(fuzzed(folder / "later.csv", names, later), size)]:
            X = encoding.encode(batch)
            assert X.shape == (len(batch), encoding.dim)
            assert np.isfinite(X).all()
            assert len(ids(batch, "c0")) == len(labels(batch, "c0")[0])
    except ValueError as error:
        assert "\n" not in str(error)
        assert " must be " in str(error)


def fuzzed(path, names, rows):
    with path.open("w", newline="", encoding="utf-8", errors="replace") as file:
        csv.writer(file).writerows([names, *rows])
    return path


@settings(max_examples=200, derandomize=True, deadline=None)
@given(content=st.binary(max_size=60), ending=st.sampled_from([*FORMATS]))
def test_arbitrary_bytes_are_read_or_raise_one_line_errors(tmp_path_factory, content, ending):
    path = tmp_path_factory.mktemp("fuzz") / f"t.{ending}"
    path.write_bytes(content)
    try:
        Encoding.of(read(path, 2))
    except ImportError as error:
        assert "pip install" in str(error)
    except ValueError as error:
        assert "\n" not in str(error)
        assert " must be " in str(error)


@pytest.mark.parametrize("text", [True, False], ids=["text", "numbers"])
def test_unscaled_encoding_keeps_numbers_unchanged(tmp_path, text):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1e6,7\n3e6,7\n")
    first = next(iter(read(path))) if text else Batch({"a": [1e6, 3e6], "b": [7, 7]})
    encoding = Encoding.of([first], scale=False)
    np.testing.assert_array_equal(encoding.encode(first), [[1e6, 7.0], [3e6, 7.0]])
    assert (encoding.constant, Encoding.of([first]).constant) == ([], ["b"])
    assert Encoding.from_state(encoding.state()) == encoding


def test_missing_unscaled_number_becomes_the_mean():
    first = Batch({"a": [10.0, None, 30.0], "sky": ["fog", "rain", "fog"]})
    column = np.array([10.0, np.nan])
    column.flags.writeable = False
    encoding = Encoding.of([first], impute=True, scale=False)
    np.testing.assert_array_equal(encoding.encode(first)[:, :2], [[10.0, 0.0], [20.0, 1.0], [30.0, 0.0]])
    np.testing.assert_array_equal(
        encoding.encode(Batch({"a": column, "sky": ["rain", "fog"]}))[1], [20, 1, 1, 0]
    )


def test_unscaled_number_beyond_the_limit_raises():
    encoding = Encoding.of([Batch({"a": [1.0, 2.0]})], scale=False)
    with pytest.raises(ValueError, match=r"must be numbers below 1e\+50 in size, got 1e\+60 in row 1"):
        encoding.encode(Batch({"a": [1e60]}))


def test_state_without_scaling_flag_is_scaled():
    state = Encoding.of([Batch({"a": [1.0, 3.0]})]).state()
    del state["columns"][0]["scaled"]
    np.testing.assert_array_equal(Encoding.from_state(state).encode(Batch({"a": [5.0]})), [[3.0]])


# Formatted numbers, dates and many categories

WORDS = {
    "price": (["€ 3.20", "7", "€ 1,000"], ["price"], [[3.2], [7], [1000]]),
    "share": (["5%", "0.5", "-1 %"], ["share"], [[0.05], [0.5], [-0.01]]),
    "count": (["1,000", "12", "1'000'000.5"], ["count"], [[1000], [12], [1000000.5]]),
    "plain": (["1", "2", "USD 3"], ["plain"], [[1], [2], [3]]),
    "mixed": (["€ 1", "$ 2", "3"], ["mixed=$ 2", "mixed=3", "mixed=€ 1"], [[0, 0, 1], [1, 0, 0], [0, 1, 0]]),
    "comma": (["1,5", "2", "2"], ["comma=1,5", "comma=2"], [[1, 0], [0, 1], [0, 1]]),
    "iso": (
        ["2024-02-29T06:30:00Z", "2024-03-01 12:00:00.000", "2024-03-02"],
        ["iso hour", "iso weekday", "iso month", "iso trend"],
        [[6.5, 3, 2, 19782], [12, 4, 3, 19783], [0, 5, 3, 19784]],
    ),
    "dots": (
        ["29.2.2024", "01.03.2024", "2.3.2024"],
        ["dots weekday", "dots month", "dots trend"],
        [[3, 2, 19782], [4, 3, 19783], [5, 3, 19784]],
    ),
    "slashes": (
        ["02/29/2024", "3/1/2024", "03/02/2024"],
        ["slashes weekday", "slashes month", "slashes trend"],
        [[3, 2, 19782], [4, 3, 19783], [5, 3, 19784]],
    ),
    "clock": (["07:45", "8:30", "23:59:60"], ["clock hour"], [[7.75], [8.5], [24]]),
    "open": (["1/2/2024"] * 3, ["open=1/2/2024"], [[1]] * 3),
    "no day": (["30.2.2024"] * 3, ["no day=30.2.2024"], [[1]] * 3),
}


@pytest.mark.parametrize("name", WORDS)
@pytest.mark.parametrize("size", [1, 2, 3])
def test_formatted_numbers_and_dates_are_inferred_and_encoded(name, size):
    cells, names, expected = WORDS[name]
    batches = [Batch({name: cells[j : j + size]}, j + 1) for j in range(0, 3, size)]
    encoding = Encoding.of(batches, scale=False)
    assert encoding.names == names
    np.testing.assert_allclose(np.concatenate(list(map(encoding.encode, batches))), expected, rtol=1e-12)
    assert len(encoding.notes) == ("=" not in names[0])
    assert all(repr(name) in note for note in encoding.notes)
    assert Encoding.from_state(json.loads(json.dumps(encoding.state()))) == encoding
    text = Encoding.of(batches, scale=False, categorical=[name])
    assert text.notes == []
    assert all("=" in column for column in text.names)
    scaled = Encoding.of(batches).encode(Batch({name: cells}))
    if names[0] == name:
        assert abs(scaled.mean(axis=0)).max() < 1e-9
    elif "=" not in names[0]:  # moments of the calendar, since a few days do not represent the year
        mean, unit = {"hour": 11.5, "weekday": 3, "month": 6.5, "trend": 19783}, {"hour": 6.9, "weekday": 2}
        units = [(unit | {"month": 3.5, "trend": 365})[column.split()[1]] for column in names]
        means = [mean[column.split()[1]] for column in names]
        np.testing.assert_allclose(scaled, (np.array(expected) - means) / units, atol=1e-9)


def test_later_formatted_cells_are_encoded_or_raise():
    first = Batch({"price": ["€ 3", None, "€ 5"], "day": ["2024-01-01", "2024-01-02", None]})
    encoding = Encoding.of([first], scale=False, impute=True)
    assert encoding.names == [
        *("price", "price missing", "day weekday", "day month", "day trend", "day missing"),
    ]
    later = Batch({"price": np.array([1.0, np.nan]), "day": [None, "2024-01-01 10:00"]})
    np.testing.assert_allclose(encoding.encode(later), [[1, 0, 3, 6.5, 19723.5, 1], [4, 1, 0, 1, 19723, 0]])
    for cells, message in (
        (
            {"price": ["$ 3"], "day": ["2024-01-01"]},
            "column 'price' of the table must be numbers such as '€ 3', got '$",
        ),
        (
            {"price": ["3"], "day": ["1.1.2024"]},
            "column 'day' of the table must be dates such as '2024-01-01', got",
        ),
    ):
        assert refusal(lambda cells=cells: encoding.encode(Batch(cells))).startswith(message)


def test_hashed_categories_share_columns(tmp_path):
    names = [f"n{j}" for j in range(200)]
    encoding = Encoding.of([Batch({"a": [*names, None]})], impute=True)
    assert encoding.notes == [
        "Column 'a' has many categories: their hashes share 32 columns. "
        "For ids `skip=['a']`, for free text `text='a'`."
    ]
    X = encoding.encode(Batch({"a": [*names, "new", None]}))
    assert X.shape == (202, 33)
    np.testing.assert_array_equal(X.sum(axis=1), 1)
    assert (X[:-1].sum(axis=0)[:32] > 0).all()
    assert X[-1, 32] == 1
    again = Encoding.from_state(json.loads(json.dumps(encoding.state())))
    np.testing.assert_array_equal(again.encode(Batch({"a": names[::-1]})), X[199::-1])
    strict = Encoding.of([Batch({"a": names})])
    assert "must be a category in every row" in refusal(lambda: strict.encode(Batch({"a": [None]})))
    assert "must be text or numbers" in refusal(lambda: strict.encode(Batch({"a": [[1]]})))
    assert Encoding.of([Batch({"a": list(range(200))})], categorical=["a"]).dim == 32


# CSV dialects


@pytest.mark.parametrize(
    ("text", "columns", "note"),
    [
        ("a;b\n1,5;x\n1.000;y\n", {"a": ["1.5", "1000"], "b": ["x", "y"]}, "';' between fields, and 1,5 is"),
        ("a;b\n1,000;2.5\n", {"a": ["1,000"], "b": ["2.5"]}, "';' between fields, and 1.5 is"),
        (
            "a|b, c|d\n1|2,5|3\n",
            {"a": ["1"], "b, c": ["2.5"], "d": ["3"]},
            "'|' between fields, and 1,5 is",
        ),
        ("a;b, c, d\n1;2\n", {"a": ["1"], "b, c, d": ["2"]}, "';' between fields, and 1.5 is"),
        ("a\tb\n1\t2;3\n", {"a": ["1"], "b": ["2;3"]}, "tabs between fields, and 1.5 is"),
        ('a,b\n"1,5",x;y\n', {"a": ["1,5"], "b": ["x;y"]}, None),
        ("note\nso; so\n", {"note": ["so; so"]}, None),
        ("a\n", None, "must be at least one row"),
        (
            "a;b\n1;2\n3\n",
            None,
            "row 2 of t.csv must be 2 fields wide like the header, got 1 field. Check its",
        ),
    ],
)
def test_delimiter_is_detected_and_reported(tmp_path, text, columns, note):
    path = write(tmp_path, text)
    if columns is None:
        assert note in refusal(lambda: list(read(path)))
        return
    file = open_table(path)
    assert next(file.batches(9)).columns == columns
    assert [line.partition(" a number")[0] for line in file.notes] == ([f"t.csv: {note}"] if note else [])


def test_explicit_dialect_overrides_detection(tmp_path):
    path = write(tmp_path, "a;b\n1,5;1.5\n", "t.csv")
    file = open_table(Source(path, "|", "."))
    assert (file.columns, file.notes) == (["a;b"], [])
    assert next(open_table(Source(path, ";", ",")).batches(1)).columns == {"a": ["1.5"], "b": ["1.5"]}
    assert "separator of Source must be one character, or tab, got 'ab'." in refusal(
        lambda: Source(path, "ab")
    )
    assert "decimal of Source must be a point or a comma" in refusal(lambda: Source(path, ";", "x"))
    other = write(tmp_path, '{"a": 1}\n', "t.jsonl")
    message = refusal(lambda: open_table(Source(other, ";")))
    assert message.startswith("separator of t.jsonl must be omitted for a file that is not CSV, got ';'.")


@pytest.mark.parametrize(
    ("header", "note"),
    [("0,1", []), ("a,1", []), ("2019,2020", ["2019"]), ("a,0.5", ["0.5"]), ("7,fog", [])],
)
def test_numeric_header_is_reported(tmp_path, header, note):
    notes = open_table(write(tmp_path, f"{header}\n5,6\n")).notes
    assert [
        line.startswith(f"t.csv: a column is called {name}; if ")
        for line, name in zip(notes, note, strict=True)
    ] == [True] * len(note)


def test_lines_after_the_head_do_not_change_the_dialect(tmp_path):
    path = write(tmp_path, "a,b\n" + "1,2\n" * 300 + "1;2;3,5\n")
    assert list(read(path, 1))[-1].columns == {"a": ["1;2;3"], "b": ["5"]}


# Folders, patterns, standard input and compression


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet", "xlsx"])
def test_files_of_a_folder_or_pattern_are_read_in_natural_order(tmp_path, ending):
    path = save_parts(tmp_path, TABLE, ending)
    batches = list(read(path, 40))
    assert contents(batches) == {name: plain(map_bools(column)) for name, column in TABLE.items()}
    assert [(batch.file, batch.row(0)) for batch in batches] == [
        (f"part{part}.{ending}", row) for part in (2, 10) for row in (1, 41)
    ]
    assert [name for batch in batches for name in ids(batch)] == list(range(1, N + 1))
    file = open_table(path)
    assert (file.count(), file.columns) == (N, list(TABLE))


def test_concatenated_files_must_have_the_same_columns(tmp_path):
    write(tmp_path, "a,b\n1,2\n", "1.csv")
    write(tmp_path, "b,a\n3,4\n", "2.csv")
    assert contents(read(tmp_path / "*.csv")) == {"a": [1, 4], "b": [2, 3]}
    write(tmp_path, "b,c\n3,4\n", "3.csv")
    message = "columns of 3.csv must be the columns of 1.csv, got no column 'a'."
    assert refusal(lambda: read(tmp_path / "*.csv")).startswith(message)
    assert "a pattern of files that exist" in refusal(lambda: read(tmp_path / "*.parquet"))
    assert "or a folder of .parquet files" in refusal(lambda: read(tmp_path))
    assert next(read(write(tmp_path, "a\n1\n", "t[1].csv"))).columns == {"a": ["1"]}


@pytest.mark.parametrize(
    "ending", ["csv", "german.csv", "csv.gz", "csv.zst", "jsonl", "parquet", "npz", "xlsx"]
)
def test_standard_input_is_read_in_every_format(tmp_path, monkeypatch, ending):
    content = save(tmp_path, TABLE, ending).read_bytes()
    source._spooled.cache_clear()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
    for _ in range(2):
        assert contents(read("-")) == {name: plain(map_bools(column)) for name, column in TABLE.items()}
    source._spooled.cache_clear()


def test_damaged_zstd_files_raise(tmp_path):
    truncated, not_utf8 = packed(b"a\n1\n", "zst")[:-3], packed(b"a\n\xff\n", "zst")
    for content, message in (
        (truncated, "content of t.csv.zst must be a readable zstd"),
        (not_utf8, "text of t.csv.zst must"),
    ):
        assert refusal(lambda content=content: of(content, "t.csv.zst")(tmp_path)).startswith(message)


def test_files_of_several_compressed_members_are_read_completely(tmp_path):
    rows = b"1\n" * 200_000
    for ending in ("gz", "zst"):
        path = write(tmp_path, packed(b"a\n" + rows, ending) + packed(rows, ending), f"t.csv.{ending}")
        assert open_table(path).count() == 400_000


@pytest.mark.parametrize(("package", "ending"), [("zstandard", "csv.zst"), ("fastexcel", "xlsx")])
def test_missing_package_error_names_package_and_extra(tmp_path, monkeypatch, package, ending):
    path = save(tmp_path, TABLE, ending)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=rf"needs {package}.*\[(excel|zstd)\]"):
        next(read(path))


@pytest.mark.parametrize("ending", [".parquet", ".xlsx"])
def test_column_names_are_not_interpreted_as_patterns(tmp_path, ending):
    frame = pl.DataFrame({"x": [1.0], "*": [2.0], "^x$": [3.0]})
    path = tmp_path / f"table{ending}"
    frame.write_parquet(path) if ending == ".parquet" else frame.write_excel(path)
    (batch,) = open_table(path).batches(10, ["^x$", "*"])
    assert {name: list(cells) for name, cells in batch.columns.items()} == {"^x$": [3.0], "*": [2.0]}
