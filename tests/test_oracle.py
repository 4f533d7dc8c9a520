"""The learner against a slow reference, call by call; `models/engines/test_paths.py` runs whole streams."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.gaussian_process.kernels import RBF, DotProduct, Matern
from tests import oracle
from tests.oracle import oracle_of
from tests.soak import SOAK

from qufur import (
    DomainOracle,
    FisherSoftmax,
    FixedBudget,
    Greedy,
    KernelRidge,
    Learner,
    Paced,
    QuFUR,
    Ridge,
    Softmax,
    Steady,
    Threshold,
    Uniform,
)
from qufur.models import Converged

TOLERANCE = 1e-9
DOMAINS = 3

alphas = st.floats(0.2, 60)
budgets = st.none() | st.integers(1, 12)
ridges = st.builds(
    lambda *args, kind, **options: Ridge(*args, **options, **kind),
    st.integers(1, 4),
    norm_bound=st.floats(0.3, 3),
    regularization=st.none() | st.floats(0.05, 5),
    noise=st.floats(0, 3),
    cap=st.booleans(),
    clip=st.booleans(),
    intercept=st.booleans(),
    intercept_penalty=st.sampled_from([1e-6, 1e-3, 1.0]),
    label_range=st.sampled_from([(-1.0, 1.0), (1, 5), (-300.0, -100.0)]),
    kind=st.one_of(
        st.just({}),
        st.fixed_dictionaries({"half_life": st.integers(1, 100)}),
        st.fixed_dictionaries({"importance": st.floats(0.1, 1)}),
    ),
)
kernels = st.builds(
    KernelRidge,
    st.sampled_from([RBF(0.7), Matern(1.5, nu=2.5), DotProduct(1.0) ** 2, RBF(2.0) + 0.5 * DotProduct(0.0)]),
    dim=st.integers(1, 4),
    regularization=st.floats(0.05, 5),
    noise=st.floats(0, 3),
    cap=st.booleans(),
    clip=st.booleans(),
    label_range=st.sampled_from([(-1.0, 1.0), (1, 5)]),
)
# A tolerance of 1e-8 would leave too few digits to compare Δ of `FisherSoftmax`.
trainings = st.builds(Converged, penalty=st.floats(0.01, 1), tolerance=st.just(1e-12))
classifiers = st.builds(
    lambda kind, *sizes, **options: kind(*sizes, **options),
    st.sampled_from([Softmax, FisherSoftmax]),
    st.integers(1, 4),
    st.integers(2, 4),
    regularization=st.none() | st.floats(0.05, 5),
    noise=st.floats(0, 3),
    cap=st.booleans(),
    training=trainings,
)
models = ridges | kernels | classifiers
rules = st.one_of(
    st.builds(QuFUR, alphas, power=st.sampled_from([1.0, 0.5, 3.0]), budget=budgets, floor=st.floats(0, 0.9)),
    st.tuples(st.integers(1, 40), st.integers(1, 80)).flatmap(
        lambda size: st.builds(
            Paced, *map(st.just, size), floor=st.floats(0, 0.9 * min(1, size[0] / size[1]))
        )
    ),
    st.floats(0.01, 1).flatmap(
        lambda rate: st.builds(
            Paced,
            st.just(rate),
            burst=st.none() | st.floats(32 * rate + 1.01, 60),
            floor=st.floats(0, 0.9 * rate),
        )
    ),
    st.builds(Steady, st.integers(1, 40), st.integers(1, 80)),
    st.builds(Steady, st.floats(0.01, 1), burst=st.floats(1, 20)),
    st.integers(1, 12).flatmap(
        lambda T: st.builds(FixedBudget, st.integers(oracle.copies(_Horizon(T)), 60), st.just(T))
    ),
    st.builds(Uniform, st.floats(0.1, 1), budget=budgets),
    st.builds(Greedy, st.integers(1, 20)),
    st.builds(Threshold, st.floats(0.05, 2), budget=budgets),
    st.builds(
        DomainOracle,
        durations=st.lists(st.integers(2, 30), min_size=DOMAINS, max_size=DOMAINS),
        dims=st.lists(st.integers(1, 5), min_size=DOMAINS, max_size=DOMAINS),
        budget=st.integers(1, 40),
    ),
)
which = st.integers(0, 100)
label = st.floats(-2, 2)
call = st.one_of(
    st.tuples(st.just("ask")),
    st.tuples(st.just("ask_many"), st.integers(0, 12)),
    st.tuples(st.just("tell"), which, label),
    st.tuples(st.just("tell_many"), which, label),
    st.tuples(st.just("retract"), which),
    st.tuples(st.just("learn"), st.integers(0, 4)),
)
calls = st.lists(call, min_size=1, max_size=25)


class _Horizon:
    """Stand-in for a `FixedBudget`, from which the reference counts the copies."""

    def __init__(self, horizon):
        self.horizon = horizon


_Horizon.__name__ = "FixedBudget"


class Pair:
    """A learner and the slow reference, compared after each of the same calls."""

    def __init__(self, model, rule, seed):
        self.learner = Learner(model, rule, seed=seed)
        self.oracle = oracle_of(model, rule, np.random.default_rng(seed))
        self.inputs = np.random.default_rng(seed + 1)
        low, high = getattr(model, "label_range", (-1, 1))
        # Before its first row, an intercept with a small penalty has a variance of up to 10⁶/λ.
        self.digits = 1e-7 if getattr(model, "constant", 1.0) > 1 else TOLERANCE
        self.middle, self.half = (low + high) / 2, (high - low) / 2
        self.seen = [np.zeros(model.dim)]

    def draw(self, count):
        """Return inputs of different norms, about a third of them repeated."""
        rows = np.empty((count, len(self.seen[0])))
        for row in rows:
            if self.inputs.random() < 0.3:
                row[:] = self.seen[self.inputs.integers(len(self.seen))]
            else:
                row[:] = self.inputs.normal(size=len(row)) * self.inputs.choice([0.1, 1, 3])
                self.seen.append(row.copy())
        return rows, self.inputs.integers(0, DOMAINS, count)

    def ask(self):
        X, domain = self.draw(1)
        answer = self.learner.ask(X[0], domain=int(domain[0]))
        self.compare([answer], X, domain)

    def ask_many(self, count):
        X, domain = self.draw(count)
        self.compare(self.learner.ask_many(X, domain=domain), X, domain)

    def compare(self, answers, X, domain):
        slow = [self.oracle.ask(x, domain=int(u)) for x, u in zip(X, domain, strict=True)]
        for mine, theirs in zip(answers, slow, strict=True):
            assert (mine.id, mine.query) == (theirs[0], theirs[4])
            np.testing.assert_allclose(mine.prediction, theirs[1], rtol=0, atol=self.digits * self.half)
            np.testing.assert_allclose(mine[2:4], theirs[2:4], rtol=self.digits, atol=self.digits)

    def tell(self, k, label):
        self.answer(self.learner.outstanding[k : k + 1] or self.learner.outstanding[:1], label, many=False)

    def tell_many(self, k, label):
        self.answer(self.learner.outstanding[k % 3 :: 2][::-1], label, many=True)

    def answer(self, ids, label, many):
        labels = self.labels(label + 0.1 * np.arange(len(ids)))
        if many:
            self.learner.tell_many(ids, labels)
        for id, y in zip(ids, labels, strict=True):
            if not many:
                self.learner.tell(id, y)
            self.oracle.tell(id, y)

    def retract(self, k):
        if self.learner.outstanding:
            id = self.learner.outstanding[k % len(self.learner.outstanding)]
            self.learner.retract(id)
            self.oracle.retract(id)

    def learn(self, count):
        X, _ = self.draw(count)
        y = self.labels(self.inputs.uniform(-1.5, 1.5, count))
        self.learner.learn(X, y)
        self.oracle.learn(X, y)

    def labels(self, numbers):
        """Convert numbers around 0 to labels of the model."""
        return self.learner.model.label_codec.examples(self.middle + self.half * numbers)

    def check(self):
        assert self.learner.spent == self.oracle.spent
        assert self.learner.left == self.oracle.left
        assert self.learner.outstanding == self.oracle.outstanding
        X = np.array(self.seen[:4])
        slow = [self.oracle.prediction(x) for x in X]
        np.testing.assert_allclose(self.learner.predict(X), slow, rtol=0, atol=self.digits * self.half)
        if isinstance(self.learner.model, Softmax):
            slow = [self.oracle.probabilities(x) for x in X]
            np.testing.assert_allclose(self.learner.state.probabilities(X), slow, rtol=0, atol=TOLERANCE)
        slow = [self.oracle.uncertainty(x) for x in X]
        np.testing.assert_allclose(self.learner.uncertainty(X), slow, rtol=self.digits, atol=self.digits)


@settings(max_examples=700 if SOAK else 200, deadline=None, derandomize=True)
@given(model=models, rule=rules, calls=calls, seed=st.integers(0, 2**32))
def test_learner_matches_the_oracle_for_any_sequence_of_calls(model, rule, calls, seed):
    pair = Pair(model, rule, seed)
    for name, *arguments in calls:
        getattr(pair, name)(*arguments)
        pair.check()
