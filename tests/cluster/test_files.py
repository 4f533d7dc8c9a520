"""Parquet files by path and URL, and files whose types differ."""

import polars as pl
import pytest

pa = pytest.importorskip("pyarrow")
pytest.importorskip("pyarrow.parquet")
from tests.refusals import refusal  # noqa: E402

from qufur.cluster import sources  # noqa: E402

FRAME = pl.DataFrame({"id": range(40), "wind": [0.5] * 40})


class StandIn:
    """Stand-in for Ray that runs tasks in this process."""

    data = property(lambda self: self)

    def from_items(self, items, **_):
        self._items = items
        return self

    def map_batches(self, function, *, fn_kwargs, **_):
        return pa.concat_tables(function(pa.Table.from_pylist(self._items), **fn_kwargs))


def read(path):
    return sources.ParquetTable(path).mapped(StandIn(), lambda table: table)[0]


def folder(path, *frames):
    path.mkdir()
    for index, frame in enumerate(frames):
        frame.write_parquet(path / f"part{index}.parquet", row_group_size=7)
    return path


@pytest.mark.parametrize("name", ["rows", "of may", "50%", "für?alle#"])
def test_url_may_name_any_folder(tmp_path, name):
    rows = folder(tmp_path / name, FRAME[:25], FRAME[25:])
    assert read(rows.as_uri())["id"].to_pylist() == list(range(40))
    assert read(rows)["id"].to_pylist() == list(range(40))


def test_files_of_compatible_types_are_read_as_the_common_type(tmp_path):
    integers = FRAME[20:].with_columns(wind=pl.lit(3)).select("wind", "id")
    table = read(folder(tmp_path / "rows", FRAME[:20], integers))
    assert table.column_names == ["id", "wind"]
    assert table["wind"].to_pylist() == [0.5] * 20 + [3.0] * 20


def test_files_of_incompatible_types_raise(tmp_path):
    texts = FRAME.with_columns(wind=pl.lit("calm"))
    expected = "columns of the dataset must be of the same types in all its files, got"
    assert refusal(lambda: read(folder(tmp_path / "rows", FRAME, texts))).startswith(expected)


def test_unreadable_file_on_a_worker_is_named(tmp_path):
    rows = folder(tmp_path / "rows", FRAME)
    table = sources.ParquetTable(rows)
    (rows / "part0.parquet").unlink()
    with pytest.raises(OSError, match=r"a worker cannot read '.*part0\.parquet'"):
        table.mapped(StandIn(), lambda table: table)


def test_s3_folder_is_read_as_one_table(tmp_path, monkeypatch):
    server = pytest.importorskip("moto.server", reason="moto, which simulates S3, is not installed")
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
        assert sources.ParquetTable(url).name == "rows"
        assert read(url)["id"].to_pylist() == list(range(40))
        nothing = url.replace("rows", "nothing")
        assert "a folder of .parquet files" in refusal(lambda: read(nothing))
    finally:
        s3.stop()
