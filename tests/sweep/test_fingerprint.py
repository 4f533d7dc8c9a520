"""Tests of fingerprints: a digest changes exactly when the behaviour of a value changes."""

import copy
import functools
import importlib
import operator
import os
import subprocess
import sys
import threading
from dataclasses import dataclass, field
from types import FunctionType

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF

from qufur import ConfidenceSet, KernelRidge, streams
from qufur.hypotheses import Finite, FiniteLinear, FiniteTable, GeneralisedLinear, LinearBall, Parametric
from qufur.models import MODELS
from qufur.rules import RULES
from qufur.sweep.tasks import IndistinctError, fingerprint, library

TABLE = np.linspace(-1, 1, 6000).reshape(3, 2000)
PARTS = [
    *(part for kind in MODELS for part in kind.examples(3)),
    *(part for kind in RULES for part in kind.examples(90)),
    KernelRidge(RBF([0.5, 2.0, 1.0]) + 0.1 * RBF(2.0)),
    *(
        ConfidenceSet(hypotheses, radius=0.1)
        for hypotheses in (
            LinearBall(3),
            GeneralisedLinear(3),
            FiniteLinear(TABLE),
            FiniteTable(np.arange(2000.0)[:, None], TABLE),
            Finite([lambda X, c=c: np.sign(X[:, 0] - c) for c in (0.1, 0.3)], dim=1),
            Parametric(
                lambda p, X: np.sin(X @ p),
                lambda p, X: np.cos(X @ p)[:, None] * X,
                dim=1,
                bounds=[(0.0, 3.0)],
            ),
        )
    ),
    streams.MostUncertain(3, 20),
]


def changed(value):
    """Yield copies of a value with one small change each."""
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int | str):
        yield value + type(value)(1)
    elif isinstance(value, float):
        yield float(np.nextafter(value, np.inf))
    elif value is None:
        yield 0.0
    elif isinstance(value, np.ndarray):
        for place in {0, value.size // 2, value.size - 1}:
            other = value.astype(float)
            other.flat[place] = np.nextafter(other.flat[place], np.inf)
            yield other
    elif isinstance(value, tuple | list):
        for place, part in enumerate(value):
            yield from (type(value)([*value[:place], other, *value[place + 1 :]]) for other in changed(part))
    elif isinstance(value, FunctionType):
        yield lambda *arguments: value(*arguments) + 0.0
    else:
        yield from changed_objects(value)


def changed_objects(value):
    for name, part in getattr(value, "__dict__", {}).items():
        if isinstance(getattr(type(value), name, None), functools.cached_property):
            continue  # computed from the other fields
        for other in changed(part):
            twin = copy.copy(value)
            vars(twin)[name] = other
            yield twin


@pytest.mark.parametrize("part", PARTS, ids=lambda part: type(part).__name__)
def test_fingerprint_changes_with_every_number_of_models_rules_and_adversaries(part):
    prints = [fingerprint(part), *map(fingerprint, changed(part))]
    assert len(prints) > len(getattr(part, "__dataclass_fields__", ()))
    assert len(set(prints)) == len(prints)
    assert fingerprint(copy.deepcopy(part)) == prints[0]


def test_fingerprint_ignores_cached_properties():
    rule = next(kind for kind in RULES if kind.__name__ == "DomainOracle").examples(90)[0]
    before = fingerprint(rule)
    rule.probability(np.ones(2), np.array([0, 1]))
    assert vars(rule).keys() > rule.__dataclass_fields__.keys()
    assert fingerprint(rule) == before


# Code


def functions(level, source="lambda x: x + step(level)", step=lambda level: level + 1):
    scope = {"__name__": "user_code", "level": level, "step": step, "operator": operator}
    exec(f"def make():\n    return {source}", scope)
    return scope["make"]()


OTHERS = {
    "a value": functions(1.5),
    "a function that is called": functions(1.0, step=lambda level: level + 2),
    "an instruction": functions(1.0, "lambda x: x - step(level)"),
    "a constant": functions(1.0, "lambda x: x + step(level) + 1"),
    "a default": functions(1.0, "lambda x, y=1: x + step(level)"),
    "another default": functions(1.0, "lambda x, y=2: x + step(level)"),
    "a name": functions(1.0, "lambda x: x + operator.neg(level)"),
    "inside": functions(1.0, "lambda x: (lambda: x + step(level))()"),
    "deeper inside": functions(2.0, "lambda x: (lambda: x + step(level))()"),
    "bound": functools.partial(functions(1.0), 1.0),
    "bound otherwise": functools.partial(functions(1.0), 2.0),
    "cached": functools.cache(functions(1.0)),
    "cached otherwise": functools.cache(functions(2.0)),
    "vectorised": np.vectorize(functions(1.0)),
    "of a package": np.sin,
    "another of a package": np.cos,
}


def test_fingerprint_of_code_depends_on_its_behaviour():
    prints = [fingerprint(functions(1.0)), *map(fingerprint, OTHERS.values())]
    assert len(set(prints)) == len(prints)
    assert fingerprint(functions(1.0)) == prints[0]
    assert (
        fingerprint(functions(1.0, "\\\n lambda x: x + step(level)")) == prints[0]
    )  # at another line and column


def test_fingerprint_distinguishes_a_wrapper_from_its_namesake():
    wrapped = functools.wraps(np.linalg.norm)(lambda x: 0.0)
    assert wrapped.__module__ == np.linalg.norm.__module__
    assert fingerprint(wrapped) not in (fingerprint(np.linalg.norm), fingerprint(lambda x: 0.0))


def rule_of(level, power=1):
    @dataclass(frozen=True)
    class Own:
        budget: int = 3
        sizes: list = field(default_factory=list)

        def probability(self, uncertainty):
            return self._scale * uncertainty**power

        @property
        def _scale(self):
            return level

        @functools.cached_property
        def half(self):
            return self._scale / 2

    return Own()


def test_fingerprint_of_user_classes_depends_on_their_methods():
    prints = {fingerprint(rule_of(*how)) for how in ((1.0,), (2.0,), (1.0, 2))}
    assert len(prints) == 3
    assert fingerprint(rule_of(1.0)) in prints


def test_fingerprint_of_user_modules_depends_on_their_content(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    prints = []
    for number in (1, 2, 1):
        (tmp_path / f"helper_of_{number}.py").write_text(f"LEVEL = {number}")
        sys.modules["helper"] = importlib.import_module(f"helper_of_{number}")
        sys.modules["helper"].__name__ = "helper"
        scope = {"__name__": "user_code"}
        exec("import helper\ndef outside(x):\n    return x + helper.LEVEL", scope)
        exec("def inside(x):\n    import helper\n    return x + helper.LEVEL", scope)
        prints.append([fingerprint(scope[name]) for name in ("outside", "inside")])
        del sys.modules["helper"]
    assert prints[0] == prints[2]
    assert prints[0][0] != prints[1][0]
    assert prints[0][1] != prints[1][1]


def test_fingerprint_is_of_the_running_code_when_its_file_was_edited(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    file = tmp_path / "edited_rule.py"
    file.write_text("class Own:\n    def probability(self):\n        return 1")
    module = importlib.import_module("edited_rule")
    running = fingerprint(module.Own())
    file.write_text("class Own:\n    def probability(self):\n        return 20")
    assert fingerprint(module.Own()) == running
    assert fingerprint(importlib.reload(module).Own()) != running


def recursive(n):
    return recursive(n - 1) if n else TABLE


def test_fingerprint_terminates_on_recursive_values():
    loop = [1]
    loop_of = {"loop": loop}
    loop_of["self"] = loop_of
    assert fingerprint(recursive) != fingerprint(rule_of)
    assert fingerprint(loop_of) == fingerprint(copy.deepcopy(loop_of))


def test_fingerprint_distinguishes_types():
    values = [1, 1.0, True, "1", b"1", None, 0.0, -0.0, [1], (1,), {1}, {1: 1}, [[1]], [1, [1]], ["1", 1]]
    values += [np.array([1]), np.array([1.0]), np.array([[1]]), np.float32(1), np.array([1], dtype=object)]
    values += [np.zeros(2), np.zeros(2, dtype=int), np.zeros(2, dtype="M8[s]")]
    values += [np.ma.masked_array([1.0, 2.0], [0, 1]), np.ma.masked_array([1.0, 2.0], [1, 0]), np, operator]
    assert len(set(map(fingerprint, values))) == len(values)


@pytest.mark.parametrize(
    "make",
    [threading.Lock, lambda: iter(x for x in ()), lambda: np.frompyfunc(functions(1.0), 1, 1)],
    ids=["lock", "generator", "compiled"],
)
def test_fingerprint_rejects_values_without_identity(make):
    for value in (make(), [make()], functools.partial(functions(1.0), make())):
        with pytest.raises(IndistinctError, match=r"^a [_a-z]+\.[a-z]+$"):
            fingerprint(value)


def test_fingerprint_is_equal_in_every_process():
    code = (
        "from qufur import Softmax; from qufur.sweep.tasks import fingerprint\n"
        "print(fingerprint(Softmax(3, 2), {'a', 'b', 'c'}, lambda x: x in {'a', 'b', 'c'}))"
    )
    digests = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(digests) == 1


def test_fingerprint_of_the_library_depends_on_its_source(tmp_path, monkeypatch):
    from qufur.sweep import tasks

    for name, text in (("a.py", "x = 1"), ("cli/show.py", "x = 1")):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(tasks, "__file__", str(tmp_path / "sweep/releases.py"))
    source = library.__wrapped__
    before = source()
    (tmp_path / "cli/show.py").write_text("x = 2")
    assert source() == before
    (tmp_path / "a.py").write_text("x = 2")
    assert source() != before
    monkeypatch.setattr(tasks, "_version", lambda name: "another")
    (tmp_path / "a.py").write_text("x = 1")
    assert source() != before
