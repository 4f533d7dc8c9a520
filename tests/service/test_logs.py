"""The log and the metrics: every request and service event, but no input, label or key."""

import contextlib
import io
import json
import logging
import re

import numpy as np
import pytest
from sqlalchemy.exc import OperationalError
from tests.service.conftest import opened, running

from qufur.service import logs
from qufur.service.auth import Keys
from qufur.service.service import Service
from qufur.service.store import Store

INPUT, LABEL, WORD, OTHER = 8642097.53125, 0.7530864297, "zebrafish", "axolotl"
METRIC_TYPES = {
    "qufur_requests_total": "counter",
    "qufur_request_seconds": "histogram",
    "qufur_ready": "gauge",
    "qufur_commands_waiting": "gauge",
    "qufur_groups_total": "counter",
    "qufur_failed_commits_total": "counter",
    "qufur_commit_seconds": "summary",
    **{
        f"qufur_stream_{name}": "gauge" for name in ("rows", "told", "spent", "left", "outstanding", "events")
    },
}
PLANTED = ["8642097", "7530864297", WORD, OTHER]


@pytest.fixture
def log():
    """Bytes logged during the test."""
    file, loggers = io.BytesIO(), (logs.EVENTS, logs.SERVER)
    before = [(logger.level, logger.propagate) for logger in loggers]
    file.lines = logs.log_to(file)
    yield file
    for logger, (level, propagate) in zip(loggers, before, strict=True):
        logger.removeHandler(file.lines)
        logger.setLevel(level)
        logger.propagate = propagate


def lines(log):
    return [json.loads(line) for line in log.getvalue().splitlines()]


def requests(log):
    return [line for line in lines(log) if line["event"] == "request"]


def test_log_has_a_line_per_request(tmp_path, log):
    with running(opened(tmp_path), log=log.lines) as server:
        name = server.stream(rule="uniform")
        row = {"id": WORD, "x": [INPUT, 1.0]}
        answer = server.http.post(
            f"/v1/streams/{name}/examples", json=row, headers={"X-Request-Id": "mine-1"}
        )
        assert answer.headers["x-request-id"] == "mine-1"
        server.http.put(f"/v1/streams/{name}/examples/{WORD}/label", json={"label": LABEL})
        server.http.delete(f"/v1/streams/{name}/examples/{WORD}/label")
        missing = server.http.get(f"/{WORD}")
        server.http.get("/v1/streams/none")
    entries = requests(log)
    assert [(one["method"], one["route"], one["status"]) for one in entries] == [
        ("POST", "/v1/streams", 201),
        ("POST", "/v1/streams/{stream}/examples", 200),
        ("PUT", "/v1/streams/{stream}/examples/{id}/label", 200),
        ("DELETE", "/v1/streams/{stream}/examples/{id}/label", 200),
        ("GET", "unknown", 404),
        ("GET", "/v1/streams/{stream}", 404),
    ]
    assert [one["stream"] for one in entries] == [None, name, name, name, None, "none"]
    assert [one["key"] for one in entries] == ["local"] * 4 + [None, "local"]
    assert entries[1]["request"] == "mine-1"
    assert entries[4]["request"] == missing.headers["x-request-id"]
    assert len({one["request"] for one in entries}) == 6
    assert all(0 < one["ms"] < 10_000 for one in entries)
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", one["at"]) for one in entries)
    assert not [word for word in PLANTED if word in log.getvalue().decode()]


def test_log_has_start_and_stop_of_the_service(tmp_path, log, monkeypatch):
    first = opened(tmp_path)
    with running(first, log=log.lines) as server:
        name = server.stream()
        with contextlib.closing(opened(tmp_path, takeover=True)):
            assert (
                server.http.post(f"/v1/streams/{name}/examples", json={"id": 1, "x": [1, 0]}).status_code
                == 503
            )
            assert server.http.get("/readyz").status_code == 503
            assert "qufur_ready 0.0" in server.http.get("/metrics").text
    events = [line["event"] for line in lines(log) if line["event"] != "request"]
    assert events[0] == "started"
    assert any(event.startswith("Fenced") for event in events)
    assert events[-1] == "stopped"


def test_log_has_takeovers_and_snapshots(tmp_path, log):
    with contextlib.closing(opened(tmp_path)), running(opened(tmp_path, takeover=True)) as server:
        name = server.stream()
        server.http.post(f"/v1/streams/{name}/examples", json={"id": 1, "x": [1, 0]})
    events = {line["event"]: line for line in lines(log)}
    assert events["started"]["takeover"] is True
    assert (events["snapshot"]["stream"], events["snapshot"]["events"]) == (name, 2)


def fail(*arguments, **options):
    raise ValueError(f"{WORD} {INPUT} {LABEL}")


def lose(*arguments, **options):
    raise OperationalError(f"INSERT {WORD}", {"payload": f"{INPUT} {LABEL}"}, OSError("disk full"))


def test_log_has_failures_without_values(tmp_path, log, monkeypatch):
    with running(opened(tmp_path), log=log.lines) as server:
        name = server.stream()
        row = {"id": WORD, "x": [INPUT, 1.0]}
        with monkeypatch.context() as patch:
            patch.setattr(Service, "ask", fail)
            assert server.http.post(f"/v1/streams/{name}/examples", json=row).status_code == 500
        with monkeypatch.context() as patch:
            patch.setattr(Store, "append", lose)
            assert server.http.post(f"/v1/streams/{name}/examples", json=row).status_code == 503
        assert server.http.post(f"/v1/streams/{name}/examples", json=row).status_code == 200
    errors = [line for line in lines(log) if line["level"] == "error"]
    assert {line.get("error") for line in errors} == {"ValueError", None}
    assert any("test_logs.py" in place for line in errors for place in line.get("where", []))
    assert any("disk full" in line["event"] for line in errors)
    assert [one["status"] for one in requests(log)] == [201, 500, 503, 200]
    assert not [word for word in PLANTED if word in log.getvalue().decode()]


def everywhere(server, name):
    """Send valid and invalid values to every route that accepts some."""
    base, label = f"/v1/streams/{name}", {"label": WORD}
    record = {"record": {"temp": INPUT, WORD: OTHER}}
    bodies = [
        {"id": WORD, **record},
        [{"id": OTHER, **record}],
        {"id": WORD, "x": [INPUT]},
        WORD,
        {WORD: WORD},
    ]
    bodies += [
        {"person": WORD},
        {"person": WORD, "ids": [WORD]},
        {"labels": WORD},
        label,
        [label | {"id": WORD}],
    ]
    bodies += [[{"id": WORD, **label, **record}], {"name": WORD, "dim": INPUT}]
    file = io.BytesIO()
    np.save(file, np.full((1, 2), INPUT))
    for path in (
        "/examples",
        "/predict",
        "/learn",
        "/labels",
        "/queue/lease",
        "/queue/release",
        "/budget",
        f"/{WORD}",
    ):
        for body in bodies:
            server.http.post(base + path, json=body, params={"replace": WORD} if path == "/labels" else {})
        server.http.post(
            base + path, content=f"{WORD} {INPUT}", headers={"X-Other": OTHER, "User-Agent": WORD}
        )
        server.http.post(base + path, content=file.getvalue(), headers={"Content-Type": "application/x-npy"})
    for body in bodies:
        server.http.put(f"{base}/examples/{WORD}/label", json=body)
        server.http.post("/v1/streams", json=body)
    server.http.delete(f"{base}/examples/{WORD}/label")
    server.http.post(f"{base}/examples/{OTHER}/decline")
    server.http.get(f"{base}/queue", params={"limit": WORD}, headers={"X-Request-Id": f"{WORD}!"})
    server.http.get(f"{base}/events", params={"after": INPUT})
    server.http.get(base, headers={"Authorization": f"Bearer {WORD}", "Cookie": f"qufur_key={WORD}"})


def test_log_has_no_input_label_or_key(tmp_path, log):
    store = opened(tmp_path)
    key = Keys(store).add("ada", ["admin"])
    with running(store, log=log.lines, Authorization=f"Bearer {key}") as server:
        name = server.stream(
            columns={"temp": "number", WORD: "category"}, classes=[WORD, OTHER], budget="100%"
        )
        everywhere(server, name)
        happened = server.http.get(f"/v1/streams/{name}/events").json()["events"]
        assert {"asked", "told", "untold", "retracted"} <= {event["kind"] for event in happened}
        assert WORD not in server.http.get("/metrics").text
    text = log.getvalue().decode()
    assert text.count('"event":"request"') > 100
    assert {one["key"] for one in requests(log)} == {"ada", None}
    assert not [word for word in [*PLANTED, key, key.split("_")[2]] if word in text]


def test_log_check_detects_a_value(log):
    logging.getLogger("qufur.service").info("label %s", WORD)
    assert WORD in log.getvalue().decode()


def test_requests_succeed_when_the_log_cannot_be_written(tmp_path):
    class Full:
        def write(self, line):
            raise OSError("no space")

    with running(opened(tmp_path), log=logs.JsonLogHandler(Full())) as server:
        assert server.http.get("/healthz").is_success


def test_metrics_count_requests_streams_and_commits(tmp_path):
    with running(opened(tmp_path)) as server:
        name = server.stream(rule="uniform", budget=5, horizon=5)
        rows = [{"id": number, "x": [1.0, 0.0]} for number in range(3)]
        server.http.post(f"/v1/streams/{name}/examples", json=rows)
        server.http.put(f"/v1/streams/{name}/examples/1/label", json={"label": 0.5})
        server.http.get("/nothing")
        text = server.http.get("/metrics").text
    for line in (
        'qufur_requests_total{method="POST",route="/v1/streams/{stream}/examples",status="200"} 1.0',
        'qufur_requests_total{method="GET",route="unknown",status="404"} 1.0',
        'qufur_request_seconds_count{route="/v1/streams/{stream}/examples/{id}/label"} 1.0',
        *(f'qufur_stream_rows{{stream="{name}"}} 3.0', f'qufur_stream_told{{stream="{name}"}} 1.0'),
        *(f'qufur_stream_spent{{stream="{name}"}} 3.0', f'qufur_stream_left{{stream="{name}"}} 2.0'),
        *(f'qufur_stream_outstanding{{stream="{name}"}} 2.0', "qufur_ready 1.0"),
        *("qufur_commit_seconds_sum", "qufur_failed_commits_total 0.0", "qufur_commands_waiting"),
    ):
        assert line in text, line
    types = dict(re.findall(r"^# TYPE (\w+) (\w+)$", text, re.MULTILINE))
    assert types == METRIC_TYPES
    samples = {
        re.sub("_(bucket|sum|count)$", "", name) for name in re.findall(r"^(\w+)[ {]", text, re.MULTILINE)
    }
    assert samples == set(types)
    buckets = re.findall(r'_bucket\{le="([^"]+)",route="unknown"\} ([\d.]+)', text)
    assert [bound for bound, _ in buckets] == [
        *("0.001", "0.002", "0.005", "0.01", "0.02", "0.05", "0.1", "0.5", "2.0", "+Inf")
    ]
    assert buckets[-1] == ("+Inf", "1.0")
