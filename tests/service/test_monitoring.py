"""Random sequences of requests and restarts, compared with a model made of dictionaries."""

import asyncio
import itertools

import httpx
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from sqlalchemy import delete
from tests.service.conftest import opened
from tests.soak import SOAK, cases

from qufur.service.app import create_app
from qufur.service.store import schema

inputs = st.sampled_from([[1.0, 0.0], [0.0, 1.0], [0.5, -0.5], [3.0, 2.0]])
labels = st.sampled_from([-1.0, 0.0, 0.25, 1.0])
places = st.integers(0, 99)
people = st.sampled_from(["ada", "bob"])
KINDS = ["ridge", "ridge", "experts"] if SOAK else ["ridge"]
TOGETHER = 20
"""Number of streams in a store: a restart loads all of them."""
names = itertools.count(1)


class Here:
    """Service in this thread, without a socket and with fast restarts."""

    def __init__(self, folder):
        self._folder, self._loop, self._streams = folder, asyncio.new_event_loop(), 0
        self.start()

    def start(self, *, forget=False):
        self._store = opened(self._folder, f"{self._streams // TOGETHER}.db")
        if forget:
            with self._store.writing() as connection:
                connection.execute(delete(schema.snapshots))
        self.app = create_app(self._store)
        self._life = self.app.router.lifespan_context(self.app)
        self._loop.run_until_complete(self._life.__aenter__())
        transport = httpx.ASGITransport(app=self.app)
        self._http = httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1")

    def stop(self):
        self._loop.run_until_complete(self._http.aclose())
        self._loop.run_until_complete(self._life.__aexit__(None, None, None))
        self._store.close()

    def restart(self, *, forget):
        """Stop and start again; with `forget` without snapshots, so that the log is replayed."""
        self.stop()
        self.start(forget=forget)

    def create(self, body):
        """Create a stream, in a new store if there are many in this one."""
        self._streams += 1
        if self._streams % TOGETHER == 0:
            self.restart(forget=False)
        return self.request("POST", "/v1/streams", body)

    def request(self, verb, path, body=None):
        answer = self._loop.run_until_complete(self._http.request(verb, path, json=body))
        return answer.status_code, answer.json()

    def settle(self):
        """Wait until experts are fitted."""

        def is_done(service):
            fits = [stream.workbook.learner.background_fits for stream in service.loaded.values()]
            return all(each is None or each.next_job() is None for each in fits)

        # The writer delivers results through the event loop, which must run meanwhile.
        while not self._loop.run_until_complete(asyncio.to_thread(self.app.state.writer.call, is_done)):
            pass

    def close(self):
        self.stop()
        self._loop.close()


class Requests(RuleBasedStateMachine):
    """Expected state of a stream, derived from the responses to a client."""

    here: Here

    def __init__(self):
        super().__init__()
        self.rows, self.answers = {}, {}
        self.waiting, self.reopened, self.labels, self.free, self.leased = {}, set(), {}, {}, {}
        self.spent = self.seen = 0

    @initialize(
        budget=st.integers(1, 12), rule=st.sampled_from(["uniform", "paced"]), model=st.sampled_from(KINDS)
    )
    def create(self, budget, rule, model):
        self.name, self.budget, self.chance = f"stream-{next(names)}", budget, rule != "uniform"
        rule = "steady" if self.chance and model == "experts" else rule
        body = {"name": self.name, "dim": 2, "model": model, "label_range": [-1, 1], "rule": rule}
        body |= {"budget": budget, "horizon": 12 if self.chance else budget}
        assert self.here.create(body)[0] == 201
        assert self.here.request("POST", "/v1/streams", body)[0] == 200
        assert self.here.request("POST", "/v1/streams", body | {"seed": 9})[0] == 409

    def send(self, verb, path, body=None, status=200):
        received, answer = self.here.request(verb, f"/v1/streams/{self.name}{path}", body)
        assert received == status, (path, body, answer)
        return answer

    def pick(self, ids, place):
        ids = sorted(ids)
        return ids[place % len(ids)]

    # Examples

    def note(self, id, x, answer):
        assert answer["id"] == id
        if id in self.answers:
            assert answer == self.answers[id]
            return
        self.rows[id], self.answers[id] = x, answer
        self.seen += 1
        assert not (answer["query"] and self.spent >= self.budget)
        if not self.chance:
            assert answer["query"] == (self.spent < self.budget)
        if answer["query"]:
            self.waiting[id] = None
            self.spent += 1

    @rule(x=inputs)
    def ask(self, x):
        id = f"row-{self.seen}"
        self.note(id, x, self.send("POST", "/examples", {"id": id, "x": x}))

    @rule(
        xs=st.lists(inputs, min_size=1, max_size=4), again=st.lists(places, max_size=3), twice=st.booleans()
    )
    def ask_many(self, xs, again, twice):
        batch = [{"id": f"row-{self.seen + place}", "x": x} for place, x in enumerate(xs)]
        known = [self.pick(self.rows, place) for place in again] if self.rows else []
        batch = [{"id": id, "x": self.rows[id]} for id in known] + batch * (2 if twice else 1)
        for one, answer in zip(batch, self.send("POST", "/examples", batch), strict=True):
            self.note(one["id"], one["x"], answer)

    @precondition(lambda self: self.rows)
    @rule(place=places, first=st.booleans())
    def ask_another_of_the_same_id(self, place, first):
        id = self.pick(self.rows, place)
        batch = [{"id": f"row-{self.seen}", "x": [1.0, 1.0]}, {"id": id, "x": [7.0, 7.0]}]
        self.send("POST", "/examples", batch[::-1] if first else batch, 409)

    # Labels

    def close(self, id):
        self.waiting.pop(id, None)
        self.reopened.discard(id)
        self.leased.pop(id, None)

    @precondition(lambda self: self.waiting)
    @rule(place=places, label=labels, many=st.booleans())
    def tell(self, place, label, many):
        id = self.pick(self.waiting, place)
        if many:
            assert self.send("POST", "/labels", [{"id": id, "label": label}]) == {"new": 1, "known": 0}
        else:
            assert self.send("PUT", f"/examples/{id}/label", {"label": label})["new"]
        self.labels[id] = label
        self.close(id)

    @precondition(lambda self: self.labels)
    @rule(place=places, label=labels, replace=st.booleans())
    def tell_again(self, place, label, replace):
        id = self.pick(self.labels, place)
        same = label == self.labels[id]
        path = f"/examples/{id}/label" + ("?replace=true" if replace else "")
        answer = self.send("PUT", path, {"label": label}, 200 if same or replace else 409)
        if same or replace:
            assert answer["new"] == (not same)
            self.labels[id] = label

    @rule(place=places, label=labels)
    def tell_what_nobody_asked_for(self, place, label):
        self.send("PUT", "/examples/nobody/label", {"label": label}, 404)
        known = set(self.rows) - set(self.waiting) - set(self.labels)
        if known:
            id = self.pick(known, place)
            self.send("PUT", f"/examples/{id}/label?replace=true", {"label": label}, 409)
            both = [{"id": id, "label": label}, *({"id": other, "label": 0} for other in self.waiting)]
            self.send("POST", "/labels", both[::-1], 409)

    @precondition(lambda self: self.labels)
    @rule(place=places)
    def untell(self, place):
        id = self.pick(self.labels, place)
        self.send("DELETE", f"/examples/{id}/label", status=409 if id in self.free else 200)
        if id not in self.free:
            del self.labels[id]
            self.waiting[id] = None
            self.reopened.add(id)

    @rule(place=places)
    def decline(self, place):
        if self.waiting:
            id = self.pick(self.waiting, place)
            self.send("POST", f"/examples/{id}/decline")
            self.spent -= id not in self.reopened
            self.close(id)
            self.send("POST", f"/examples/{id}/decline", status=409)
        self.send("POST", "/examples/nobody/decline", status=404)

    @rule(x=inputs, label=labels)
    def learn(self, x, label):
        id = f"free-{self.seen}"
        lesson = {"id": id, "x": x, "label": label}
        assert self.send("POST", "/learn", [lesson]) == {"new": 1, "known": 0}
        assert self.send("POST", "/learn", [lesson]) == {"new": 0, "known": 1}
        self.send("POST", "/learn", [lesson | {"label": 0.125}], 409)
        self.free[id] = self.labels[id] = label
        self.seen += 1

    @precondition(lambda self: self.rows)
    @rule(place=places)
    def erase(self, place):
        id = self.pick(self.rows, place)
        assert self.send("POST", "/erase", {"ids": [id]})["erased"] == 1
        self.send("POST", "/erase", {"ids": [id]}, 404)
        self.send("PUT", f"/examples/{id}/label", {"label": 0.0}, 404)
        self.labels.pop(id, None)
        self.close(id)
        del self.rows[id], self.answers[id]

    @rule(more=st.integers(1, 3))
    def add_budget(self, more):
        self.budget += more
        self.send("POST", "/budget", {"labels": more})

    # Annotators

    @rule(person=people, count=st.integers(1, 4))
    def lease(self, person, count):
        answer = self.send("POST", "/queue/lease", {"person": person, "count": count})
        taken = [row["id"] for row in answer["rows"]]
        can = [id for id in self.waiting if self.leased.get(id, person) == person]
        assert set(taken) <= set(can)
        assert len(set(taken)) == len(taken) == min(count, len(can))
        assert [row["x"] for row in answer["rows"]] == [self.rows[id] for id in taken]
        self.leased |= dict.fromkeys(taken, person)

    @rule(person=people)
    def release(self, person):
        mine = [id for id, holder in self.leased.items() if holder == person]
        self.send("POST", "/queue/release", {"person": person, "ids": [*mine, "nobody"]})
        self.leased = {id: holder for id, holder in self.leased.items() if holder != person}

    # Restarts

    @rule(forget=st.booleans())
    def restart(self, forget):
        self.here.settle()
        before = self.send("GET", "?digest=true")
        self.here.restart(forget=forget)
        self.leased = {}
        assert self.send("GET", "?digest=true") == before

    @invariant()
    def agrees(self):
        if not hasattr(self, "name"):
            return
        state = self.send("GET", "")
        assert (state["spent"], state["left"]) == (self.spent, self.budget - self.spent)
        assert self.spent <= self.budget
        assert (state["rows"], state["told"]) == (self.seen, len(self.labels))
        assert state["outstanding"] == len(self.waiting)
        queue = self.send("GET", "/queue")
        assert {row["id"]: row["leased_to"] for row in queue["rows"]} == {
            id: self.leased.get(id) for id in self.waiting
        }


@pytest.mark.usefixtures("few_trees")
def test_random_sequence_of_requests_agrees_with_a_model(tmp_path, monkeypatch):
    # Fits run in a thread: every restart would start a worker process.
    monkeypatch.setattr("qufur.service.fits.MAX_CRASHES", 0)
    here = Here(tmp_path)

    class Machine(Requests):
        pass

    Machine.here = here
    Machine.TestCase.settings = settings(
        max_examples=cases(200, 20),
        stateful_step_count=50 if SOAK else 25,
        phases=[Phase.explicit, Phase.generate],
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    Machine.TestCase().runTest()
    here.close()
