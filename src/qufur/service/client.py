"""A stream of a service, used like a learner."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Any
from urllib.parse import quote
from uuid import uuid4

import numpy as np
from numpy.typing import ArrayLike

from qufur.arrays import Floats
from qufur.errors import invalid
from qufur.models.base import Id
from qufur.service import bodies
from qufur.service.bodies import NPY, Record
from qufur.service.connection import Connection
from qufur.service.remote import RemoteAnswer, RemoteAnswers


class Client:
    """Speaks to a service that `qufur serve` started, as one speaks to a `Learner`.

    Examples have ids, made here if none are given, so that what is sent again after a lost connection is the
    same example and costs nothing more. What the service refuses is a `ValueError`, as with a learner, with
    the status of HTTP as `status`; without the right key it is a `PermissionError`; a service that is not
    reached for `patience` seconds is a `ConnectionError`, one that does not answer a `TimeoutError`.

    Parameters
    ----------
    url
        Where the service is, such as "http://127.0.0.1:8000".
    key
        What `qufur key add` printed; a service on this machine may need none.
    stream
        The name of the stream that is spoken of; `create` and `stream` return clients that have one.
    timeout
        Seconds that the service may take to answer.
    patience
        Seconds for which a service that is down or busy is tried again.

    Examples
    --------
    >>> import tempfile
    >>> from qufur.service.app import create_app
    >>> from qufur.service.background import serving
    >>> from qufur.service.store import Store
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
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the connections, which clients of several streams may share."""
        self._connection.close()

    # Streams

    def stream(self, name: str) -> Client:
        """Return a client that speaks of this stream, over the same connections."""
        other = Client.__new__(Client)
        other._connection, other.name = self._connection, name
        return other

    def create(self, name: str, **description: Any) -> Client:
        """Create a stream and return a client that speaks of it; one that is just so already is taken.

        Parameters
        ----------
        name
            What it is called.
        **description
            `dim` or `columns`, and whatever else `POST /v1/streams` takes: `label_range` or `classes`,
            `budget`, `horizon`, `model`, `rule`, `seed`.
        """
        self._connection.send("POST", "/v1/streams", json={"name": name, **description})
        return self.stream(name)

    def streams(self) -> list[str]:
        """Return the names of the streams that the key is for."""
        return [state["name"] for state in self._connection.send("GET", "/v1/streams")["streams"]]

    def delete(self) -> None:
        """Delete the stream with its rows, labels and model."""
        self._send("DELETE", "", repeatable=False)

    # What a learner does

    def ask(self, x: ArrayLike | Record, *, id: Id | None = None) -> RemoteAnswer:
        """Predict on one input and decide whether its label is wanted.

        Parameters
        ----------
        x
            Numbers, or a record for a stream that has columns.
        id
            A name for `tell` to refer to; by default one that nobody else has.
        """
        example = {"id": uuid4().hex if id is None else bodies.as_id(id), **bodies.example(x)}
        return RemoteAnswer.of(self._send("POST", "/examples", json=example))

    def ask_many(self, X: ArrayLike | Sequence[Record], *, ids: Sequence[Id] | None = None) -> RemoteAnswers:
        """Answer a batch of inputs whose labels come later; many are sent in several requests.

        Arrays travel as they are: in single precision if that is theirs, which is half as much.
        """
        rows = bodies.rows_of(X)
        if ids is not None and len(ids) != len(rows):
            raise invalid("ids", "ask_many", "one for each input", f"{len(ids)} for {len(rows)}")
        said: list[dict[str, Any]] = []
        for part in bodies.parts(rows):
            if ids is None and isinstance(rows, np.ndarray):
                names = {"X-Id-Prefix": f"{uuid4().hex}-", "X-First-Id": "0"}
                said += self._send("POST", "/examples", content=bodies.npy(rows[part]), headers=NPY | names)
            else:
                some = [uuid4().hex for _ in rows[part]] if ids is None else map(bodies.as_id, ids[part])
                batch = [{"id": id, **bodies.example(row)} for id, row in zip(some, rows[part], strict=True)]
                said += self._send("POST", "/examples", json=batch)
        return RemoteAnswers([RemoteAnswer.of(one) for one in said])

    def tell(self, id: Id, label: float | str, *, replace: bool = False) -> None:
        """Give the label of an outstanding query; with `replace`, another one for a row that has one."""
        self.tell_many([id], [label], replace=replace)

    def tell_many(self, ids: Sequence[Id], labels: ArrayLike, *, replace: bool = False) -> None:
        """Give the labels of several outstanding queries; all of them are learned, or none."""
        body = [
            {"id": bodies.as_id(id), "label": label}
            for id, label in zip(ids, np.asarray(labels).tolist(), strict=True)
        ]
        self._send("POST", "/labels", json=body, params={"replace": "true"} if replace else {})

    def retract(self, id: Id) -> None:
        """Say that the label of an outstanding query will never come: it costs nothing."""
        self._send("POST", f"/examples/{quote(str(id), safe='')}/decline", repeatable=False)

    def learn(
        self, X: ArrayLike | Sequence[Record], y: ArrayLike, *, ids: Sequence[Id] | None = None
    ) -> None:
        """Learn from labels that were free."""
        rows = bodies.rows_of(X)
        labels = np.atleast_1d(np.asarray(y)).tolist()
        names = [uuid4().hex for _ in labels] if ids is None else list(map(bodies.as_id, ids))
        for part in bodies.parts(rows):
            found = zip(names[part], rows[part], labels[part], strict=True)
            self._send(
                "POST",
                "/learn",
                json=[{"id": i, "label": label, **bodies.example(x)} for i, x, label in found],
            )

    def predict(self, X: ArrayLike | Sequence[Record]) -> np.ndarray[Any, Any]:
        """Return the prediction for each row; nothing is asked or kept."""
        return np.array([one["prediction"] for one in self._predicted(X)])

    def uncertainty(self, X: ArrayLike | Sequence[Record]) -> Floats:
        """Return Δ for each row."""
        return np.array([one["uncertainty"] for one in self._predicted(X)], dtype=float)

    def add_budget(self, labels: int, rows: int | None = None) -> None:
        """Let more labels be bought; for rules with a horizon, over so many rows from now on."""
        self._send("POST", "/budget", json={"labels": labels, "rows": rows}, repeatable=False)

    def report(self) -> dict[str, Any]:
        """Say how it is going, in sentences and numbers."""
        found: dict[str, Any] = self._send("GET", "/report")
        return found

    @property
    def state(self) -> dict[str, Any]:
        """How the stream stands."""
        found: dict[str, Any] = self._send("GET", "")
        return found

    @property
    def spent(self) -> int:
        """Labels bought, outstanding ones included."""
        return int(self.state["spent"])

    @property
    def left(self) -> int | None:
        """Labels that may still be bought, or None without a budget."""
        left: int | None = self.state["left"]
        return left

    @property
    def outstanding(self) -> tuple[str, ...]:
        """Ids whose label was asked for and has not come, the oldest first; 10,000 of them at most."""
        return tuple(row["id"] for row in self._send("GET", "/queue", params={"limit": 10_000})["rows"])

    def _predicted(self, X: ArrayLike | Sequence[Record]) -> list[dict[str, Any]]:
        rows = bodies.rows_of(X)
        said: list[dict[str, Any]] = []
        for part in bodies.parts(rows):
            if isinstance(rows, np.ndarray):
                said += self._send("POST", "/predict", content=bodies.npy(rows[part]), headers=NPY)
            else:
                said += self._send("POST", "/predict", json=[bodies.example(row) for row in rows[part]])
        return said

    def _send(self, verb: str, path: str, **content: Any) -> Any:
        if self.name is None:
            remedy = 'client.stream("bikes") or client.create("bikes", ...) returns one that does.'
            raise invalid("stream", "Client", "given", "none", remedy)
        return self._connection.send(verb, f"/v1/streams/{quote(self.name, safe='')}{path}", **content)
