"""Load client of little overhead: requests are built in advance and sent over open connections."""

from __future__ import annotations

import asyncio
import io
import json
import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass
class Load:
    """Examples to send, continuing after the previous call, and all labels.

    Attributes
    ----------
    next
        Index of the next example to send.
    """

    port: int
    stream: str
    X: np.ndarray[Any, Any]
    y: np.ndarray[Any, Any]
    batch: int
    binary: bool
    next: int = 0

    def requests(self, count: int) -> list[tuple[int, bytes]]:
        """Return requests with the next examples, each with the number of its first."""
        starts = range(self.next, min(self.next + count, len(self.X) - self.batch + 1), self.batch)
        self.next = starts[-1] + self.batch if starts else self.next
        return [(start, self._request(start)) for start in starts]

    def _request(self, start: int) -> bytes:
        path = f"/v1/streams/{self.stream}/examples"
        rows = self.X[start : start + self.batch]
        if self.binary:
            file = io.BytesIO()
            np.save(file, rows.astype(np.float32))
            extra = f"Content-Type: application/x-npy\r\nX-First-Id: {start}\r\n"
            return request("POST", path, file.getvalue(), extra)
        examples = [{"id": str(start + k), "x": row} for k, row in enumerate(rows.round(6).tolist())]
        return request("POST", path, json.dumps(examples if self.batch > 1 else examples[0]).encode())


@dataclass
class Sent:
    """Result of a load run."""

    sent: int = 0
    labels: int = 0
    seconds: float = 0.0
    milliseconds: list[float] = field(default_factory=list)

    @property
    def rate(self) -> float:
        """Examples per second."""
        return self.sent / self.seconds


def request(verb: str, path: str, body: bytes, extra: str = "") -> bytes:
    """Return the bytes of a request."""
    head = f"{verb} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n{extra}\r\n"
    return head.encode() + body


async def send(
    load: Load,
    create: dict[str, Any] | None,
    clients: int,
    *,
    share: float = 0.0,
    rate: float | None = None,
    warm: bool = False,
) -> Sent:
    """Send a share of the examples over several connections, at full speed or at a fixed rate.

    `create` is the body of a request that creates the stream first, or None. `warm` sends one batch per
    connection instead of a share, to warm up the server.
    """
    connections = [await asyncio.open_connection("127.0.0.1", load.port, limit=2**24) for _ in range(clients)]
    if create is not None:
        await _exchange(*connections[0], request("POST", "/v1/streams", json.dumps(create).encode()))
    count = load.batch * clients if warm else int(share * len(load.X))
    todo = load.requests(count)
    todo.reverse()
    sent_examples, start = Sent(), time.perf_counter()
    gap = 0.0 if rate is None else load.batch / rate
    total = len(todo)
    await asyncio.gather(
        *(_work(load, pair, todo, sent_examples, (start, gap, total)) for pair in connections)
    )
    sent_examples.seconds = time.perf_counter() - start
    for _, writer in connections:
        writer.close()
    return sent_examples


async def _work(
    load: Load, connection: Any, todo: list[Any], sent_examples: Sent, pace: tuple[float, float, int]
) -> None:
    begin, gap, total = pace
    while todo:
        due = begin + gap * (total - len(todo))
        first, body = todo.pop()
        wait = due - time.perf_counter()
        if gap and wait > 0:
            await asyncio.sleep(wait)
        sent = time.perf_counter()
        answers = await _exchange(*connection, body)
        sent_examples.milliseconds.append(1e3 * (time.perf_counter() - sent))
        sent_examples.sent += load.batch
        labels = [
            {"id": answer["id"], "label": float(load.y[first + offset])}
            for offset, answer in enumerate(answers if isinstance(answers, list) else [answers])
            if answer["query"]
        ]
        if labels:
            await _exchange(*connection, _label_request(load.stream, labels))
            sent_examples.labels += len(labels)


def _label_request(stream: str, labels: list[dict[str, Any]]) -> bytes:
    if len(labels) > 1:
        return request("POST", f"/v1/streams/{stream}/labels", json.dumps(labels).encode())
    (label,) = labels
    path = f"/v1/streams/{stream}/examples/{label['id']}/label"
    return request("PUT", path, json.dumps({"label": label["label"]}).encode())


async def _exchange(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, body: bytes) -> Any:
    writer.write(body)
    head = (await reader.readuntil(b"\r\n\r\n")).lower()
    length = int(head.split(b"content-length: ")[1].split(b"\r\n")[0])
    content = await reader.readexactly(length)
    if not head.startswith((b"http/1.1 20",)):
        raise RuntimeError(content.decode())
    return _decode(content)


def _decode(content: bytes) -> Any:
    import msgspec

    return msgspec.json.decode(content)
