"""Experts that another process fits: the same as those fitted here, whatever becomes of the process."""

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
from qufur.service import fitter as fitters
from qufur.service import warming
from qufur.service.description import Description
from qufur.service.fitter import FitError, Fitter, StoppedError
from qufur.service.service import Service
from qufur.service.writer import Writer

STREAM = {"name": "s", "dim": 3, "label_range": [-9, 9], "budget": "100%"}
needs_proc = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="there is no /proc")


@pytest.fixture
def fitter(few_trees):
    """One that has not started its process."""
    found = Fitter()
    yield found
    found.stop()


@pytest.fixture(scope="module")
def started():
    """One for several tests: its process takes seconds to start."""
    found = Fitter()
    found.start()
    yield found
    found.stop()


def due(model, count=60):
    """Return a learner with labels, none of which is fitted."""
    X = np.random.default_rng(0).normal(size=(count, 3))
    learner = Learner(model, Uniform(0.5))
    learner.fit_elsewhere()
    learner.learn(X, np.digitize(X[:, 0], [-0.5, 0.5]))
    return learner, X


def rows(first, count):
    X = np.random.default_rng(first).normal(size=(count, 3))
    return [{"id": f"{first}-{place}", "x": x.tolist()} for place, x in enumerate(X)]


def feed(http, first, count):
    """Ask about rows, and answer what is asked."""
    asked = rows(first, count)
    said = http.post("/v1/streams/s/examples", json=asked).json()
    labels = [
        {"id": one["id"], "label": row["x"][0]} for one, row in zip(said, asked, strict=True) if one["query"]
    ]
    assert http.post("/v1/streams/s/labels", json=labels).status_code == 200


def kinds(http):
    return [one["kind"] for one in http.get("/v1/streams/s/events?limit=1000").json()["events"]]


def children(pid):
    """Return the numbers of the processes that a process started."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = stat.read_text().rpartition(")")[2].split()[1]
        except OSError:  # it has ended
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
def test_what_the_process_fits_is_the_same_to_the_last_bit(model, started, few_trees):
    (there, X), (here, _) = due(model), due(model)
    for speed in ("quick", "slow"):
        fitting = there.due_fit()
        assert fitting.speed == speed
        fitted = started.run(fitting)
        assert fitted.fitting is fitting
        assert there.install_fit(fitted)
        assert here.install_fit(here.due_fit().run())
    np.testing.assert_array_equal(there.state.board.ask(X), here.state.board.ask(X))
    assert started.pid not in (None, os.getpid())


def test_a_fit_that_fails_leaves_the_process_for_the_next(started, few_trees):
    learner, _ = due(Experts())
    with pytest.raises(FitError, match="AttributeError"):
        started.run(replace(learner.due_fit(), units=None))
    pid = started.pid
    assert learner.install_fit(started.run(learner.due_fit()))
    assert started.pid == pid


@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="processes cannot be halted here")
def test_a_process_that_is_killed_during_a_fit_is_started_again(started, few_trees, caplog):
    learner, _ = due(Experts())
    first = started.pid
    os.kill(first, signal.SIGSTOP)  # so that the fit does not end before it is killed
    threading.Timer(0.2, os.kill, (first, signal.SIGKILL)).start()
    assert learner.install_fit(started.run(learner.due_fit()))
    assert started.pid != first
    assert [record.message for record in caplog.records] == [
        "The process that fits experts was lost (EOFError), and is started again."
    ]


def test_a_process_that_is_lost_again_and_again_is_done_without(fitter, caplog, monkeypatch):
    monkeypatch.setattr(fitters, "START", "raise SystemExit")
    learner, _ = due(Experts())
    for _ in range(2):
        assert learner.install_fit(fitter.run(learner.due_fit()))
    assert len(caplog.records) == fitters.MOST_LOST
    assert caplog.records[-1].message.endswith("is done without: a thread makes fits now.")
    assert fitter.pid is None
    with pytest.raises(FitError, match="AttributeError"):
        fitter.run(replace(due(Experts())[0].due_fit(), units=None))


def test_without_an_interpreter_fits_are_made_here(fitter, caplog, monkeypatch):
    monkeypatch.setattr(sys, "executable", "/no/such/file")
    learner, _ = due(Experts())
    fitter.start()
    assert learner.install_fit(fitter.run(learner.due_fit()))
    assert "FileNotFoundError" in caplog.text


def test_a_fit_ends_with_the_one_who_wants_it(fitter):
    learner, _ = due(Experts(), 3000)
    learner.install_fit(learner.due_fit().run())
    threading.Timer(0.2, fitter.stop).start()
    with pytest.raises(StoppedError):
        fitter.run(learner.due_fit())
    with pytest.raises(StoppedError):
        fitter.run(learner.due_fit())
    assert fitter.pid is None


def test_streams_without_experts_need_no_process(tmp_path):
    store = opened(tmp_path)
    writer = Writer(Service(store))
    writer.start()
    writer.call(lambda service: service.create(Description(**STREAM, model="ridge"), "test"))
    writer.call(lambda service: None)
    assert writer._refits.fitter.pid is None
    writer.call(lambda service: service.create(Description(**STREAM | {"name": "t"}), "test"))
    wait_until(lambda: writer._refits.fitter.pid)
    writer.stop()
    store.close()


def test_after_a_start_quick_experts_speak_until_slow_ones_are_fitted_as_they_were(
    tmp_path, few_trees, monkeypatch
):
    with running(opened(tmp_path)) as found:
        assert found.http.post("/v1/streams", json=STREAM).status_code == 201
        feed(found.http, 0, 40)
        found.settle()
        before, events = found.digest("s"), kinds(found.http)
        new = [{"x": row["x"]} for row in rows(1, 5)]
        said = found.http.post("/v1/streams/s/predict", json=new).json()
    assert events.count("refitted") >= 2
    with sqlite3.connect(tmp_path / "labels.db") as store:
        store.execute("DELETE FROM snapshots")  # so that events say what was fitted
    may_fit, run = threading.Event(), Fitter.run
    monkeypatch.setattr(Fitter, "run", lambda self, fitting: may_fit.wait(60) and run(self, fitting))
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
def test_no_process_is_left_by_a_server_that_ends_during_a_fit(tmp_path, how, code):
    X = np.random.default_rng(0).normal(size=(10_000, 3)).tolist()  # which takes many seconds to fit
    learned = [{"id": str(place), "x": x, "label": x[0]} for place, x in enumerate(X)]
    with server(tmp_path) as (process, http):
        http.post("/v1/streams", json=STREAM)
        (pid,) = wait_until(lambda: children(process.pid))
        assert http.post("/v1/streams/s/learn", json=learned).status_code == 200
        wait_until(lambda: "refitted" in kinds(http))  # the quick ones are there, and the slow ones under way
        assert end(process, how) == (code, True)
        wait_until(lambda: not Path(f"/proc/{pid}").exists(), 2)


SERVING = """
import sys, threading
from pathlib import Path
from threadpoolctl import threadpool_info
from qufur.service import server
from qufur.service.limits import Limits
from qufur.service.store import Store

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


def test_the_server_holds_every_pool_to_one_thread_in_its_writer_too(tmp_path):
    env = os.environ | dict.fromkeys(["OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"], "2")
    command = [sys.executable, "-c", SERVING, f"sqlite:///{tmp_path / 'labels.db'}"]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    assert set(done.stdout.splitlines()) == {"('blas', 1)", "('openmp', 1)"}


def test_warm_means_that_no_request_has_to_wait_for_a_compiler(tmp_path, caplog):
    loops = pytest.importorskip("qufur.models.engines.numba_loops")
    store = opened(tmp_path)
    writer = Writer(Service(store))
    writer.start()
    with caplog.at_level(logging.INFO, "qufur.service"):
        warming._warm_up(writer)
    writer.stop()
    store.close()
    assert [record.message for record in caplog.records if record.message == "warm"] == ["warm"]
    made = {
        name: loop for name, loop in vars(loops).items() if hasattr(loop, "signatures") and name[0] != "_"
    }
    assert all(loop.signatures for loop in made.values()), made
    assert len(made) >= 4
