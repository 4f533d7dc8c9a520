"""PostgreSQL cluster for tests, if its programs are installed."""

import glob
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
import uuid
from contextlib import contextmanager

import psycopg
import pytest
from tests.service.process import free_port

SETTINGS = "listen_addresses=127.0.0.1", "fsync=on", "shared_buffers=16MB", "max_connections=50"


def program(name):
    """Return the path of a PostgreSQL program: Debian's directory, then PATH; None if it is missing."""
    paths = [*sorted(glob.glob(f"/usr/lib/postgresql/*/bin/{name}"), reverse=True), shutil.which(name)]
    return next(filter(None, paths), None)


def unprivileged_user():
    """Return a command prefix that drops root privileges, which PostgreSQL rejects, and its user."""
    if os.getuid() != 0:
        return [], None
    for name in ("postgres", "nobody"):
        try:
            user = pwd.getpwnam(name)
        except KeyError:
            continue
        return ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"], user
    return None, None


class Cluster:
    """Running PostgreSQL cluster."""

    def __init__(self, port):
        self.port = port

    def database(self):
        """Create a database and return its URL."""
        name = f"q{uuid.uuid4().hex}"
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        return self.url(name)

    def url(self, name):
        return f"postgresql://qufur@127.0.0.1:{self.port}/{name}"


@contextmanager
def running_cluster(prefix, folder):
    """Run a new cluster in a folder."""
    data, port = os.path.join(folder, "data"), free_port()
    options = ["--username=qufur", "--auth=trust", "--no-sync", "--encoding=UTF8", "--locale=C"]
    initdb = [*prefix, program("initdb"), "-D", data, *options]
    subprocess.run(initdb, cwd=folder, check=True, capture_output=True)
    settings = [argument for setting in SETTINGS for argument in ("-c", setting)]
    command = [*prefix, program("postgres"), "-D", data, "-p", str(port), "-k", folder, *settings]
    with subprocess.Popen(command, cwd=folder, stderr=subprocess.DEVNULL) as process:
        try:
            cluster = Cluster(port)
            await_ready(cluster, process)
            yield cluster
        finally:
            process.send_signal(signal.SIGINT)  # fast shutdown


def await_ready(cluster, process):
    while True:
        try:
            psycopg.connect(cluster.url("postgres")).close()
        except psycopg.OperationalError:
            assert process.poll() is None, "PostgreSQL did not start"
            time.sleep(0.05)
        else:
            return


@pytest.fixture(scope="session")
def postgres():
    """Yield a cluster; skip the test if none can run."""
    prefix, user = unprivileged_user()
    if program("initdb") is None or program("postgres") is None or prefix is None:
        pytest.skip("PostgreSQL is not installed")
    if prefix and shutil.which("setpriv") is None:
        pytest.skip("PostgreSQL does not run as root, and setpriv is not installed")
    folder = tempfile.mkdtemp(prefix="qufur-postgres-")
    if user is not None:
        os.chown(folder, user.pw_uid, user.pw_gid)
    try:
        with running_cluster(prefix, folder) as cluster:
            yield cluster
    finally:
        shutil.rmtree(folder, ignore_errors=True)
