"""Files by their URL, and parts that are not quite alike."""

import polars as pl
import pytest

pa = pytest.importorskip("pyarrow")
pytest.importorskip("pyarrow.parquet")
from tests.refusals import refusal  # noqa: E402

from qufur.cluster import parquet  # noqa: E402

FRAME = pl.DataFrame({"id": range(40), "wind": [0.5] * 40})


class StandIn:
    """A Ray that keeps what a task would be given, and does it here."""

    data = property(lambda self: self)

    def from_items(self, items, **_):
        self._items = items
        return self

    def map_batches(self, function, *, fn_kwargs, **_):
        return pa.concat_tables(function(pa.Table.from_pylist(self._items), **fn_kwargs))


def read(path):
    return parquet.ParquetTable(path).mapped(StandIn(), lambda table: table)[0]


def folder(path, *frames):
    path.mkdir()
    for place, frame in enumerate(frames):
        frame.write_parquet(path / f"part{place}.parquet", row_group_size=7)
    return path


@pytest.mark.parametrize("name", ["rows", "of may", "50%", "für?alle#"])
def test_a_url_may_name_any_folder(tmp_path, name):
    rows = folder(tmp_path / name, FRAME[:25], FRAME[25:])
    assert read(rows.as_uri())["id"].to_pylist() == list(range(40))
    assert read(rows)["id"].to_pylist() == list(range(40))


def test_parts_are_read_as_types_that_hold_all_of_them(tmp_path):
    whole = FRAME[20:].with_columns(wind=pl.lit(3)).select("wind", "id")
    found = read(folder(tmp_path / "rows", FRAME[:20], whole))
    assert found.column_names == ["id", "wind"]
    assert found["wind"].to_pylist() == [0.5] * 20 + [3.0] * 20


def test_parts_of_other_types_are_refused(tmp_path):
    texts = FRAME.with_columns(wind=pl.lit("calm"))
    expected = "columns of the dataset must be of the same types in all its parts, got"
    assert refusal(lambda: read(folder(tmp_path / "rows", FRAME, texts))).startswith(expected)


def test_a_worker_says_what_it_cannot_read(tmp_path):
    rows = folder(tmp_path / "rows", FRAME)
    table = parquet.ParquetTable(rows)
    (rows / "part0.parquet").unlink()
    with pytest.raises(OSError, match=r"a worker cannot read '.*part0\.parquet'"):
        table.mapped(StandIn(), lambda table: table)


def test_files_in_s3(tmp_path, monkeypatch):
    server = pytest.importorskip(
        "moto.server", reason="moto, which answers in the place of S3, is not installed"
    )
    from pyarrow.fs import FileSystem

    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    s3 = server.ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    s3.start()
    try:
        host, port = s3.get_host_and_port()
        url = f"s3://bucket/rows?endpoint_override={host}:{port}&scheme=http&region=us-east-1"
        create = "&allow_bucket_creation=true"
        system, _ = FileSystem.from_uri(url + create)
        system.create_dir("bucket/rows")
        for path in folder(tmp_path / "rows", FRAME[:25], FRAME[25:]).iterdir():
            with system.open_output_stream(f"bucket/rows/{path.name}") as file:
                file.write(path.read_bytes())
        assert parquet.ParquetTable(url).name == "rows"
        assert read(url)["id"].to_pylist() == list(range(40))
        nothing = url.replace("rows", "nothing")
        assert "a folder of .parquet files" in refusal(lambda: read(nothing))
    finally:
        s3.stop()
