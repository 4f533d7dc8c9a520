"""`qufur serve` in processes that are cheap to start and kill."""

import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager

import pytest
from tests.service.clients import HttpClient, NoResponseError, RejectedError

FORKING = """
import os, signal, sys
sys.modules["pyarrow"] = None  # pandas would import it, and it starts a thread
import sqlalchemy.dialects.sqlite, filelock, uvicorn.protocols.http.httptools_impl, uvicorn.loops.uvloop
import numpy as np
import qufur.models.ensemble.experts, qufur.service.fits, qufur.service.server, qufur.service.snapshots
import qufur.service.snapshots
from qufur.cli.serve import serve
from qufur.service.config import StreamConfig

for model in ("ridge", "experts"):
    StreamConfig("warm", dim=1, model=model, label_range=(0, 1)).workbook().ask_rows(np.ones((1, 1)), ["a"])
qufur.models.ensemble.experts.TREES = 3
qufur.service.fits.MAX_CRASHES, qufur.service.server.warm_up = 0, id
qufur.service.snapshots.SECONDS, qufur.service.snapshots.SHARE = 0.02, 0.5
qufur.service.snapshots.BUNDLE = 7

signal.signal(signal.SIGCHLD, signal.SIG_IGN)
assert len(os.listdir("/proc/self/task")) == 1, "a process with threads cannot be forked safely"
for line in sys.stdin:
    store, port = line.split()
    pid = os.fork()
    if not pid:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1), os.dup2(nowhere, 2)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        serve(store=store, host="127.0.0.1", port=int(port))
        os._exit(0)
    print(pid, flush=True)
"""
"""Program that forks servers after importing everything once, including numba and scikit-learn.

Servers save snapshots all the time, so that kills interrupt some. They grow few trees, in a thread.
"""


@pytest.fixture(scope="session")
def start_server():
    """Yield a function that starts a server on a store and a port and returns its process id."""
    with servers() as start:
        yield start


@contextmanager
def servers():
    """Yield the function of `start_server`; kill all servers at the end."""
    command = [sys.executable, "-c", FORKING]
    env = os.environ | {"JE_ARROW_MALLOC_CONF": "background_thread:false"}  # if pandas imports Arrow
    pids = []

    def start(store, port):
        parent.stdin.write(f"{store} {port}\n")
        parent.stdin.flush()
        pids.append(int(parent.stdout.readline()))
        await_ready(port, pids[-1])
        return pids[-1]

    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, **pipes, text=True, env=env) as parent:
        try:
            yield start
        finally:
            for pid in pids:
                kill(pid)
            parent.stdin.close()


def kill(pid):
    """Kill a process with SIGKILL and wait until it is gone."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return
    while os.path.exists(f"/proc/{pid}"):
        time.sleep(0.001)


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def await_ready(port, pid):
    """Wait until a server is ready."""
    client = HttpClient(port)
    while True:
        try:
            return client.send("GET", "/readyz")
        except (NoResponseError, RejectedError):
            assert os.path.exists(f"/proc/{pid}"), "the server did not start"
            time.sleep(0.005)
        finally:
            client.close()
