"""The demonstration: the same each time, through the same door as everybody, and on where it was."""

import gzip
import time

import pytest
from tests.service.conftest import opened, running

from qufur.service import demonstrated, demonstration
from qufur.service.demonstrated import Material, made_up
from qufur.service.demonstration import Demonstration, attach
from qufur.service.description import Description
from qufur.service.loading import load
from qufur.service.service import Service
from qufur.service.writer import Writer


@pytest.fixture(autouse=True)
def short(monkeypatch):
    """Show little, of a model that costs little."""
    found = made_up()
    small = Description("domains", dim=30, label_range=(-1, 1), model="ridge", budget="20%")
    monkeypatch.setattr(demonstration, "HEAD_START", 80)
    monkeypatch.setattr(
        demonstration, "material", lambda: Material(found.title, small, found.rows[:120], found.labels[:120])
    )


def shown(folder, stops):
    """Return the digest of a stream that is shown to its end, with a restart after so many steps each."""
    for steps in stops:
        store = opened(folder)
        writer = Writer(Service(store))
        writer.start()
        one = Demonstration(demonstration.material())
        one.sent = writer.call(one._begin)
        for _ in range(steps):
            one.step(writer)
        writer.stop()
        store.close()
    store = opened(folder, writing=False)
    stream = load(store, 1)
    store.close()
    return one.sent, len(stream.book.told), list(stream.waiting), stream.digest()


def test_it_goes_the_same_way_with_restarts_and_without(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    first = shown(tmp_path / "a", [23])
    assert first == shown(tmp_path / "b", [1, 4, 18])
    sent, told, waiting, _ = first
    assert (sent, waiting) == (120, [])
    assert told > 10


def test_a_person_takes_over(tmp_path):
    store = opened(tmp_path)
    server = running(store)
    attach(server.app, pace=0.005)
    with server as found:
        while found.http.get("/demo").json()["rows"] < 40:
            time.sleep(0.01)
        state = found.http.post("/demo/annotator", json={"on": False}).json()
        assert (state["stream"], state["annotator"], state["of"]) == ("domains", False, 120)
        while found.http.get("/demo").json()["rows"] < 120:
            time.sleep(0.01)
        told = found.http.get("/v1/streams/domains").json()["told"]
        lease = found.http.post("/v1/streams/domains/queue/lease", json={"person": "ada"}).json()
        id = lease["rows"][0]["id"]
        assert found.http.put(f"/v1/streams/domains/examples/{id}/label", json={"label": 0.1}).json()["new"]
        assert found.http.get("/v1/streams/domains").json()["told"] == told + 1
        assert found.http.post("/demo/annotator", json={"on": 1}).status_code == 422
        assert found.http.post("/demo/annotator", json={"on": True}).json()["annotator"]
        while found.http.get("/v1/streams/domains").json()["outstanding"]:
            time.sleep(0.01)
        events = found.http.get("/v1/streams/domains/events?limit=1000").json()["events"]
        assert {event["actor"] for event in events} == {"demo", "simulated annotator", "local"}


def test_bikes_are_shown_where_they_are_and_domains_where_not(monkeypatch, tmp_path):
    monkeypatch.setenv("QUFUR_DATA", str(tmp_path))
    monkeypatch.setattr("qufur.data.places.cache_folder", lambda: tmp_path)
    assert demonstrated.material().description.name == "domains"
    (tmp_path / "tables").mkdir()
    header = "season,yr,mnth,hr,holiday,weekday,workingday,weathersit,temp,atemp,hum,windspeed,cnt"
    with gzip.open(tmp_path / "tables" / "bike_hour.csv.gz", "wt") as file:
        file.write(f"{header}\n1, 0, 1, 5, 0, 6, 0, 2, 0.24, 0.2576, 0.75, 0.0896, 16\n")
    found = demonstrated.material()
    (example,) = found.examples(0, 9)
    assert (example.id, found.label("row-1"), found.place("row-2"), found.place("1")) == (
        "row-1",
        16.0,
        None,
        None,
    )
    assert example.record["weather"] == "mist"
    assert set(example.record) == set(found.description.columns)
    found.description.check()
