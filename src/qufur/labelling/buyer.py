"""Labels from a Python function, plain or `async`, with concurrent calls."""

from __future__ import annotations

import asyncio
import inspect
import math
import threading
from collections.abc import Awaitable, Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from typing import Any

from numpy.typing import ArrayLike

from qufur.arrays import Floats, as_count, as_label_one
from qufur.errors import invalid
from qufur.ids import Id
from qufur.labelling.calls import CallLimits, Calls
from qufur.labelling.journal import CallLog, Request
from qufur.labelling.label_queue import LabelQueue, OutOfOrderError
from qufur.labelling.votes import agreement
from qufur.learner import Learner
from qufur.streams.base import Stream

Labeller = Callable[[Id, Floats], Any] | Callable[[Id, Floats], Awaitable[Any]]
CHUNK = 1024


@dataclass(frozen=True)
class Bought:
    """Result of `buy`.

    Attributes
    ----------
    rows, calls, labels, skipped
        Numbers of examples read, calls of the labeller, labels learned, and queries that it skipped.
    failed
        Exceptions by id of the queries without a label; these stay pending.
    agreed, judged_twice
        Number of examples whose first two opinions agree, and number of examples with two opinions.
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
    """Run a learner on a stream and get the labels that it queries from a function.

    The learner learns labels as they arrive, so up to `jobs` of them are late. The function must not use the
    learner.

    Parameters
    ----------
    learner
        It continues from its present state; queries that are pending already stay pending.
    stream
        An iterable of inputs, or a stream, whose labels are ignored.
    labeller
        Function of the id of a query and its input that returns the label, or None to skip the query. It may
        be `async`. An exception counts as a failure.
    jobs
        Number of concurrent calls; a function that is not `async` runs in threads.
    votes
        Maximum number of opinions per query: two, and more if they differ. The learner learns the mean of
        numbers or the most frequent class.
    retries
        Number of retries of a failed call.
    pause
        Seconds before the first retry, doubled for each further one.
    rate
        Maximum number of calls started per second.

    Returns
    -------
    Bought
        Counts of calls and labels.

    Raises
    ------
    InvalidError
        If a parameter is out of range; nothing is called.
    Exception
        The last exception of a labeller that fails for five consecutive examples, or for as many as `jobs`
        if that is more.

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
    log, inputs = CallLog(), _Inputs(learner, stream)
    with _caller(labeller, jobs) as make:
        calls = Calls(make, inputs.read, log, CallLimits(jobs, retries, rate, pause))
        mean = not learner.model.label_codec.classifies
        queue = LabelQueue(calls, log.request, lambda id, item: {}, inputs.settle, votes, mean)
        try:
            queue.work(inputs.feed, lambda: None)
        except OutOfOrderError as error:
            raise (error.__cause__ or error) from None
    rows = agreement(log.opinions.values())
    return Bought(inputs.rows, log.calls, queue.labels, queue.skipped, queue.failed, *rows)


class _Inputs:
    """Inputs of a stream, passed to the learner one by one."""

    def __init__(self, learner: Learner, stream: Stream | Iterable[ArrayLike]) -> None:
        self._learner, self.rows = learner, 0
        if isinstance(stream, Stream):
            stream = chain.from_iterable(chunk.X for chunk in stream.chunks(CHUNK))
        self._rest: Iterator[Any] = iter(stream)

    def feed(self) -> list[tuple[Id, Floats]] | None:
        """Return the next input that the learner queries."""
        for x in self._rest:
            self.rows += 1
            answer = self._learner.ask(x)
            if answer.query:
                return [(answer.id, x)]
        return None

    def settle(self, id: Id, label: Any) -> None:
        """Learn a label, or retract the query if it is None."""
        if label is None:
            self._learner.retract(id)
        else:
            self._learner.tell(id, label)

    def read(self, request: Request, answer: Any) -> Any:
        """Return the answer; raise `ValueError` if it is not a valid label."""
        if answer is not None:
            y = as_label_one(self._learner.model.label_codec.encode(answer), "labeller")
            self._learner.model.label_codec.check(y)
        return answer


@contextmanager
def _caller(labeller: Labeller, jobs: int) -> Iterator[Callable[[Request], Future[Any]]]:
    """Yield a function that starts a call."""
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
