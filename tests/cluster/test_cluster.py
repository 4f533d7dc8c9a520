"""`qufur.cluster.ask` on a local Ray gives the results of `qufur ask`, also when processes are killed."""

import json
import logging
import os
import random
import signal
import subprocess
import sys

import polars as pl
import pytest

pa = pytest.importorskip("pyarrow")
ray = pytest.importorskip("ray")
pytest.importorskip("ray.data")
from tests.cluster.helpers import Work, assert_same, run  # noqa: E402
from tests.refusals import refusal  # noqa: E402
from tests.soak import SOAK  # noqa: E402

from qufur import cluster  # noqa: E402
from qufur.cluster import dataset_record, driver, job, sources  # noqa: E402
from qufur.workbook import Workbook  # noqa: E402

pytestmark = pytest.mark.filterwarnings("default")  # Ray emits warnings of its own


@pytest.fixture(scope="module", autouse=True)
def local_ray():
    logging.getLogger("ray.data").setLevel(logging.CRITICAL)
    options = {"include_dashboard": False, "logging_level": "ERROR", "log_to_driver": False}
    ray.init("local", num_cpus=5, num_gpus=1, object_store_memory=100 * 2**20, **options)
    yield
    ray.shutdown()


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    return Work(tmp_path_factory.mktemp("cluster"), categories=False)


@pytest.fixture(scope="module")
def mixed(tmp_path_factory):
    return Work(tmp_path_factory.mktemp("mixed"), categories=True)


@pytest.fixture
def write_every_block(monkeypatch):
    """Write decisions after every block."""
    monkeypatch.setattr(driver, "SECONDS", 0.0)
    monkeypatch.setattr(driver, "SHARE", float("inf"))


def tables(work, lengths):
    """Return the later table as Arrow tables whose lengths cycle through `lengths`."""
    rest, parts = work.later.to_arrow(), []
    while rest.num_rows:
        parts.append(rest.slice(0, lengths[len(parts) % len(lengths)]))
        rest = rest.slice(len(parts[-1]))
    return parts


def check(work, state, results):
    assert_same(Workbook.load(state), work.expected)
    answers = pl.DataFrame(results.take_all())
    assert answers.columns == ["id", "prediction", "uncertainty", "probability", "query"]
    assert answers["id"].to_list() == work.later["flight"].to_list()
    queried = answers.filter("query")["id"].to_list()
    assert [id for id in work.expected.learner.outstanding if id in set(answers["id"])] == queried


@pytest.mark.parametrize(("workers", "gpus", "lengths"), [(1, 0.0, [9000]), (2, 0.5, [2048, 1])])
def test_cluster_decisions_equal_ask_for_any_workers_and_file_sizes(work, tmp_path, workers, gpus, lengths):
    state = work.fresh(tmp_path)
    rows = work.cut(tmp_path, lengths)
    check(work, state, cluster.ask(rows, state, tmp_path / "out", workers=workers, gpus=gpus))


def test_cluster_adds_categories_like_ask(mixed, tmp_path):
    state = mixed.fresh(tmp_path)
    check(mixed, state, cluster.ask(mixed.cut(tmp_path, [4000]), state, tmp_path / "out", workers=2))


def kill_actor(monkeypatch, moments):
    """Kill the actor before the driver waits for its answers, at the given counts of waits."""
    receive, waits = driver.Driver._receive, []

    def receiving(self, left):
        waits.append(left)
        if len(waits) in moments:
            ray.kill(self._actor)
        receive(self, left)

    monkeypatch.setattr(driver.Driver, "_receive", receiving)
    return waits


def test_results_are_equal_when_the_actor_dies(work, tmp_path, monkeypatch, write_every_block):
    waits = kill_actor(monkeypatch, {4, 7})
    state = work.fresh(tmp_path)
    check(work, state, cluster.ask(work.cut(tmp_path, [1500]), state, tmp_path / "out", workers=2))
    assert len(waits) > 8


def test_results_are_equal_when_a_worker_dies(work, tmp_path):
    state, once = work.fresh(tmp_path), tmp_path / "once"

    def dying(block):
        if "LH2-4321" in block["flight"].to_pylist() and not once.exists():
            once.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return block

    rows = ray.data.from_arrow(tables(work, [700, 1300, 5])).map_batches(dying, batch_format="pyarrow")
    check(work, state, cluster.ask(rows, state, tmp_path / "out", workers=4))
    assert once.exists()


DRIVER = """
import os, signal, sys
import ray
from qufur import cluster
from qufur.cluster import dataset_record, driver
address, rows, state, out, write, when = sys.argv[1:]
driver.SECONDS, driver.SHARE = 0.0, float("inf")
save, saved = dataset_record.Record._save, []
def dying(self, *arguments):
    saved.append(arguments)
    for moment in ("before", "after"):
        if when == moment and len(saved) == int(write):
            os.kill(os.getpid(), signal.SIGKILL)
        if moment == "before":
            save(self, *arguments)
dataset_record.Record._save = dying
ray.init(address, logging_level="ERROR", log_to_driver=False)
cluster.ask(rows, state, out, workers=2)
"""


def kill_driver(rows, state, out, write, when):
    """Run a driver in a subprocess that kills itself before or after its n-th write."""
    address = ray.get_runtime_context().gcs_address
    arguments = map(str, (address, rows, state, out, write, when))
    command = [sys.executable, "-c", DRIVER, *arguments]
    process = subprocess.run(command, check=False, capture_output=True, text=True)
    assert process.returncode == -signal.SIGKILL, process.stderr


def test_results_are_equal_when_the_driver_dies(work, tmp_path):
    state, out, rows = work.fresh(tmp_path), tmp_path / "out", work.cut(tmp_path, [1500])
    kill_driver(rows, state, out, 3, "before")
    (done,) = Workbook.load(state).partial_tables.values()
    assert 0 < done < len(work.later)
    check(work, state, cluster.ask(rows, state, out))


def test_interrupted_last_step_can_be_repeated(work, tmp_path, monkeypatch):
    state, rows = work.fresh(tmp_path), work.cut(tmp_path, [9000])
    with monkeypatch.context() as patch:
        patch.setattr(dataset_record.Record, "finish", lambda self: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            cluster.ask(rows, state, tmp_path / "out")
    message = refusal(lambda: cluster.ask(rows, state, tmp_path / "elsewhere"))
    assert "the folder of the first 9000 results" in message
    check(work, state, cluster.ask(rows, state, tmp_path / "out"))


@pytest.mark.skipif(not SOAK, reason="takes minutes")
@pytest.mark.parametrize("seed", range(3))
def test_results_are_equal_after_twenty_kills(work, tmp_path, write_every_block, monkeypatch, seed):
    rng = random.Random(seed)
    state, out, rows = work.fresh(tmp_path), tmp_path / "out", work.cut(tmp_path, [300])
    for _ in range(4):
        kill_driver(rows, state, out, rng.randint(1, 3), rng.choice(["before", "after"]))
    monkeypatch.setattr(job, "TRIES", 20)
    waits = kill_actor(monkeypatch, {rng.randint(1, 2) + 2 * kill for kill in range(16)})
    check(work, state, cluster.ask(rows, state, out, workers=2))
    assert len(waits) > 32


def contents(folder):
    files = [path for path in folder.rglob("*") if path.is_file() and path.suffix != ".lock"]
    return {path: path.read_bytes() for path in files}


def rejected(work, folder, rows, *, state=None):
    """Return the error of a dataset, after checking that all files are unchanged."""
    state = state or work.fresh(folder)
    before = contents(folder)
    message = refusal(lambda: cluster.ask(rows, state, folder / "out", workers=1))
    assert contents(folder) == before
    return message


def test_files_with_different_columns_raise(work, tmp_path):
    rows = work.cut(tmp_path, [6000])
    pl.read_parquet(rows / "part1.parquet").rename({"wind": "breeze"}).write_parquet(rows / "part1.parquet")
    expected = "columns of the dataset must be the same in all its files, got"
    assert rejected(work, tmp_path, rows).startswith(expected)
    blocks = [pl.read_parquet(path).to_arrow() for path in sorted(rows.iterdir())]
    assert rejected(work, tmp_path, ray.data.from_arrow(blocks)).startswith(expected)


def test_invalid_cell_raises_and_reverts_all_decisions(work, tmp_path, write_every_block):
    bad = work.later.with_columns(wind=pl.Series([1.0] * 8999 + [None]))
    bad.write_parquet(tmp_path / "bad.parquet", row_group_size=2048)
    expected = "column 'wind' of a block of the dataset must be finite numbers, got an empty cell in row 808."
    assert rejected(work, tmp_path, tmp_path / "bad.parquet").startswith(expected)


def test_empty_dataset_raises(work, tmp_path):
    expected = "dataset of cluster.ask must be of at least one row, got none."
    assert rejected(work, tmp_path, ray.data.from_items([])) == expected
    nothing = ray.data.from_arrow(work.later.to_arrow()).filter(lambda row: False)
    assert rejected(work, tmp_path, nothing) == expected
    work.later[:0].write_parquet(tmp_path / "none.parquet")
    assert rejected(work, tmp_path, tmp_path / "none.parquet") == expected


def test_invalid_dataset_raises(work, tmp_path):
    assert rejected(work, tmp_path, [1, 2]).startswith("dataset of cluster.ask must be a Ray Dataset")
    assert "an existing file" in rejected(work, tmp_path, tmp_path / "nowhere.parquet")


def test_lost_state_file_raises(work, tmp_path):
    message = rejected(work, tmp_path, work.folder / "later.parquet", state=tmp_path / "lost.qufur")
    assert message.startswith("workbook of cluster.ask must be an existing file, got")


def test_missing_ray_raises_import_error(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ImportError, match=r"tables on a cluster"):
        cluster.ask("rows", "state", "out")


def test_cluster_command_writes_the_same_file_as_ask(mixed, tmp_path, capsys):
    work = mixed
    rows, state, out = work.cut(tmp_path, [5000]), work.fresh(tmp_path), tmp_path / "answers.csv"
    command = ["ask", rows, "--state", state, "-o", out, "--cluster", "local", "--json"]
    capsys.readouterr()
    run(*command)
    report = json.loads(capsys.readouterr().out)
    assert_same(Workbook.load(state), work.expected)
    assert out.read_text() == (work.folder / "expected.csv").read_text()
    assert (report["rows"], report["left"]) == (len(work.later), work.expected.learner.left)
    assert "New categories in column 'sky', added as inputs: hail." in report["notes"]
    assert "one that was not asked about before" in refusal(lambda: run(*command))
    alone = ["ask", rows, "--state", state, "-o", out, "--workers", 2]
    assert refusal(lambda: run(*alone)).startswith("--workers or --gpus of qufur ask must be omitted without")
    assert refusal(lambda: run(*command, "--sep", ";")).startswith("--sep of qufur ask must be omitted with")


@pytest.mark.skipif(not SOAK, reason="takes five seconds, mostly in Ray")
def test_budget_per_period_holds_from_the_first_table(work, tmp_path):
    rows = work.later[:3000].sort("day")
    rows.write_parquet(tmp_path / "rows.parquet", row_group_size=700)
    start = "--model", "ridge", "--label-range", 0, 60, "--per", "day", 5, "--id", "flight"
    for name, where in ("alone", []), ("cluster", ["--cluster", "local"]):
        files = "--state", tmp_path / f"{name}.qufur", "-o", tmp_path / f"{name}.csv"
        run("ask", tmp_path / "rows.parquet", *files, *start, *where)
    workbook, expected = (Workbook.load(tmp_path / f"{name}.qufur") for name in ("cluster", "alone"))
    assert workbook.content()[0]["learner"] == expected.content()[0]["learner"]
    text = (tmp_path / "cluster.csv").read_text()
    assert text == (tmp_path / "alone.csv").read_text()
    queries = pl.read_csv(tmp_path / "cluster.csv")["day"].value_counts()["count"]
    assert queries.max() == 5


@pytest.mark.skipif(not SOAK, reason="takes eight seconds, mostly in Ray")
def test_workers_encode_few_blocks_ahead_of_the_actor(work, tmp_path, monkeypatch):
    encoded = tmp_path / "encoded"
    encoded.mkdir()

    def record(block):
        (encoded / block["flight"][0].as_py()).touch()
        return block.append_column("note", pa.array(["x" * 30_000] * len(block)))  # 9 MB

    ahead, blocks_of = [], driver.blocks_of

    def counting(dataset, first):
        for index, block in enumerate(blocks_of(dataset, first)):
            ahead.append(len(list(encoded.iterdir())) - index)
            yield block

    monkeypatch.setattr(driver, "blocks_of", counting)
    rows = ray.data.from_arrow(tables(work, [300])[:12]).map_batches(record, batch_format="pyarrow")
    state = work.fresh(tmp_path)
    cluster.ask(rows, state, tmp_path / "out", workers=2)
    assert len(list(encoded.iterdir())) == len(ahead) == 12
    assert max(ahead) < 9


def test_second_call_reads_only_undecided_rows(work, tmp_path):
    rows = sources.ParquetTable(work.cut(tmp_path, [1500]))
    dataset, first = rows.mapped(ray, lambda block: block, 3100)
    assert (first, dataset.count()) == (3000, 6000)


@pytest.mark.skipif(not SOAK, reason="takes a minute")
def test_cluster_benchmark_decides_like_ask():
    from benchmarks import cluster as benchmark
    from benchmarks.text import Progress

    ray.shutdown()
    measured = benchmark.measure(20_000, Progress())
    assert measured["same"]
    assert [table.rows[0][0] for table in benchmark.tables(measured)] == ["20,000", "88 numbers"]
