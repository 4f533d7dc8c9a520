"""`qufur.cluster.ask` on a local Ray: the same as `qufur ask`, whoever is killed on the way."""

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
from tests.cluster.work import Work, assert_same, run  # noqa: E402
from tests.refusals import refusal  # noqa: E402
from tests.soak import SOAK  # noqa: E402

from qufur import cluster  # noqa: E402
from qufur.cluster import asking, driver, feed, parquet, record  # noqa: E402
from qufur.workbook import Workbook  # noqa: E402

pytestmark = pytest.mark.filterwarnings("default")  # those of Ray are its own


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
def often(monkeypatch):
    """Let what was decided be written after every block."""
    monkeypatch.setattr(driver, "SECONDS", 0.0)
    monkeypatch.setattr(driver, "SHARE", float("inf"))


def tables(work, lengths):
    """Return the later table as Arrow tables of these lengths, which are repeated."""
    whole, found = work.later.to_arrow(), []
    while whole.num_rows:
        found.append(whole.slice(0, lengths[len(found) % len(lengths)]))
        whole = whole.slice(len(found[-1]))
    return found


def check(work, state, results):
    assert_same(Workbook.load(state), work.expected)
    found = pl.DataFrame(results.take_all())
    assert found.columns == ["id", "prediction", "uncertainty", "probability", "query"]
    assert found["id"].to_list() == work.later["flight"].to_list()
    wanted = found.filter("query")["id"].to_list()
    assert [id for id in work.expected.learner.outstanding if id in set(found["id"])] == wanted


@pytest.mark.parametrize(("workers", "gpus", "lengths"), [(1, 0.0, [9000]), (2, 0.5, [2048, 1])])
def test_decisions_are_those_of_ask_whatever_the_workers_and_the_parts(
    work, tmp_path, workers, gpus, lengths
):
    state = work.fresh(tmp_path)
    rows = work.cut(tmp_path, lengths)
    check(work, state, cluster.ask(rows, state, tmp_path / "out", workers=workers, gpus=gpus))


def test_categories_are_added_as_by_ask(mixed, tmp_path):
    state = mixed.fresh(tmp_path)
    check(mixed, state, cluster.ask(mixed.cut(tmp_path, [4000]), state, tmp_path / "out", workers=2))


def kill_actor(monkeypatch, moments):
    """Let the actor be killed just before some of its answers are waited for."""
    receive, waits = driver.Driver._receive, []

    def receiving(self, left):
        waits.append(left)
        if len(waits) in moments:
            ray.kill(self._actor)
        receive(self, left)

    monkeypatch.setattr(driver.Driver, "_receive", receiving)
    return waits


def test_the_actor_may_die(work, tmp_path, monkeypatch, often):
    waits = kill_actor(monkeypatch, {4, 7})
    state = work.fresh(tmp_path)
    check(work, state, cluster.ask(work.cut(tmp_path, [1500]), state, tmp_path / "out", workers=2))
    assert len(waits) > 8


def test_a_worker_of_four_may_die(work, tmp_path):
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
from qufur.cluster import driver, record
address, rows, state, out, write, when = sys.argv[1:]
driver.SECONDS, driver.SHARE = 0.0, float("inf")
save, saved = record.Record._save, []
def dying(self, *arguments):
    saved.append(arguments)
    for moment in ("before", "after"):
        if when == moment and len(saved) == int(write):
            os.kill(os.getpid(), signal.SIGKILL)
        if moment == "before":
            save(self, *arguments)
record.Record._save = dying
ray.init(address, logging_level="ERROR", log_to_driver=False)
cluster.ask(rows, state, out, workers=2)
"""


def kill_driver(rows, state, out, write, when):
    """Run a driver in a process of its own, which is killed before or after it saves for the n-th time."""
    address = ray.get_runtime_context().gcs_address
    arguments = map(str, (address, rows, state, out, write, when))
    command = [sys.executable, "-c", DRIVER, *arguments]
    ended = subprocess.run(command, check=False, capture_output=True, text=True)
    assert ended.returncode == -signal.SIGKILL, ended.stderr


def test_the_driver_may_die(work, tmp_path):
    state, out, rows = work.fresh(tmp_path), tmp_path / "out", work.cut(tmp_path, [1500])
    kill_driver(rows, state, out, 3, "before")
    (done,) = Workbook.load(state).unfinished.values()
    assert 0 < done < len(work.later)
    check(work, state, cluster.ask(rows, state, out))


def test_a_call_that_ends_just_before_its_last_step_can_be_made_again(work, tmp_path, monkeypatch):
    state, rows = work.fresh(tmp_path), work.cut(tmp_path, [9000])
    with monkeypatch.context() as patch:
        patch.setattr(record.Record, "finish", lambda self: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            cluster.ask(rows, state, tmp_path / "out")
    message = refusal(lambda: cluster.ask(rows, state, tmp_path / "elsewhere"))
    assert "the folder of the first 9000 results" in message
    check(work, state, cluster.ask(rows, state, tmp_path / "out"))


@pytest.mark.skipif(not SOAK, reason="takes minutes")
@pytest.mark.parametrize("seed", range(3))
def test_twenty_kills_are_survived(work, tmp_path, often, monkeypatch, seed):
    rng = random.Random(seed)
    state, out, rows = work.fresh(tmp_path), tmp_path / "out", work.cut(tmp_path, [300])
    for _ in range(4):
        kill_driver(rows, state, out, rng.randint(1, 3), rng.choice(["before", "after"]))
    monkeypatch.setattr(asking, "TRIES", 20)
    waits = kill_actor(monkeypatch, {rng.randint(1, 2) + 2 * kill for kill in range(16)})
    check(work, state, cluster.ask(rows, state, out, workers=2))
    assert len(waits) > 32


def contents(folder):
    files = [path for path in folder.rglob("*") if path.is_file() and path.suffix != ".lock"]
    return {path: path.read_bytes() for path in files}


def refused(work, folder, rows, *, state=None):
    """Return how a dataset is refused, after which everything is as it was."""
    state = state or work.fresh(folder)
    before = contents(folder)
    message = refusal(lambda: cluster.ask(rows, state, folder / "out", workers=1))
    assert contents(folder) == before
    return message


def test_parts_of_other_columns_are_refused(work, tmp_path):
    rows = work.cut(tmp_path, [6000])
    pl.read_parquet(rows / "part1.parquet").rename({"wind": "breeze"}).write_parquet(rows / "part1.parquet")
    expected = "columns of the dataset must be the same in all its parts, got"
    assert refused(work, tmp_path, rows).startswith(expected)
    blocks = [pl.read_parquet(path).to_arrow() for path in sorted(rows.iterdir())]
    assert refused(work, tmp_path, ray.data.from_arrow(blocks)).startswith(expected)


def test_a_bad_cell_is_refused_and_nothing_is_left_of_what_was_decided(work, tmp_path, often):
    bad = work.later.with_columns(wind=pl.Series([1.0] * 8999 + [None]))
    bad.write_parquet(tmp_path / "bad.parquet", row_group_size=2048)
    expected = "column 'wind' of a block of the dataset must be finite numbers, got an empty cell in row 808."
    assert refused(work, tmp_path, tmp_path / "bad.parquet").startswith(expected)


def test_no_rows_are_refused(work, tmp_path):
    expected = "dataset of cluster.ask must be of at least one row, got none."
    assert refused(work, tmp_path, ray.data.from_items([])) == expected
    nothing = ray.data.from_arrow(work.later.to_arrow()).filter(lambda row: False)
    assert refused(work, tmp_path, nothing) == expected
    work.later[:0].write_parquet(tmp_path / "none.parquet")
    assert refused(work, tmp_path, tmp_path / "none.parquet") == expected


def test_what_is_no_dataset_is_refused(work, tmp_path):
    assert refused(work, tmp_path, [1, 2]).startswith("dataset of cluster.ask must be a Ray Dataset")
    assert "an existing file" in refused(work, tmp_path, tmp_path / "nowhere.parquet")


def test_a_lost_state_file_is_an_error(work, tmp_path):
    message = refused(work, tmp_path, work.folder / "later.parquet", state=tmp_path / "lost.qufur")
    assert message.startswith("workbook of cluster.ask must be an existing file, got")


def test_ray_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ImportError, match=r"tables on a cluster"):
        cluster.ask("rows", "state", "out")


def test_the_command_writes_the_same_file(mixed, tmp_path, capsys):
    work = mixed
    rows, state, out = work.cut(tmp_path, [5000]), work.fresh(tmp_path), tmp_path / "found.csv"
    command = ["ask", rows, "--state", state, "-o", out, "--cluster", "local", "--json"]
    capsys.readouterr()
    run(*command)
    said = json.loads(capsys.readouterr().out)
    assert_same(Workbook.load(state), work.expected)
    assert out.read_text() == (work.folder / "expected.csv").read_text()
    assert (said["rows"], said["left"]) == (len(work.later), work.expected.learner.left)
    assert "New in column 'sky', and counted from now on: hail." in said["notes"]
    assert "one that was not asked about before" in refusal(lambda: run(*command))
    alone = ["ask", rows, "--state", state, "-o", out, "--workers", 2]
    assert refusal(lambda: run(*alone)).startswith(
        "--workers or --gpus of qufur ask must be left out without"
    )
    assert refusal(lambda: run(*command, "--sep", ";")).startswith("--sep of qufur ask must be left out with")


@pytest.mark.skipif(not SOAK, reason="takes five seconds, of Ray's own")
def test_a_budget_per_period_holds_from_the_first_table_on(work, tmp_path):
    rows = work.later[:3000].sort("day")
    rows.write_parquet(tmp_path / "rows.parquet", row_group_size=700)
    start = "--model", "ridge", "--label-range", 0, 60, "--per", "day", 5, "--id", "flight"
    for name, where in ("alone", []), ("cluster", ["--cluster", "local"]):
        files = "--state", tmp_path / f"{name}.qufur", "-o", tmp_path / f"{name}.csv"
        run("ask", tmp_path / "rows.parquet", *files, *start, *where)
    found, expected = (Workbook.load(tmp_path / f"{name}.qufur") for name in ("cluster", "alone"))
    assert found.content()[0]["learner"] == expected.content()[0]["learner"]
    text = (tmp_path / "cluster.csv").read_text()
    assert text == (tmp_path / "alone.csv").read_text()
    wanted = pl.read_csv(tmp_path / "cluster.csv")["day"].value_counts()["count"]
    assert wanted.max() == 5


@pytest.mark.skipif(not SOAK, reason="takes eight seconds, of Ray's own")
def test_few_blocks_are_made_ahead_of_the_actor(work, tmp_path, monkeypatch):
    made = tmp_path / "made"
    made.mkdir()

    def noting(block):
        (made / block["flight"][0].as_py()).touch()
        return block.append_column("note", pa.array(["x" * 30_000] * len(block)))  # 9 MB

    ahead, blocks_of = [], feed.blocks_of

    def counting(dataset, first):
        for place, block in enumerate(blocks_of(dataset, first)):
            ahead.append(len(list(made.iterdir())) - place)
            yield block

    monkeypatch.setattr(feed, "blocks_of", counting)
    rows = ray.data.from_arrow(tables(work, [300])[:12]).map_batches(noting, batch_format="pyarrow")
    state = work.fresh(tmp_path)
    cluster.ask(rows, state, tmp_path / "out", workers=2)
    assert len(list(made.iterdir())) == len(ahead) == 12
    assert max(ahead) < 9


def test_a_second_call_reads_only_what_was_not_decided(work, tmp_path):
    rows = parquet.ParquetTable(work.cut(tmp_path, [1500]))
    dataset, first = rows.mapped(ray, lambda block: block, 3100)
    assert (first, dataset.count()) == (3000, 6000)


@pytest.mark.skipif(not SOAK, reason="takes a minute")
def test_it_is_measured():
    from benchmarks import cluster as part
    from benchmarks.text import Progress

    ray.shutdown()
    found = part.measure(20_000, Progress())
    assert found["same"]
    assert [table.rows[0][0] for table in part.tables(found)] == ["20,000", "88 numbers"]
