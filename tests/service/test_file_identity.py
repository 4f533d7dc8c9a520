"""A SQLite file that another program moves, deletes or overwrites while the server runs."""

import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy.exc import OperationalError
from tests.service.conftest import RIDGE, opened, running
from tests.service.test_pages import token

from qufur.service.auth import Keys
from qufur.service.backup import backup
from qufur.service.store import Store, integrity
from qufur.service.store.events import DamagedError
from qufur.service.store.integrity import StoreFile, StoreFileError

S = "/v1/streams/s"
NAME = "labels.db"


@pytest.fixture
def server(tmp_path):
    with running(opened(tmp_path)) as found:
        assert found.http.post("/v1/streams", json={"name": "s", **RIDGE}).status_code == 201
        assert ask(found, "before").status_code == 200
        yield found


def ask(server, id):
    return server.http.post(f"{S}/examples", json={"id": id, "x": [1.0, 0.5]})


def delete(path):
    for file in path.parent.glob(f"{path.name}*"):
        file.unlink()


def move(path):
    path.rename(f"{path}.old")


def replace(path):
    shutil.copy(path, f"{path}.new")
    os.replace(f"{path}.new", path)


def overwrite(path):
    shutil.copyfile(f"{path}.bak", path)


def delete_log(path):
    Path(f"{path}-wal").unlink()


TROUBLES = [delete, move, replace, overwrite, delete_log]


@pytest.mark.parametrize("trouble", TROUBLES)
def test_writes_are_not_acknowledged_once_the_file_is_lost(server, tmp_path, trouble):
    path = tmp_path / NAME
    with closing(Store(f"sqlite:///{path}", writing=False)) as store:
        backup(store, Path(f"{path}.bak"))
    assert ask(server, "after the backup").status_code == 200
    trouble(path)
    calls = {
        "example": ask(server, "after"),
        "label": server.http.put(f"{S}/examples/before/label", json={"label": 0.5}),
        "readiness": server.http.get("/readyz"),
        "status": server.http.get(S),
    }
    for answer in calls.values():
        assert answer.status_code == 503, answer.text
        assert answer.json()["error"].startswith(f"{NAME} was moved, deleted or overwritten")
        assert "Stop the server" in answer.json()["error"]
    assert server.http.get("/healthz").status_code == 200


@pytest.mark.parametrize("trouble", [delete, move])
def test_readiness_reports_a_lost_file_before_the_next_request(server, tmp_path, trouble):
    assert server.http.get("/readyz").status_code == 200
    trouble(tmp_path / NAME)
    answer = server.http.get("/readyz")
    assert (answer.status_code, NAME in answer.json()["error"]) == (503, True)
    assert str(tmp_path) not in answer.text


@pytest.mark.parametrize("trouble", [move, overwrite])
def test_keys_are_not_issued_once_the_file_is_lost(server, tmp_path, trouble):
    headers = {"X-CSRF-Token": token(server.http.get("/"))}
    shutil.copyfile(tmp_path / NAME, tmp_path / f"{NAME}.bak")
    trouble(tmp_path / NAME)
    form = {"name": "ada", "scopes": "admin"}
    answer = server.http.post("/keys", data=form, headers=headers)
    assert (answer.status_code, "qf_" in answer.text) == (503, False)


@pytest.mark.parametrize("path", ["/", "/v1/streams", f"{S}/examples", "/keys"])
def test_store_that_cannot_be_read_gives_503(server, monkeypatch, path):
    def fail(self):
        raise OperationalError("SELECT", {}, sqlite3.OperationalError("unable to open database file"))

    monkeypatch.setattr(Keys, "listed", fail)
    server.app.state.keys._read_at = float("-inf")
    verb = "POST" if path.endswith("examples") else "GET"
    answer = server.http.request(verb, path, headers={"Authorization": "Bearer qf_1_2"})
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
    assert "send it again" in answer.json()["error"]
    assert server.http.get("/healthz").status_code == 200


def test_checkpoints_and_other_connections_are_no_alarm(server, tmp_path, monkeypatch):
    monkeypatch.setattr(integrity, "CHECKPOINT_BYTES", 0)
    path = tmp_path / NAME
    for number in range(5):
        before = path.stat().st_mtime_ns
        assert ask(server, f"row{number}").status_code == 200
        assert path.stat().st_mtime_ns > before
    with closing(Store(f"sqlite:///{path}", writing=False)) as beside:
        backup(beside, tmp_path / "copy.db")
        key = Keys(beside).add("ada", ["admin"])
    server.app.state.keys._read_at = float("-inf")
    server.http.headers["Authorization"] = f"Bearer {key}"
    assert server.http.post(f"{S}/erase", json={"ids": ["row1"]}).status_code == 200
    assert ask(server, "last").status_code == 200
    assert server.http.get("/readyz").status_code == 200


def test_database_file_changes_in_checkpoints_alone(server, tmp_path):
    path = tmp_path / NAME
    before = path.stat()
    for number in range(20):
        assert ask(server, f"row{number}").status_code == 200
    assert path.stat().st_mtime_ns == before.st_mtime_ns


def test_log_is_copied_once_it_has_grown(server, tmp_path):
    log = Path(f"{tmp_path / NAME}-wal")
    for batch in range(60):
        rows = [{"id": f"{batch} {row}", "x": [0.5, row]} for row in range(1000)]
        assert server.http.post(f"{S}/examples", json=rows).status_code == 200
    assert log.stat().st_size < 4 * integrity.CHECKPOINT_BYTES


def test_failed_checkpoint_leaves_the_commit_valid(server, monkeypatch):
    def fail(self, cursor, mode):
        raise sqlite3.OperationalError("disk I/O error")

    monkeypatch.setattr(integrity, "CHECKPOINT_BYTES", 0)
    monkeypatch.setattr(StoreFile, "checkpoint", fail)
    assert ask(server, "after").status_code == 200


def test_check_takes_two_calls_of_stat(tmp_path, monkeypatch):
    with closing(opened(tmp_path)):
        file = StoreFile(str(tmp_path / NAME))
        calls, stat = [], os.stat
        monkeypatch.setattr(integrity.os, "stat", lambda path: calls.append(path) or stat(path))
        assert not file.check_commit(100)
        assert calls == [str(tmp_path / NAME), f"{tmp_path / NAME}-wal"]


def test_missing_file_never_matches(tmp_path):
    with pytest.raises(StoreFileError, match="moved, deleted or overwritten"):
        StoreFile(str(tmp_path / NAME)).check()


def test_overwritten_file_is_refused_at_the_next_start(tmp_path):
    path = tmp_path / NAME
    with running(opened(tmp_path)) as server:
        server.http.post("/v1/streams", json={"name": "s", **RIDGE})
        with closing(Store(f"sqlite:///{path}", writing=False)) as store:
            backup(store, Path(f"{path}.bak"))
        for number in range(5):
            assert ask(server, f"row{number}").status_code == 200
        server.store.checkpoint("TRUNCATE")
        overwrite(path)
        assert ask(server, "after").status_code == 503
    with pytest.raises(DamagedError):
        opened(tmp_path)
