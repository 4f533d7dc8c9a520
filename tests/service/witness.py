"""Clients that record all responses and check that the service keeps its guarantees after a failure."""

import random
import threading
from dataclasses import dataclass, field

from tests.service.clients import NoResponseError, RejectedError

from qufur.errors import InvalidError
from qufur.service.rebuild import from_start, load
from qufur.service.recorded_answers import RecordedAnswers
from qufur.service.store.events import DamagedError

NUMBERS = {"name": "numbers", "dim": 3, "model": "ridge", "label_range": [-10.0, 10.0], "budget": 40}
NUMBERS |= {"horizon": 100}
RECORDS = {"name": "records", "columns": {"temp": "number", "sky": "category"}, "budget": 20, "horizon": 400}
DECISION_FIELDS = "prediction", "uncertainty", "probability", "query"


class GuaranteeError(AssertionError):
    """The service broke a guarantee."""


def require(condition, *words):
    """Raise `GuaranteeError` with a message unless a condition holds."""
    if not condition:
        raise GuaranteeError(" ".join(map(str, words)))


def example(stream, number):
    """Return the example with a number; the same number gives the same example."""
    draws = random.Random(number)
    id = f"e{number}"
    if stream == "numbers":
        return {"id": id, "x": [draws.uniform(-1, 1) for _ in range(3)]}
    sky = draws.choice(["clear", "rain", None, f"rare {number % 50}"])
    return {"id": id, "record": {"temp": draws.uniform(-5, 30), "sky": sky}}


def label_of(id):
    return random.Random(id).uniform(-5, 5)


@dataclass
class Witness:
    """Clients of some streams, and a record of all responses.

    Attributes
    ----------
    answers, labels, declined
        Acknowledged requests, by stream and id.
    pending
        Rows with pending labels that no client has taken.
    unacknowledged
        Labels and declined rows that were sent without a response.
    unchecked
        Answers since the last check.
    violations
        Messages of broken guarantees.
    """

    streams: tuple = ("numbers",)
    answers: dict = field(default_factory=dict)
    labels: dict = field(default_factory=dict)
    declined: set = field(default_factory=set)
    pending: list = field(default_factory=list)
    unacknowledged: list = field(default_factory=list)
    unchecked: list = field(default_factory=list)
    violations: list = field(default_factory=list)
    count: int = 0
    logs: dict = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    # Requests

    def work(self, client, draws, going):
        """Send requests until the service fails or `going` returns False."""
        try:
            while going():
                self.step(client, draws)
        except (NoResponseError, RejectedError):
            pass
        except GuaranteeError as error:
            self.violations.append(str(error))
        finally:
            client.close()

    def step(self, client, draws):
        """Send one random request. The service may reject it only with status 503."""
        try:
            self.send(client, draws)
        except RejectedError as error:
            require(error.status == 503, "rejected:", error)
            raise

    def send(self, client, draws):
        stream, draw = draws.choice(self.streams), draws.random()
        if draw < 0.45:
            self.ask(client, stream, example(stream, self.number(draws)))
        elif draw < 0.6:
            first = self.number(draws, more=6)
            self.ask(client, stream, [example(stream, first + index) for index in range(draws.randint(2, 6))])
        elif draw < 0.7 and self.answers:
            stream, id = draws.choice(self.answered)
            self.ask(client, stream, example(stream, int(id[1:])))
        elif draw < 0.9:
            self.answer_one(client, draws, self.tell)
        elif draw < 0.95:
            self.answer_one(client, draws, self.decline)
        elif self.answers:
            self.contradict(client, *draws.choice(self.answered))

    @property
    def answered(self):
        with self.lock:
            return list(self.answers)

    def number(self, draws, more=1):
        """Return a new number, or one that another client may be sending concurrently."""
        with self.lock:
            self.count += more
            return self.count - more - draws.choice([0, 0, 0, 1, 4]) + 10

    def ask(self, client, stream, body):
        examples = body if isinstance(body, list) else [body]
        answers = client.ask(stream, body)
        ids = [example["id"] for example in examples]
        require([answer["id"] for answer in answers] == ids, "answers have other ids")
        with self.lock:
            for answer in answers:
                self.record(stream, answer)

    def record(self, stream, answer):
        key = stream, answer["id"]
        before = self.answers.setdefault(key, answer)
        require(before == answer, "answered", before, "and then", answer)
        if before is answer:
            self.unchecked.append(key)
            if answer["query"]:
                self.pending.append(key)

    def answer_one(self, client, draws, do):
        with self.lock:
            key = self.pending.pop(draws.randrange(len(self.pending))) if self.pending else None
        if key is not None:
            self.attempt(client, do, key)

    def attempt(self, client, do, key):
        try:
            do(client, *key)
        except (NoResponseError, RejectedError) as error:
            if getattr(error, "status", 503) == 503:
                with self.lock:
                    self.unacknowledged.append((do, key))
            raise

    def tell(self, client, stream, id):
        client.tell(stream, id, label_of(id))
        with self.lock:
            self.labels[stream, id] = label_of(id)

    def decline(self, client, stream, id):
        client.decline(stream, id)
        with self.lock:
            self.declined.add((stream, id))

    def contradict(self, client, stream, id):
        """Send another example with an existing id, which the service must reject."""
        body = {**example(stream, int(id[1:]) + 1), "id": id}
        try:
            client.ask(stream, body)
        except RejectedError as error:
            if error.status != 409:
                raise
        else:
            raise GuaranteeError(f"another example was taken as {id}")

    # Checks

    def check(self, client, store, draws, *, everything=False):
        """Check the log, repeat requests, and compare the responses."""
        require(not self.violations, self.violations[:1])
        # The log comes first: a repeated request could decide a lost example in the same way.
        for stream in dict.fromkeys(self.streams):
            log = self.logs.setdefault(stream, Log(stream))
            log.read(store)
            self.compare(log, stream)
        self.resend(client)
        chosen = answered = self.answered
        if not everything:
            chosen = [*self.unchecked, *draws.sample(answered, min(100, len(answered)))]
        self.unchecked = []
        for stream in dict.fromkeys(self.streams):
            self.ask_again(client, stream, [id for name, id in chosen if name == stream])
            self.check_closed(client, stream, draws)
            self.check_digests(self.logs[stream], client, store)
            self.compare(self.logs[stream], stream)

    def resend(self, client):
        """Repeat the requests without a response."""
        requests, self.unacknowledged = self.unacknowledged, []
        for do, key in requests:
            try:
                self.attempt(client, do, key)
            except RejectedError as error:
                require(do == self.decline and error.status == 409, error)
                self.declined.add(key)

    def ask_again(self, client, stream, ids):
        for start in range(0, len(ids), 200):
            page = dict.fromkeys(ids[start : start + 200])
            try:
                self.ask(client, stream, [example(stream, int(id[1:])) for id in page])
            except RejectedError as error:
                raise GuaranteeError(f"answered and lost: {error}") from error

    def check_closed(self, client, stream, draws):
        """Check that labels are stored, and that no labelled or declined row is pending."""
        waiting = client.waiting(stream)
        closed = {id for name, id in [*self.labels, *self.declined] if name == stream}
        require(not closed & waiting, "pending again:", closed & waiting)
        labelled = [id for name, id in self.labels if name == stream]
        for id in draws.sample(labelled, min(5, len(labelled))):
            require(not client.tell(stream, id, label_of(id)), "the label of", id, "was lost")

    def compare(self, log, stream):
        """Check that the log contains all acknowledged requests."""
        for (name, id), answer in self.answers.items():
            if name == stream:
                decision = [answer[key] for key in DECISION_FIELDS]
                require(log.decided.get(id) == decision, "answered and lost:", id)
        labels = {id: label for (name, id), label in self.labels.items() if name == stream}
        require(labels.items() <= log.labels.items(), "labels were lost")
        declined = {id for name, id in self.declined if name == stream}
        require(declined <= log.declined, "declined and lost:", declined - log.declined)

    def check_digests(self, log, client, store):
        """Check that replay from the first event and from the snapshot gives the served state."""
        while True:
            log.read(store)
            state, loaded = client.state(log.name), load(store, log.number)
            if state["events"] == log.replayed.seq == loaded.seq:  # a background fit may have added an event
                break
        require(state["digest"] == log.replayed.digest(), "replay of the log gives another state")
        require(state["digest"] == loaded.digest(), "the snapshot gives another state")
        require(state["spent"] == log.spent, "spent", state["spent"], "and in the log", log.spent)


class Log:
    """Log of a stream, read incrementally and replayed from its first event."""

    def __init__(self, name):
        self.name, self.number, self.replayed = name, None, None
        self.decided, self.labels, self.declined, self.spent = {}, {}, set(), 0

    def read(self, store):
        if self.replayed is None:
            streams = store.streams()
            require(self.name in streams, "the stream is gone")
            self.number = streams[self.name]
            self.replayed = from_start(store, self.number)
        require(store.last(self.number) >= self.replayed.seq, "the end of the log is gone")
        for event in store.events(self.number, self.replayed.seq):
            self.apply(event)
            getattr(self, event.kind, lambda payload: None)(event.checked_payload())
            budget = self.replayed.config.budget
            require(self.spent <= budget, "spent", self.spent, "of", budget, "at event", event.seq)

    def apply(self, event):
        try:
            self.replayed.apply(event)
        except (DamagedError, InvalidError) as error:
            raise GuaranteeError(f"the log cannot be replayed: {error}") from error

    def asked(self, payload):
        decisions = RecordedAnswers.from_values(payload.values).decisions
        columns = [getattr(decisions, name).tolist() for name in DECISION_FIELDS]
        for (id, _), *decision in zip(payload.rows(), *columns, strict=True):
            require(id not in self.decided, id, "is in the log twice")
            self.decided[id] = decision
        self.spent += sum(columns[-1])

    def told(self, payload):
        for id, label, *_ in payload.rows():
            require(id in self.decided and id not in self.labels, "the label of", id, "is in the log twice")
            self.labels[id] = label

    def retracted(self, payload):
        for (id,) in payload.rows():
            require(id in self.decided and id not in self.declined, id, "was declined twice")
            self.declined.add(id)
            self.spent -= 1
