"""Two clients of the service with the same methods: over HTTP, and directly through the writer."""

import http.client
import json

import msgspec

from qufur.errors import InvalidError
from qufur.service.config import StreamConfig
from qufur.service.errors import RequestError
from qufur.service.examples import Example, read_examples, read_label
from qufur.service.service import Service
from qufur.service.views import status
from qufur.service.writer import Ask, Writer


class NoResponseError(Exception):
    """The connection failed before a response: the request may or may not have been executed."""


class RejectedError(Exception):
    """The service rejected a request."""

    def __init__(self, status, message):
        super().__init__(f"{status}: {message}")
        self.status, self.message = status, message


class HttpClient:
    """Client with a persistent connection that never retries a request."""

    def __init__(self, port, timeout=30):
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)

    def send(self, verb, path, body=None):
        try:
            self._connection.request(verb, path, None if body is None else json.dumps(body))
            response = self._connection.getresponse()
            content = response.read()
        except (OSError, http.client.HTTPException) as error:
            self._connection.close()
            raise NoResponseError(str(error)) from None
        body = json.loads(content)
        if response.status >= 300:
            raise RejectedError(response.status, body["error"])
        return body

    def create(self, config):
        return self.send("POST", "/v1/streams", config)

    def ask(self, stream, examples):
        answers = self.send("POST", f"/v1/streams/{stream}/examples", examples)
        return answers if isinstance(answers, list) else [answers]

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


class DirectClient:
    """Client that calls the writer of a store in this process."""

    def __init__(self, store):
        self.store = store
        self.service = Service(store)
        self.writer = Writer(self.service)
        self.writer.start()
        self._configs = {}

    def _translated(self, submit):
        try:
            return submit()
        except RequestError as error:
            raise RejectedError(error.status, str(error)) from None
        except InvalidError as error:
            raise RejectedError(422, str(error)) from None

    def call(self, do):
        return self._translated(lambda: self.writer.call(do))

    def create(self, config):
        converted = msgspec.convert(config, StreamConfig)
        return msgspec.to_builtins(self.call(lambda service: status(service.create(converted, "test")[0])))

    def config(self, stream):
        if stream not in self._configs:
            self._configs[stream] = self.call(lambda service: service.stream(stream).config)
        return self._configs[stream]

    def ask(self, stream, examples):
        batch = examples if isinstance(examples, list) else [examples]
        rows = read_examples(self.config(stream), [msgspec.convert(example, Example) for example in batch])
        answers = self._translated(lambda: self.writer.submit(Ask(stream, rows, "test")).result())
        return json.loads(msgspec.json.encode(answers))

    def tell(self, stream, id, label):
        value = read_label(self.config(stream), label, id)
        settings = {"replace": False, "accept_outliers": False}
        return self.call(lambda service: service.tell(stream, {id: value}, "test", **settings))[id]

    def decline(self, stream, id):
        self.call(lambda service: service.decline(stream, id, "test"))

    def state(self, stream):
        return msgspec.to_builtins(self.call(lambda service: status(service.stream(stream), digest=True)))

    def waiting(self, stream):
        return set(self.call(lambda service: service.stream(stream).waiting))

    def close(self):
        self.writer.stop()
        self.store.close()
