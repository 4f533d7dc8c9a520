"""Two ways into the service, for tests that do not care which: over HTTP, or straight to the writer."""

import http.client
import json

import msgspec

from qufur.errors import InvalidError
from qufur.service.commands import Ask
from qufur.service.description import Description
from qufur.service.examples import Example, read_examples, read_label
from qufur.service.refusals import RefusalError
from qufur.service.service import Service
from qufur.service.state import state_of
from qufur.service.writer import Writer


class LostError(Exception):
    """No answer came: what was asked for may have happened, or not."""


class RefusedError(Exception):
    """The service said no."""

    def __init__(self, status, sentence):
        super().__init__(f"{status}: {sentence}")
        self.status, self.sentence = status, sentence


class Http:
    """A client that keeps its connection, and never sends anything twice by itself."""

    def __init__(self, port, timeout=30):
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)

    def send(self, verb, path, body=None):
        try:
            self._connection.request(verb, path, None if body is None else json.dumps(body))
            response = self._connection.getresponse()
            content = response.read()
        except (OSError, http.client.HTTPException) as error:
            self._connection.close()
            raise LostError(str(error)) from None
        found = json.loads(content)
        if response.status >= 300:
            raise RefusedError(response.status, found["error"])
        return found

    def create(self, description):
        return self.send("POST", "/v1/streams", description)

    def ask(self, stream, examples):
        found = self.send("POST", f"/v1/streams/{stream}/examples", examples)
        return found if isinstance(found, list) else [found]

    def tell(self, stream, id, label):
        return self.send("PUT", f"/v1/streams/{stream}/examples/{id}/label", {"label": label})["new"]

    def decline(self, stream, id):
        self.send("POST", f"/v1/streams/{stream}/examples/{id}/decline", {})

    def state(self, stream):
        return self.send("GET", f"/v1/streams/{stream}?digest=true")

    def waiting(self, stream):
        return {row["id"] for row in self.send("GET", f"/v1/streams/{stream}/queue?limit=10000")["rows"]}

    def close(self):
        self._connection.close()


class Direct:
    """The writer of a store in this process."""

    def __init__(self, store):
        self.store = store
        self.service = Service(store)
        self.writer = Writer(self.service)
        self.writer.start()
        self._descriptions = {}

    def _done(self, submit):
        try:
            return submit()
        except RefusalError as error:
            raise RefusedError(error.status, str(error)) from None
        except InvalidError as error:
            raise RefusedError(422, str(error)) from None

    def call(self, do):
        return self._done(lambda: self.writer.call(do))

    def create(self, description):
        found = msgspec.convert(description, Description)
        return self.call(lambda service: state_of(service.create(found, "test")[0]))

    def description(self, stream):
        if stream not in self._descriptions:
            self._descriptions[stream] = self.call(lambda service: service.stream(stream).description)
        return self._descriptions[stream]

    def ask(self, stream, examples):
        many = examples if isinstance(examples, list) else [examples]
        rows = read_examples(self.description(stream), [msgspec.convert(one, Example) for one in many])
        said = self._done(lambda: self.writer.submit(Ask(stream, rows, "test")).result())
        return json.loads(msgspec.json.encode(said))

    def tell(self, stream, id, label):
        value = read_label(self.description(stream), label, id)
        settings = {"replace": False, "accept_outliers": False}
        return self.call(lambda service: service.tell(stream, {id: value}, "test", **settings))[id]

    def decline(self, stream, id):
        self.call(lambda service: service.decline(stream, id, "test"))

    def state(self, stream):
        return self.call(lambda service: state_of(service.stream(stream), digest=True))

    def waiting(self, stream):
        return set(self.call(lambda service: service.stream(stream).waiting))

    def close(self):
        self.writer.stop()
        self.store.close()
