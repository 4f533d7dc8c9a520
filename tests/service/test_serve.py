"""`qufur serve` as a process, and commands that run at the same time."""

import itertools
import json
import re
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import contextmanager

import httpx
import pytest
from tests.service.conftest import opened, running

from qufur.service.auth import Keys
from qufur.service.security import is_loopback
from qufur.service.server import first_key, listening
from qufur.service.verification import verify

RIDGE = {"name": "s", "dim": 2, "model": "ridge", "label_range": [-1, 1], "budget": "100%"}


@contextmanager
def server(folder, *options):
    """Start a server in a folder. Yield its process and a client, and always stop it."""
    command = [sys.executable, "-m", "qufur", "serve", "--port", "0", *options]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True) as process:
        try:
            line = process.stdout.readline()
            url = re.fullmatch(r"qufur serves at (http://\S+)\n", line)
            with httpx.Client(base_url=url[1], timeout=60, trust_env=False) as http:
                yield process, http
        finally:
            process.kill()


def end(process, how):
    """End a process; return its exit code, and whether it took less than two seconds."""
    begin = time.monotonic()
    process.send_signal(how)
    return process.wait(timeout=60), time.monotonic() - begin < 2 + 3  # plus 3 s on a busy machine


def test_server_creates_a_store_and_resumes_after_a_restart(tmp_path, command):
    with server(tmp_path) as (process, http):
        assert http.get("/readyz").json() == {"status": "ready"}
        assert http.post("/v1/streams", json=RIDGE).status_code == 201
        rows = [{"id": f"r{place}", "x": [place / 9, 1.0]} for place in range(8)]
        answers = http.post("/v1/streams/s/examples", json=rows).json()
        queried = [one["id"] for one in answers if one["query"]]
        assert http.put(f"/v1/streams/s/examples/{queried[0]}/label", json={"label": 0.5}).json()["new"]
        assert command("verify", "sqlite:///labels.db")[0] == 0
        assert command("backup", "sqlite:///labels.db", "copy.db")[1].startswith("1 stream, 3 events")
        assert command("import", "none.qufur")[0] == 2
        code, text = command("serve", "--port", http.base_url.port)
        assert (code, "Address already in use" in text) == (2, True)
        code, text = command("serve", "--port", 0)
        assert (code, "Another server writes" in text) == (2, True)
        before = http.get("/v1/streams/s?digest=true").json()
        # A client that has sent half a request does not delay the end.
        with socket.create_connection((http.base_url.host, http.base_url.port)) as half:
            half.sendall(b"POST /v1/streams HTTP/1.1\r\nHost: here\r\nContent-Length: 9\r\n\r\n{")
            assert end(process, signal.SIGINT) == (0, True)
    with sqlite3.connect(tmp_path / "labels.db") as store:
        assert store.execute("SELECT seq FROM snapshots").fetchall() == [(3,)]
    with server(tmp_path) as (process, http):
        assert http.get("/v1/streams/s?digest=true").json() == before
        assert http.post("/v1/streams/s/examples", json=rows).json() == answers
        assert end(process, signal.SIGTERM) == (0, True)
    code, text = command("verify", "sqlite:///labels.db", "--json")
    assert (code, json.loads(text)["streams"][0]["digest"]) == (0, before["digest"])


def test_keys_are_created_and_revoked_while_a_server_runs(tmp_path, command, monkeypatch):
    monkeypatch.setattr("qufur.service.auth.REFRESH_SECONDS", 0.0)
    with running(opened(tmp_path)) as service:
        assert service.http.post("/v1/streams", json=RIDGE).status_code == 201
        code, key = command("key", "add", "ada", "--scope", "label", "--scope", "read", "--stream", "s")
        assert (code, key[:3]) == (0, "qf_")
        bearer = {"Authorization": f"Bearer {key.strip()}"}
        assert service.http.get("/v1/streams/s").status_code == 401
        assert service.http.get("/v1/streams/s", headers=bearer).status_code == 200
        assert service.http.post("/v1/streams", json=RIDGE, headers=bearer).status_code == 403
        code, text = command("key", "list", "--json")
        (listed,) = json.loads(text)["keys"]
        assert (listed["name"], listed["scopes"], listed["stream"]) == ("ada", ["label", "read"], "s")
        assert key.split("_")[2].strip() not in text
        assert command("key", "revoke", listed["id"]) == (0, f"Key {listed['id']} is revoked.\n")
        assert service.http.get("/v1/streams/s", headers=bearer).status_code == 401
        assert "ada" in command("key", "list")[1]
        assert command("key", "revoke", listed["id"])[0] == 2
    assert command("key", "add", "bob", "--scope", "everything")[0] == 2
    assert command("key", "add", "bob")[0] == 2


def test_key_can_be_created_before_the_first_server_start(tmp_path, command):
    assert command("key", "list")[0] == 2
    assert command("key", "add", "bob", "--scope", "admin")[0] == 0
    assert (tmp_path / "labels.db").exists()


def test_non_loopback_listener_gets_an_admin_key(tmp_path):
    store = opened(tmp_path)
    keys = Keys(store)
    made = first_key(keys)
    assert keys.find(made).name == "first"
    assert first_key(keys) is None
    store.close()
    with listening("0.0.0.0", 0) as door:
        assert not is_loopback(door.getsockname()[0])
    with listening("localhost", 0) as door:
        assert is_loopback(door.getsockname()[0])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--store", "labels.db"], "must be such as sqlite:///labels.db"),
        (["--store", "sqlite:///:memory:"], "must be such as sqlite:///labels.db"),
        (["--store", "mysql://here/x"], "must be such as sqlite:///labels.db"),
        (["--store", "sqlite:///no/such/folder.db"], "No such file or directory"),
        (["--store", "sqlite:////sys/labels.db"], "Permission denied"),
        (["--store", "postgresql://nobody@127.0.0.1:1/x"], "cannot be opened: connection failed"),
        (["--host", "no.such.host.invalid"], "an address of this machine"),
        (["--host", "203.0.113.7"], "Cannot assign requested address"),
        (["--rate", "0"], "--rate"),
        (["--max-body", "0"], "--max-body"),
    ],
)
def test_invalid_start_options_print_one_line(tmp_path, command, options, words):
    code, text = command("serve", "--port", "0", *options)
    assert (code, text.count("\n"), words in text) == (2, 1, True), text
    assert list(tmp_path.iterdir()) == []


def test_missing_database_driver_is_named(command, monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    code, text = command("serve", "--port", "0", "--store", "postgresql://here/x")
    assert (code, "psycopg" in text, "postgres" in text, text.count("\n")) == (2, True, True, 1)


def test_damaged_store_sets_the_exit_code(tmp_path, command):
    with running(opened(tmp_path)) as service:
        service.http.post("/v1/streams", json=RIDGE)
        service.http.post("/v1/streams/s/examples", json={"id": "a", "x": [1, 2]})
    with sqlite3.connect(tmp_path / "labels.db") as store:
        store.execute("UPDATE events SET actor = 'another key' WHERE seq = 2")
    code, text = command("verify", "sqlite:///labels.db")
    assert (code, "damaged at event 2" in text) == (1, True)
    assert command("verify", "sqlite:///labels.db", "--json")[0] == 1
    assert command("backup", "sqlite:///labels.db", "copy.db")[0] == 2
    assert not (tmp_path / "copy.db").exists()
    assert command("backup", "sqlite:///labels.db", "labels.db")[0] == 2
    assert command("verify", "sqlite:///none.db")[0] == 2
    assert not (tmp_path / "none.db").exists()


def test_growing_store_is_verified(tmp_path):
    with running(opened(tmp_path)) as service:
        service.http.post("/v1/streams", json=RIDGE)
        done = threading.Event()

        def feed():
            for number in itertools.count():
                answer = service.http.post(
                    "/v1/streams/s/examples", json={"id": number, "x": [number % 7, 1.0]}
                )
                if done.is_set() or answer.status_code != 200:
                    return

        feeder = threading.Thread(target=feed)
        feeder.start()
        try:
            events = [verified(tmp_path) for _ in range(8)]
        finally:
            done.set()
            feeder.join()
    assert events == sorted(events)
    assert events[0] < events[-1]


def verified(folder):
    """Verify a store and return its number of events."""
    store = opened(folder, writing=False)
    try:
        ((_, events, _, remarks),) = verify(store)
        assert remarks == []
        return events
    finally:
        store.close()


def test_demo_uses_a_temporary_store_unless_one_is_given(tmp_path, monkeypatch, command):
    opened_stores = []

    @contextmanager
    def no_store(url, **options):
        opened_stores.append(url)
        raise ValueError("no store is opened in this test")
        yield

    monkeypatch.setattr("qufur.cli.serve.open_store", no_store)
    for options in ([], ["--demo"], ["--demo", "--store", "sqlite:///mine.db"]):
        assert command("serve", "--port", 0, *options)[0] == 2
    assert opened_stores == ["sqlite:///labels.db", "sqlite:///qufur-demo.db", "sqlite:///mine.db"]
