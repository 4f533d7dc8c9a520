"""HTTP client of a stream, with the interface of a learner."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from types import TracebackType
from typing import Any
from urllib.parse import quote
from uuid import uuid4

import numpy as np
from numpy.typing import ArrayLike

from qufur.answer import Answer
from qufur.arrays import Bools, Floats
from qufur.errors import invalid
from qufur.ids import Id
from qufur.service.client import transport
from qufur.service.client.transport import NPY, Connection, Record


class RemoteAnswer(Answer):
    """Answer of a service for one input: an `Answer` with an interval.

    Attributes
    ----------
    interval
        Interval that should contain nine of ten labels; None if it is unknown or labels are classes.
    """

    interval: tuple[float, float] | None
    _why: str

    @property
    def why(self) -> str:
        """Reason of the decision in one line."""
        return self._why

    @classmethod
    def from_json(cls, body: dict[str, Any]) -> RemoteAnswer:
        """Read the answer of a response."""
        answer = cls(*(body[name] for name in cls._fields))
        answer.interval = None if body["interval"] is None else tuple(body["interval"])
        answer._why = body["why"]
        return answer


@dataclass(frozen=True)
class RemoteAnswers:
    """Answers of a service for several inputs: columns, and iterable as rows."""

    rows: Sequence[RemoteAnswer]

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[RemoteAnswer]:
        return iter(self.rows)

    @property
    def id(self) -> list[str]:
        """Ids of the inputs."""
        return [str(row.id) for row in self.rows]

    @property
    def prediction(self) -> np.ndarray[Any, Any]:
        """Predictions: numbers or classes."""
        return np.array([row.prediction for row in self.rows])

    @property
    def uncertainty(self) -> Floats:
        """Δ of each input."""
        return np.array([row.uncertainty for row in self.rows], dtype=float)

    @property
    def probability(self) -> Floats:
        """Query probabilities."""
        return np.array([row.probability for row in self.rows], dtype=float)

    @property
    def query(self) -> Bools:
        """Whether each label is queried."""
        return np.array([row.query for row in self.rows], dtype=bool)


class Client:
    """Client of a service that `qufur serve` started, with the interface of `Learner`.

    The client generates missing ids, so that a request repeated after a lost connection holds the same
    example and costs nothing more.

    Parameters
    ----------
    url
        Address of the service, such as "http://127.0.0.1:8000".
    key
        Key that `qufur key add` printed; a service on a loopback address may need none.
    stream
        Name of the stream; `create` and `stream` return clients of a stream.
    timeout
        Seconds that the service may take to respond.
    patience
        Seconds for which requests to an unavailable or busy service are retried.

    Raises
    ------
    ValueError
        If the service rejects a request; its `status` is the HTTP status.
    PermissionError
        If the key is missing or lacks a scope.
    ConnectionError
        If the service is unavailable for `patience` seconds.
    TimeoutError
        If the service does not respond.

    Examples
    --------
    >>> import tempfile
    >>> from qufur.service.app import create_app
    >>> from qufur.service.server import serving
    >>> from qufur.service.store.store import Store
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = Store(f"sqlite:///{folder}/labels.db")
    ...     with serving(create_app(store)) as url, Client(url) as client:
    ...         learner = client.create("bikes", dim=2, budget=9, horizon=100)
    ...         answer = learner.ask([1.0, 0.0])
    ...         if answer.query:
    ...             learner.tell(answer.id, 1.0)
    ...         print(answer.prediction, learner.spent, learner.left)
    ...     store.close()
    0.0 1 8
    """

    def __init__(
        self,
        url: str,
        key: str | None = None,
        stream: str | None = None,
        *,
        timeout: float = 10.0,
        patience: float = 30.0,
    ) -> None:
        self._connection = Connection(url, key, timeout, patience)
        self.name = stream

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections, which clients of several streams may share."""
        self._connection.close()

    # Streams

    def stream(self, name: str) -> Client:
        """Return a client of this stream that shares the connections."""
        client = Client.__new__(Client)
        client._connection, client.name = self._connection, name
        return client

    def create(self, name: str, **config: Any) -> Client:
        """Create a stream and return a client of it; reuse an existing stream of equal configuration.

        Parameters
        ----------
        name
            Name of the stream.
        **config
            `dim` or `columns`, and other fields that `POST /v1/streams` takes: `label_range` or `classes`,
            `budget`, `horizon`, `model`, `rule`, `seed`.
        """
        self._connection.send("POST", "/v1/streams", json={"name": name, **config})
        return self.stream(name)

    def streams(self) -> list[str]:
        """Return the names of the streams that the key may access."""
        return [state["name"] for state in self._connection.send("GET", "/v1/streams")["streams"]]

    def delete(self) -> None:
        """Delete the stream with its rows, labels and model."""
        self._send("DELETE", "", repeatable=False)

    # Interface of a learner

    def ask(self, x: ArrayLike | Record, *, id: Id | None = None) -> RemoteAnswer:
        """Predict on one input and decide whether to query its label.

        Parameters
        ----------
        x
            Numbers, or a record for a stream with columns.
        id
            Id for `tell`; by default a unique one.
        """
        example = {"id": uuid4().hex if id is None else transport.as_id(id), **transport.example(x)}
        return RemoteAnswer.from_json(self._send("POST", "/examples", json=example))

    def ask_many(self, X: ArrayLike | Sequence[Record], *, ids: Sequence[Id] | None = None) -> RemoteAnswers:
        """Answer a batch of inputs; a large batch is split into several requests.

        Arrays keep their precision: single precision halves the size of a request.
        """
        rows = transport.rows_of(X)
        if ids is not None and len(ids) != len(rows):
            raise invalid("ids", "ask_many", "one for each input", f"{len(ids)} for {len(rows)}")
        is_matrix = ids is None and isinstance(rows, np.ndarray)
        fields = None if is_matrix else [{"id": id} for id in transport.ids_of(ids, rows)]
        responses = self._send_rows("/examples", rows, fields)
        return RemoteAnswers(list(map(RemoteAnswer.from_json, chain.from_iterable(responses))))

    def tell(self, id: Id, label: float | str, *, replace: bool = False) -> None:
        """Send the label of a pending query; with `replace`, replace the label of a labelled row."""
        self.tell_many([id], [label], replace=replace)

    def tell_many(self, ids: Sequence[Id], labels: ArrayLike, *, replace: bool = False) -> None:
        """Send the labels of several pending queries; all are learned, or none."""
        body = [
            {"id": transport.as_id(id), "label": label}
            for id, label in zip(ids, np.asarray(labels).tolist(), strict=True)
        ]
        self._send("POST", "/labels", json=body, params={"replace": "true"} if replace else {})

    def retract(self, id: Id) -> None:
        """Retract a pending query whose label will never arrive, and refund it."""
        self._send("POST", f"/examples/{quote(str(id), safe='')}/decline", repeatable=False)

    def learn(
        self, X: ArrayLike | Sequence[Record], y: ArrayLike, *, ids: Sequence[Id] | None = None
    ) -> None:
        """Learn from labels that cost nothing; a large batch is split into several requests."""
        rows = transport.rows_of(X)
        labels = np.atleast_1d(np.asarray(y)).tolist()
        names = transport.ids_of(ids, labels)
        fields = [{"id": id, "label": label} for id, label in zip(names, labels, strict=True)]
        self._send_rows("/learn", rows, fields)

    def predict(self, X: ArrayLike | Sequence[Record]) -> np.ndarray[Any, Any]:
        """Return the prediction for each row; nothing is queried or stored."""
        return np.array([body["prediction"] for body in self._predict(X)])

    def uncertainty(self, X: ArrayLike | Sequence[Record]) -> Floats:
        """Return Δ for each row."""
        return np.array([body["uncertainty"] for body in self._predict(X)], dtype=float)

    def add_budget(self, labels: int, rows: int | None = None) -> None:
        """Add labels to the budget of the stream.

        Parameters
        ----------
        labels
            Number of labels to add, at least 1.
        rows
            For rules with a horizon: the number of further examples over which the remaining budget is
            spent. By default those up to the horizon; after it, as many as keep the rate.
        """
        self._send("POST", "/budget", json={"labels": labels, "rows": rows}, repeatable=False)

    def report(self) -> dict[str, Any]:
        """Return the report of the stream: summary text and numbers."""
        report: dict[str, Any] = self._send("GET", "/report")
        return report

    @property
    def state(self) -> dict[str, Any]:
        """Status of the stream."""
        status: dict[str, Any] = self._send("GET", "")
        return status

    @property
    def spent(self) -> int:
        """Labels bought, including pending ones."""
        return int(self.state["spent"])

    @property
    def left(self) -> int | None:
        """Labels that may still be bought, or None without a budget."""
        left: int | None = self.state["left"]
        return left

    @property
    def outstanding(self) -> tuple[str, ...]:
        """Ids of pending queries, oldest first, at most 10,000."""
        return tuple(row["id"] for row in self._send("GET", "/queue", params={"limit": 10_000})["rows"])

    def _predict(self, X: ArrayLike | Sequence[Record]) -> Iterator[dict[str, Any]]:
        rows = transport.rows_of(X)
        fields: list[dict[str, Any]] | None = None if isinstance(rows, np.ndarray) else [{}] * len(rows)
        return chain.from_iterable(self._send_rows("/predict", rows, fields))

    def _send_rows(self, path: str, rows: Any, fields: Sequence[dict[str, Any]] | None) -> list[Any]:
        """Send inputs with further fields, in several requests; return each response.

        Without fields, the inputs are a matrix. It is sent in NumPy's format, with generated ids.
        """
        responses, prefix = [], uuid4().hex
        for part in transport.parts(rows):
            if fields is None:
                headers = NPY | {"X-Id-Prefix": f"{prefix}-", "X-First-Id": str(part.start)}
                content: dict[str, Any] = {"content": transport.npy(rows[part]), "headers": headers}
            else:
                pairs = zip(fields[part], rows[part], strict=True)
                content = {"json": [extra | transport.example(row) for extra, row in pairs]}
            responses.append(self._send("POST", path, **content))
        return responses

    def _send(self, verb: str, path: str, **content: Any) -> Any:
        if self.name is None:
            remedy = 'client.stream("bikes") or client.create("bikes", ...) returns one that does.'
            raise invalid("stream", "Client", "given", "none", remedy)
        return self._connection.send(verb, f"/v1/streams/{quote(self.name, safe='')}{path}", **content)
