"""The client: the methods of a learner over HTTP, retries and errors."""

import contextlib

import httpx
import numpy as np
import pytest
from sklearn.datasets import load_diabetes

from qufur import Experts, Learner, Paced, Ridge, Steady
from qufur.errors import InvalidError
from qufur.service import Client
from qufur.service.client import transport
from qufur.service.client.transport import RefusedError

FIELDS = "prediction", "uncertainty", "probability", "query"


@pytest.fixture
def client(server):
    with Client(server.url, patience=5) as found:
        yield found


@pytest.fixture
def learner(client, stream):
    """Client of a small stream that queries every label."""
    return client.stream(stream(rule="uniform"))


def loop(learner, X, y):
    """Run the loop on the first page of the manual; return all answers."""
    answers = []
    for x, label in zip(X, y, strict=True):
        answer = learner.ask(x)
        if answer.query:
            learner.tell(answer.id, label)
        answers.append(answer)
    return answers


MODELS = {
    "experts": (Experts(), FIELDS[1:]),  # fitted in the background, so predictions differ until then
    "ridge": (Ridge(10, intercept=True, label_range=(0, 400)), FIELDS),
}


@pytest.mark.usefixtures("few_trees")
@pytest.mark.parametrize("name", MODELS)
def test_client_replaces_a_learner_in_the_loop_of_the_manual(client, name):
    X, y = (part[:60] for part in load_diabetes(return_X_y=True, scaled=False))
    model, fields = MODELS[name]
    learner = Learner(model, Steady(budget=9, horizon=len(X)))
    here = loop(learner, X, y)
    learner = client.create(
        name, dim=10, budget=9, horizon=60, model=name, rule="steady", label_range=model.label_range
    )
    there = loop(learner, X, y)
    for field in fields:
        found, wanted = ([getattr(one, field) for one in answers] for answers in (there, here))
        np.testing.assert_allclose(found, wanted, rtol=1e-9)
    assert [one.why for one in there] == [one.why for one in here]
    assert (learner.spent, learner.left, learner.outstanding) == (9, 0, ())


@pytest.mark.parametrize("kind", [float, np.float32])
def test_client_ask_many_answers_like_a_learner(client, kind):
    X = np.random.default_rng(1).normal(size=(200, 3)).astype(kind)
    here = Learner(Ridge(3, intercept=True, label_range=(-1, 1)), Paced(20, 200)).ask_many(X)
    config = {"dim": 3, "budget": 20, "horizon": 200, "model": "ridge", "label_range": [-1, 1]}
    there = client.create(f"batch-{kind.__name__}", **config)
    found = there.ask_many(X)
    for name in FIELDS:
        np.testing.assert_allclose(getattr(found, name), getattr(here, name), rtol=1e-9)
    assert len(set(found.id)) == len(found) == 200
    there.tell_many(there.outstanding, np.zeros(len(there.outstanding)))
    assert there.state["told"] == there.spent == here.query.sum()


def test_client_splits_a_large_batch_into_several_requests(learner, monkeypatch):
    monkeypatch.setattr("qufur.service.client.transport.MAX_CELLS", 20)
    X = np.random.default_rng(1).normal(size=(25, 2))
    assert learner.ask_many(X).query.all()
    assert learner.state["events"] == 1 + 3
    assert learner.ask_many(X, ids=range(25)).id == [str(number) for number in range(25)]
    assert learner.predict(X).shape == learner.uncertainty(X).shape == (25,)


def test_client_has_the_other_methods_of_a_learner(learner):
    assert learner.predict([1.0, 0.0]).tolist() == [0.0]
    learner.learn([[1.0, 0.0], [0.0, 1.0]], [0.5, -0.5])
    learner.learn([[1.0, 1.0]], 0.0, ids=["free"])
    learner.ask([0.5, 0.5], id="a/b?c#d")
    learner.ask([0.5, 0.5], id=np.int64(7))
    assert learner.outstanding == ("a/b?c#d", "7")
    learner.retract("a/b?c#d")
    learner.tell(7, 0.25)
    learner.tell(7, 0.75, replace=True)
    assert (learner.spent, learner.outstanding, learner.state["told"]) == (1, (), 4)
    assert learner.report()["spent"]
    assert learner.predict(np.eye(2))[0] > learner.predict(np.eye(2))[1]
    assert learner.name in learner.streams()


def test_client_add_budget_extends_the_budget(client):
    learner = client.create("grows", dim=1, model="ridge", label_range=[0, 1], budget=1, horizon=9)
    learner.add_budget(2)
    assert learner.left == 3


@pytest.mark.usefixtures("few_trees")
def test_client_sends_records_and_receives_classes(client):
    learner = client.create(
        "sky", columns={"temp": "number", "sky": "category"}, classes=["rain", "none"], budget="100%"
    )
    records = [{"temp": np.float64(3.5), "sky": "grey"}, {"temp": np.nan, "sky": "blue"}, {}]
    answers = learner.ask_many(records)
    assert set(answers.prediction) <= {"rain", "none"}
    assert answers.rows[0].interval is None
    learner.tell_many(answers.id, ["rain", "none", "none"])
    learner.learn(records, ["rain", "none", "none"])
    assert set(learner.predict(records)) <= {"rain", "none"}
    assert learner.ask(records[0]).prediction in {"rain", "none"}
    assert learner.state["told"] == 6


class Clock:
    """Clock that advances only during sleeps."""

    def __init__(self):
        self.now, self.sleeps = 0.0, []

    def monotonic(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds
        self.sleeps.append(seconds)


@pytest.fixture
def clock(monkeypatch):
    found = Clock()
    monkeypatch.setattr(transport, "time", found)
    return found


@contextlib.contextmanager
def through(learner, handle):
    """Pass the requests of a client to a function, which may forward them to the service."""
    real = learner._connection._http
    with httpx.Client(trust_env=False) as forward:
        transport = httpx.MockTransport(lambda request: handle(request, forward))
        learner._connection._http = httpx.Client(base_url=real.base_url, transport=transport)
        try:
            yield
        finally:
            learner._connection._http = real


def losing_the_first_answer():
    """Return a handler that loses the response to the first request, after the service has executed it."""
    lost = []

    def handle(request, forward):
        answer = forward.request(
            request.method, request.url, content=request.content, headers=request.headers
        )
        if not lost:
            lost.append(answer)
            raise httpx.ReadError("lost")
        return httpx.Response(answer.status_code, content=answer.content)

    return handle


CALLS = {
    "ask": lambda learner: learner.ask([1.0, 0.0]),
    "ask_many": lambda learner: learner.ask_many([[1.0, 0.0]]),
    "tell": lambda learner: learner.tell("known", 0.5),
    "learn": lambda learner: learner.learn([[1.0, 0.0]], [0.5]),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_client_retries_after_a_lost_response_without_repeating_effects(learner, clock, call):
    learner.ask([1.0, 1.0], id="known")
    before = learner.state["events"]
    with through(learner, losing_the_first_answer()):
        call(learner)
    assert len(clock.sleeps) == 1
    assert learner.state["events"] == before + 1


@pytest.mark.parametrize(
    "call", [lambda learner: learner.retract("known"), lambda learner: learner.add_budget(1)]
)
def test_client_does_not_retry_requests_that_are_not_idempotent(client, stream, clock, call):
    learner = client.stream(stream(budget=9, horizon=9, rule="uniform"))
    learner.ask([1.0, 1.0], id="known")
    before = learner.state["events"]
    with through(learner, losing_the_first_answer()), pytest.raises(ConnectionError, match="lost"):
        call(learner)
    assert clock.sleeps == []
    assert learner.state["events"] == before + 1


@pytest.mark.parametrize("status", [429, 503])
def test_client_honours_retry_after(learner, clock, status):
    answers = [httpx.Response(status, headers={"Retry-After": "3"}, json={"error": "later"})]
    good = httpx.Response(200, json={"streams": []})
    with through(learner, lambda request, forward: answers.pop() if answers else good):
        assert learner.streams() == []
    assert clock.sleeps == [3.0]


def test_client_raises_connection_error_when_patience_ends(learner, clock):
    def refuse(request, forward):
        raise httpx.ConnectError("connection refused")

    with through(learner, refuse), pytest.raises(ConnectionError, match="connection refused"):
        learner.ask([1.0, 0.0])
    waits = np.array(clock.sleeps)
    assert 3 < clock.now <= 5  # the next wait, of at most 2 s, would have exceeded the patience
    assert waits[0] <= 0.05
    assert waits.max() > 0.4


def test_client_raises_timeout_error_when_the_service_is_silent(learner, clock):
    def wait(request, forward):
        raise httpx.ReadTimeout("too long")

    with through(learner, wait), pytest.raises(TimeoutError, match="too long"):
        learner.ask([1.0, 0.0])


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (401, PermissionError),
        (403, PermissionError),
        (404, RefusedError),
        (409, InvalidError),
        (422, ValueError),
        (429, ConnectionError),
        (500, RuntimeError),
        (503, ConnectionError),
    ],
)
def test_client_maps_rejections_to_python_exceptions(learner, clock, status, kind):
    answer = httpx.Response(status, json={"error": "One sentence."})
    with through(learner, lambda request, forward: answer), pytest.raises(kind, match=r"One sentence\."):
        learner.ask([1.0, 0.0])


def test_client_reports_the_status_of_a_proxy_error(learner, clock):
    answer = httpx.Response(404, text="<html>\nnginx")
    with through(learner, lambda request, forward: answer), pytest.raises(RefusedError) as caught:
        learner.ask([1.0, 0.0])
    assert (str(caught.value), caught.value.status) == ("Status 404 Not Found.", 404)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda learner: learner.ask([1.0]), "a list of 2 numbers, got 1 numbers"),
        (lambda learner: learner.ask([np.nan, 0.0]), "not JSON compliant"),
        (lambda learner: learner.ask_many([[np.nan, 0.0]]), "finite numbers"),
        (lambda learner: learner.ask_many([[1.0, 0.0]], ids=["a", "b"]), "2 for 1"),
        (lambda learner: learner.ask_many([["1", "0"]]), "a matrix of numbers"),
        (lambda learner: learner.tell("nobody", 1.0), "no example 'nobody'"),
        (lambda learner: learner.stream("none").ask([1.0, 0.0]), "no stream 'none'"),
        (lambda learner: learner.create("x"), "dim of the stream"),
        (lambda learner: learner.create("y", dim=1, seed=-1), "at least 0"),
    ],
)
def test_client_rejects_invalid_input_like_a_learner(learner, call, words):
    with pytest.raises(ValueError, match=words):
        call(learner)


def test_client_without_a_stream_raises(client):
    with pytest.raises(InvalidError, match="bikes"):
        client.ask([1.0])


@pytest.mark.parametrize("url", ["http://", "nowhere", "ftp://there", ""])
def test_client_with_an_invalid_url_raises(url):
    with pytest.raises(InvalidError, match="such as http"):
        Client(url)


def test_client_with_an_invalid_key_raises():
    with pytest.raises(InvalidError, match="qufur key add"):
        Client("http://127.0.0.1", "schlüssel €")
