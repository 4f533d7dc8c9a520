"""Erased examples are gone from every file; everything else stays."""

import json
from contextlib import closing

import numpy as np
import pytest
from tests.cli.test_cli import qufur
from tests.service.conftest import opened, running

from qufur.service.config import StreamConfig
from qufur.service.erasure import erase as erase_rows
from qufur.service.examples import numbered
from qufur.service.rebuild import from_start, replay_events
from qufur.service.service import Service
from qufur.service.store.events import Payload
from qufur.service.verification import verify

SECRET = "Ada Lovelace of 12 St James's Square"
NUMBER = 1234.5678901
EXPERTS = {"columns": {"wind": "number", "note": "category"}, "budget": "100%"}
RIDGE = {"dim": 2, "model": "ridge", "label_range": [-9, 9], "budget": 40, "horizon": 60}


def files(folder):
    """Return the bytes of all files of a store."""
    return b"".join(path.read_bytes() for path in folder.iterdir() if path.is_file())


def fill(server, name, rows, key):
    body = [{"id": f"r{place}", key: row} for place, row in enumerate(rows)]
    said = server.http.post(f"/v1/streams/{name}/examples", json=body).json()
    wanted = [one["id"] for one in said if one["query"]]
    labels = [{"id": id, "label": float(len(id) + place % 3)} for place, id in enumerate(wanted)]
    assert server.http.post(f"/v1/streams/{name}/labels", json=labels[:-1]).status_code == 200
    return wanted


def rebuilt(store, number=1):
    stream = from_start(store, number)
    replay_events(stream, store)
    return stream


def erase(server, name, *ids):
    return server.http.post(f"/v1/streams/{name}/erase", json={"ids": list(ids)})


def test_erasure_removes_rows_and_labels_from_the_files_and_nothing_else(tmp_path):
    X = np.random.default_rng(0).normal(size=(60, 2))
    with running(opened(tmp_path)) as server:
        server.http.timeout = 60
        server.http.post("/v1/streams", json={"name": "s", **RIDGE})
        wanted = fill(server, "s", X.tolist(), "x")
        labelled = [{"id": "free", "x": [NUMBER, 1.0], "label": 2.0}]
        server.http.post("/v1/streams/s/learn", json=labelled)
        one, undone, declined = wanted[0], wanted[1], wanted[-1]
        server.http.delete(f"/v1/streams/s/examples/{undone}/label")
        server.http.put(f"/v1/streams/s/examples/{undone}/label", json={"label": -3.25})
        server.http.post(f"/v1/streams/s/examples/{declined}/decline")
        bits = [X[int(id[1:])].tobytes() for id in (one, undone, declined)] + [np.float64(NUMBER).tobytes()]
        hashes = [event["hash"] for event in server.http.get("/v1/streams/s/events").json()["events"]]
        before = server.http.get("/v1/streams/s").json()
        assert all(row in files(tmp_path) for row in bits)
        answer = erase(server, "s", one, undone, declined, "free")
        # Parts: asked, told; asked, told, untold, told; asked, declined; learned.
        assert answer.json() == {"erased": 4, "parts": 9}
        assert not any(row in files(tmp_path) for row in bits)
        after = server.http.get("/v1/streams/s?digest=true").json()
        events = server.http.get("/v1/streams/s/events").json()["events"]
        assert [event["hash"] for event in events][:-1] == hashes
        assert events[-1]["kind"] == "erased"
        # The example with a free label counted as a row.
        assert (after["rows"], after["told"]) == (before["rows"] - 1, before["told"] - 3)
        assert after["spent"] == before["spent"]
        assert server.http.put(f"/v1/streams/s/examples/{one}/label", json={"label": 1}).status_code == 404
        assert erase(server, "s", one).status_code == 404
        assert server.http.post("/v1/streams/s/examples", json={"id": "new", "x": [1, 2]}).status_code == 200
        digest = server.digest("s")[0]
    store = opened(tmp_path, writing=False)
    assert (rebuilt(store).digest(), verify(store)[0].digest) == (digest, digest)
    store.close()
    assert not any(row in files(tmp_path) for row in bits)


def test_experts_are_relearned_without_erased_rows(tmp_path):
    rng = np.random.default_rng(1)
    winds, notes = rng.normal(size=50).tolist(), rng.choice(list("abc"), 50).tolist()
    rows = [{"wind": wind, "note": note} for wind, note in zip(winds, notes, strict=True)]
    rows[7]["wind"] = NUMBER
    with running(opened(tmp_path)) as server:
        server.http.timeout = 60
        server.http.post("/v1/streams", json={"name": "s", **EXPERTS})
        wanted = fill(server, "s", rows, "record")
        assert "r7" in wanted
        server.settle()
        kinds = [event["kind"] for event in server.http.get("/v1/streams/s/events").json()["events"]]
        assert "refitted" in kinds
        told = server.http.get("/v1/streams/s").json()["told"]
        assert erase(server, "s", "r7", "r3").json()["erased"] == 2
        assert server.http.get("/v1/streams/s").json()["told"] == told - 2
        more = [{"id": f"n{place}", "record": row} for place, row in enumerate(rows[10:20])]
        assert server.http.post("/v1/streams/s/examples", json=more).status_code == 200
        digest = server.digest("s")[0]
    store = opened(tmp_path, writing=False)
    assert rebuilt(store).digest() == digest
    told = [event for event in store.events(1) if event.kind == "told"]
    assert sum(part is None for part in Payload.from_bytes(told[0].payload).rows()) == 2
    store.close()


@pytest.mark.parametrize("left", [0, 1])
def test_experts_continue_when_all_their_rows_are_erased(tmp_path, few_trees, left):
    ids, X = [f"r{place}" for place in range(6)], np.random.default_rng(1).normal(size=(6, 2))
    with closing(opened(tmp_path)) as store:
        service = Service(store)
        service.create(StreamConfig(name="s", dim=2, label_range=(-9, 9), budget="100%"), "test")
        service.ask("s", numbered(ids, X), "test")
        stream = service.stream("s")
        service.tell("s", dict.fromkeys(stream.waiting, 0.5), "test", replace=False, accept_outliers=True)
        stream.install(stream.workbook.learner.background_fits.next_job().run(), "server")
        service.commit()
        erase_rows(service, "s", ids[left:], "test")
        assert [event.kind for event in store.events(1)].count("refitted") == 1
        service.ask("s", numbered(["again"], X[:1]), "test")
        service.commit()
        assert rebuilt(store).digest() == service.stream("s").digest()


def test_erase_command_fails_while_a_server_runs_and_succeeds_afterwards(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    with running(opened(tmp_path)) as server:
        server.http.post("/v1/streams", json={"name": "s", **RIDGE})
        server.http.post(
            "/v1/streams/s/examples", json=[{"id": SECRET, "x": [1, 2]}, {"id": "b", "x": [2, 2]}]
        )
        assert qufur(monkeypatch, "erase", "s", SECRET) == 2
        assert "Another server writes" in capsys.readouterr().err
    assert SECRET.encode() in files(tmp_path)
    assert qufur(monkeypatch, "erase", "s", SECRET, "b") == 0
    assert capsys.readouterr().out == "2 examples erased, in 2 parts of events.\n"
    assert SECRET.encode() not in files(tmp_path)
    assert qufur(monkeypatch, "erase", "s", SECRET) == 2
    assert capsys.readouterr().err.startswith("qufur: There is no example ")
    assert qufur(monkeypatch, "verify", "sqlite:///labels.db", "--json") == 0
    assert json.loads(capsys.readouterr().out)["streams"][0]["events"] == 3


def test_imported_row_cannot_be_erased(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    with running(opened(tmp_path)) as server:
        server.http.post("/v1/streams", json={"name": "s", **RIDGE})
        server.http.post("/v1/streams/s/examples", json=[{"id": "a", "x": [1, 2]}])
    assert qufur(monkeypatch, "export", "s", "s.qufur") == 0
    assert qufur(monkeypatch, "import", "s.qufur", "--name", "t") == 0
    capsys.readouterr()
    assert qufur(monkeypatch, "erase", "t", "a") == 2
    assert "state file" in capsys.readouterr().err


@pytest.mark.parametrize("body", [{"ids": "a"}, {}, {"ids": [None]}, {"ids": [""]}, {"ids": ["a"], "b": 1}])
def test_erasure_with_an_invalid_request_changes_nothing(server, body):
    name = server.stream()
    before = server.digest(name)
    answer = server.http.post(f"/v1/streams/{name}/erase", json=body)
    assert answer.status_code == 422
    assert server.digest(name) == before
