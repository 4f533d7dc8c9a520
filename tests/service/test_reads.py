"""Reads: they run outside the writer thread, decode each event once, and return the current data."""

import threading

import pytest
from msgspec import convert
from tests.service.conftest import opened

from qufur import Learner
from qufur.service import recorded_answers, views
from qufur.service.config import StreamConfig
from qufur.service.erasure import erase
from qufur.service.examples import Example, PredictionRequest, read_examples, read_inputs
from qufur.service.openapi import document
from qufur.service.recorded_answers import RecordedAnswers
from qufur.service.service import Service
from qufur.service.store import Store
from qufur.service.store.events import Event, Payload
from qufur.service.stream import Stream
from qufur.service.views import copy_for_reports
from qufur.tables import Batch

WRITER = "qufur-writer"
KINDS = {
    "numbers": {},
    "records": {"columns": {"wind": "number", "gate": "category"}, "budget": "100%"},
    "classes": {
        "columns": {"wind": "number", "gate": "category"},
        "budget": "100%",
        "classes": ["no", "yes"],
    },
}


def ask(server, name, kind, count, prefix="r"):
    """Send examples in one request; return the answers by id."""
    body = [
        {"id": f"{prefix}{place}"}
        | (
            {"x": [place / count, 1.0]}
            if kind == "numbers"
            else {"record": {"wind": float(place), "gate": "AB"[place % 2]}}
        )
        for place in range(count)
    ]
    answer = server.http.post(f"/v1/streams/{name}/examples", json=body)
    assert answer.status_code == 200, answer.text
    return {one["id"]: one | example for one, example in zip(answer.json(), body, strict=True)}


def lease(server, name, count=100, person="ada", **more):
    body = {"person": person, "count": count, **more}
    answer = server.http.post(f"/v1/streams/{name}/queue/lease", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()["rows"]


def prediction_inside(stream, body):
    """Return predictions and Δ of the stream itself, as the writer thread has it."""
    inputs = read_inputs(stream.config, [convert(each, PredictionRequest) for each in body])
    learner = stream.workbook.learner
    X = stream.workbook.encoding.encode(inputs) if isinstance(inputs, Batch) else inputs
    return list(zip(learner.predict(X).tolist(), learner.uncertainty(X).tolist(), strict=True))


@pytest.fixture
def threads(monkeypatch):
    """Names of the threads of all calls, by the name of the function that reads or computes."""
    found = {}

    def record(owner, name):
        original = getattr(owner, name)

        def recorded(*arguments, **options):
            found.setdefault(name, []).append(threading.current_thread().name)
            return original(*arguments, **options)

        monkeypatch.setattr(owner, name, recorded)

    for owner, name in (
        *((Store, name) for name in ("find", "event", "events", "events_at")),
        (Payload, "from_bytes"),
        (Event, "checked_payload"),
        (RecordedAnswers, "answers"),
        (views, "series_of"),
        (views, "report_of"),
        (Learner, "predict"),
        (Stream, "digest"),
    ):
        record(owner, name)
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_leased_rows_have_their_own_answers(server, stream, kind):
    name = stream(**KINDS[kind])
    said = ask(server, name, kind, 7) | ask(server, name, kind, 5, "s")
    wanted = [id for id, one in said.items() if one["query"]]
    rows = lease(server, name, ids=wanted[::-2])
    assert sorted(row["id"] for row in rows) == sorted(wanted)
    shown = "x" if kind == "numbers" else "record"
    for row in rows:
        expected = said[row["id"]]
        assert {key: row[key] for key in ("prediction", "why", shown)} == {
            key: expected[key] for key in ("prediction", "why", shown)
        }


def test_leasing_opens_a_large_request_once_and_decodes_only_the_leased_rows(
    server, stream, threads, monkeypatch
):
    name = stream(rule="uniform")
    ask(server, name, "numbers", 1000)
    decoded, answered = [], []
    monkeypatch.setattr(
        recorded_answers,
        "decode",
        lambda part, decode=recorded_answers.decode: (decoded.append(part), decode(part))[1],
    )
    said = RecordedAnswers.answers
    monkeypatch.setattr(
        RecordedAnswers,
        "answers",
        lambda self, model, ids, *places: (answered.extend(ids), said(self, model, ids, *places))[1],
    )
    threads.clear()
    rows = lease(server, name)
    assert len(rows) == len(decoded) == len(answered) == 100
    assert len(threads["checked_payload"]) == len(threads["from_bytes"]) == 1
    assert WRITER not in threads["checked_payload"]


def test_reads_decode_events_and_compute_reports_outside_the_writer_thread(server, stream, threads):
    name = stream(rule="uniform")
    ask(server, name, "numbers", 30)
    server.http.put(f"/v1/streams/{name}/examples/r1/label", json={"label": 0.5})
    paths = document(server.app.routes)["paths"]
    reads = [path for path, verbs in paths.items() if "get" in verbs and path.startswith("/v1/")]
    assert {"/v1/streams/{stream}/queue", "/v1/streams/{stream}/report"} <= set(reads)
    threads.clear()
    for path in reads:
        answer = server.http.get(path.replace("{stream}", name))
        assert answer.status_code == 200, (path, answer.text)
    assert lease(server, name, 20)
    assert len(server.http.get(f"/v1/streams/{name}?digest=true").json()["digest"]) == 64
    assert server.http.post(f"/v1/streams/{name}/predict", json={"x": [0.5, 1.0]}).status_code == 200
    assert threads.keys() >= {
        "digest",
        "predict",
        "events",
        "events_at",
        "find",
        "checked_payload",
        "answers",
        "series_of",
        "report_of",
    }
    assert {called: WRITER in by for called, by in threads.items()} == dict.fromkeys(threads, False)


@pytest.mark.parametrize("kind", KINDS)
def test_predictions_and_digest_outside_the_writer_are_those_of_the_stream(server, stream, kind):
    name = stream(**KINDS[kind])
    answers = ask(server, name, kind, 40)
    for id in list(answers)[:30]:
        label = "yes" if kind == "records" else 0.5
        server.http.put(f"/v1/streams/{name}/examples/{id}/label", json={"label": label})
    settled = server.http.get(f"/v1/streams/{name}?digest=true").json()
    digest, events = server.app.state.writer.call(
        lambda service: (service.stream(name).digest(), service.stream(name).seq)
    )
    assert (settled["digest"], settled["events"]) == (digest, events)
    body = [{key: answers[id][key] for key in ("x", "record") if key in answers[id]} for id in answers]
    predictions = server.http.post(f"/v1/streams/{name}/predict", json=body).json()
    inside = server.app.state.writer.call(lambda service: prediction_inside(service.stream(name), body))
    assert [(each["prediction"], each["uncertainty"]) for each in predictions] == inside


def test_row_erased_while_it_is_leased_is_not_shown(server, stream, monkeypatch):
    name = stream(rule="uniform")
    ask(server, name, "numbers", 3)

    def look_up(*arguments):
        server.app.state.writer.call(lambda service: erase(service, name, ["r1"], "test"))
        return recorded_answers.look_up(*arguments)

    monkeypatch.setattr("qufur.service.routes.labels.look_up", look_up)
    assert [row["id"] for row in lease(server, name)] == ["r0", "r2"]
    monkeypatch.undo()
    assert [row["id"] for row in lease(server, name)] == ["r0", "r2"]


def test_row_is_leased_as_soon_as_it_was_answered(server, stream):
    name = stream(rule="uniform")
    for place in range(20):
        answer = server.http.post(f"/v1/streams/{name}/examples", json={"id": f"a{place}", "x": [place, 1.0]})
        assert answer.json()["query"]
        (row,) = lease(server, name, 1, f"p{place}")
        assert (row["id"], row["x"]) == (f"a{place}", [place, 1.0])


def test_unreadable_store_gives_an_error_response_and_aborts_no_write(server, stream, monkeypatch):
    name = stream(rule="uniform")
    ask(server, name, "numbers", 3)

    def broken(*arguments):
        raise OSError("gone")

    monkeypatch.setattr(Store, "events_at", broken)
    answer = server.http.post(f"/v1/streams/{name}/queue/lease", json={"person": "ada"})
    assert answer.status_code == 503
    assert "cannot be read" in answer.json()["error"]
    assert server.http.put(f"/v1/streams/{name}/examples/r0/label", json={"label": 0.5}).status_code == 200


@pytest.mark.parametrize("kind", KINDS)
def test_reports_of_a_copy_are_those_of_the_stream_at_that_time(tmp_path, kind):
    settings = KINDS[kind] or {"dim": 2, "model": "ridge", "label_range": (-9.0, 9.0), "budget": "100%"}
    config = StreamConfig("s", **settings)
    store = opened(tmp_path)
    service = Service(store)
    service.create(config, "test")

    def work(first):
        shape = (
            (lambda place: {"x": [place / 300, 1.0]})
            if kind == "numbers"
            else (lambda place: {"record": {"wind": place / 300, "gate": "AB"[place % 2]}})
        )
        examples = [Example(f"r{place}", **shape(place)) for place in range(first, first + 300)]
        said = service.ask("s", read_examples(config, examples), "test")
        wanted = [one.id for one in said if one.query]
        labels = {id: float(place % 2) for place, id in enumerate(wanted[:-5])}
        service.tell("s", labels, "test", replace=False, accept_outliers=True)
        service.commit()

    def reports(stream):
        return [of(stream) for of in (views.status, views.series_of, views.report_of, views.experts_of)]

    work(0)
    stream = service.stream("s")
    before, copy = reports(stream), copy_for_reports(stream)
    work(300)
    assert reports(copy)[1:] == before[1:]
    assert reports(copy_for_reports(stream)) == reports(stream)
    assert reports(stream)[1:] != before[1:]
    store.close()
