"""A PostgreSQL of its own for tests, where its programs are found."""

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
    """Return where a program of PostgreSQL is: on the path, or where Debian keeps it."""
    there = [*sorted(glob.glob(f"/usr/lib/postgresql/*/bin/{name}"), reverse=True), shutil.which(name)]
    return next(filter(None, there), None)


def somebody():
    """Return how to run a program as somebody who is not root, which PostgreSQL refuses, and who that is."""
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
    """A PostgreSQL that runs."""

    def __init__(self, port):
        self.port = port

    def database(self):
        """Return the address of a database that is new."""
        name = f"q{uuid.uuid4().hex}"
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        return self.url(name)

    def url(self, name):
        return f"postgresql://qufur@127.0.0.1:{self.port}/{name}"


@contextmanager
def started(prefix, folder):
    """Run a new cluster in a folder."""
    data, port = os.path.join(folder, "data"), free_port()
    options = ["--username=qufur", "--auth=trust", "--no-sync", "--encoding=UTF8", "--locale=C"]
    make = [*prefix, program("initdb"), "-D", data, *options]
    subprocess.run(make, cwd=folder, check=True, capture_output=True)
    settings = [part for one in SETTINGS for part in ("-c", one)]
    command = [*prefix, program("postgres"), "-D", data, "-p", str(port), "-k", folder, *settings]
    with subprocess.Popen(command, cwd=folder, stderr=subprocess.DEVNULL) as process:
        try:
            cluster = Cluster(port)
            await_answer(cluster, process)
            yield cluster
        finally:
            process.send_signal(signal.SIGINT)  # ends it at once, and in order


def await_answer(cluster, process):
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
    """Return a cluster, or skip the test where there can be none."""
    prefix, user = somebody()
    if program("initdb") is None or program("postgres") is None or prefix is None:
        pytest.skip("PostgreSQL is not installed")
    if prefix and shutil.which("setpriv") is None:
        pytest.skip("PostgreSQL does not run as root, and setpriv is not installed")
    folder = tempfile.mkdtemp(prefix="qufur-postgres-")
    if user is not None:
        os.chown(folder, user.pw_uid, user.pw_gid)
    try:
        with started(prefix, folder) as cluster:
            yield cluster
    finally:
        shutil.rmtree(folder, ignore_errors=True)
