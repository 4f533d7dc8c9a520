"""One `ask`, and one `ask` with its `tell`, against the bare BLAS calls that nothing can undercut."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg import blas

from benchmarks.timing import Timing, interleaved
from qufur import Learner, QuFUR, Ridge
from qufur.arrays import Floats

NEVER, ALWAYS = 1e-15, 1e15


def measure(dim: int, steps: int, rounds: int) -> dict[str, Timing]:
    """Return microseconds per example, nothing outstanding."""
    X = np.random.default_rng(dim).standard_normal((steps, dim))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    variants = {
        "ask": _ask(_learner(X, NEVER), X),
        "dsymv": _dsymv(X),
        "ask+tell": _ask_tell(_learner(X, ALWAYS), X),
        "dsymv+dsyr": _dsymv_dsyr(X),
    }
    return interleaved(variants, steps, rounds)


def _learner(X: Floats, alpha: float) -> Learner:
    learner = Learner(Ridge(X.shape[1]), QuFUR(alpha))
    learner.learn(X, np.zeros(len(X)))
    return learner


def _ask(learner: Learner, X: Floats) -> Callable[[], object]:
    def work() -> None:
        for x in X:
            learner.ask(x)

    return work


def _ask_tell(learner: Learner, X: Floats) -> Callable[[], object]:
    def work() -> None:
        for x in X:
            learner.tell(learner.ask(x).id, 0.5)

    return work


def _dsymv(X: Floats) -> Callable[[], object]:
    inverse = np.asfortranarray(np.eye(X.shape[1]))

    def work() -> None:
        for x in X:
            blas.dsymv(1.0, inverse, x)

    return work


def _dsymv_dsyr(X: Floats) -> Callable[[], object]:
    inverse = np.asfortranarray(np.eye(X.shape[1]))

    def work() -> None:
        for x in X:
            solved = blas.dsymv(1.0, inverse, x)
            blas.dsyr(-1.0 / (1.0 + solved @ x), solved, a=inverse, overwrite_a=1)

    return work
