import sys
import tracemalloc
import weakref
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qufur._internal.counts import counted
from qufur.streams import Chunk, Summary, Table
from qufur.tables import Encoding
from qufur.tables import read as rows
from qufur.tables.formats import compression, parquet_file
from qufur.tables.formats.parquet_file import ParquetFile

pl = pytest.importorskip("polars")

RNG = np.random.default_rng(8)
X = RNG.normal(size=(103, 3))
Y = RNG.normal(size=103)
DOMAIN = np.repeat([4, -1, 7], [50, 50, 3])
FEATURES = {"npz": ("x0", "x1", "x2"), "csv": ("a", "b", "c"), "parquet": ("a", "b", "c")}


@pytest.fixture(params=["csv", "parquet", "npz"])
def path(request, tmp_path):
    path = tmp_path / f"table.{request.param}"
    frame = pl.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": Y, "domain": DOMAIN, "c": X[:, 2]})
    if request.param == "npz":
        np.savez(path, X=X, y=Y, domain=DOMAIN, other=np.zeros(5))
    else:
        getattr(frame, f"write_{request.param}")(path)
    return path


def write(tmp_path, text, name="t.csv"):
    path = tmp_path / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def read(stream, size=10):
    parts = [(c.X, c.y, c.domain) for c in stream.chunks(size)]
    return tuple(np.concatenate(column) for column in zip(*parts, strict=True))


def error_of(path, target="y", **options):
    with pytest.raises(ValueError) as caught:
        for _ in Table(path, target, **options).chunks(2):
            pass
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_table_without_target_has_zero_labels(path):
    skip = [] if path.suffix == ".npz" else ["y"]
    stream = Table(path, None, skip=skip, domain="domain")
    for got, expected in zip(read(stream), (X, np.zeros(103), DOMAIN), strict=True):
        np.testing.assert_array_equal(got, expected)
    one = Table(path, None, features=stream.features[:1], skip=skip)
    np.testing.assert_array_equal(next(one.chunks(200)).X, X[:, :1])


def test_encoding_converts_mixed_columns_to_inputs(tmp_path):
    path = write(tmp_path, "wind,sky,y\n1,fog,5\n3,clear,6\n")
    encoding = Encoding.of(rows(path), target="y")
    stream = Table(path, "y", encoding=encoding)
    assert (stream.dim, stream.features, stream.horizon) == (3, ("wind", "sky"), 2)
    (chunk,) = stream.chunks(9)
    assert (chunk.X.tolist(), chunk.y.tolist()) == ([[-1, 0, 1], [1, 1, 0]], [5, 6])
    later = write(tmp_path, "wind,y\n1,5\n", "later.csv")
    assert "column 'sky' of later.csv must be one of" in error_of(later, encoding=encoding)


@pytest.mark.parametrize("size", [1, 10, 103, 1000])
def test_formats_give_the_same_rows(path, size):
    stream = Table(path, "y", domain="domain")
    for got, expected in zip(read(stream, size), (X, Y, DOMAIN), strict=True):
        np.testing.assert_array_equal(got, expected)
    assert (stream.horizon, stream.dim, stream.features) == (103, 3, FEATURES[path.suffix[1:]])
    assert [len(chunk) for chunk in stream.chunks(size)] == [min(size, 103 - i) for i in range(0, 103, size)]
    chunk = next(stream.chunks(size))
    assert chunk.X.flags.c_contiguous
    assert chunk.domain.dtype == np.int64


def test_features_keep_the_requested_order(path):
    names = FEATURES[path.suffix[1:]]
    stream = Table(str(path), "y", features=[names[2], names[0]], domain="domain")
    np.testing.assert_array_equal(read(stream)[0], X[:, [2, 0]])


def test_npz_truth_and_domain_arrays_are_used(tmp_path):
    path = tmp_path / "t.npz"
    np.savez_compressed(path, X=X, y=Y, truth=-Y, domain=DOMAIN.astype(np.int8))
    chunk = next(Table(path, "y").chunks(103))
    np.testing.assert_array_equal(chunk.truth, -Y)
    np.testing.assert_array_equal(chunk.domain, DOMAIN)


@pytest.mark.parametrize("convert", [np.asfortranarray, np.float32, lambda a: (10 * a).astype(np.int16)])
def test_npz_accepts_any_memory_order_and_dtype(tmp_path, convert):
    path = tmp_path / "t.npz"
    np.savez(path, X=convert(X), y=convert(Y))
    stream = Table(path, "y")
    np.testing.assert_array_equal(np.concatenate([c.X for c in stream.chunks(10)]), convert(X))
    np.testing.assert_array_equal(np.concatenate([c.y for c in stream.chunks(10)]), convert(Y))
    assert next(stream.chunks(1)).X.dtype == np.float64
    assert next(stream.chunks(1)).domain is None


@pytest.mark.parametrize("size", [1, 10, 103, 1000])
@pytest.mark.parametrize("convert", [np.asfortranarray, np.float32, lambda a: (10 * a).astype(np.int16)])
def test_npy_accepts_any_memory_order_and_dtype(tmp_path, convert, size):
    path = tmp_path / "t.npy"
    whole = convert(np.column_stack([X[:, 0], Y, DOMAIN, X[:, 1:]]))
    np.save(path, whole)
    stream = Table(path, "x1", features=["x4", "x0"])
    assert (stream.horizon, stream.dim) == (103, 2)
    np.testing.assert_array_equal(np.concatenate([c.X for c in stream.chunks(size)]), whole[:, [4, 0]])
    np.testing.assert_array_equal(np.concatenate([c.y for c in stream.chunks(size)]), whole[:, 1])
    assert next(stream.chunks(1)).X.dtype == np.float64
    assert Table(path, "x1", domain="x2").features == ("x0", "x3", "x4")


def test_csv_dialect_is_detected(tmp_path):
    text = 'a,"note, long",y\r\n1,"two\r\nlines, ""quoted""",3\r\n\r\n 4 ,caf\u00e9,5e-1\r\n\r\n'
    for start in ("", "\ufeff"):
        stream = Table(write(tmp_path, start + text), "y", features=["a"])
        (chunk,) = stream.chunks(10)
        assert (chunk.X.tolist(), chunk.y.tolist(), stream.horizon) == ([[1.0], [4.0]], [3.0, 0.5], 2)
    path = write(tmp_path, text.encode("latin-1"))
    assert error_of(path, features=["a"]).startswith("text of t.csv must be UTF-8, got other bytes")


def test_parquet_accepts_numeric_types_and_many_row_groups(tmp_path):
    path = tmp_path / "t[1].parquet"
    frame = pl.DataFrame({"flag": [True, False] * 500, "y": np.arange(1000, dtype=np.int16)})
    frame.write_parquet(path, row_group_size=64)
    chunks = list(Table(path, "y").chunks(37))
    np.testing.assert_array_equal(np.concatenate([c.y for c in chunks]), np.arange(1000))
    np.testing.assert_array_equal(np.concatenate([c.X[:, 0] for c in chunks]), [1, 0] * 500)


def test_parquet_holds_one_slice_in_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(parquet_file, "_CELLS", 24)
    pl.DataFrame({"x": X[:, 0], "y": Y}).write_parquet(tmp_path / "t.parquet")
    read_rows, cut, earlier, alive = ParquetFile._rows, parquet_file.batches_of, [], []

    def watched_rows(*args):
        alive.append(sum(part() is not None for part in earlier))
        return read_rows(*args)

    def watched_cut(frame, *args):
        earlier.append(weakref.ref(frame))
        for batch in cut(frame, *args):
            earlier.append(weakref.ref(batch))
            yield batch

    monkeypatch.setattr(ParquetFile, "_rows", watched_rows)
    monkeypatch.setattr(parquet_file, "batches_of", watched_cut)
    assert sum(len(chunk) for chunk in Table(tmp_path / "t.parquet", "y").chunks(4)) == len(Y)
    assert alive == [0] * 9


def test_parquet_slices_join_without_gaps(tmp_path, monkeypatch):
    monkeypatch.setattr("qufur.tables.formats.parquet_file._CELLS", 24)
    path = tmp_path / "t.parquet"
    pl.DataFrame({"x": X[:, 0], "y": Y}).write_parquet(path, row_group_size=10)
    for size in (1, 5, 12, 50):
        np.testing.assert_array_equal(np.concatenate([c.y for c in Table(path, "y").chunks(size)]), Y)
    pl.DataFrame({"x": X[:, 0], "y": np.where(np.arange(103) == 66, np.inf, Y)}).write_parquet(path)
    assert "column 'y' of t.parquet must be finite numbers, got inf in row 67" in error_of(path)


@pytest.mark.parametrize("format", ["csv", "npy", "npz"])
def test_table_memory_does_not_grow_with_the_file(tmp_path, format):
    def peak(rows):
        path = tmp_path / f"{rows}.{format}"
        if format == "npz":
            np.savez(path, X=np.ones((rows, 4)), y=np.ones(rows))
        elif format == "npy":
            np.save(path, np.ones((rows, 5)))
        else:
            path.write_text("a,b,y\n" + "1,2,3\n" * rows)
        tracemalloc.start()
        for _ in Table(path, "x4" if format == "npy" else "y").chunks(50):
            pass
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return peak

    peak(100)
    assert peak(50_000) < 1.5 * peak(5000)


def test_missing_file_and_unknown_extension_raise(tmp_path):
    assert "must be an existing file, got" in (message := error_of(tmp_path / "gone.csv"))
    assert "gone.csv" in message
    assert "ending in .csv, .tsv, .jsonl," in error_of(tmp_path / "t.ods")
    (tmp_path / "folder.csv").mkdir()
    assert "must be an existing file" in error_of(tmp_path / "folder.csv")


@pytest.mark.parametrize("ending", ["csv", "parquet", "npy", "npz"])
def test_empty_file_raises(tmp_path, ending):
    message = error_of(write(tmp_path, "", f"t.{ending}"))
    assert message == f"content of t.{ending} must be at least one row, got none."


def test_file_without_rows_raises(tmp_path):
    none = "must be at least one row, got none."
    assert none in error_of(write(tmp_path, "x,y\n\n"))
    assert none in error_of(write(tmp_path, "\n\n"))
    pl.DataFrame({"x": [1.0], "y": [1.0]}).clear().write_parquet(tmp_path / "t.parquet")
    assert none in error_of(tmp_path / "t.parquet")
    np.savez(tmp_path / "t.npz", X=np.empty((0, 2)), y=np.empty(0))
    assert none in error_of(tmp_path / "t.npz")
    np.save(tmp_path / "t.npy", np.empty((0, 2)))
    assert none in error_of(tmp_path / "t.npy")


def test_missing_columns_raise_and_are_named(tmp_path):
    path = write(tmp_path, "delay,wind\n1,2\n")
    expected = (
        "column 'dealy' of t.csv must be one of 'delay', 'wind', got no such column. Did you mean 'delay'?"
    )
    assert error_of(path, "dealy") == expected
    assert error_of(path, "delay", features=["winds"]).endswith("Did you mean 'wind'?")
    assert error_of(path, "delay", domain="region").startswith("column 'region' of t.csv must be one of")
    wide = write(tmp_path, ",".join(f"c{i}" for i in range(100)) + "\n" + ",".join("1" * 100) + "\n")
    assert "'c19', … (100 in all), got no such column." in error_of(wide)


def test_invalid_features_raise(tmp_path):
    path = write(tmp_path, "x,y\n1,2\n")
    for features in ([], ["x", "y"], ["x", "x"]):
        assert "features of Table must be one or more different columns" in error_of(path, features=features)
    assert "features of Table" in error_of(path, domain="x")
    assert "columns of t.csv must be of different names, got 'x'" in error_of(
        write(tmp_path, "x,x,y\n1,2,3\n")
    )


@pytest.mark.parametrize(
    ("cell", "formatted"),
    [
        ("n/a", "'n/a'"),
        ("", "an empty cell"),
        ("NaN", "an empty cell"),
        ("2021_03", "'2021_03'"),
        ("-inf", "'-inf'"),
        ("1e999", "'1e999'"),
        ('"one\ntwo"', r"'one\ntwo'"),
        ("x" * 500, "'xxxxxxxxxxxx...xxxxxxxxxxxxx'"),
        ("1e60", "'1e60'"),
    ],
)
def test_csv_non_numeric_cells_raise(tmp_path, cell, formatted):
    message = error_of(write(tmp_path, f"note,x,y\nok,1,2\n?,3,4\n,{cell},5\n"), features=["x"])
    allowed = "numbers below 1e+50 in size" if cell == "1e60" else "finite numbers"
    assert message.startswith(f"column 'x' of t.csv must be {allowed}, got {formatted} in row 3. ")
    assert message.endswith("drop the row.")


@pytest.mark.parametrize(("row", "fields"), [("1,2", 2), ("1,2,3,4", 4), ("1", 1), ('1,"2,3', 2)])
def test_csv_rows_of_wrong_length_raise(tmp_path, row, fields):
    message = error_of(write(tmp_path, f"x,y,note\n1,2,\n1,2,3\n{row}\n"), features=["x"])
    received = counted(fields, "field")
    assert message.startswith(f"row 3 of t.csv must be 3 fields wide like the header, got {received}.")


@pytest.mark.parametrize(("name", "text"), [("t.csv", "x,y\n1,2\n3\n"), ("t.jsonl", '{"x": 1, "y": 2}\n3\n')])
def test_rejected_file_is_closed(tmp_path, monkeypatch, name, text):
    opened = []
    open_file = compression.open_file
    monkeypatch.setattr(
        compression,
        "open_file",
        lambda *args, **options: opened.append(open_file(*args, **options)) or opened[-1],
    )
    (tmp_path / name).write_text(text)
    with pytest.raises(ValueError, match="must be") as caught:  # keeps the traceback and its frames alive
        _ = Table(tmp_path / name, "y").horizon
    assert opened
    assert all(file.closed for file in opened)
    assert caught.value


def test_csv_short_rows_raise_while_counting(tmp_path):
    with pytest.raises(ValueError, match=r"row 2 of t\.csv must be 2 fields wide"):
        _ = Table(write(tmp_path, "x,y\n1,2\n3\n"), "y").horizon


@pytest.mark.parametrize(
    ("cell", "formatted"), [(None, "an empty cell"), (float("nan"), "an empty cell"), (-np.inf, "-inf")]
)
def test_parquet_missing_and_infinite_cells_raise(tmp_path, cell, formatted):
    pl.DataFrame({"x": [1.0, 2.0, cell], "y": [1, 2, 3]}).write_parquet(tmp_path / "t.parquet")
    message = error_of(tmp_path / "t.parquet")
    assert message.startswith(f"column 'x' of t.parquet must be finite numbers, got {formatted} in row 3.")


def test_parquet_non_numeric_types_raise(tmp_path):
    pl.DataFrame({"x": ["1", "b"], "y": [1, 2]}).write_parquet(tmp_path / "t.parquet")
    expected = "column 'x' of t.parquet must be finite numbers, got 'b' in row 2."
    assert error_of(tmp_path / "t.parquet").startswith(expected)


def test_npz_invalid_arrays_raise(tmp_path):
    path = tmp_path / "t.npz"
    np.savez(path, X=X, labels=Y)
    assert "column 'y' of t.npz must be one of 'X', 'labels', got no such column" in error_of(path)
    np.testing.assert_array_equal(next(Table(path, "labels").chunks(103)).y, Y)
    np.savez(path, X=X, y=Y[:5])
    assert "array 'y' of t.npz must be of 103 rows like the others, got shape (5,)" in error_of(path)
    np.savez(path, X=X, y=np.array(["a"] * 103))
    assert "column 'y' of t.npz must be finite numbers, got 'a' in row 1." in error_of(path)
    np.savez(path, Z=X, y=Y)
    assert "column 'Z' of t.npz must be finite numbers, got [" in error_of(path)
    np.savez(path, X=np.where(np.arange(309).reshape(103, 3) == 13, np.nan, X), y=Y)
    assert "column 'x1' of t.npz must be finite numbers, got an empty cell in row 5" in error_of(path)


def test_npy_invalid_arrays_raise(tmp_path):
    path = tmp_path / "t.npy"
    np.save(path, Y)
    assert "array of t.npy must be a numeric matrix (T, d), got float64 values of shape (103,)" in error_of(
        path
    )
    np.save(path, np.array([["a"]]))
    assert "array of t.npy must be a numeric matrix (T, d), got <U1 values" in error_of(path)
    for order in "CF":
        np.save(path, np.asarray(np.where(np.arange(309).reshape(103, 3) == 13, np.nan, X), order=order))
        assert "column 'x1' of t.npy must be finite numbers, got an empty cell in row 5" in error_of(
            path, "x0"
        )
        path.write_bytes(path.read_bytes()[:-8])
        message = error_of(path, "x0")
        assert "must be a readable NPY file, got" in message
        assert "bytes instead of" in message


@pytest.mark.parametrize(
    ("ending", "format"), [("parquet", "Parquet"), ("npy", "NPY"), ("npz", "NPZ")], ids=str
)
def test_unreadable_files_raise_and_name_the_format(tmp_path, ending, format):
    message = error_of(write(tmp_path, "x,y\n1,2\n" * 100, f"t.{ending}"))
    assert f"must be a readable {format} file" in message


def test_csv_unclosed_quote_raises(tmp_path, monkeypatch):
    monkeypatch.setattr("qufur.tables.formats.dialect.LONGEST_TEXT", 2**17)
    message = error_of(write(tmp_path, 'x,y\n1,2\n1,"' + "3,4\n" * 100_000))
    assert "must be a readable CSV file" in message


def test_domain_column_rejects_fractions(tmp_path):
    path = write(tmp_path, "x,y,u\n1,2,3.0\n1,2,-4\n1,2,5\n1,2,0.5\n")
    assert error_of(path, domain="u") == "column 'u' of t.csv must be whole numbers, got 0.5 in row 4."
    path = write(tmp_path, "x,y,u\n1,2,1e40\n")
    assert "got 1e+40 in row 1" in error_of(path, domain="u")


def test_missing_polars_error_names_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "polars", None)
    path = write(tmp_path, "x,y\n1,2\n")
    assert Table(path, "y").horizon == 1
    with pytest.raises(ImportError, match=r"reading tables needs polars.*\[tables\]"):
        Table(path.rename(Path(tmp_path, "t.parquet")), "y")


def test_summary_matches_numpy_moments(path):
    summary = Table(path, "y", domain="domain").summary()
    np.testing.assert_allclose(summary.mean, X.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(summary.std, X.std(axis=0), rtol=1e-12)
    assert (summary.count, summary.target_min, summary.target_max) == (103, Y.min(), Y.max())


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(1, 40), min_size=1, max_size=6), st.sampled_from([0.0, 1e9]))
def test_summary_does_not_depend_on_chunk_sizes(sizes, offset):
    # At 1e9 the naive E x² − (E x)² has no digit left.
    data = np.random.default_rng(1).normal(size=(sum(sizes), 2)) + offset
    cuts = np.split(data, np.cumsum(sizes)[:-1])
    summary = Summary.of(Chunk(part, part[:, 0]) for part in cuts)
    exact = (data - offset).astype(np.longdouble)
    np.testing.assert_allclose(
        summary.mean - offset, exact.mean(axis=0), rtol=1e-9, atol=offset * 1e-15 + 1e-12
    )
    np.testing.assert_allclose(summary.std, exact.std(axis=0), rtol=1e-9, atol=1e-12)


def test_constant_columns_have_zero_deviation():
    part = Chunk(np.full((7, 2), 0.1), np.zeros(7))
    assert Summary.of([part] * 9).std.tolist() == [0.0, 0.0]
