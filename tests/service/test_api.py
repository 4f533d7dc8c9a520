"""Responses of the HTTP API, and requests that are rejected without changing anything."""

import io
import json
import socket
from dataclasses import dataclass, field

import numpy as np
import pytest

X = {"x": [1.0, 0.5]}
LONG = "a" * 201


def npy(array, **options):
    """Return an array in NumPy's format."""
    file = io.BytesIO()
    np.save(file, array, **options)
    return file.getvalue()


# Valid requests


@pytest.fixture
def here(server, stream):
    """Send a request below the path of a stream that queries every label."""
    name = stream(rule="uniform")

    def ask(verb, path, status=200, **options):
        answer = server.http.request(verb, f"/v1/streams/{name}{path}", **options)
        assert answer.status_code == status, answer.text
        assert answer.headers["content-type"] == "application/json"
        return answer.json()

    return ask


def test_stream_is_created_once(server):
    body = {"name": "bikes", "dim": 88, "label_range": [0, 9], "model": "ridge"}
    first = server.http.post("/v1/streams", json=body)
    again = server.http.post("/v1/streams", json=body)
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json() == again.json() == server.http.get("/v1/streams/bikes").json()
    assert first.json() == {
        **{"name": "bikes", "dim": 88, "columns": None, "classes": None, "label_range": [0.0, 9.0]},
        **{
            "model": "ridge",
            "rule": "paced",
            "budget": 0.05,
            "rows": 0,
            "spent": 0,
            "left": first.json()["left"],
        },
        **{"outstanding": 0, "told": 0, "events": 1, "digest": None},
    }
    assert "bikes" in [state["name"] for state in server.http.get("/v1/streams").json()["streams"]]
    other = server.http.post("/v1/streams", json=body | {"dim": 89})
    assert other.status_code == 409


def test_single_example_returns_single_object(here):
    answers = here("POST", "/examples", json={"id": "a7", **X})
    fields = {"id", "prediction", "interval", "uncertainty", "probability", "query", "why"}
    assert set(answers) == fields
    assert (answers["id"], answers["prediction"], answers["query"]) == ("a7", 0.0, True)
    assert answers["interval"] == [-1.0, 1.0]
    assert answers["why"].startswith("Queried: uncertainty")
    assert here("POST", "/examples", json={"id": "a7", **X}) == answers
    assert here("POST", "/examples", json=[{"id": "a7", **X}]) == [answers]
    assert here("GET", "")["rows"] == 1


def test_list_of_examples_returns_list_of_answers(here):
    answers = here("POST", "/examples", json=[{"id": 1, **X}, {"id": "b", **X}, {"id": "1", **X}])
    assert [one["id"] for one in answers] == ["1", "b", "1"]
    assert answers[0] == answers[2]
    assert here("POST", "/examples", json=[]) == []
    assert here("GET", "")["rows"] == 2


@pytest.mark.parametrize("kind", ["<f4", "<f8", ">f8", "<f2"])
def test_matrix_returns_list_of_answers(here, kind):
    body = npy(np.array([[1.0, 0.5], [0.0, 0.25]], dtype=kind))
    headers = {"Content-Type": "application/x-npy", "X-First-Id": "7"}
    answers = here("POST", "/examples", content=body, headers=headers)
    assert [one["id"] for one in answers] == ["7", "8"]
    assert answers == here("POST", "/examples", json=[{"id": 7, **X}, {"id": 8, "x": [0.0, 0.25]}])
    named = here("POST", "/examples", content=body, headers=headers | {"X-Id-Prefix": "row-"})
    assert [one["id"] for one in named] == ["row-7", "row-8"]
    predicted = here("POST", "/predict", content=body, headers=headers)
    assert predicted == here("POST", "/predict", json=[X, {"x": [0.0, 0.25]}])


def test_records_accept_cells_of_any_type(server, stream):
    path = f"/v1/streams/{stream(columns={'temp': 'number', 'sky': 'category'}, budget='100%')}/examples"
    for number, temp in enumerate([10**30, -1e49, 0, None]):
        for place, sky in enumerate(["grey", "", " ", True, 7, 1.5, None, "\0", "a\nb", "🌧"]):
            record = {"temp": temp, "sky": sky}
            answer = server.http.post(path, json={"id": f"{number}-{place}", "record": record})
            assert answer.is_success, (record, answer.text)
    whole, point = ({"id": "a", "record": {"temp": temp}} for temp in (1, 1.0))
    assert server.http.post(path, json=whole).json() == server.http.post(path, json=point).json()


@pytest.mark.parametrize(
    ("text", "readings"),
    [
        ("1500", {".": 1500}),
        ("1,500", {".": 1500, ",": 1.5}),
        ("1.500", {".": 1.5, ",": 1500}),
        ("1,500.25", {".": 1500.25}),
        ("1.500,25", {",": 1500.25}),
        ("1 500,25", {",": 1500.25}),
        ("-0,5", {",": -0.5}),
        ("12 %", {".": 0.12}),
        ("€ 3", {".": 3}),
        ("1e2", {".": 100}),
        ("0x10", {}),
        ("Infinity", {}),
        ("", {}),
        ("1" * 200, {}),
    ],
)
def test_typed_number_is_read_by_the_rules_for_tables(here, text, readings):
    parsed = here("POST", "/labels/parse", json={"text": text})["readings"]
    assert {reading["decimal"]: reading["label"] for reading in parsed} == readings


def test_typed_number_for_a_stream_of_classes_is_rejected(server, stream):
    name = stream(dim=2, classes=["a", "b"])
    answer = server.http.post(f"/v1/streams/{name}/labels/parse", json={"text": "1"})
    assert (answer.status_code, "whose labels are numbers" in answer.text) == (422, True)


@pytest.mark.parametrize("id", [".", "..", "a/b", "a"])
def test_rows_named_in_the_body_are_labelled_removed_and_declined(here, id):
    here("POST", "/examples", json={"id": id, **X})
    assert here("POST", "/labels", json=[{"id": id, "label": 0.5}]) == {"new": 1, "known": 0}
    assert here("POST", "/labels/remove", json={"id": id}) == {"id": id}
    assert here("GET", "")["told"] == 0
    assert here("POST", "/labels/decline", json={"id": id}) == {"id": id}
    assert here("GET", "")["outstanding"] == 0
    here("POST", "/labels/decline", 409, json={"id": id})
    here("POST", "/labels/remove", 404, json={"id": f"{id}!"})


def test_labels_are_stored_removed_and_replaced(here):
    here("POST", "/examples", json=[{"id": id, **X} for id in "abc"])
    assert here("PUT", "/examples/a/label", json={"label": 0.5}) == {"id": "a", "label": 0.5, "new": True}
    assert here("PUT", "/examples/a/label", json={"label": 0.5})["new"] is False
    here("PUT", "/examples/a/label", 409, json={"label": 0.25})
    assert here("PUT", "/examples/a/label?replace=true", json={"label": 0.25})["new"] is True
    both = [{"id": "a", "label": 0.25}, {"id": "b", "label": 1}]
    assert here("POST", "/labels", json=both) == {"new": 1, "known": 1}
    assert here("DELETE", "/examples/a/label") == here("DELETE", "/examples/a/label") == {"id": "a"}
    assert here("GET", "/queue")["waiting"] == 2
    assert here("POST", "/examples/c/decline") == {"id": "c"}
    assert here("POST", "/labels", json=[]) == {"new": 0, "known": 0}
    state = here("GET", "")
    assert (state["rows"], state["told"], state["outstanding"]) == (3, 1, 1)


def test_rows_are_leased_to_annotators(here):
    here("POST", "/examples", json=[{"id": id, **X} for id in "abc"])
    first = here("POST", "/queue/lease", json={"person": "ada", "count": 2})
    assert [row["id"] for row in first["rows"]] == ["a", "b"]
    assert first["waiting"] == 3
    assert first["rows"][0]["x"] == X["x"]
    assert [row["id"] for row in here("POST", "/queue/lease", json={"person": "bob"})["rows"]] == ["c"]
    assert here("POST", "/queue/lease", json={"person": "eve"})["rows"] == []
    assert here("GET", "/queue?limit=1")["rows"][0]["leased_to"] == "ada"
    here("POST", "/queue/release", json={"person": "ada", "ids": ["a"]})
    queue = here("GET", "/queue")
    assert (queue["leased"], queue["rows"][0]["leased_to"]) == (2, None)
    assert queue["oldest_seconds"] >= 0


def test_status_series_report_model_and_events_respond(here):
    here("POST", "/examples", json=[{"id": id, **X} for id in "abc"])
    here("PUT", "/examples/a/label", json={"label": 0.5})
    assert here("POST", "/predict", json=X)["prediction"] > 0
    assert here("POST", "/predict", json=[]) == []
    assert here("POST", "/learn", json=[{"id": "free", "label": 1, **X}]) == {"new": 1, "known": 0}
    assert here("POST", "/learn", json=[{"id": "free", "label": 1, **X}]) == {"new": 0, "known": 1}
    assert here("GET", "/series")["spent"][-1] == 3
    assert here("GET", "/report")["experts"] is None
    assert here("GET", "/model")["model"] == "Ridge"
    kinds = [event["kind"] for event in here("GET", "/events?after=1&limit=2")["events"]]
    assert kinds == ["asked", "told"]
    assert here("GET", "/events?after=99") == {"events": [], "next": 99}
    assert len(here("GET", "?digest=true")["digest"]) == 64


def test_budget_is_increased(server, stream):
    name = stream(budget=3, horizon=9)
    state = server.http.post(f"/v1/streams/{name}/budget", json={"labels": 2}).json()
    assert (state["budget"], state["left"]) == (5, 5)


def test_erasure_accepts_any_id(here):
    for id in ("erased 0", "0", "gone"):
        here("POST", "/examples", json={"id": id, **X})
    assert here("POST", "/erase", json={"ids": ["gone"]}) == {"erased": 1, "parts": 1}
    state = here("GET", "")
    assert (state["rows"], state["spent"], state["outstanding"]) == (3, 3, 2)


def test_health_readiness_metrics_and_openapi_respond(server):
    assert server.http.get("/healthz").json() == {"status": "alive"}
    assert server.http.get("/readyz").json() == {"status": "ready"}
    assert "qufur_ready 1.0" in server.http.get("/metrics").text
    assert server.http.get("/openapi.json").json()["openapi"].startswith("3.")


@pytest.mark.parametrize(
    "id", ["a/b", "a%2Fb", "..", "../../x", "a b", "ä€", "?", "#", "a/label", "%", "a+b", "/"]
)
def test_ids_of_any_characters_are_addressable(here, id):
    from urllib.parse import quote

    here("POST", "/examples", json={"id": id, **X})
    address = f"/examples/{quote(id, safe='').replace('.', '%2E')}"
    assert here("PUT", f"{address}/label", json={"label": 0.5}) == {"id": id, "label": 0.5, "new": True}
    assert here("DELETE", f"{address}/label") == {"id": id}
    assert here("POST", f"{address}/decline") == {"id": id}


# Invalid requests


@dataclass
class Bad:
    """Request that is rejected."""

    path: str
    body: object = None
    status: int = 422
    verb: str = "POST"
    headers: dict = field(default_factory=dict)
    words: str = ""


NPY = {"Content-Type": "application/x-npy", "X-First-Id": "1"}
SKY = {"temp": 1.5, "sky": "grey"}
N, C, K = "numbers", "columns", "classes"
EXAMPLES = {
    "NaN": Bad(N, b'{"id": "n", "x": [NaN, 1]}'),
    "Infinity": Bad(N, b'{"id": "n", "x": [Infinity, 1]}'),
    "1e60": Bad(N, {"id": "n", "x": [1e60, 1.0]}, words="finite numbers"),
    "1.7e308": Bad(N, {"id": "n", "x": [-1.7e308, 1.0]}, words="finite numbers"),
    "1e400": Bad(N, b'{"id": "n", "x": [1e400, 1]}'),
    "an integer of 400 digits": Bad(N, f'{{"id": "n", "x": [{"9" * 400}, 1]}}'.encode()),
    "too few numbers": Bad(N, {"id": "n", "x": [1.0]}, words="a list of 2 numbers, got 1"),
    "no numbers": Bad(N, {"id": "n", "x": []}),
    "nothing": Bad(N, {"id": "n"}),
    "null": Bad(N, {"id": "n", "x": None}),
    "text for a number": Bad(N, {"id": "n", "x": ["1", 2.0]}),
    "true for a number": Bad(N, {"id": "n", "x": [True, 2.0]}),
    "a matrix for a row": Bad(N, {"id": "n", "x": [[1.0, 2.0]]}),
    "a record for numbers": Bad(N, {"id": "n", "record": SKY}),
    "a record beside numbers": Bad(N, {"id": "n", "record": SKY, **X}),
    "numbers for a record": Bad(C, {"id": "n", **X}),
    "numbers beside a record": Bad(C, {"id": "n", "record": SKY, **X}),
    "an unknown column": Bad(C, {"id": "n", "record": {"wind": 1}}, words="'wind'"),
    "text in a number's column": Bad(C, {"id": "n", "record": {"temp": "warm"}}),
    "true in a number's column": Bad(C, {"id": "n", "record": {"temp": True}}),
    "1e60 in a column": Bad(C, {"id": "n", "record": {"temp": 1e60}}),
    "10⁶⁰ in a column": Bad(C, {"id": "n", "record": {"temp": 10**60}}),
    "10⁶⁰ as a category": Bad(C, {"id": "n", "record": {"sky": 10**60}}),
    "10³⁰ as a category": Bad(C, {"id": "n", "record": {"sky": 10**30}}),
    "a long category": Bad(C, {"id": "n", "record": {"sky": "a" * 10_001}}),
    "a list in a cell": Bad(C, {"id": "n", "record": {"sky": []}}),
    "a lone surrogate in a category": Bad(C, rb'{"id": "n", "record": {"sky": "\ud800"}}'),
    "one wrong of two": Bad(N, [{"id": "n", **X}, {"id": "m", "x": [1.0]}]),
    "an id twice with different content": Bad(N, [{"id": "n", **X}, {"id": "n", "x": [0.0, 0.0]}], 409),
    "an existing id with different content": Bad(N, {"id": "asked", "x": [0.0, 0.0]}, 409),
    "no id": Bad(N, X),
    "an empty id": Bad(N, {"id": "", **X}),
    "a blank id": Bad(N, {"id": " ", **X}),
    "a long id": Bad(N, {"id": LONG, **X}),
    "NUL in an id": Bad(N, {"id": "a\0", **X}),
    "a lone surrogate in an id": Bad(N, rb'{"id": "\udfff", "x": [1, 0]}'),
    "invalid UTF-8": Bad(N, b'{"id": "\xff\xfe", "x": [1, 0]}'),
    "a number with a point as id": Bad(N, {"id": 1.5, **X}),
    "null as id": Bad(N, {"id": None, **X}),
    "an id of 5000 digits": Bad(N, f'{{"id": {"9" * 5000}, "x": [1, 0]}}'.encode()),
    "not JSON": Bad(N, b"hello", words="cannot be decoded"),
    "an empty body": Bad(N, b""),
    "a number": Bad(N, 7),
    "truncated JSON": Bad(N, b'{"id": "n", "x": [1'),
    "deep nesting": Bad(N, b"[" * 100_000),
    "deep nesting in a field": Bad(
        N, b'{"id": "n", "x": [1, 0], "other": ' + b"[" * 50_000 + b"]" * 50_000 + b"}"
    ),
    "too many": Bad(N, [{"id": number, **X} for number in range(1001)], 413),
    "too large": Bad(N, b" " * 2**20 + b"[]", 413),
    "an array of objects": Bad(N, npy(np.array([[1, None]]), allow_pickle=True), headers=NPY),
    "an array of integers": Bad(N, npy(np.ones((1, 2), dtype=int)), headers=NPY),
    "an array of texts": Bad(N, npy(np.array([["a", "b"]])), headers=NPY),
    "an array of complex numbers": Bad(N, npy(np.ones((1, 2), dtype=complex)), headers=NPY),
    "an array of three columns": Bad(N, npy(np.ones((1, 3))), headers=NPY, words="(n, 2)"),
    "a vector": Bad(N, npy(np.ones(2)), headers=NPY),
    "an array with NaN": Bad(N, npy(np.array([[1.0, np.nan]])), headers=NPY),
    "an array too long": Bad(N, npy(np.ones((1001, 2))), 413, headers=NPY),
    "a truncated array": Bad(N, npy(np.ones((9, 2)))[:-1], headers=NPY),
    "a header that promises 10¹² rows": Bad(
        N, npy(np.ones((9, 2))).replace(b"(9, 2), }        ", b"(999999999, 2), }"), headers=NPY
    ),
    "an invalid array": Bad(N, b"\x93NUMPY hello", headers=NPY),
    "an array without ids": Bad(
        N, npy(np.ones((1, 2))), headers={**NPY, "X-First-Id": "one"}, words="X-First-Id"
    ),
    "an array with long ids": Bad(N, npy(np.ones((1, 2))), headers={**NPY, "X-Id-Prefix": LONG}),
    "an array for columns": Bad(C, npy(np.ones((1, 2))), headers=NPY),
    "an unknown stream": Bad("nowhere", {"id": "n", **X}, 404, words="'nowhere'"),
    "a stream with a long name": Bad(LONG, {"id": "n", **X}, 404),
    "a stream with control characters": Bad("%00%ff%2e", {"id": "n", **X}, 404),
}
LABELS = {
    "an unknown id": Bad(f"{N}/examples/nobody/label", {"label": 1}, 404, "PUT"),
    "another label": Bad(f"{N}/examples/told/label", {"label": 1}, 409, "PUT", words="replace=true"),
    "a row that was not queried": Bad(f"{N}/examples/quiet/label", {"label": 1}, 409, "PUT"),
    "NaN": Bad(f"{N}/examples/asked/label", b'{"label": NaN}', 422, "PUT"),
    "1e60": Bad(f"{N}/examples/asked/label", {"label": 1e60}, 422, "PUT"),
    "an outlier": Bad(f"{N}/examples/asked/label", {"label": 1e6}, 422, "PUT", words="accept_outliers"),
    "text": Bad(f"{N}/examples/asked/label", {"label": "high"}, 422, "PUT"),
    "null": Bad(f"{N}/examples/asked/label", {"label": None}, 422, "PUT"),
    "nothing": Bad(f"{N}/examples/asked/label", {}, 422, "PUT"),
    "more": Bad(f"{N}/examples/asked/label", {"label": 1, "id": "asked"}, 422, "PUT"),
    "an unknown class": Bad(f"{K}/examples/asked/label", {"label": "snow"}, 422, "PUT", words="'rain'"),
    "a number for a class": Bad(f"{K}/examples/asked/label", {"label": 0}, 422, "PUT"),
    "replace=yes": Bad(f"{N}/examples/asked/label?replace=yes", {"label": 1}, 422, "PUT"),
    "an empty id": Bad(f"{N}/examples//label", {"label": 1}, 422, "PUT"),
    "NUL in an id": Bad(f"{N}/examples/%00/label", {"label": 1}, 422, "PUT"),
    "invalid UTF-8": Bad(f"{N}/examples/%ff/label", {"label": 1}, 404, "PUT"),
    "a long id": Bad(f"{N}/examples/{LONG}/label", {"label": 1}, 422, "PUT"),
    "two for one row": Bad(f"{N}/labels", [{"id": "asked", "label": 1}, {"id": "asked", "label": 1}]),
    "one wrong of two": Bad(f"{N}/labels", [{"id": "asked", "label": 1}, {"id": "nobody", "label": 1}], 404),
    "an object for a list": Bad(f"{N}/labels", {"id": "asked", "label": 1}),
    "too many": Bad(f"{N}/labels", [{"id": number, "label": 1} for number in range(1001)], 413),
    "label removed from an unlabelled row": Bad(f"{N}/examples/asked/label", None, 409, "DELETE"),
    "label removed from an unknown row": Bad(f"{N}/examples/nobody/label", None, 404, "DELETE"),
    "a free label removed": Bad(f"{N}/examples/free/label", None, 409, "DELETE"),
    "an unknown row declined": Bad(f"{N}/examples/nobody/decline", None, 404),
    "declined after its label": Bad(f"{N}/examples/told/decline", None, 409),
    "an unknown stream": Bad("nowhere/examples/asked/label", {"label": 1}, 404, "PUT"),
}
OTHERS = {
    "learned with another label": Bad(f"{N}/learn", [{"id": "free", "label": 0, **X}], 409),
    "learned twice": Bad(f"{N}/learn", [{"id": "n", "label": 0, **X}] * 2, 409),
    "learned after a query": Bad(f"{N}/learn", [{"id": "asked", "label": 0, **X}], 409),
    "learned without a label": Bad(f"{N}/learn", [{"id": "n", **X}]),
    "learned with a label of 1e60": Bad(f"{N}/learn", [{"id": "n", "label": 1e60, **X}]),
    "learned with a new category and an unknown class": Bad(
        f"{K}/learn", [{"id": "n", "record": {"sky": "new"}, "label": "snow"}]
    ),
    "predicted: wrong dimension": Bad(f"{N}/predict", {"x": [1.0]}),
    "predicted: too many": Bad(f"{N}/predict", [X] * 1001, 413),
    "predicted: an unknown column": Bad(f"{C}/predict", {"record": {"wind": 1}}),
    "no labels": Bad(f"{N}/budget", {"labels": 0}),
    "labels of 20 digits": Bad(f"{N}/budget", {"labels": 10**20}),
    "labels with a point": Bad(f"{N}/budget", {"labels": 1.5}),
    "labels for a share": Bad(f"{C}/budget", {"labels": 1}),
    "rows without a horizon": Bad(f"{N}/budget", {"labels": 1, "rows": -1}),
    "erased, one of them unknown": Bad(f"{N}/erase", {"ids": ["told", "nobody"]}, 404),
    "nothing erased from an unknown stream": Bad("nowhere/erase", {"ids": []}, 404),
    "erased: no id": Bad(f"{N}/erase", {"ids": [" "]}),
    "leased without a name": Bad(f"{N}/queue/lease", {"person": ""}),
    "leased for ever": Bad(f"{N}/queue/lease", {"person": "ada", "minutes": 1e9}),
    "leased by the thousand": Bad(f"{N}/queue/lease", {"person": "ada", "count": 1000}),
    "leased from an unknown stream": Bad("nowhere/queue/lease", {"person": "ada"}, 404),
    "released by NUL": Bad(f"{N}/queue/release", {"person": "\0", "ids": ["asked"]}),
    "released in an unknown stream": Bad("nowhere/queue/release", {"person": "ada", "ids": []}, 404),
    "a queue limit over the maximum": Bad(f"{N}/queue?limit=99999", None, 422, "GET"),
    "events after a negative number": Bad(f"{N}/events?after=-1", None, 422, "GET"),
    "digest=1": Bad(f"{N}?digest=1", None, 422, "GET"),
    "an unknown path": Bad(f"{N}/nothing", None, 404, "GET", words="/docs"),
    "a method that is not allowed": Bad(f"{N}/report", {}, 405),
    **{
        f"{name} of nowhere": Bad(f"nowhere{name}", None, 404, "GET")
        for name in ("", "/queue", "/series", "/report", "/model", "/events")
    },
}
STREAMS = {
    "no name": {"dim": 2},
    "a name with a slash": {"name": "a/b", "dim": 2},
    "a name of points": {"name": "..", "dim": 2},
    "a name of two lines": {"name": "a\n", "dim": 2},
    "a long name": {"name": "a" * 65, "dim": 2},
    "neither dim nor columns": {"name": "new"},
    "both": {"name": "new", "dim": 2, "columns": {"a": "number"}},
    "dim 0": {"name": "new", "dim": 0},
    "dim 10⁶": {"name": "new", "dim": 10**6},
    "no columns": {"name": "new", "columns": {}},
    "a column of an unknown type": {"name": "new", "columns": {"a": "text"}},
    "NUL in a column": {"name": "new", "columns": {"a\0": "number"}},
    "one class": {"name": "new", "dim": 2, "classes": ["a"]},
    "a class twice": {"name": "new", "dim": 2, "classes": ["a", "a"]},
    "a blank class": {"name": "new", "dim": 2, "classes": ["a", " "]},
    "NUL in a class": {"name": "new", "dim": 2, "classes": ["a", "\0"]},
    "a reversed range": {"name": "new", "dim": 2, "label_range": [1, 0]},
    "a range of one number": {"name": "new", "dim": 2, "label_range": [1]},
    "a range of 1e300": {"name": "new", "dim": 2, "label_range": [-1e300, 1e300]},
    "budget 0": {"name": "new", "dim": 2, "budget": 0},
    "a count without a horizon": {"name": "new", "dim": 2, "budget": 10},
    "a budget in words": {"name": "new", "dim": 2, "budget": "much"},
    "an infinite budget": {"name": "new", "dim": 2, "budget": "inf"},
    "a budget of 400 digits": {"name": "new", "dim": 2, "budget": "9" * 400, "horizon": 9},
    "horizon 0": {"name": "new", "dim": 2, "horizon": 0},
    "horizon 10²⁰": {"name": "new", "dim": 2, "horizon": 10**20},
    "an unknown model": {"name": "new", "dim": 2, "model": "forest"},
    "an unknown rule": {"name": "new", "dim": 2, "rule": "greedy"},
    "ridge without a range": {"name": "new", "dim": 2, "model": "ridge"},
    "ridge and classes": {"name": "new", "dim": 2, "model": "ridge", "classes": ["a", "b"]},
    "a seed below 0": {"name": "new", "dim": 2, "seed": -1},
    "a seed of 30 digits": {"name": "new", "dim": 2, "seed": 10**30},
    "an unknown field": {"name": "new", "dim": 2, "colour": "red"},
    "a list": [],
}
TABLE = {
    **{
        f"example: {name}": Bad(**vars(bad) | {"path": f"{bad.path}/examples"})
        for name, bad in EXAMPLES.items()
    },
    **{f"label: {name}": bad for name, bad in LABELS.items()},
    **OTHERS,
    **{f"stream: {name}": Bad("", body) for name, body in STREAMS.items()},
}


@pytest.fixture(scope="module")
def names(server):
    """Streams with rows and labels, by their names in the table above."""
    streams = {
        N: server.stream(rule="uniform", dim=2, model="ridge", label_range=[-1, 1], budget=2, horizon=2),
        C: server.stream(columns={"temp": "number", "sky": "category"}, budget="100%"),
        K: server.stream(columns={"sky": "category"}, classes=["rain", "none"], budget="100%"),
    }
    for kind, row in ((N, X), (C, {"record": SKY}), (K, {"record": {"sky": "grey"}})):
        label = "rain" if kind == K else 0.5
        base = f"/v1/streams/{streams[kind]}"
        for id in ("asked", "told", "quiet"):
            assert server.http.post(f"{base}/examples", json={"id": id, **row}).is_success
        assert server.http.put(f"{base}/examples/told/label", json={"label": label}).is_success
        assert server.http.post(f"{base}/learn", json=[{"id": "free", "label": label, **row}]).is_success
    server.settle()
    return streams


def assert_rejected(answer, bad):
    assert answer.status_code == bad.status, answer.text
    assert set(answer.json()) == {"error"}
    sentence = answer.json()["error"]
    assert bad.words in sentence
    assert sentence.endswith(".") or sentence.endswith("…")
    assert "\n" not in sentence
    assert len(sentence) < 400
    assert "Traceback" not in sentence


@pytest.mark.parametrize("bad", TABLE.values(), ids=TABLE)
def test_invalid_request_is_rejected_with_a_message_and_changes_nothing(server, names, bad):
    kind, slash, rest = bad.path.partition("/")
    kind, question, parameters = kind.partition("?")
    path = f"/v1/streams/{names.get(kind, kind)}{question}{parameters}{slash}{rest}".removesuffix("/")
    content = bad.body if isinstance(bad.body, bytes) else json.dumps(bad.body).encode()
    before = server.digest(names[N]), server.digest(names[C]), server.digest(names[K])
    answer = server.http.request(bad.verb, path, content=content, headers=bad.headers)
    assert_rejected(answer, bad)
    assert before == (server.digest(names[N]), server.digest(names[C]), server.digest(names[K]))


def test_oversized_body_is_rejected_before_it_is_complete(server, names):
    host, port = server.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=10) as there:
        there.sendall(f"POST /v1/streams/{names[N]}/examples HTTP/1.1\r\nHost: {host}\r\n".encode())
        there.sendall(b"Transfer-Encoding: chunked\r\n\r\n")
        for _ in range(17):
            there.sendall(b"10000\r\n" + b" " * 2**16 + b"\r\n")
        assert there.recv(2**16).startswith(b"HTTP/1.1 413 ")


def test_rejected_requests_create_no_stream(server, names):
    known = {state["name"] for state in server.http.get("/v1/streams").json()["streams"]}
    assert not known & {"new", "a", "nowhere"}
    assert set(server.app.state.leases) <= known
