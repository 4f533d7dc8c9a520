"""Labels that a function gives, as it is or `async`, several at a time."""

from __future__ import annotations

import asyncio
import inspect
import math
import threading
from collections.abc import Awaitable, Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from numpy.typing import ArrayLike

from qufur.arrays import Floats, as_count, as_label_one
from qufur.errors import invalid
from qufur.labelling.calls import Calls, Terms
from qufur.labelling.desk import Desk, OutOfOrderError
from qufur.labelling.journal import Request
from qufur.labelling.votes import agreement
from qufur.learner import Learner
from qufur.models.base import Id
from qufur.streams.base import Stream

Labeller = Callable[[Id, Floats], Any] | Callable[[Id, Floats], Awaitable[Any]]
CHUNK = 1024


@dataclass(frozen=True)
class Bought:
    """What came of labels that were bought.

    Attributes
    ----------
    rows, calls, labels, skipped
        Examples asked about, calls of the labeller, labels learned, and queries that it skipped.
    failed
        By id, why there is no label; these stay outstanding.
    agreed, judged_twice
        Of how many examples the first two opinions were the same, and how many had two.
    """

    rows: int
    calls: int
    labels: int
    skipped: int
    failed: dict[Id, Exception]
    agreed: int
    judged_twice: int


def buy(
    learner: Learner,
    stream: Stream | Iterable[ArrayLike],
    labeller: Labeller,
    *,
    jobs: int = 1,
    votes: int = 1,
    retries: int = 2,
    pause: float = 0.5,
    rate: float = math.inf,
) -> Bought:
    """Play a stream to a learner, and let a function label what it asks for.

    Labels are learned as they come, so up to `jobs` of them are late. The function must not use the learner.

    Parameters
    ----------
    learner
        It goes on from the state it is in; queries that were outstanding stay so.
    stream
        Inputs, one after the other, or a stream, whose own labels are not looked at.
    labeller
        Takes the id of a query and its input, and returns the label, or None for one that is given up. It may
        be `async`. An exception is a failure.
    jobs
        How many calls at once; a function that is not `async` then runs in threads.
    votes
        How many opinions there may be: two, and more where they differ. The mean of numbers is learned, or
        the most frequent class.
    retries
        How often a call that failed is made again.
    pause
        After how many seconds; twice as many each time.
    rate
        How many calls may begin per second.

    Returns
    -------
    Bought
        What was called for, and what came. A labeller that fails for five examples in a row raises what it
        raised last.

    Examples
    --------
    >>> from qufur import Greedy, Ridge
    >>> learner = Learner(Ridge(1), Greedy(3))
    >>> bought = buy(learner, [[0.5], [1.0], [0.2], [0.1]], lambda id, x: None if id == 1 else x[0])
    >>> bought.rows, bought.calls, bought.labels, bought.skipped, learner.left
    (4, 4, 3, 1, 0)
    """
    counts = {"jobs": jobs, "votes": votes, "retries + 1": retries + 1}
    for name, value in counts.items():
        as_count(value, name, "buy")
    if not (rate > 0 and pause >= 0):
        raise invalid("rate and pause", "buy", "above 0, and at least 0", f"{rate} and {pause}")
    record, inputs = _Record(), _Inputs(learner, stream)
    with _caller(labeller, jobs) as make:
        calls = Calls(make, inputs.read, record, Terms(jobs, retries, rate, pause))
        mean = not learner.model.classifies
        desk = Desk(calls, _request, lambda id, item: {}, inputs.settle, votes, mean)
        try:
            desk.work(inputs.feed, lambda: None)
        except OutOfOrderError as error:
            raise (error.__cause__ or error) from None
    rows = agreement(record.opinions.values())
    return Bought(inputs.rows, record.calls, desk.labels, desk.skipped, desk.failed, *rows)


def _request(id: Id, item: Any, vote: int) -> Request:
    return Request(id, item, vote, f"{id}/{vote}")


@dataclass
class _Record:
    """Counts calls; nothing of them is kept on a disk."""

    calls: int = 0
    opinions: dict[Id, dict[int, Any]] = field(default_factory=dict)

    def affords(self, calls: int) -> bool:
        return True

    def begin(self, requests: Iterable[Request]) -> None:
        self.calls += len(list(requests))

    def end(self, request: Request, answer: Any) -> None:
        self.opinions.setdefault(request.id, {})[request.vote] = answer

    def fail(self, request: Request, why: str) -> None:
        """Leave it: `Desk` keeps why there is no label."""


class _Inputs:
    """A learner that is asked about input after input."""

    def __init__(self, learner: Learner, stream: Stream | Iterable[ArrayLike]) -> None:
        self._learner, self._rest, self.rows = learner, _rows(stream), 0

    def feed(self) -> list[tuple[Id, Floats]] | None:
        """Return the next input whose label is wanted."""
        for x in self._rest:
            self.rows += 1
            answer = self._learner.ask(x)
            if answer.query:
                return [(answer.id, x)]
        return None

    def settle(self, id: Id, label: Any) -> None:
        """Learn a label, or give it up."""
        if label is None:
            self._learner.retract(id)
        else:
            self._learner.tell(id, label)

    def read(self, request: Request, answer: Any) -> Any:
        """Refuse what is no label."""
        if answer is not None:
            y = as_label_one(self._learner.model.encode_labels(answer), "labeller")
            self._learner.model.check_labels(y)
        return answer


def _rows(stream: Stream | Iterable[ArrayLike]) -> Iterator[Any]:
    if not isinstance(stream, Stream):
        yield from stream
        return
    for chunk in stream.chunks(CHUNK):
        yield from chunk.X


@contextmanager
def _caller(labeller: Labeller, jobs: int) -> Iterator[Callable[[Request], Future[Any]]]:
    """Yield what begins a call."""
    called = getattr(labeller, "__call__", labeller)  # noqa: B004  (an object may have it `async`)
    if not (inspect.iscoroutinefunction(labeller) or inspect.iscoroutinefunction(called)):
        with ThreadPoolExecutor(jobs) as pool:
            yield lambda request: pool.submit(labeller, request.id, request.item)
        return
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        yield lambda request: asyncio.run_coroutine_threadsafe(_awaited(labeller, request), loop)
    finally:
        asyncio.run_coroutine_threadsafe(_cancel_all(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _awaited(labeller: Labeller, request: Request) -> Any:
    return await labeller(request.id, request.item)


async def _cancel_all() -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
