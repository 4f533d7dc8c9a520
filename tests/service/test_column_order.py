"""Order of columns: as at the creation of the stream, also after restarts, export and import."""

import pytest
from tests.service.conftest import running

from qufur.service import stream
from qufur.service.rebuild import load
from qufur.service.store import Store
from qufur.service.store.events import encode

COLUMNS = {"wind": "number", "gate": "number", "air": "number"}
ROW = {"wind": 1.0, "gate": 2.0, "air": 3.0}


def orders(server, name):
    """Return the orders of columns in the status, the list of streams and the leased rows."""
    states = [server.http.get(f"/v1/streams/{name}").json()]
    states += [one for one in server.http.get("/v1/streams").json()["streams"] if one["name"] == name]
    leased = server.http.post(f"/v1/streams/{name}/queue/lease", json={"person": "ada", "count": 2})
    rows = leased.json()["rows"]
    assert len(rows) == 2
    return {tuple(one["columns"]) for one in states} | {tuple(row["record"]) for row in rows}


def create(server):
    body = {"name": "s", "columns": COLUMNS, "model": "ridge", "label_range": [0, 9], "budget": "100%"}
    assert server.http.post("/v1/streams", json=body | {"rule": "uniform"}).status_code == 201
    records = [ROW, dict(reversed(ROW.items()))]
    answer = server.http.post(
        "/v1/streams/s/examples", json=[{"id": place, "record": one} for place, one in enumerate(records)]
    )
    assert answer.status_code == 200, answer.text
    server.http.put("/v1/streams/s/examples/1/label", json={"label": 3.5})
    server.http.delete("/v1/streams/s/examples/1/label")
    return server.digest("s")


def at(url):
    return running(Store(url))


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
@pytest.mark.parametrize("without_snapshot", [True, False], ids=["replayed", "from snapshot"])
def test_columns_keep_the_order_of_creation_through_restarts(tmp_path, request, kind, without_snapshot):
    url = f"sqlite:///{tmp_path}/s.db" if kind == "sqlite" else request.getfixturevalue("postgres").database()
    with at(url) as server:
        digest = create(server)
        assert orders(server, "s") == {tuple(COLUMNS)}
    store = Store(url)
    if without_snapshot:
        with store.writing() as connection:
            connection.exec_driver_sql("DELETE FROM snapshots")
    store.close()
    with at(url) as server:
        assert orders(server, "s") == {tuple(COLUMNS)}
        assert server.digest("s") == digest


def test_record_with_its_columns_in_another_order_is_the_same_example(tmp_path):
    with at(f"sqlite:///{tmp_path}/s.db") as server:
        create(server)
        for record in (ROW, dict(reversed(ROW.items()))):
            answer = server.http.post("/v1/streams/s/examples", json={"id": 0, "record": record})
            assert answer.status_code == 200, answer.text


def test_columns_keep_their_order_through_export_and_import(tmp_path, command):
    with at(f"sqlite:///{tmp_path}/s.db") as server:
        create(server)
        assert command("export", "s", "s.qufur", "--store", f"sqlite:///{tmp_path}/s.db")[0] == 0
    assert command("import", "s.qufur", "--store", f"sqlite:///{tmp_path}/t.db", "--name", "t")[0] == 0
    for _ in range(2):
        with at(f"sqlite:///{tmp_path}/t.db") as server:
            columns = server.http.get("/v1/streams/t").json()["columns"]
            assert list(columns) == list(COLUMNS)


def test_store_whose_columns_were_written_sorted_loads_with_that_order(tmp_path, monkeypatch):
    url = f"sqlite:///{tmp_path}/s.db"
    monkeypatch.setattr(stream, "encode_in_order", encode)
    with at(url) as server:
        create(server)
    monkeypatch.undo()
    with at(url) as server:
        assert orders(server, "s") == {tuple(sorted(COLUMNS))}
    store = Store(url, writing=False)
    names = [entry.name for entry in load(store, 1).workbook.encoding.columns]
    assert names == list(COLUMNS)  # the snapshot has the order of creation
    store.close()
