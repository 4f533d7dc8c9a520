"""Interrupts, errors and threads: a learner is in the state before a call or after it, never between."""

import contextlib
import copy
import multiprocessing
import pickle
import signal
import sys
import threading
import warnings
from unittest import mock

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.refusals import refusal
from tests.soak import times
from tests.test_oracle import models, rules

from qufur import FixedBudget, Learner, Paced, QuFUR, Ridge, Softmax, Uniform
from qufur.estimates.ledger import Ledger
from qufur.models.lookahead import NO_ARRIVALS, Arrivals
from qufur.snapshot import encode
from qufur.storage.container import digest

X = np.random.default_rng(0).normal(size=(40, 3)) / 2


@pytest.fixture(autouse=True)
def _handler():
    """Install Python's handler of SIGINT, which a shell may have disabled; check that calls restore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    assert signal.signal(signal.SIGINT, before) is signal.default_int_handler


def interrupted(call, moment):
    """Call a function and send a signal at the line `moment`; return whether it ran that many lines."""
    left = moment

    def count(frame, event, argument):
        nonlocal left
        if "qufur" not in frame.f_code.co_filename:
            return None
        left -= event == "line"
        if left == 0 and event == "line":
            signal.raise_signal(signal.SIGINT)
        return count

    old = sys.gettrace()
    sys.settrace(count)
    try:
        call()
    finally:
        sys.settrace(old)
    return left <= 0


def state(learner):
    return digest(*encode(learner))


def states(learner, call):
    """Return the state before a call and the state after it."""
    twin = copy.deepcopy(learner)
    call(twin)
    return state(learner), state(twin)


def check_interrupted_call(learner, call, moment, before, after):
    """Interrupt a call and check that it was applied completely or not at all; in that case repeat it.

    Returns whether the call ended before the signal.
    """
    try:
        reached = interrupted(lambda: call(learner), moment)
    except KeyboardInterrupt:
        reached = True
        learner.predict(np.zeros(learner.model.dim))  # raises if the learner is unusable
        current = state(learner)
        assert current in (before, after)
        if current == before:
            call(learner)
    assert state(learner) == after
    return not reached


def one_label(learner):
    learner.tell(learner.outstanding[0], 1.0)


def all_labels(learner):
    learner.tell_many(learner.outstanding, np.zeros(len(learner.outstanding)))


def block(learner):
    def exchange(block):
        return Arrivals(block.queries, np.ones(len(block.queries)), np.flatnonzero(block.query) + 1)

    learner._run_block(X[:20], None, exchange)


CALLS = {
    "ask": lambda learner: learner.ask(X[1]),
    "ask_many": lambda learner: learner.ask_many(X[:30]),
    "tell": one_label,
    "tell_many": all_labels,
    "retract": lambda learner: learner.retract(learner.outstanding[1]),
    "retract_many": lambda learner: learner.retract_many(learner.outstanding[1:3]),
    "learn": lambda learner: learner.learn(X[:4], np.zeros(4)),
    "play": block,
    "report": lambda learner: learner.report(),
    "uncertainty": lambda learner: learner.uncertainty(X),
}


@pytest.mark.parametrize("name", CALLS)
def test_interrupt_at_any_line_leaves_the_state_before_or_after(name):
    learner = Learner(Ridge(3), QuFUR(8.0), seed=0)
    learner.ask_many(X)
    learner.ask(X[0])
    moment, over, ends = 0, False, states(learner, CALLS[name])
    while not over:
        moment += 1
        over = check_interrupted_call(copy.deepcopy(learner), CALLS[name], moment, *ends)
    assert moment > 5


calls = st.lists(st.tuples(st.sampled_from([*CALLS]), st.integers(1, 400)), min_size=1, max_size=12)


@settings(
    max_examples=times(5000),
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(model=models, rule=rules, calls=calls, seed=st.integers(0, 99))
def test_interrupts_in_any_sequence_of_calls(model, rule, calls, seed):
    if rule.told_domain:
        return
    learner = Learner(model, rule, seed=seed)
    for name, moment in calls:
        call = CALLS_OF_ANY.get(name)
        if call is not None and (len(learner.outstanding) > 2 or name in ("ask", "ask_many", "learn")):
            check_interrupted_call(learner, call, moment, *states(learner, call))


def rows(learner, count):
    """Return inputs of the learner's dimension."""
    return np.random.default_rng(learner.next_id).normal(size=(count, learner.model.dim)) / 2


CALLS_OF_ANY = CALLS | {
    "ask": lambda learner: learner.ask(rows(learner, 1)[0]),
    "ask_many": lambda learner: learner.ask_many(rows(learner, 20)),
    "learn": lambda learner: learner.learn(rows(learner, 2), np.zeros(2)),
    "play": lambda learner: learner._run_block(rows(learner, 20), None, lambda block: NO_ARRIVALS),
    "uncertainty": lambda learner: learner.uncertainty(rows(learner, 3)),
}


@contextlib.contextmanager
def during_a_change(action):
    """Run an action after a decision is made and before it is recorded."""
    real = Ledger.record_one

    def record_one(self, *arguments):
        action()
        real(self, *arguments)

    with mock.patch.object(Ledger, "record_one", record_one):
        yield


@pytest.mark.parametrize("rule", [QuFUR(4.0), Uniform(0.5), Paced(3, 9), FixedBudget(60, 9)])
@pytest.mark.parametrize("model", [Ridge(3), Softmax(3, 2)])
def test_interrupt_is_deferred_until_the_call_is_complete(model, rule):
    learner, twin = (Learner(model, rule, seed=1) for _ in range(2))
    with during_a_change(lambda: signal.raise_signal(signal.SIGINT)), pytest.raises(KeyboardInterrupt):
        learner.ask(X[0])
    twin.ask(X[0])
    assert state(learner) == state(twin)


@contextlib.contextmanager
def handler(number, function):
    """Install a signal handler; check that it is still installed at the end."""
    before = signal.signal(number, function)
    try:
        yield
    finally:
        assert signal.signal(number, before) is function


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGUSR1, signal.SIGTERM])
def test_handlers_of_the_host_run_immediately_and_stay_installed(number):
    learner, twin = (Learner(Ridge(3), QuFUR(8.0)) for _ in range(2))
    numbers = []

    def record(number, frame):
        numbers.append(number)

    def interrupt():
        signal.raise_signal(number)
        assert numbers == [number]

    with handler(number, record), during_a_change(interrupt):
        learner.ask(X[0])
    twin.ask(X[0])
    assert state(learner) == state(twin)


def test_handler_that_is_installed_during_a_call_stays_installed():
    def own(number, frame):
        pass

    with during_a_change(lambda: signal.signal(signal.SIGINT, own)):
        Learner(Ridge(3), QuFUR(8.0)).ask(X[0])
    assert signal.signal(signal.SIGINT, signal.default_int_handler) is own


def test_second_interrupt_restores_the_handler():
    learner = Learner(Ridge(3), QuFUR(8.0))
    with during_a_change(stop_twice), pytest.raises(KeyboardInterrupt):
        learner.ask(X[0])
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_process_forked_in_a_thread_defers_signals():
    context = multiprocessing.get_context("fork")
    child = context.Process(
        target=test_interrupt_is_deferred_until_the_call_is_complete, args=(Ridge(3), QuFUR(4.0))
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Python warns of a fork while threads run
        thread = threading.Thread(target=child.start)
        thread.start()
        thread.join()
    child.join(60)
    assert child.exitcode == 0


def stop_twice():
    for _ in range(2):
        signal.raise_signal(signal.SIGINT)


def fail():
    raise MemoryError


@pytest.mark.parametrize(("action", "error"), [(stop_twice, KeyboardInterrupt), (fail, MemoryError)])
def test_learner_raises_on_every_call_after_an_interrupted_change(tmp_path, action, error):
    learner = Learner(Ridge(3), QuFUR(8.0))
    learner.save(tmp_path / "good")
    good = (tmp_path / "good").read_bytes()
    with during_a_change(action), pytest.raises(error):
        learner.ask(X[0])
    for broken in (learner, copy.deepcopy(learner), pickle.loads(pickle.dumps(learner))):
        for call in (
            lambda broken=broken: broken.ask(X[0]),
            lambda broken=broken: broken.predict(X[0]),
            lambda broken=broken: broken.save(tmp_path / "good"),
        ):
            assert refusal(call) == (
                "Learner cannot be used: an exception interrupted its last operation. "
                "Load the last saved file or create a new learner."
            )
    assert (tmp_path / "good").read_bytes() == good


def test_learner_is_usable_after_invalid_input():
    learner = Learner(Ridge(3), QuFUR(8.0))
    refusal(lambda: learner.ask([1.0]))
    assert learner.ask(X[0]).query


@pytest.mark.parametrize("name", ["ask", "ask_many", "learn", "play", "report", "uncertainty"])
def test_concurrent_call_of_another_thread_raises(name):
    learner, reached, go_on = Learner(Ridge(3), QuFUR(8.0)), threading.Event(), threading.Event()

    def wait():
        reached.set()
        assert go_on.wait(20)

    thread = threading.Thread(target=lambda: learner.ask(X[0]))
    with during_a_change(wait):
        thread.start()
        assert reached.wait(20)
        message = refusal(lambda: CALLS[name](learner))
        go_on.set()
        thread.join()
    assert message == (
        "calls of Learner must be one at a time, got a call during another one. "
        "Use one learner per thread, or a lock."
    )
    twin = Learner(Ridge(3), QuFUR(8.0))
    twin.ask(X[0])
    assert state(learner) == state(twin)


def test_consecutive_calls_may_come_from_different_threads():
    learner, twin = (Learner(Ridge(3), QuFUR(8.0)) for _ in range(2))
    for x in X[:5]:
        thread = threading.Thread(target=lambda x=x: learner.ask(x))
        thread.start()
        thread.join()
        twin.ask(x)
    assert state(learner) == state(twin)
