"""The demo: deterministic, and resumed after restarts."""

import gzip
import time

import pytest
from tests.service.conftest import opened, running

from qufur.service import demo
from qufur.service.config import StreamConfig
from qufur.service.demo import Demonstration, Material, attach, material, synthetic
from qufur.service.rebuild import load
from qufur.service.service import Service
from qufur.service.writer import Writer


@pytest.fixture(autouse=True)
def short(monkeypatch):
    """Use a short demo with a fast model."""
    full = synthetic()
    small = StreamConfig("domains", dim=30, label_range=(-1, 1), model="ridge", budget="20%")
    monkeypatch.setattr(demo, "HEAD_START", 80)
    monkeypatch.setattr(
        demo, "material", lambda: Material(full.title, small, full.examples[:120], full.labels[:120])
    )


def shown(folder, stops):
    """Run the demo to its end with restarts after these numbers of steps; return the state of the stream."""
    for steps in stops:
        store = opened(folder)
        writer = Writer(Service(store))
        writer.start()
        one = Demonstration(demo.material())
        one.sent = writer.call(one._begin)
        for _ in range(steps):
            one.step(writer)
        writer.stop()
        store.close()
    store = opened(folder, writing=False)
    stream = load(store, 1)
    store.close()
    return one.sent, len(stream.workbook.labels), list(stream.waiting), stream.digest()


def test_demo_is_deterministic_with_and_without_restarts(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    first = shown(tmp_path / "a", [23])
    assert first == shown(tmp_path / "b", [1, 4, 18])
    sent, labels, waiting, _ = first
    assert (sent, waiting) == (120, [])
    assert labels > 10


def test_demo_leaves_queries_to_people_when_the_annotator_is_off(tmp_path):
    store = opened(tmp_path)
    server = running(store)
    attach(server.app, pace=0.005)
    with server as service:
        while service.http.get("/demo").json()["rows"] < 40:
            time.sleep(0.01)
        state = service.http.post("/demo/annotator", json={"on": False}).json()
        assert (state["stream"], state["annotator"], state["of"]) == ("domains", False, 120)
        while service.http.get("/demo").json()["rows"] < 120:
            time.sleep(0.01)
        told = service.http.get("/v1/streams/domains").json()["told"]
        lease = service.http.post("/v1/streams/domains/queue/lease", json={"person": "ada"}).json()
        id = lease["rows"][0]["id"]
        assert service.http.put(f"/v1/streams/domains/examples/{id}/label", json={"label": 0.1}).json()["new"]
        assert service.http.get("/v1/streams/domains").json()["told"] == told + 1
        assert service.http.post("/demo/annotator", json={"on": 1}).status_code == 422
        assert service.http.post("/demo/annotator", json={"on": True}).json()["annotator"]
        while service.http.get("/v1/streams/domains").json()["outstanding"]:
            time.sleep(0.01)
        events = service.http.get("/v1/streams/domains/events?limit=1000").json()["events"]
        assert {event["actor"] for event in events} == {"demo", "simulated annotator", "local"}


def test_demo_uses_bikes_if_cached_and_synthetic_domains_otherwise(monkeypatch, tmp_path):
    monkeypatch.setenv("QUFUR_DATA", str(tmp_path))
    monkeypatch.setattr("qufur.data.files.cache_folder", lambda: tmp_path)
    assert material().config.name == "domains"
    (tmp_path / "tables").mkdir()
    header = "season,yr,mnth,hr,holiday,weekday,workingday,weathersit,temp,atemp,hum,windspeed,cnt"
    with gzip.open(tmp_path / "tables" / "bike_hour.csv.gz", "wt") as file:
        file.write(f"{header}\n1, 0, 1, 5, 0, 6, 0, 2, 0.24, 0.2576, 0.75, 0.0896, 16\n")
    bikes = material()
    (example,) = bikes.examples
    assert (example.id, bikes.labels) == ("row-1", [16.0])
    assert example.record["weather"] == "mist"
    assert set(example.record) == set(bikes.config.columns)
    bikes.config.check()
