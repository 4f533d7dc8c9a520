"""Authorization: every route rejects missing and invalid keys, and keys without its scope."""

import pytest
from starlette.routing import Route
from tests.service.conftest import RIDGE, opened, running

from qufur.errors import InvalidError
from qufur.service.auth import Keys

SCOPES = "ingest", "label", "read", "admin"
PUBLIC = {("GET", "/healthz"), ("GET", "/readyz")}
X = {"x": [1.0, 0.5]}
S = "/v1/streams/{stream}"
ROUTES = {
    ("GET", "/metrics"): ("read", None),
    ("GET", "/v1/streams"): ("read label", None),
    ("POST", "/v1/streams"): (
        "admin",
        {**RIDGE, "name": "bikes", "rule": "uniform", "budget": 1000, "horizon": 1000},
    ),
    ("GET", S): ("read label", None),
    ("DELETE", S): ("admin", None),
    ("GET", f"{S}/series"): ("read", None),
    ("GET", f"{S}/report"): ("read", None),
    ("GET", f"{S}/model"): ("read", None),
    ("GET", f"{S}/events"): ("read", None),
    ("GET", f"{S}/queue"): ("label", None),
    ("POST", f"{S}/queue/lease"): ("label", {"person": "ada"}),
    ("POST", f"{S}/queue/release"): ("label", {"person": "ada", "ids": ["a"]}),
    ("POST", f"{S}/examples"): ("ingest", {"id": "a", **X}),
    ("POST", f"{S}/learn"): ("ingest", [{"id": "free", "label": 0.5, **X}]),
    ("POST", f"{S}/predict"): ("read", X),
    ("POST", f"{S}/labels"): ("label", [{"id": "told", "label": 0.5}]),
    ("POST", f"{S}/labels/parse"): ("label", {"text": "1,500"}),
    ("POST", f"{S}/labels/decline"): ("label", {"id": "a"}),
    ("POST", f"{S}/labels/remove"): ("label", {"id": "told"}),
    ("PUT", f"{S}/examples/{{id}}/label"): ("label", {"label": 0.5}),
    ("DELETE", f"{S}/examples/{{id}}/label"): ("label", None),
    ("POST", f"{S}/examples/{{id}}/decline"): ("label", None),
    ("POST", f"{S}/budget"): ("admin", {"labels": 1}),
    ("POST", f"{S}/erase"): ("admin", {"ids": []}),
}
"""Scope of each route, and a valid body."""


@pytest.fixture(scope="module")
def guarded(tmp_path_factory):
    """Service with keys, and a stream with one pending and one labelled row."""
    store = opened(tmp_path_factory.mktemp("store"))
    keys = Keys(store)
    keys_by_name = {scope: keys.add(scope, [scope]) for scope in SCOPES}
    keys_by_name |= {f"{scope} of bikes": keys.add(f"{scope} of bikes", [scope], "bikes") for scope in SCOPES}
    keys_by_name |= {f"{scope} of cars": keys.add(f"{scope} of cars", [scope], "cars") for scope in SCOPES}
    keys_by_name["revoked"] = keys.add("revoked", SCOPES)
    keys.revoke(keys_by_name["revoked"].split("_")[1])
    with running(store) as server:
        server.keys = keys_by_name
        admin = bearer(keys_by_name["admin"])
        server.http.post("/v1/streams", json=ROUTES["POST", "/v1/streams"][1], headers=admin)
        rows = [{"id": id, **X} for id in ("a", "told")]
        server.http.post("/v1/streams/bikes/examples", json=rows, headers=admin)
        server.http.put("/v1/streams/bikes/examples/told/label", json={"label": 0.5}, headers=admin)
        yield server


def bearer(key):
    return {"Authorization": f"Bearer {key}"}


def send(server, route, headers, body=None, id="told"):
    verb, path = route
    path = path.format(stream="bikes", id=id)
    return server.http.request(verb, path, json=ROUTES[route][1] if body is None else body, headers=headers)


def events(server):
    return server.http.get("/v1/streams/bikes", headers=bearer(server.keys["admin"])).json()["events"]


def wrong(keys):
    """Return invalid keys by the reason."""
    prefix, id, secret = keys["admin"].split("_")
    other = keys["read"].split("_")[1]
    return {
        "nothing": {},
        "empty": {"Authorization": ""},
        "no key": {"Authorization": "Bearer"},
        "another scheme": {"Authorization": f"Basic {keys['admin']}"},
        "no scheme": {"Authorization": keys["admin"]},
        "half": bearer(keys["admin"][:-1]),
        "longer": bearer(keys["admin"] + "A"),
        "small letters": bearer(keys["admin"].lower()),
        "no secret": bearer(f"{prefix}_{id}_"),
        "no id": bearer(f"{prefix}__{secret}"),
        "another id": bearer(f"{prefix}_{other}_{secret}"),
        "another prefix": bearer(f"qg_{id}_{secret}"),
        "unknown": bearer("qf_00000000_" + "A" * 52),
        "text": bearer("hello"),
        "bytes": {"Authorization": b"Bearer qf_\xff\xfe_\x80"},
        "long": bearer("qf_" + "a" * 5000),
        "revoked": bearer(keys["revoked"]),
        "a wrong cookie": {"Cookie": "qufur_key=hello"},
    }


def assert_rejected(answer, status):
    assert answer.status_code == status, answer.text
    assert set(answer.json()) == {"error"}
    assert "qf_0" not in answer.text
    assert ("www-authenticate" in answer.headers) == (status == 401)


def routes_of(app):
    """Return methods and paths of all routes."""
    routes = [route for route in app.routes if isinstance(route, Route)]
    return {(verb, route.path_format) for route in routes for verb in route.methods}


def test_table_of_scopes_has_every_route(guarded):
    routes = routes_of(guarded.app)
    assert {route for route in routes if route[1].startswith("/v1") or route[1] == "/metrics"} == set(ROUTES)
    assert routes >= PUBLIC


@pytest.mark.parametrize("route", ROUTES, ids=" ".join)
def test_request_without_a_valid_key_is_rejected(guarded, route):
    before = events(guarded)
    for headers in wrong(guarded.keys).values():
        assert_rejected(send(guarded, route, headers), 401)
    assert_rejected(send(guarded, route, {}, "not what is wanted"), 401)
    assert events(guarded) == before


@pytest.mark.parametrize("route", ROUTES, ids=" ".join)
def test_key_without_the_scope_is_rejected(guarded, route):
    scopes, before = ROUTES[route][0].split(), events(guarded)
    names = [name for name in SCOPES if name not in (*scopes, "admin")]
    names += [f"{name} of bikes" for name in names]
    names += [f"{name} of cars" for name in SCOPES if route != ("GET", "/v1/streams")]
    for name in names:
        assert_rejected(send(guarded, route, bearer(guarded.keys[name])), 403)
        assert_rejected(send(guarded, route, bearer(guarded.keys[name]), "not what is wanted"), 403)
    assert events(guarded) == before


@pytest.mark.parametrize("route", sorted(set(ROUTES) - {("DELETE", S)}), ids=" ".join)
def test_key_with_the_scope_is_accepted(guarded, route):
    scopes, admin = [*ROUTES[route][0].split(), "admin"], bearer(guarded.keys["admin"])
    names = [*scopes, *([f"{scope} of bikes" for scope in scopes] if "{stream}" in route[1] else [])]
    for name in names:
        id = f"{'-'.join(route).replace('/', '-')} {name}"
        row = {"id": id, **X}
        assert guarded.http.post("/v1/streams/bikes/examples", json=row, headers=admin).json()["query"]
        body = {"id": id} if route[1].endswith(("labels/decline", "labels/remove")) else None
        if route[0] == "DELETE" or route[1].endswith("labels/remove"):
            labels = [{"id": id, "label": 0.5}]
            assert guarded.http.post("/v1/streams/bikes/labels", json=labels, headers=admin).is_success
        answer = send(guarded, route, bearer(guarded.keys[name]), body, id=id)
        assert answer.is_success, answer.text


@pytest.mark.parametrize("stream", [None, "bikes"])
def test_admin_key_deletes_a_stream_and_revokes_keys_for_it_alone(tmp_path, stream):
    server = running(opened(tmp_path))
    keys = server.app.state.keys
    root, admin = keys.add("root", ["admin"]), keys.add("ada", ["admin"], stream)
    own, other = keys.add("own", ["label"], "bikes"), keys.add("other", ["label"])
    with server as service:
        for _ in range(2):  # the name is free again
            body = {**RIDGE, "name": "bikes"}
            assert service.http.post("/v1/streams", json=body, headers=bearer(root)).status_code == 201
            assert service.http.get("/v1/streams/bikes", headers=bearer(other)).status_code == 200
            answer = service.http.delete("/v1/streams/bikes", headers=bearer(admin))
            assert answer.json() == {"name": "bikes", "events": 1, "keys": 1 if stream is None else 2}
            assert service.http.get("/v1/streams/bikes", headers=bearer(other)).status_code == 404
            assert service.http.get("/v1/streams/bikes", headers=bearer(own)).status_code == 401
            admin, own = keys.add("ada", ["admin"], stream), keys.add("own", ["label"], "bikes")
        revoked = [key.name for key in keys.listed() if key.revoked is not None]
        assert set(revoked) == {"own"} | ({"ada"} if stream else set())


def test_stream_key_cannot_access_other_streams(guarded):
    def listed(name):
        streams = guarded.http.get("/v1/streams", headers=bearer(guarded.keys[name])).json()["streams"]
        return [state["name"] for state in streams]

    assert (listed("read"), listed("read of bikes"), listed("read of cars")) == (["bikes"], ["bikes"], [])


@pytest.mark.parametrize("route", sorted(PUBLIC), ids=" ".join)
def test_liveness_requires_no_key(guarded, route):
    assert guarded.http.request(*route).is_success


def test_authorization_scheme_is_case_insensitive(guarded):
    headers = {"Authorization": f"bearer {guarded.keys['read']}"}
    assert guarded.http.get("/v1/streams", headers=headers).is_success


def test_keys_are_still_required_after_the_last_is_revoked(tmp_path):
    store = opened(tmp_path)
    keys = Keys(store)
    id = keys.add("only", ["admin"]).split("_")[1]
    keys.revoke(id)
    with running(store) as server:
        assert server.http.get("/v1/streams").status_code == 401
        with pytest.raises(InvalidError, match="not revoked"):
            keys.revoke(id)


def test_store_contains_no_secrets_of_keys(tmp_path):
    store = opened(tmp_path)
    secret = Keys(store).add("only", ["admin"]).split("_")[2]
    store.close()
    written = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert secret.encode() not in written


def test_rate_limit_applies_per_key(tmp_path):
    from qufur.service.http import Limits

    with running(opened(tmp_path), Limits(rate=5)) as server:
        answers = [server.http.get("/v1/streams") for _ in range(30)]
    statuses = [answer.status_code for answer in answers]
    assert statuses[:10] == [200] * 10
    assert 429 in statuses
    last = next(answer for answer in answers if answer.status_code == 429)
    assert (last.headers["retry-after"], set(last.json())) == ("1", {"error"})
