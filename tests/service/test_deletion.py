"""Deleted streams: only one event of them stays in the files, and their name is free again."""

import json
import sqlite3
import threading
from contextlib import closing

import pytest
from tests.service.conftest import RIDGE, opened, running

from qufur.service import erasure
from qufur.service.auth import Keys
from qufur.service.config import StreamConfig
from qufur.service.erasure import Deletion, delete_stream, deletions
from qufur.service.errors import NotFoundError, UnavailableError
from qufur.service.examples import Example, read_examples
from qufur.service.fits import FitQueue
from qufur.service.service import Service
from qufur.service.store import Store
from qufur.service.store.events import DamagedError
from qufur.service.stream import Stream
from qufur.service.verification import check_at_start, verify

SECRET = "Ada Lovelace of 12 St James's Square"
NOTES = StreamConfig("notes", columns={"note": "category"}, budget="100%")
NUMBERS = StreamConfig("numbers", dim=2, model="ridge", label_range=(-9, 9), budget="100%")


def filled(store):
    """Return a service with two streams; one has rows with a secret, labels and a snapshot."""
    service = Service(store)
    service.create(NOTES, "ada")
    service.create(NUMBERS, "ada")
    rows = [Example(f"{SECRET} {n}", record={"note": f"{SECRET}!"}) for n in range(20)]
    said = service.ask("notes", read_examples(NOTES, rows), "ada")
    labels = {one.id: 1.0 + place for place, one in enumerate(said) if one.query}
    service.tell("notes", labels, "ada", replace=False, accept_outliers=True)
    service.ask("numbers", read_examples(NUMBERS, [Example("a", x=[1.0, 2.0])]), "ada")
    service.commit()
    service.save_snapshots(all_changed=True)
    return service


def contents(folder):
    return b"".join(path.read_bytes() for path in folder.iterdir() if path.is_file())


def test_deleted_stream_leaves_one_event_and_no_text(tmp_path):
    with closing(opened(tmp_path)) as store:
        service = filled(store)
        assert SECRET.encode() in contents(tmp_path)
        events = service.stream("notes").seq
        digest = service.stream("numbers").digest()
        assert delete_stream(service, "notes", "eve") == (events, 0)
        assert SECRET.encode() not in contents(tmp_path)
        ((stream, count, _, actor),) = deletions(store)
        assert (stream, count, actor) == ("notes", events, "eve")
        with pytest.raises(NotFoundError):
            service.stream("notes")
        assert [(one.stream, one.digest) for one in verify(store)] == [("numbers", digest)]
        assert {table: rows_of(tmp_path, table) for table in ("events", "examples", "snapshots")} == {
            "events": 1,
            "examples": 0,
            "snapshots": 0,
        }


def rows_of(folder, table, stream=1):
    with closing(sqlite3.connect(folder / "labels.db")) as connection:
        return connection.execute(f"SELECT count(*) FROM {table} WHERE stream = ?", (stream,)).fetchone()[0]


def test_deleted_name_is_reused_with_a_new_number_after_a_restart(tmp_path):
    with closing(opened(tmp_path)) as store:
        service = filled(store)
        delete_stream(service, "numbers", "eve")  # the one with the largest number
        service.create(NUMBERS, "ada")
        service.commit()
        assert store.streams() == {"notes": 1, "numbers": 3}
    with closing(opened(tmp_path)) as store:
        assert check_at_start(store) is None
        service = Service(store)
        assert service.stream("numbers").workbook.rows == 0
        assert [one.stream for one in deletions(store)] == ["numbers"]
        delete_stream(service, "numbers", "eve")
        delete_stream(service, "notes", "eve")
    with closing(opened(tmp_path)) as store:  # the event of the high-water mark is deleted too
        assert verify(store) == []
        assert [one.stream for one in deletions(store)] == ["notes", "numbers", "numbers"]


def test_deletion_that_cannot_be_written_changes_nothing(tmp_path, monkeypatch):
    with closing(opened(tmp_path)) as store:
        service = filled(store)
        Keys(store).add("own", ["label"], "notes")
        before = store.last(1), service.stream("notes").digest()

        def fail(connection, name):
            connection.exec_driver_sql("SELECT nothing FROM nowhere")

        with monkeypatch.context() as patch:
            patch.setattr(erasure, "_revoke_keys", fail)
            with pytest.raises(UnavailableError, match="Nothing was deleted"):
                delete_stream(service, "notes", "eve")
        assert (store.last(1), service.stream("notes").digest()) == before
        assert Keys(store).listed()[0].revoked is None
        assert deletions(store) == []
        assert [one.stream for one in verify(store)] == ["notes", "numbers"]


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE events SET actor = 'adam' WHERE kind = 'deleted'",
        "UPDATE events SET seq = seq + 1 WHERE kind = 'deleted'",
        "UPDATE events SET payload = substr(payload, 2) WHERE kind = 'deleted'",
        "UPDATE events SET kind = 'erased' WHERE kind = 'deleted'",
        "DELETE FROM events WHERE kind = 'deleted'",
        "INSERT INTO examples (stream, id, seq) VALUES (1, 'a', 2)",
        "UPDATE streams SET name = 'deleted:2' WHERE id = 2",
        "UPDATE streams SET name = 'notes' WHERE id = 1",
    ],
)
def test_changes_to_a_deleted_stream_are_damage(tmp_path, statement):
    with closing(opened(tmp_path)) as store:
        delete_stream(filled(store), "notes", "eve")
    with closing(sqlite3.connect(tmp_path / "labels.db")) as connection, connection:
        assert connection.execute(statement).rowcount == 1
    (tmp_path / "labels.db.mark").unlink()
    with closing(opened(tmp_path)) as store, pytest.raises(DamagedError):
        verify(store)


def test_stream_deleted_while_the_store_is_checked_is_no_damage(tmp_path, monkeypatch):
    with closing(opened(tmp_path)) as store:
        service = filled(store)
        monkeypatch.setattr("qufur.service.verification.AT_START", 1)
        check = check_at_start(store)
        find = store.find

        def find_meanwhile(number, ids):
            if "notes" in service.numbers:
                delete_stream(service, "notes", "eve")
            return find(number, ids)

        monkeypatch.setattr(store, "find", find_meanwhile)
        check()
        assert "notes" not in service.numbers


def test_fit_of_a_deleted_stream_is_not_installed_in_another_of_its_name(tmp_path, monkeypatch):
    monkeypatch.setattr("qufur.service.fits.MAX_CRASHES", 0)  # fits run in this process
    with closing(opened(tmp_path)) as store:
        service = filled(store)
        submitted, done = [], threading.Event()
        refits = FitQueue(lambda do: (submitted.append(do), done.set()))
        installed = []
        monkeypatch.setattr(Stream, "install", lambda *given: installed.append(given))
        refits.start_due(service)
        assert done.wait(60)
        delete_stream(service, "notes", "eve")
        service.create(NOTES, "ada")
        for do in submitted:
            do(service)
        refits.stop()
        assert installed == []


def test_deleted_stream_is_gone_from_the_service(tmp_path):
    with running(opened(tmp_path)) as server:
        for dim in (2, 3):
            body = {**RIDGE, "name": "s", "dim": dim}
            assert server.http.post("/v1/streams", json=body).status_code == 201
            x = [0.5] * dim
            assert server.http.post("/v1/streams/s/examples", json={"id": "a", "x": x}).json()["query"]
            lease = server.http.post("/v1/streams/s/queue/lease", json={"person": f"p{dim}"}).json()
            assert [row["id"] for row in lease["rows"]] == ["a"]  # the leases of the deleted stream are gone
            assert 'stream="s"' in server.http.get("/metrics").text
            assert server.http.delete("/v1/streams/s").json() == {"name": "s", "events": 2, "keys": 0}
            for verb, path in (("GET", ""), ("GET", "/queue"), ("GET", "/events"), ("DELETE", "")):
                assert server.http.request(verb, f"/v1/streams/s{path}").status_code == 404
            again = server.http.post("/v1/streams/s/examples", json={"id": "b", "x": x})
            assert again.status_code == 404
            assert 'stream="s"' not in server.http.get("/metrics").text
            assert server.http.get("/v1/streams").json() == {"streams": []}


def test_command_deletes_a_stream_and_verify_names_it(tmp_path, command):
    with closing(opened(tmp_path)) as store:
        events = filled(store).stream("notes").seq
        Keys(store).add("own", ["label"], "notes")
    here = f"sqlite:///{tmp_path}/labels.db"
    code, text = command("delete-stream", "notes", "--store", here)
    assert (code, text) == (
        0,
        f"Stream notes is deleted, with {events} events. 1 key of this stream is revoked.\n",
    )
    code, text = command("verify", here)
    assert code == 0
    assert "notes: deleted on 20" in text
    assert text.endswith(f"by qufur delete-stream, after {events} events.\n1 stream verified: no damage.\n")
    code, text = command("verify", here, "--json")
    assert [one["stream"] for one in json.loads(text)["deleted"]] == ["notes"]
    code, text = command("delete-stream", "notes", "--store", here)
    assert (code, "There is no stream 'notes'" in text) == (2, True)
    assert command("export", "notes", "notes.qufur", "--store", here)[0] == 2


def test_stream_is_deleted_on_postgresql(postgres):
    url = postgres.database()
    with closing(Store(url)) as store:
        service = filled(store)
        events = service.stream("notes").seq
        assert delete_stream(service, "notes", "eve") == (events, 0)
        service.create(NOTES, "ada")
        service.commit()
    with closing(Store(url)) as store:
        assert check_at_start(store) is None
        assert [(one.stream, one.events) for one in verify(store)] == [("notes", 1), ("numbers", 2)]
        assert [one._replace(at=0) for one in deletions(store)] == [Deletion("notes", events, 0, "eve")]
        tables = ("events", "examples", "snapshots")
        with store.engine.connect() as connection:
            found = [
                str(connection.exec_driver_sql(f"SELECT * FROM {table} WHERE stream = 1").all())
                for table in tables
            ]
        assert SECRET not in "".join(found)
