"""Contract checks for authors of models and rules.

Each check runs a model and a rule on small streams and raises AssertionError if an invariant is violated.
Checks that do not apply to the declared properties of the model return without a test. `CHECKS` lists the
functions whose names begin with `check_`, in their order here.
"""

from __future__ import annotations

import copy
import dataclasses
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from qufur.arrays import Floats
from qufur.learner import Learner
from qufur.models import MODELS, Model
from qufur.pending import Pending
from qufur.rules import RULES, Rule
from qufur.run import run
from qufur.snapshot import encode
from qufur.streams import Arrays

HORIZON = 90
DIM = 4
BLOCKS = (2, 7, 64, HORIZON, None)
"""Block sizes compared with row-by-row processing; None lets the learner choose."""
Check = Callable[[Model, Rule], None]


def combinations(dim: int = DIM) -> Iterator[tuple[Model, Rule]]:
    """Yield small instances of every model with those of every rule; slow models get one per rule class."""
    models = [model for model_class in MODELS for model in model_class.examples(dim)]
    rules = [rule_class.examples(HORIZON) for rule_class in RULES]
    all_rules, first_rules = [rule for group in rules for rule in group], [group[0] for group in rules]
    return ((model, rule) for model in models for rule in (all_rules if model.tags.fast else first_rules))


def shifting_stream(model: Model, horizon: int = HORIZON, seed: int = 5) -> Arrays:
    """Return a read-only stream that shifts after a third, with duplicates and zero vectors."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(horizon, DIM)) / DIM
    X[: horizon // 3, 1:] = 0
    X[5::7] = X[4]
    X[6::11] = 0
    y = np.clip(X @ rng.normal(size=DIM), -1, 1) + 0.1 * rng.normal(size=horizon)
    y = np.array(model.label_codec.examples(y))
    domain = (np.arange(horizon) >= horizon // 3).astype(int)
    for array in (X, y, domain):
        array.flags.writeable = False
    return Arrays(X, y, domain=domain)


def check_budget(model: Model, rule: Rule) -> None:
    """Invariant 1: the budget is never exceeded, even if no query is answered."""
    learner, stream = Learner(model, rule), shifting_stream(model)
    asked = 0
    for t in range(HORIZON):
        asked += _ask(learner, stream, t).query
        assert learner.spent == asked == len(learner.outstanding)
        assert rule.limit is None or asked <= rule.limit, f"{asked} labels on a budget of {rule.limit}"
    if asked:
        learner.retract(learner.outstanding[0])
        assert learner.spent == asked - 1


def check_blocks(model: Model, rule: Rule) -> None:
    """Invariant 2: block look-ahead changes nothing, not even the state of the random generator."""
    stream = shifting_stream(model)
    random_delays = np.random.default_rng(3).integers(0, 40, HORIZON)
    for delay in (0, 7, random_delays):
        one_by_one = _run_learner(model, rule, stream, block=1, delay=delay)
        for block in BLOCKS:
            _assert_same_run(one_by_one, _run_learner(model, rule, stream, block=block, delay=delay))
    single, batch = Learner(model, rule), Learner(model, rule)
    answers = [_ask(single, stream, t) for t in range(HORIZON)]
    for one, other in zip(answers, batch.ask_many(stream.X, domain=stream.domain), strict=True):
        assert (one.id, one.query) == (other.id, other.query)
        np.testing.assert_allclose(one[1:4], other[1:4], atol=1e-9)
    _assert_same_draws(single, batch)


def check_late_labels(model: Model, rule: Rule) -> None:
    """Invariant 3: querying and learning are separate, and the order of arrival of labels has no effect."""
    stream = shifting_stream(model)
    if not (model.tags.label_free and model.tags.order_independent):
        return
    immediate, trace = _run_learner(model, rule, stream, block=1, delay=0)
    late = Learner(model, rule)
    late.ask_many(stream.X, domain=stream.domain)
    queried = _outstanding(late)
    assert queried == np.flatnonzero(trace.query).tolist()
    _assert_close(late.predict(stream.X), Learner(model, rule).predict(stream.X))
    _assert_close(late.uncertainty(stream.X), immediate.uncertainty(stream.X))
    half = queried[::2]
    for id in reversed(half):
        late.tell(id, stream.y[id])
    only = _trained_learner(model, rule, stream, half)
    _assert_close(late.predict(stream.X), only.predict(stream.X))
    for id in queried[1::2]:
        late.tell(id, stream.y[id])
    assert not late.outstanding
    _assert_close(late.predict(stream.X), immediate.predict(stream.X))
    _assert_close(late.uncertainty(stream.X), immediate.uncertainty(stream.X))


def check_retract(model: Model, rule: Rule) -> None:
    """Invariant 3: a retracted query leaves model and budget as if it had not been made."""
    stream = shifting_stream(model)
    learner = Learner(model, rule)
    learner.ask_many(stream.X, domain=stream.domain)
    ids = _outstanding(learner)
    answered, retracted, pending = ids[::3], ids[1::3], ids[2::3]
    learner.tell_many(answered, stream.y[answered])
    for id in retracted:
        learner.retract(id)
    assert list(learner.outstanding) == pending
    assert learner.spent == len(answered) + len(pending)
    learner.tell_many(pending, stream.y[pending])
    only = _trained_learner(model, rule, stream, answered + pending)
    if model.tags.order_independent:
        _assert_close(learner.predict(stream.X), only.predict(stream.X))
    if model.tags.label_free and not model.tags.scales_inputs:
        _assert_close(learner.uncertainty(stream.X), only.uncertainty(stream.X))


def check_seed(model: Model, rule: Rule) -> None:
    """Invariant 4: the seed determines all results, bit for bit, also after saving and loading."""
    stream = shifting_stream(model)
    np.random.seed(1)  # noqa: NPY002
    before = _global_state()
    straight, stopped = Learner(model, rule, seed=7), Learner(model, rule, seed=7)
    with tempfile.TemporaryDirectory() as folder:
        for t in range(HORIZON):
            answers = [_ask(learner, stream, t) for learner in (straight, stopped)]
            assert answers[0] == answers[1]
            for learner in (straight, stopped):
                for id in _outstanding(learner)[:-2]:
                    learner.tell(id, stream.y[id])
            if t % 17 == 0:
                stopped.save(Path(folder) / "learner.qufur")
                stopped = Learner.load(Path(folder) / "learner.qufur")
    assert _same(straight, stopped)
    assert _global_state() == before


def check_copies(model: Model, rule: Rule) -> None:
    """Invariant 4: a deep copy continues like the learner, and neither changes the other."""
    stream = shifting_stream(model)
    learner = Learner(model, rule, seed=7)
    for t in range(HORIZON // 2):
        answer = _ask(learner, stream, t)
        if answer.query and t % 3:
            learner.tell(answer.id, stream.y[t])
    before, twin = encode(learner), copy.deepcopy(learner)
    answers = [_ask(twin, stream, t) for t in range(HORIZON // 2, HORIZON)]
    assert _equal(before, encode(learner)), "a copy shares state"
    assert answers == [_ask(learner, stream, t) for t in range(HORIZON // 2, HORIZON)]
    assert _same(learner, twin)


def check_looking_is_free(model: Model, rule: Rule) -> None:
    """Invariant 5: predict and uncertainty never change the state, and inputs are never modified."""
    stream = shifting_stream(model)
    X = np.array(stream.X)
    learner, unseen = Learner(model, rule), Learner(model, rule)
    for t in range(HORIZON):
        for one in (learner, unseen):
            answer = _ask(one, stream, t)
            if answer.query and t % 3:
                one.tell(answer.id, stream.y[t])
        learner.predict(X)
        learner.uncertainty(X)
    assert _same(learner, unseen)
    np.testing.assert_array_equal(X, stream.X)


def check_numbers(model: Model, rule: Rule) -> None:
    """Invariant 6: results stay accurate for norms from 1e-6 to 1e6, if the model allows them."""
    rng = np.random.default_rng(8)
    stream = shifting_stream(model)
    decades = 6 if model.tags.any_norm else 1
    X = stream.X * 10.0 ** rng.uniform(-decades, decades, (HORIZON, 1))
    spread = Arrays(X, stream.y, domain=stream.domain)
    learner, trace = _run_learner(model, rule, spread)
    for column in (trace.prediction, trace.uncertainty, trace.probability):
        assert np.isfinite(column).all()
    assert (trace.uncertainty >= 0).all()
    if model.tags.scales_inputs:  # the scaling depends on all inputs, not only on labelled ones
        return
    batch = _trained_learner(model, rule, spread, np.flatnonzero(trace.query).tolist())
    np.testing.assert_allclose(learner.predict(X), batch.predict(X), rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(learner.uncertainty(X), batch.uncertainty(X), rtol=1e-6)


def check_memory(model: Model, rule: Rule) -> None:
    """Invariant 7: the state of a bounded model does not grow with the stream."""
    if model.tags.bounded:
        lengths = (HORIZON, 33 * HORIZON)
        sizes = [_size(_run_learner(model, rule, shifting_stream(model, T))[0]) for T in lengths]
        all_inputs = 8 * DIM * (lengths[1] - lengths[0])
        # Half, since the ledger buffers up to 1024 examples as two or three numbers each.
        assert sizes[1] - sizes[0] < 0.5 * all_inputs, "the state stores the examples"


def check_bad_input(model: Model, rule: Rule) -> None:
    """Invariant 8: invalid input raises an error of one line, and the state is unchanged."""
    stream = shifting_stream(model)
    learner = Learner(model, rule)
    for t in range(10):
        _ask(learner, stream, t)
    x, hole = np.zeros(DIM), np.full(DIM, np.nan)
    id = learner.outstanding[0] if learner.outstanding else 0
    calls: list[Callable[[], Any]] = [
        lambda: learner.ask(np.zeros(DIM + 1), domain=0),
        lambda: learner.ask(hole, domain=0),
        lambda: learner.ask(["a"] * DIM, domain=0),
        lambda: learner.ask_many([x, x + np.inf], domain=[0, 0]),
        lambda: learner.ask(x, domain=0, id=1.5),  # type: ignore[arg-type]
        lambda: learner.tell("unknown", 1.0),
        lambda: learner.tell(id, np.nan),
        lambda: learner.retract("unknown"),
        lambda: learner.learn([x], [np.inf]),
        lambda: learner.learn([x], [1.0, 2.0]),
        lambda: learner.predict(hole),
        lambda: learner.uncertainty(np.zeros((2, 2, 2))),
    ]
    if rule.told_domain:
        calls += [lambda: learner.ask(x), lambda: learner.ask(x, domain=10**6)]
    for call in calls:
        assert _is_rejected(learner, call), "bad input was accepted"


def check_widen(model: Model, rule: Rule) -> None:
    """Widening: results are as if appended columns had existed from the start, or the model raises."""
    if model.dim is None:
        model = dataclasses.replace(model, dim=DIM)  # type: ignore[type-var]
    constants = _accepted_constants(model, rule)
    if constants is None:
        return
    horizon = HORIZON if model.tags.fast else HORIZON // 3
    stream, positions = shifting_stream(model, horizon), (0, 4, horizon // 2)
    is_added = np.arange(horizon)[:, None] >= positions
    wide = np.column_stack([stream.X, constants + is_added * stream.X[::-1, 1:]])
    early, late = Learner(model, rule), Learner(model, rule)
    early.widen(constants)
    with tempfile.TemporaryDirectory() as folder:
        for t in range(horizon):
            if t in positions:  # before the first input, and later with outstanding queries
                late.widen(constants[[positions.index(t)]])
                late.save(Path(folder) / "learner.qufur")
                late = Learner.load(Path(folder) / "learner.qufur")
            inputs = (early, wide[t]), (late, wide[t, : late.dim])
            one, other = (learner.ask(x, domain=int(stream.domain[t])) for learner, x in inputs)  # type: ignore[index]
            assert (one.id, one.query) == (other.id, other.query)
            np.testing.assert_allclose(one[1:4], other[1:4], atol=1e-9)
            for learner in (early, late):
                for id in _outstanding(learner)[:-3]:
                    learner.retract(id) if id % 5 == 0 else learner.tell(id, stream.y[id])
    _assert_close(late.uncertainty(wide), early.uncertainty(wide))


CHECKS: tuple[Check, ...] = tuple(value for name, value in globals().items() if name.startswith("check_"))


def _global_state() -> list[int]:
    state: Any = np.random.get_state()  # noqa: NPY002
    return list(state[1])


def _ask(learner: Learner, stream: Arrays, t: int) -> Any:
    return learner.ask(stream.X[t], domain=int(stream.domain[t]))  # type: ignore[index]


def _outstanding(learner: Learner) -> list[int]:
    return [int(id) for id in learner.outstanding]


def _run_learner(model: Model, rule: Rule, stream: Arrays, **options: Any) -> tuple[Learner, Any]:
    learner = Learner(model, rule)
    return learner, run(learner, stream, **options)


def _trained_learner(model: Model, rule: Rule, stream: Arrays, rows: list[int]) -> Learner:
    """Return a learner trained on these labels in one batch, or in stream order if the model forgets.

    The labels are free, except for a model that uses the terms of purchases.
    """
    learner = Learner(model, rule)
    if model.tags.uses_purchases and model.tags.order_independent:
        p = _run_learner(model, rule, stream)[1].probability
        mean = np.cumsum(p) / np.arange(1, HORIZON + 1)
        queries = [Pending(row, probability=p[row], mean_probability=mean[row]) for row in rows]
        learner.state.query(queries, stream.X[rows])
        learner.state.label(queries, stream.y[rows])
        return learner
    if not model.tags.forgets:
        learner.learn(stream.X[rows], stream.y[rows])
        return learner
    for t in range(HORIZON):
        if t in rows:
            learner.learn(stream.X[t], stream.y[t])
        learner.state.advance(1)
    return learner


def _accepted_constants(model: Model, rule: Rule) -> Floats | None:
    """Return constants that the model accepts for appended columns; None if it accepts none."""
    for constants in (np.array([7.0, -2.0, 0.5]), np.zeros(3)):
        learner = Learner(model, rule)
        if not _is_rejected(learner, partial(learner.widen, constants)):
            return constants
    return None


def _is_rejected(learner: Learner, call: Callable[[], object]) -> bool:
    """Return whether a call raises an error, which must have one line and leave the state unchanged."""
    before = encode(learner)
    try:
        call()
    except ValueError as error:
        assert "\n" not in str(error)
        assert _equal(before, encode(learner))
        return True
    return False


def _assert_same_run(one: tuple[Learner, Any], other: tuple[Learner, Any]) -> None:
    np.testing.assert_array_equal(one[1].query, other[1].query)
    for column in ("prediction", "uncertainty", "probability"):
        np.testing.assert_allclose(getattr(one[1], column), getattr(other[1], column), atol=1e-9)
    _assert_same_draws(one[0], other[0])


def _assert_same_draws(one: Learner, other: Learner) -> None:
    assert encode(one)[0]["rng"] == encode(other)[0]["rng"], "the paths used different numbers of draws"


def _assert_close(one: Floats, other: Floats) -> None:
    np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)


def _same(one: Learner, other: Learner) -> bool:
    return _equal(encode(one), encode(other))


def _equal(one: Any, other: Any) -> bool:
    (header, arrays), (other_header, other_arrays) = one, other
    is_same_form = header == other_header and arrays.keys() == other_arrays.keys()
    return is_same_form and all(np.array_equal(arrays[name], other_arrays[name]) for name in arrays)


def _size(learner: Learner) -> int:
    return sum(array.nbytes for array in encode(learner)[1].values())
