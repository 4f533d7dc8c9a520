"""Export and import of state files: the copy decides like the original."""

import json

import numpy as np
import pytest
from tests.service.conftest import opened, running

from qufur.service.rebuild import load
from qufur.workbook import Workbook

RNG = np.random.default_rng(7)
RECORDS = [
    {"wind": round(float(wind), 3), "sky": str(sky), "gate": None if place % 5 else "A"}
    for place, (wind, sky) in enumerate(
        zip(RNG.normal(size=120), RNG.choice(["clear", "fog", "rain"], 120), strict=True)
    )
]
COLUMNS = {"wind": "number", "sky": "category", "gate": "category"}


def label(record):
    return record["wind"] + 2 * (record["sky"] == "fog")


def ask(server, name, records, first=0):
    body = [{"id": f"r{first + place}", "record": record} for place, record in enumerate(records)]
    answer = server.http.post(f"/v1/streams/{name}/examples", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


def tell_wanted(server, name, answers, records):
    labels = [
        {"id": one["id"], "label": label(record)}
        for one, record in zip(answers, records, strict=True)
        if one["query"]
    ]
    assert server.http.post(f"/v1/streams/{name}/labels", json=labels[:-2]).status_code == 200
    return labels


@pytest.mark.parametrize(
    "kind",
    [
        {"columns": COLUMNS, "budget": "40%"},
        {"columns": {"wind": "number"}, "model": "ridge", "label_range": [-9, 9], "budget": "40%"},
    ],
    ids=["experts", "ridge"],
)
def test_stream_decides_alike_after_export_and_import(tmp_path, command, kind):
    records = [{name: one[name] for name in kind["columns"]} for one in RECORDS]
    with running(opened(tmp_path)) as server:
        server.http.timeout = 60
        made = server.http.post("/v1/streams", json={"name": "gates", **kind})
        assert made.status_code == 201, made.text
        answers = ask(server, "gates", records[:60])
        tell_wanted(server, "gates", answers, RECORDS[:60])
        server.settle()
        code, text = command("export", "gates", "s.qufur", "--json")
        assert code == 0, text
        state, exported = server.http.get("/v1/streams/gates?digest=true").json(), json.loads(text)
        later = ask(server, "gates", records[60:], 60)
    assert exported["digest"] == state["digest"]
    assert command("import", "s.qufur", "--store", "sqlite:///other.db", "--name", "again")[0] == 0
    with running(opened(tmp_path, "other.db")) as server:
        server.http.timeout = 60
        again = server.http.get("/v1/streams/again?digest=true").json()
        for same in ("digest", "rows", "spent", "left", "outstanding", "told", "columns", "rule", "model"):
            assert again[same] == state[same], same
        assert again["outstanding"] == 2
        lease = server.http.post("/v1/streams/again/queue/lease", json={"person": "ada", "count": 2}).json()
        for row in lease["rows"]:
            assert row["record"] == records[int(row["id"][1:])]
        for one, other in zip(ask(server, "again", records[60:], 60), later, strict=True):
            # The export replays the log, so inverses may differ by rounding.
            assert (one["id"], one["query"]) == (other["id"], other["query"])
            assert one["uncertainty"] == pytest.approx(other["uncertainty"], rel=1e-9)
            if "model" in kind:  # experts are fitted in the background, at any time
                assert one["prediction"] == pytest.approx(other["prediction"], rel=1e-9, abs=1e-12)
        refused = server.http.post("/v1/streams/again/examples", json={"id": "r3", "record": records[3]})
        assert refused.status_code == 410
        digest = server.http.get("/v1/streams/again?digest=true").json()["digest"]
    store = opened(tmp_path, "other.db", writing=False)
    assert load(store, 1).digest() == digest
    store.close()


CSV = "flight,when,price,sky\n" + "".join(
    f"{n},2024-0{1 + n % 9}-{10 + n % 17} 0{n % 10}:00,€ {n % 13}.50,{('fog', 'rain')[n % 2]}\n"
    for n in range(80)
)


@pytest.mark.parametrize("named", [True, False])
def test_imported_file_with_dates_and_prices_continues_over_http(tmp_path, command, named):
    rows = [line.split(",") for line in CSV.splitlines()[1:]]
    keep = slice(0 if named else 1, None)
    table = "\n".join(",".join(line[keep]) for line in [CSV.splitlines()[0].split(","), *rows[:50]])
    (tmp_path / "a.csv").write_text(table)
    later = "\n".join(",".join(line[keep]) for line in [CSV.splitlines()[0].split(","), *rows[50:]])
    (tmp_path / "b.csv").write_text(later)
    by_id = ["--id", "flight"] if named else []
    said = command("ask", "a.csv", *by_id, "--budget", "30%", "--state", "f.qufur", "-o", "want.csv")
    assert said[0] == 0, said
    assert command("import", "f.qufur")[0] == 0
    assert command("ask", "b.csv", "--state", "f.qufur", "-o", "more.csv")[0] == 0
    workbook = Workbook.load(tmp_path / "f.qufur")
    with running(opened(tmp_path)) as server:
        server.http.timeout = 60
        state = server.http.get("/v1/streams/f").json()
        assert state["columns"] == {"when": "any", "price": "any", "sky": "category"}
        body = [
            {
                "id": line[0] if named else 51 + place,
                "record": {"when": line[1], "price": line[2], "sky": line[3]},
            }
            for place, line in enumerate(rows[50:])
        ]
        answer = server.http.post("/v1/streams/f/examples", json=body)
        assert answer.status_code == 200, answer.text
        queue = server.http.get("/v1/streams/f/queue").json()["rows"]
        assert [row["id"] for row in queue] == list(map(str, workbook.learner.outstanding))
        first = server.http.post("/v1/streams/f/queue/lease", json={"person": "ada"}).json()["rows"][0]
        assert first["record"]["when"] == rows[int(first["id"]) - (not named)][1]
        told = server.http.put(f"/v1/streams/f/examples/{first['id']}/label", json={"label": 3.5})
        assert told.json()["new"]
        odd = server.http.post("/v1/streams/f/examples", json={"id": "odd", "record": {"when": [1.0, 2.0]}})
        assert odd.status_code == 422
        gap = {"id": "gap", "record": {"when": rows[0][1], "sky": "fog"}}
        assert server.http.post("/v1/streams/f/examples", json=gap).status_code == 422
        assert server.http.post("/v1/streams/f/examples", json=body[0]).json() == answer.json()[0]


def test_export_and_import_errors_are_one_line(tmp_path, command):
    code, text = command("export", "none", "s.qufur")
    assert (code, "must be an existing store" in text, text.count("\n")) == (2, True, 1)
    with running(opened(tmp_path)) as server:
        server.http.timeout = 60
        server.http.post("/v1/streams", json={"name": "a", "dim": 1})
        assert command("export", "b", "s.qufur") == (2, "qufur: There is no stream 'b'.\n")
        assert command("export", "a", "s.qufur")[0] == 0
        code, text = command("export", "a", "s.qufur")
        assert (code, "a new file" in text) == (2, True)
        code, text = command("import", "s.qufur", "--name", "c")
        assert (code, "Another server writes" in text) == (2, True)
    code, text = command("import", "s.qufur", "--name", "a")
    assert (code, text) == (2, "qufur: Stream 'a' exists already.\n")
    assert command("import", "s.qufur", "--name", "no/name")[0] == 2
    assert command("import", "labels.db")[0] == 2
    (tmp_path / "t.csv").write_text("at,x\n2024-01-01,1\n2024-02-01,2\n")
    assert command("ask", "t.csv", "--per", "month", "2", "--state", "p.qufur", "-o", "o.csv")[0] == 0
    code, text = command("import", "p.qufur")
    assert (code, "per period" in text) == (2, True)
