"""A judge: whatever happens to the service, what clients were told is so afterwards."""

import random
import threading
from dataclasses import dataclass, field

from tests.service.doors import LostError, RefusedError

from qufur.errors import InvalidError
from qufur.service.decided import Decided
from qufur.service.events import DamagedError
from qufur.service.loading import from_start, load

NUMBERS = {"name": "numbers", "dim": 3, "model": "ridge", "label_range": [-10.0, 10.0], "budget": 40}
NUMBERS |= {"horizon": 100}
RECORDS = {"name": "records", "columns": {"temp": "number", "sky": "category"}, "budget": 20, "horizon": 400}
SAID = "prediction", "uncertainty", "probability", "query"


class BrokenPromiseError(AssertionError):
    """Something that was told is not so."""


def promised(condition, *words):
    if not condition:
        raise BrokenPromiseError(" ".join(map(str, words)))


def example(stream, number):
    """Return the example of a number, which is always the same one."""
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
    """Clients of some streams, and everything that they were told.

    Attributes
    ----------
    answers, labels, declined
        What was acknowledged, by stream and id.
    wanted
        Rows whose labels are awaited and that no client has taken.
    unsure
        What was sent and never answered: a label, or that there will be none.
    fresh
        Answers that came since the last time they were asked for again.
    """

    streams: tuple = ("numbers",)
    answers: dict = field(default_factory=dict)
    labels: dict = field(default_factory=dict)
    declined: set = field(default_factory=set)
    wanted: list = field(default_factory=list)
    unsure: list = field(default_factory=list)
    fresh: list = field(default_factory=list)
    broken: list = field(default_factory=list)
    count: int = 0
    logs: dict = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    # What clients do

    def work(self, door, draws, going):
        """Send requests until the service is gone, or it is said that this is enough."""
        try:
            while going():
                self.step(door, draws)
        except (LostError, RefusedError):
            pass
        except BrokenPromiseError as error:
            self.broken.append(str(error))
        finally:
            door.close()

    def step(self, door, draws):
        """Send one request, of any kind; none of them is to be refused, but for now."""
        try:
            self.send(door, draws)
        except RefusedError as error:
            promised(error.status == 503, "refused:", error)
            raise

    def send(self, door, draws):
        stream, kind = draws.choice(self.streams), draws.random()
        if kind < 0.45:
            self.ask(door, stream, example(stream, self.number(draws)))
        elif kind < 0.6:
            first = self.number(draws, more=6)
            self.ask(door, stream, [example(stream, first + one) for one in range(draws.randint(2, 6))])
        elif kind < 0.7 and self.answers:
            stream, id = draws.choice(self.known)
            self.ask(door, stream, example(stream, int(id[1:])))
        elif kind < 0.9:
            self.answer_one(door, draws, self.tell)
        elif kind < 0.95:
            self.answer_one(door, draws, self.decline)
        elif self.answers:
            self.contradict(door, *draws.choice(self.known))

    @property
    def known(self):
        with self.lock:
            return list(self.answers)

    def number(self, draws, more=1):
        """Return a number that is new, or one that another client may be sending at this moment."""
        with self.lock:
            self.count += more
            return self.count - more - draws.choice([0, 0, 0, 1, 4]) + 10

    def ask(self, door, stream, body):
        many = body if isinstance(body, list) else [body]
        said = door.ask(stream, body)
        promised([one["id"] for one in said] == [one["id"] for one in many], "answers are others'")
        with self.lock:
            for one in said:
                self.note(stream, one)

    def note(self, stream, said):
        key = stream, said["id"]
        before = self.answers.setdefault(key, said)
        promised(before == said, "was told", before, "and then", said)
        if before is said:
            self.fresh.append(key)
            if said["query"]:
                self.wanted.append(key)

    def answer_one(self, door, draws, do):
        with self.lock:
            key = self.wanted.pop(draws.randrange(len(self.wanted))) if self.wanted else None
        if key is not None:
            self.attempt(door, do, key)

    def attempt(self, door, do, key):
        try:
            do(door, *key)
        except (LostError, RefusedError) as error:
            if getattr(error, "status", 503) == 503:
                with self.lock:
                    self.unsure.append((do, key))
            raise

    def tell(self, door, stream, id):
        door.tell(stream, id, label_of(id))
        with self.lock:
            self.labels[stream, id] = label_of(id)

    def decline(self, door, stream, id):
        door.decline(stream, id)
        with self.lock:
            self.declined.add((stream, id))

    def contradict(self, door, stream, id):
        """Send another example under an id that is known, which has to be refused."""
        body = {**example(stream, int(id[1:]) + 1), "id": id}
        try:
            door.ask(stream, body)
        except RefusedError as error:
            if error.status != 409:
                raise
        else:
            raise BrokenPromiseError(f"another example was taken as {id}")

    # What is judged

    def judge(self, door, store, draws, *, everything=False):
        """Ask for everything again, and read the log."""
        promised(not self.broken, self.broken[:1])
        # First the log: a decision that was lost could come out the same when it is asked for again.
        for stream in dict.fromkeys(self.streams):
            log = self.logs.setdefault(stream, Log(stream))
            log.read(store)
            self.compare(log, stream)
        self.send_again(door)
        chosen = (
            self.known if everything else [*self.fresh, *draws.sample(self.known, min(100, len(self.known)))]
        )
        self.fresh = []
        for stream in dict.fromkeys(self.streams):
            self.ask_again(door, stream, [id for name, id in chosen if name == stream])
            self.judge_closed(door, stream, draws)
            self.judge_digests(self.logs[stream], door, store)
            self.compare(self.logs[stream], stream)

    def send_again(self, door):
        """Repeat what was never answered; then it is known."""
        unsure, self.unsure = self.unsure, []
        for do, key in unsure:
            try:
                self.attempt(door, do, key)
            except RefusedError as error:
                promised(do == self.decline and error.status == 409, error)
                self.declined.add(key)

    def ask_again(self, door, stream, ids):
        for start in range(0, len(ids), 200):
            few = dict.fromkeys(ids[start : start + 200])
            try:
                self.ask(door, stream, [example(stream, int(id[1:])) for id in few])
            except RefusedError as error:
                raise BrokenPromiseError(f"answered and lost: {error}") from error

    def judge_closed(self, door, stream, draws):
        """Labels are known, and what was declined is not wanted again."""
        waiting = door.waiting(stream)
        closed = {id for name, id in [*self.labels, *self.declined] if name == stream}
        promised(not closed & waiting, "wanted again:", closed & waiting)
        labelled = [id for name, id in self.labels if name == stream]
        for id in draws.sample(labelled, min(5, len(labelled))):
            promised(not door.tell(stream, id, label_of(id)), "the label of", id, "was lost")

    def compare(self, log, stream):
        """What was told is in the log."""
        for (name, id), said in self.answers.items():
            if name == stream:
                promised(log.decided.get(id) == [said[one] for one in SAID], "answered and lost:", id)
        told = {id: label for (name, id), label in self.labels.items() if name == stream}
        promised(told.items() <= log.labels.items(), "labels were lost")
        declined = {id for name, id in self.declined if name == stream}
        promised(declined <= log.declined, "declined and lost:", declined - log.declined)

    def judge_digests(self, log, door, store):
        """Replay from the first event and from the snapshot leads to what is served."""
        while True:
            log.read(store)
            state, loaded = door.state(log.name), load(store, log.number)
            if state["events"] == log.replayed.seq == loaded.seq:  # experts may have been fitted meanwhile
                break
        promised(state["digest"] == log.replayed.digest(), "the log does not lead to what is served")
        promised(state["digest"] == loaded.digest(), "the snapshot does not lead to what is served")
        promised(state["spent"] == log.spent, "spent", state["spent"], "and in the log", log.spent)


class Log:
    """The log of a stream, read as it grows and replayed from its first event."""

    def __init__(self, name):
        self.name, self.number, self.replayed = name, None, None
        self.decided, self.labels, self.declined, self.spent = {}, {}, set(), 0

    def read(self, store):
        if self.replayed is None:
            streams = store.streams()
            promised(self.name in streams, "the stream is gone")
            self.number = streams[self.name]
            self.replayed = from_start(store, self.number)
        promised(store.last(self.number) >= self.replayed.seq, "the end of the log is gone")
        for event in store.events(self.number, self.replayed.seq):
            self.apply(event)
            getattr(self, event.kind, lambda payload: None)(event.opened())
            budget = self.replayed.description.budget
            promised(self.spent <= budget, "spent", self.spent, "of", budget, "at event", event.seq)

    def apply(self, event):
        try:
            self.replayed.apply(event)
        except (DamagedError, InvalidError) as error:
            raise BrokenPromiseError(f"the log cannot be replayed: {error}") from error

    def asked(self, payload):
        found = Decided.from_values(payload.values).decisions
        columns = [getattr(found, name).tolist() for name in SAID]
        for (id, _), *said in zip(payload.rows(), *columns, strict=True):
            promised(id not in self.decided, id, "is in the log twice")
            self.decided[id] = said
        self.spent += sum(columns[-1])

    def told(self, payload):
        for id, label, *_ in payload.rows():
            promised(id in self.decided and id not in self.labels, "the label of", id, "is there twice")
            self.labels[id] = label

    def retracted(self, payload):
        for (id,) in payload.rows():
            promised(id in self.decided and id not in self.declined, id, "was declined twice")
            self.declined.add(id)
            self.spent -= 1
