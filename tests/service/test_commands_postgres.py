"""Commands of the service on a PostgreSQL store."""

import json

import psycopg
from tests.service.conftest import running

from qufur.service.store import Store

RIDGE = {"name": "s", "dim": 2, "model": "ridge", "label_range": [-9, 9], "budget": "100%"}


def test_commands_work_on_postgresql(postgres, command):
    url = postgres.database()
    here = "--store", url
    with running(Store(url)) as server:
        assert server.http.post("/v1/streams", json=RIDGE).status_code == 201
        rows = [{"id": f"r{place}", "x": [place / 3, 1.0]} for place in range(6)]
        assert server.http.post("/v1/streams/s/examples", json=rows).status_code == 200
        server.http.put("/v1/streams/s/examples/r1/label", json={"label": 1.5})
        code, text = command("export", "s", "s.qufur", *here, "--json")
        assert (code, json.loads(text)["digest"]) == (0, server.digest("s")[0])
        code, text = command("import", "s.qufur", *here)
        assert (code, "Another server writes" in text) == (2, True)
        code, text = command("backup", url, "copy.db")
        assert (code, "pg_dump" in text, text.count("\n")) == (2, True, 1)
        assert server.http.post("/v1/streams/s/erase", json={"ids": ["r2"]}).json()["parts"] == 1
        digest = server.digest("s")[0]
        assert command("key", "add", "ada", "--scope", "read", *here)[0] == 0
    assert command("import", "s.qufur", "--name", "t", *here)[0] == 0
    assert command("erase", "s", "r1", *here) == (0, "1 example erased, in 2 parts of events.\n")
    code, text = command("verify", url, "--json")
    found = {one["stream"]: one for one in json.loads(text)["streams"]}
    assert (code, list(found), found["s"]["digest"] == digest) == (0, ["s", "t"], False)
    assert [one["remarks"] for one in found.values()] == [[], []]
    with psycopg.connect(url) as connection:
        (kept,) = connection.execute("SELECT count(*) FROM examples WHERE id IN ('r1', 'r2') AND stream = 1")
        assert kept == (0,)
