"""`buy`: a function labels the queries of a learner."""

import asyncio
import threading
import time

import numpy as np
import pytest
from tests.refusals import refusal

from qufur import Greedy, Learner, Ridge, Softmax, Uniform, run, streams
from qufur.labelling import buy

STREAM = streams.HiddenDomains([120], [4], noise=0.1, seed=3)
CHUNK = next(STREAM.chunks(1000))


def judge(id, x):
    return CHUNK.y[id]


async def slow_judge(id, x):
    await asyncio.sleep(0.001)
    return CHUNK.y[id]


class AsyncJudge:
    async def __call__(self, id, x):
        return CHUNK.y[id]


@pytest.mark.parametrize("labeller", [judge, slow_judge, AsyncJudge()])
def test_single_job_equals_the_run_with_labels_at_most_one_query_late(labeller):
    learner, other = (Learner(Ridge(4), Uniform(0.3), seed=5) for _ in range(2))
    bought, trace = buy(learner, STREAM, labeller), run(other, STREAM)
    assert (bought.rows, bought.labels, bought.calls) == (120, trace.queries, trace.queries)
    assert learner.outstanding == ()
    np.testing.assert_allclose(learner.predict(CHUNK.X), other.predict(CHUNK.X), atol=1e-9)


@pytest.mark.parametrize("jobs", [1, 3])
@pytest.mark.parametrize("labeller_type", ["threads", "async"])
def test_buy_runs_exactly_jobs_calls_concurrently(jobs, labeller_type):
    running, maximum, lock = 0, 0, threading.Lock()

    def enter(step):
        nonlocal running, maximum
        with lock:
            running += step
            maximum = max(maximum, running)

    def threaded(id, x):
        enter(1)
        time.sleep(0.01)
        enter(-1)
        return 0.0

    async def awaited(id, x):
        enter(1)
        await asyncio.sleep(0.01)
        enter(-1)
        return 0.0

    labeller = threaded if labeller_type == "threads" else awaited
    buy(Learner(Ridge(4), Greedy(12)), CHUNK.X, labeller, jobs=jobs)
    assert maximum == jobs


def test_failed_calls_are_retried_and_then_stay_pending():
    tries = {}

    def unreliable(id, x):
        tries[id] = tries.get(id, 0) + 1
        if id == 2 or (id == 3 and tries[id] == 1):
            raise OSError("no line")
        return "much" if id == 5 else 0.1

    learner = Learner(Ridge(4), Greedy(10))
    bought = buy(learner, CHUNK.X, unreliable, retries=1, pause=0)
    assert (tries[2], tries[3], tries[5]) == (2, 2, 2)
    assert learner.outstanding == (2, 5) == tuple(bought.failed)
    assert str(bought.failed[2]) == "no line"
    assert (bought.labels, bought.calls) == (8, 13)


def test_buy_raises_when_the_labeller_keeps_failing():
    def broken(id, x):
        raise RuntimeError(f"no key for {id}")

    learner = Learner(Ridge(4), Greedy(100))
    with pytest.raises(RuntimeError, match="no key for 4"):
        buy(learner, CHUNK.X, broken, retries=0)
    assert learner.outstanding == (0, 1, 2, 3, 4)


def test_skipped_labels_are_refunded():
    learner = Learner(Ridge(4), Greedy(10))
    bought = buy(learner, CHUNK.X, lambda id, x: None if id % 2 else 1.0)
    assert (bought.labels, bought.skipped) == (10, 9)
    assert (learner.spent, learner.left, learner.outstanding) == (10, 0, ())


def test_opinions_are_averaged_and_a_third_is_bought_when_two_differ():
    opinions = {0: [1.0, 1.0], 1: [0.0, 1.0, 0.5], 2: [None, None], 3: [0.0, None, None]}
    learner = Learner(Ridge(4), Greedy(2))
    labels = []
    learner.tell = lambda id, label: (labels.append((id, label)), Learner.tell(learner, id, label))
    bought = buy(learner, CHUNK.X[:4], lambda id, x: opinions[id].pop(0), votes=3)
    assert labels == [(0, 1.0), (1, 0.5)]
    assert (bought.calls, bought.agreed, bought.judged_twice, bought.skipped) == (5, 1, 2, 0)
    learner.add_budget(2)
    bought = buy(learner, CHUNK.X[2:4], lambda id, x: opinions[id - 2].pop(0), votes=3)
    assert (bought.calls, bought.skipped, learner.left) == (5, 2, 2)


def test_class_opinions_are_decided_by_majority():
    opinions = iter([1, 2, 2, 0, 0])
    learner = Learner(Softmax(4, 3), Greedy(2))
    labels = []
    learner.tell = lambda id, label: (labels.append(label), Learner.tell(learner, id, label))
    assert buy(learner, CHUNK.X[:2], lambda id, x: next(opinions), votes=3).calls == 5
    assert labels == [2, 0]


def test_rate_limit_is_respected():
    begin = time.monotonic()
    buy(Learner(Ridge(4), Greedy(5)), CHUNK.X, judge, rate=50)
    assert time.monotonic() - begin >= 4 / 50


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"jobs": 0}, "jobs of buy must be"),
        ({"votes": 0}, "votes of buy must be"),
        ({"retries": -1}, "retries + 1 of buy must be"),
        ({"rate": 0}, "rate and pause of buy must be above 0, and at least 0, got 0 and 0.5"),
    ],
)
def test_invalid_arguments_raise(options, message):
    assert message in refusal(lambda: buy(Learner(Ridge(4), Greedy(5)), CHUNK.X, judge, **options))
