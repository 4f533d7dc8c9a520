"""Any sequence of calls, saves, loads and crashes, compared with the slow reference."""

import contextlib
import copy
import os
from unittest import mock

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.same import same, same_content
from tests.soak import times
from tests.test_oracle import Pair, call, models, ridges, rules

from qufur import Learner
from qufur.errors import InvalidError
from qufur.snapshot import encode
from qufur.storage.atomic import replacing

CRASHES = ("write", "fsync", "replace")
files = st.one_of(
    st.tuples(st.just("save")),
    st.tuples(st.just("load")),
    st.tuples(st.just("crash"), st.sampled_from(CRASHES)),
)
sequences = st.lists(call | files, min_size=1, max_size=25)


class Crash(BaseException):
    """Not an `Exception`, so that no code recovers from it."""


def crashing(moment):
    """Return a patch that makes a save crash at this moment."""

    @contextlib.contextmanager
    def half(path):
        with replacing(path) as file:

            def write(content):
                file.write(content[: len(content) // 2])
                raise Crash

            yield mock.Mock(write=write)

    if moment == "write":
        return mock.patch("qufur.storage.container.replacing", half)
    return mock.patch(f"os.{moment}", side_effect=Crash)


class SavedPair(Pair):
    """A `Pair` with a file; `load` also resets the slow reference to its state at the last save."""

    def __init__(self, model, rule, seed, file):
        super().__init__(model, rule, seed)
        self.file = file
        self.saved = None

    def save(self):
        self.learner.save(self.file)
        self.saved = copy.deepcopy((self.oracle, self.inputs, self.seen))

    def load(self):
        if self.saved:
            self.learner = Learner.load(self.file)
            self.oracle, self.inputs, self.seen = copy.deepcopy(self.saved)

    def crash(self, moment):
        with crashing(moment), pytest.raises(Crash):
            self.learner.save(self.file)
        assert os.listdir(self.file.parent) == ([self.file.name] if self.saved else [])
        self.load()

    def check(self):
        super().check()
        limit = self.learner.rule.limit
        assert limit is None or self.learner.spent <= limit


@settings(
    max_examples=times(10_000),
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(model=models, rule=rules, calls=sequences, seed=st.integers(0, 2**32))
def test_learner_survives_any_sequence_of_calls_and_files(tmp_path, model, rule, calls, seed):
    for path in tmp_path.iterdir():
        path.unlink()
    pair = SavedPair(model, rule, seed, tmp_path / "learner")
    for name, *arguments in calls:
        getattr(pair, name)(*arguments)
        pair.check()
    pair.save()
    again = Learner.load(pair.file)
    rows = np.array(pair.seen[:4])
    np.testing.assert_array_equal(again.predict(rows), pair.learner.predict(rows))


sizes = st.floats(-70, 70).map(lambda exponent: 10**exponent)
extremes = st.lists(
    st.tuples(st.sampled_from(["ask", "ask_many", "tell", "learn", "retract"]), sizes, sizes, st.booleans()),
    min_size=1,
    max_size=12,
)


def play_extreme(learner, name, size, label, both):
    """Call a method with numbers of these magnitudes, with `both` in one input."""
    x = np.full(learner.model.dim, size)
    x[-1] = label if both else 0
    if name == "ask":
        learner.ask(x)
    elif name == "ask_many":
        learner.ask_many([x / 2, -x, x])
    elif name == "learn":
        learner.learn(x, label)
    elif learner.outstanding and name == "tell":
        learner.tell(learner.outstanding[0], label)
    elif learner.outstanding:
        learner.retract(learner.outstanding[0])


@pytest.mark.filterwarnings("ignore::qufur.OutlierWarning")
@settings(
    max_examples=times(3_000),
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(model=ridges, rule=rules, calls=extremes)
def test_numbers_of_any_size_are_rejected_or_saved(tmp_path, model, rule, calls):
    if rule.told_domain:
        return
    learner = Learner(model, rule)
    for extreme in calls:
        before = encode(learner)
        try:
            play_extreme(learner, *extreme)
        except InvalidError:
            assert same_content(encode(learner), before)
        learner.save(tmp_path / "learner")
        assert same(Learner.load(tmp_path / "learner"), learner)
