"""Unusual ids, two servers, a clock that jumps, a disk that is full or read-only."""

import itertools
import os
import random
import shutil
import subprocess
import sys
import time
from contextlib import closing, contextmanager

import apsw
import numpy as np
import pytest
from tests.service.clients import DirectClient, HttpClient, RejectedError
from tests.service.conftest import running
from tests.service.cuts import new_disk, powered
from tests.service.process import free_port, kill
from tests.service.witness import NUMBERS, Witness, example

from qufur.service.config import StreamConfig
from qufur.service.examples import numbered
from qufur.service.http import Limits
from qufur.service.service import Service
from qufur.service.store import Store, StoreError
from qufur.service.store.fencing import FencedError

DAY = 86_400 * 10**9


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request, tmp_path):
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'a.db'}"
    return request.getfixturevalue("postgres").database()


def test_ids_are_stored_unchanged(url):
    ids = ["1", "1.0", "true", "null", '"', "\\", "a'b", "[1]", "{}", "é", "🙂", "\u2028", "%s", "?"]
    with closing(Store(url)) as store:
        service = Service(store)
        service.create(StreamConfig(name="numbers", dim=2), "test")
        service.ask("numbers", numbered(ids, np.ones((len(ids), 2))), "test")
        service.commit()
        assert set(store.find(service.numbers["numbers"], ids)) == set(ids)


def test_second_server_takes_over_only_on_request_and_fences_the_first(url, start_server):
    port = free_port()
    pid = start_server(url, port)
    with closing(HttpClient(port)) as client:
        client.create(NUMBERS)
        before = client.ask("numbers", example("numbers", 1))
        with pytest.raises(FencedError, match="Another server writes to this store"):
            Store(url)
        assert client.ask("numbers", example("numbers", 1)) == before

        second = DirectClient(Store(url, takeover=True))
        try:
            for _ in range(2):
                with pytest.raises(
                    RejectedError, match="503: Another server has taken over this store"
                ) as caught:
                    client.ask("numbers", example("numbers", 2))
            assert "\n" not in caught.value.message
            with pytest.raises(RejectedError, match="503: Another server has taken over"):
                client.send("GET", "/readyz")
            assert second.state("numbers")["rows"] == 1
            assert second.ask("numbers", example("numbers", 1)) == before
            second.ask("numbers", example("numbers", 2))
            assert second.store.last(1) == 3
        finally:
            second.close()
            kill(pid)


def test_second_server_fails_with_one_line(tmp_path):
    url = f"sqlite:///{tmp_path / 'a.db'}"
    with closing(Store(url)):
        command = [sys.executable, "-m", "qufur", "serve", "--store", url, "--port", "0"]
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 2
    assert ended.stdout == ""
    assert "Another server writes to this store" in " ".join(ended.stderr.split())
    assert "Traceback" not in ended.stderr


def test_results_do_not_depend_on_the_clock(tmp_path, monkeypatch):
    digests = [worked(tmp_path / "even.db").state]
    now, draws = time.time_ns, random.Random(0)
    monkeypatch.setattr("time.time_ns", lambda: now() + draws.randint(-DAY, DAY))
    digests.append(worked(tmp_path / "jumping.db").state)
    assert digests[0] == digests[1]


def test_clock_jumps_end_no_lease_and_lock_out_no_key(tmp_path, monkeypatch):
    now, now_ns, shift = time.time, time.time_ns, 0
    monkeypatch.setattr("time.time", lambda: now() + shift / 1e9)
    monkeypatch.setattr("time.time_ns", lambda: now_ns() + shift)
    with running(Store(f"sqlite:///{tmp_path / 'a.db'}"), Limits(rate=100.0)) as server:
        path = f"/v1/streams/{server.stream(rule='uniform')}"
        key = server.app.state.keys.add("ada", ["admin"])
        server.http.headers["Authorization"] = f"Bearer {key}"

        def leased(person):
            answer = server.http.post(f"{path}/queue/lease", json={"person": person})
            return [row["id"] for row in answer.json()["rows"]]

        server.http.post(f"{path}/examples", json={"id": "a", "x": [1.0, 0.5]})
        assert leased("ada") == ["a"]
        for jump in (DAY, -DAY, 0):
            shift = jump
            assert (leased("eve"), leased("ada")) == ([], ["a"])
            assert server.http.get(f"{path}/queue").json()["oldest_seconds"] >= 0
            assert server.http.get("/readyz").status_code == 200
        shift = -DAY
        assert server.http.put(f"{path}/examples/a/label", json={"label": 0.5}).json()["new"]


@contextmanager
def opened(path):
    with closing(DirectClient(Store(f"sqlite:///{path}"))) as client:
        client.create(NUMBERS)
        yield client


def worked(path):
    """Return the witness of a service after a hundred requests and a restart."""
    witness, draws = Witness(), random.Random(0)
    for _ in range(2):
        with opened(path) as client:
            for _ in range(50):
                witness.step(client, draws)
    with opened(path) as client:
        witness.check(client, client.store, draws, everything=True)
        witness.state = client.state("numbers"), witness.answers
    return witness


@pytest.mark.parametrize(
    "trouble", [apsw.FullError("database or disk is full"), apsw.ReadOnlyError("read-only")]
)
def test_store_that_cannot_be_written_temporarily_recovers(tmp_path, trouble):
    disk, witness, draws = new_disk(0), Witness(), random.Random(0)
    with powered(disk, tmp_path / "a.db") as client:
        for _ in range(10):
            for _ in range(5):
                witness.step(client, draws)
            disk.trouble = trouble
            refuses_all(client)
            disk.trouble = None
            witness.check(client, client.store, draws, everything=True)


def refuses_all(client):
    for number in (10**6, 10**6 + 1):
        with pytest.raises(RejectedError, match="503: The store cannot be written"):
            client.ask("numbers", example("numbers", number))
    with pytest.raises(RejectedError, match="503"):
        client.create({**NUMBERS, "name": "other"})


def test_full_disk_answers_503_and_loses_no_acknowledged_request(tmp_path):
    witness, draws = Witness(), random.Random(0)
    with small_disk(tmp_path / "disk") as folder, opened(folder / "a.db") as client:
        for _ in range(2):
            for _ in range(5):
                witness.step(client, draws)
            fill(folder / "filler")
            with pytest.raises(RejectedError, match="503"):
                ask_for_ever(client)
            (folder / "filler").unlink()
            witness.check(client, client.store, draws, everything=True)


def ask_for_ever(client):
    for first in itertools.count(10**6, 200):
        client.ask("numbers", [example("numbers", first + one) for one in range(200)])


def fill(path):
    with open(path, "wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(512))
        except OSError:
            pass


@contextmanager
def small_disk(folder):
    """Mount a disk of less than a megabyte; skip the test if that is not allowed."""
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=800k", "none", str(folder)]
    if shutil.which("mount") is None or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("a small disk cannot be mounted")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def test_store_on_a_read_only_disk_cannot_be_opened(tmp_path):
    with small_disk(tmp_path / "disk") as folder:
        path = folder / "a.db"
        DirectClient(Store(f"sqlite:///{path}")).close()
        subprocess.run(["mount", "-o", "remount,ro", str(folder)], check=True)
        with pytest.raises(StoreError, match="cannot be opened") as caught:
            Store(f"sqlite:///{path}")
        assert "\n" not in str(caught.value)


@pytest.mark.skipif(os.getuid() == 0, reason="root may write everything")
def test_read_only_store_file_cannot_be_opened(tmp_path):
    path = tmp_path / "a.db"
    DirectClient(Store(f"sqlite:///{path}")).close()
    path.chmod(0o400)
    with pytest.raises(StoreError, match="cannot be opened"):
        Store(f"sqlite:///{path}")
