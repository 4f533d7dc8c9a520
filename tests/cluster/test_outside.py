"""`qufur ask --cluster ray://` from a process outside the cluster."""

import os
import signal
import socket
import subprocess
import sys
import time
import uuid

import pytest
from tests.cluster.helpers import Work, assert_same
from tests.soak import SOAK

from qufur.workbook import Workbook

pytestmark = pytest.mark.skipif(not SOAK, reason="starts a cluster, which takes a minute")
SECONDS = 60


def free_ports(count):
    servers = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [server.getsockname()[1] for server in servers]
    for server in servers:
        server.close()
    return ports


@pytest.fixture(scope="module")
def head(tmp_path_factory):
    """Start a cluster that requires a token; yield its address and the environment of clients."""
    pytest.importorskip("ray.data")
    pytest.importorskip("grpc", reason="ray[client] is not installed")
    folder = tmp_path_factory.mktemp("ray")
    (folder / "token").write_text(uuid.uuid4().hex * 2)
    token = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(folder / "token")}
    environment = os.environ | token | {"RAY_USAGE_STATS_ENABLED": "0"}
    port, outside = free_ports(2)
    command = [sys.executable, "-m", "ray.scripts.scripts", "start", "--head", "--block", "--num-cpus=2"]
    command += [f"--port={port}", f"--ray-client-server-port={outside}", "--include-dashboard=false"]
    command += ["--min-worker-port=0", "--max-worker-port=0", "--object-store-memory=100000000"]
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=log, start_new_session=True)
    try:
        wait_for(outside, process)
        yield f"ray://127.0.0.1:{outside}", environment
    finally:
        process.send_signal(signal.SIGTERM)  # Ray then ends its own processes
        process.wait(SECONDS)


def wait_for(port, process):
    start = time.monotonic()
    while process.poll() is None and time.monotonic() - start < SECONDS:
        with socket.socket() as client:
            if client.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.5)
    raise TimeoutError("the cluster did not start")


@pytest.mark.parametrize("categories", [False, True])
def test_remote_client_decides_like_ask(head, tmp_path, categories):
    address, environment = head
    (tmp_path / "work").mkdir()
    work = Work(tmp_path / "work", categories=categories)
    rows, state, out = work.cut(tmp_path, [1500]), work.fresh(tmp_path), tmp_path / "answers.csv"
    arguments = ["ask", rows, "--state", state, "-o", out, "--cluster", address]
    command = [sys.executable, "-m", "qufur", *map(str, arguments)]
    process = subprocess.run(command, env=environment, check=False, capture_output=True, text=True)
    assert process.returncode == 0, process.stderr
    assert_same(Workbook.load(state), work.expected)
    assert out.read_text() == (work.folder / "expected.csv").read_text()
