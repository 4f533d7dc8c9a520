"""Fits in a worker process: equal to fits in this process, also after the worker crashed."""

import logging
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.service.conftest import opened, running
from tests.service.test_serve import end, server

from qufur import Experts, Learner, Uniform
from qufur.service import fits as fitters
from qufur.service.config import StreamConfig
from qufur.service.fits import FitError, FitWorker, StoppedError
from qufur.service.server import warm_up
from qufur.service.service import Service
from qufur.service.writer import Writer

STREAM = {"name": "s", "dim": 3, "label_range": [-9, 9], "budget": "100%"}
needs_proc = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="there is no /proc")


@pytest.fixture
def fitter(few_trees):
    """Worker whose process has not started."""
    found = FitWorker()
    yield found
    found.stop()


@pytest.fixture(scope="module")
def started():
    """Running worker, shared by tests: its process takes seconds to start."""
    found = FitWorker()
    found.start()
    yield found
    found.stop()


def due(model, count=60):
    """Return a learner whose labels are not fitted yet, and its inputs."""
    X = np.random.default_rng(0).normal(size=(count, 3))
    learner = Learner(model, Uniform(0.5))
    learner.background_fits.defer()
    learner.learn(X, np.digitize(X[:, 0], [-0.5, 0.5]))
    return learner, X


def rows(first, count):
    X = np.random.default_rng(first).normal(size=(count, 3))
    return [{"id": f"{first}-{place}", "x": x.tolist()} for place, x in enumerate(X)]


def feed(http, first, count):
    """Send rows, and label the queried ones."""
    asked = rows(first, count)
    said = http.post("/v1/streams/s/examples", json=asked).json()
    labels = [
        {"id": one["id"], "label": row["x"][0]} for one, row in zip(said, asked, strict=True) if one["query"]
    ]
    assert http.post("/v1/streams/s/labels", json=labels).status_code == 200


def kinds(http):
    return [one["kind"] for one in http.get("/v1/streams/s/events?limit=1000").json()["events"]]


def children(pid):
    """Return the ids of the child processes of a process."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = stat.read_text().rpartition(")")[2].split()[1]
        except OSError:  # the process has ended
            continue
        found += [int(stat.parent.name)] * (int(parent) == pid)
    return found


def wait_until(condition, seconds=30):
    begin = time.monotonic()
    while not (found := condition()):
        assert time.monotonic() - begin < seconds
        time.sleep(0.01)
    return found


@pytest.mark.parametrize("model", [Experts(), Experts(classes=[0, 1, 2])], ids=["numbers", "classes"])
def test_worker_fit_equals_the_fit_in_process_bit_for_bit(model, started, few_trees):
    (there, X), (here, _) = due(model), due(model)
    for speed in ("quick", "slow"):
        job = there.background_fits.next_job()
        assert job.speed == speed
        fitted = started.run(job)
        assert fitted.job is job
        assert there.background_fits.install(fitted)
        assert here.background_fits.install(here.background_fits.next_job().run())
    np.testing.assert_array_equal(there.state.schedule.predict(X), here.state.schedule.predict(X))
    assert started.pid not in (None, os.getpid())


def test_worker_survives_a_failed_fit(started, few_trees):
    learner, _ = due(Experts())
    with pytest.raises(FitError, match="AttributeError"):
        started.run(replace(learner.background_fits.next_job(), units=None))
    pid = started.pid
    assert learner.background_fits.install(started.run(learner.background_fits.next_job()))
    assert started.pid == pid


@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="processes cannot be halted here")
def test_worker_killed_during_a_fit_is_restarted(started, few_trees, caplog):
    learner, _ = due(Experts())
    first = started.pid
    os.kill(first, signal.SIGSTOP)  # so that the worker is killed before the fit ends
    threading.Timer(0.2, os.kill, (first, signal.SIGKILL)).start()
    assert learner.background_fits.install(started.run(learner.background_fits.next_job()))
    assert started.pid != first
    assert [record.message for record in caplog.records] == [
        "The process that fits experts crashed (EOFError): restarting it."
    ]


def test_fits_run_in_the_server_after_repeated_crashes_of_the_worker(fitter, caplog, monkeypatch):
    monkeypatch.setattr(fitters, "START", "raise SystemExit")
    learner, _ = due(Experts())
    for _ in range(2):
        assert learner.background_fits.install(fitter.run(learner.background_fits.next_job()))
    assert len(caplog.records) == fitters.MAX_CRASHES
    assert caplog.records[-1].message.endswith("fits run in the server.")
    assert fitter.pid is None
    with pytest.raises(FitError, match="AttributeError"):
        fitter.run(replace(due(Experts())[0].background_fits.next_job(), units=None))


def test_fits_run_in_the_server_without_an_interpreter(fitter, caplog, monkeypatch):
    monkeypatch.setattr(sys, "executable", "/no/such/file")
    learner, _ = due(Experts())
    fitter.start()
    assert learner.background_fits.install(fitter.run(learner.background_fits.next_job()))
    assert "FileNotFoundError" in caplog.text


def test_running_fit_raises_stopped_error_when_the_worker_stops(fitter):
    learner, _ = due(Experts(), 3000)
    learner.background_fits.install(learner.background_fits.next_job().run())
    threading.Timer(0.2, fitter.stop).start()
    with pytest.raises(StoppedError):
        fitter.run(learner.background_fits.next_job())
    with pytest.raises(StoppedError):
        fitter.run(learner.background_fits.next_job())
    assert fitter.pid is None


def test_worker_is_not_started_for_streams_without_experts(tmp_path):
    store = opened(tmp_path)
    writer = Writer(Service(store))
    writer.start()
    writer.call(lambda service: service.create(StreamConfig(**STREAM, model="ridge"), "test"))
    writer.call(lambda service: None)
    assert writer._fits.worker.pid is None
    writer.call(lambda service: service.create(StreamConfig(**STREAM | {"name": "t"}), "test"))
    wait_until(lambda: writer._fits.worker.pid)
    writer.stop()
    store.close()


def test_restart_predicts_with_fast_experts_until_slow_experts_are_fitted(tmp_path, few_trees, monkeypatch):
    with running(opened(tmp_path)) as found:
        assert found.http.post("/v1/streams", json=STREAM).status_code == 201
        feed(found.http, 0, 40)
        found.settle()
        before, events = found.digest("s"), kinds(found.http)
        new = [{"x": row["x"]} for row in rows(1, 5)]
        said = found.http.post("/v1/streams/s/predict", json=new).json()
    assert events.count("refitted") >= 2
    with sqlite3.connect(tmp_path / "labels.db") as store:
        store.execute("DELETE FROM snapshots")  # so that the fits are read from the log
    may_fit, run = threading.Event(), FitWorker.run
    monkeypatch.setattr(FitWorker, "run", lambda self, job: may_fit.wait(60) and run(self, job))
    with running(opened(tmp_path)) as found:
        assert found.digest("s") == before
        quick = found.http.post("/v1/streams/s/predict", json=new).json()
        assert quick != said
        may_fit.set()
        found.settle()
        assert found.http.post("/v1/streams/s/predict", json=new).json() == said
        assert (found.digest("s"), kinds(found.http)) == (before, events)
        feed(found.http, 2, 20)
        found.settle()
        assert len(kinds(found.http)) > len(events) + 2
        last = found.digest("s")
    with running(opened(tmp_path)) as found:
        assert found.digest("s") == last


@needs_proc
@pytest.mark.parametrize(("how", "code"), [(signal.SIGKILL, -signal.SIGKILL), (signal.SIGINT, 0)])
def test_worker_ends_with_a_server_that_ends_during_a_fit(tmp_path, how, code):
    X = np.random.default_rng(0).normal(size=(10_000, 3)).tolist()  # a fit takes many seconds
    learned = [{"id": str(place), "x": x, "label": x[0]} for place, x in enumerate(X)]
    with server(tmp_path) as (process, http):
        http.post("/v1/streams", json=STREAM)
        (pid,) = wait_until(lambda: children(process.pid))
        assert http.post("/v1/streams/s/learn", json=learned).status_code == 200
        # The fast experts are fitted, the slow ones are running.
        wait_until(lambda: "refitted" in kinds(http))
        assert end(process, how) == (code, True)
        wait_until(lambda: not Path(f"/proc/{pid}").exists(), 2)


SERVING = """
import sys, threading
from pathlib import Path
from threadpoolctl import threadpool_info
from qufur.service import server
from qufur.service.http import Limits
from qufur.service.store.store import Store

def look():
    import sklearn.ensemble
    print(*{(pool["user_api"], pool["num_threads"]) for pool in threadpool_info()}, sep="\\n")

def run(self, sockets):
    self.started = True
    writer = threading.Thread(target=look)
    writer.start()
    writer.join()

server._Server.run = run
with server.listening("127.0.0.1", 0) as door:
    server.serve(Store(sys.argv[1]), door, Limits())
"""


def test_server_limits_thread_pools_to_one_thread_in_its_writer(tmp_path):
    env = os.environ | dict.fromkeys(["OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"], "2")
    command = [sys.executable, "-c", SERVING, f"sqlite:///{tmp_path / 'labels.db'}"]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    assert set(done.stdout.splitlines()) == {"('blas', 1)", "('openmp', 1)"}


def test_warm_up_compiles_everything_before_the_first_request(tmp_path, caplog):
    loops = pytest.importorskip("qufur.models.engines.numba_loops")
    store = opened(tmp_path)
    writer = Writer(Service(store))
    writer.start()
    with caplog.at_level(logging.INFO, "qufur.service"):
        warm_up(writer)
    writer.stop()
    store.close()
    assert [record.message for record in caplog.records if record.message == "warm"] == ["warm"]
    made = {
        name: loop for name, loop in vars(loops).items() if hasattr(loop, "signatures") and name[0] != "_"
    }
    assert all(loop.signatures for loop in made.values()), made
    assert len(made) >= 4
